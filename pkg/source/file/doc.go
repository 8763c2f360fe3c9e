// Package file feeds a store from files and folders, and keeps watching them.
//
// # What is read
//
// A file is JSON or YAML, and YAML may hold several documents. OpenAPI 3.0
// documents are split by group-version and contributed together; each
// CustomResourceDefinition is contributed on its own, under the name of the file and
// its own, so that one that is broken hides no other. Of a folder, all files
// named *.json, *.yaml and *.yml are read, without the folders in it and without
// names that begin with a dot, so a mounted ConfigMap works as it is.
//
// # When something goes wrong
//
// A file that is broken, half-written, unreadable or gone keeps what it published
// last. That is logged once with file and line, and shows in the metric
// openapi_server_source_error until it is mended. What such a file published
// yields to other files that say otherwise, and a file that is gone is forgotten
// when other files publish all that it did, so a renamed file leaves no trace. To
// take a file's documents back while the server runs, empty it down to a comment.
//
// # Concurrency
//
// A [Source] is used by one goroutine: [Source.Load], then [Source.Run].
package file
