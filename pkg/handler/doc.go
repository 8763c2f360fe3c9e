// Package handler serves the snapshots of a store over HTTP: the root document at
// /openapi/v3 and one document per group-version below it.
//
// # Mounting
//
// A [Handler] is an [net/http.Handler] for everything below /openapi/, so one
// line mounts it:
//
//	mux.Handle("/openapi/", h)   // net/http
//	r.Mount("/openapi", h)       // chi
//
// # The path of a request
//
// Load the snapshot, negotiate, write headers, write bytes that exist. No lock is
// taken and nothing is encoded, apart from rare forms of a document on their
// first use (see [store.Document.Representation]).
//
// # Concurrency
//
// A Handler is not changed after [New] and safe for concurrent use.
package handler
