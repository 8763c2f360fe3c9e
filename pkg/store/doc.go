// Package store turns contributions into what is published.
//
// # Model
//
// A source hands in a [Contribution]: a document for a path such as
// "apis/apps/v1". The [Store] keeps, for each path, what every source says of
// it, decides which of that is published, and publishes an immutable [Snapshot]
// of all paths, and of the root document that lists them, with one atomic
// pointer swap.
//
// # Who is published
//
// Of the contributions to one path, those of the highest [Priority] are
// published; others are shadowed, logged and counted. Several of that priority
// are parts of one group-version and are merged, in the order of their sources'
// names, those marked Stale last. One that contradicts a part before it is left
// out whole, logged and counted. What is published is therefore a function of the
// set of contributions, never of the order in which they came, so replicas agree.
//
// # Cost
//
// A contribution equal to the one it replaces is a no-op. Any other rebuilds its
// own path and the root document. A document is kept as its gzipped JSON alone, or,
// as one of many parts of a path, in compressed pieces that join without being
// compressed again; other forms are made when somebody asks, once for all who wait,
// and kept within a budget.
//
// # Concurrency
//
// All methods are safe for concurrent use. Reading a snapshot takes no lock.
// Nothing is locked while a document is built: a slow build delays what was set
// together with it, and nothing else, not even a later change of its own path.
package store
