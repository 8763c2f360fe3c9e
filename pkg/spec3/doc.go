// Package spec3 holds an immutable OpenAPI 3.0 document: parsed within bounds,
// checked, in canonical bytes, tagged by content, split per group-version,
// merged, and encoded as JSON or protobuf, plain or gzipped.
//
// # Model
//
// A [Document] is a list of units: the members of the root object, the path
// items, and the entries of each section of components. A unit is the smallest
// thing that moves between documents, so splitting, merging and tagging work on
// units and never on decoded structures. What a unit says is kept as the bytes
// its author wrote; only white space and the order of object members change.
// That is why 9007199254740993, 1.0 and "default": null survive, and unknown
// keywords and x- extensions with them.
//
// # Canonical form
//
// Compact, the members of every object in the order of RFC 8785 section 3.2.3
// (UTF-16 code units), every number and string literal as it was written. It is
// the JSON form that is served, and what [Document.Tag] is computed from.
//
// # Concurrency
//
// Every exported function and every method of Document and Value is safe for
// concurrent use. Nothing in this package keeps or changes the bytes passed in,
// except where a doc comment says so.
package spec3
