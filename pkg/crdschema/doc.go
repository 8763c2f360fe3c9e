// Package crdschema turns a CustomResourceDefinition into the OpenAPI 3.0 documents
// of its versions: everything that the author wrote, and what Kubernetes adds.
//
// # Model
//
// [Parse] reads the names, the scope and the versions of a CRD; [Definition.Documents]
// makes one document for each version that is served. A schema goes from the bytes
// of the CRD to the bytes of the document without being decoded: no keyword and no
// literal is lost. What is added is what Kubernetes adds
// (k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder): apiVersion, kind
// and metadata, also in embedded resources; the unfolding of int-or-string; the list
// kind; the group-version-kind extensions; the paths with their operations; and the
// schemas of meta/v1 that all of these refer to.
//
// # Concurrency
//
// All functions and methods are safe for concurrent use. A Definition is not changed
// after Parse.
package crdschema
