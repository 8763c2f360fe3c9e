// Package testdocs gives tests and benchmarks the real documents of Kubernetes,
// read from the module that ships them.
package testdocs

import (
	"fmt"

	"k8s.io/client-go/openapi/openapitest"
)

// Kubernetes returns the OpenAPI 3.0 documents of k8s.io/client-go's openapitest,
// by their paths: api/v1, apis/apps/v1 and others. The error is that of reading
// them.
func Kubernetes() (map[string][]byte, error) {
	paths, err := openapitest.NewEmbeddedFileClient().Paths()
	if err != nil {
		return nil, fmt.Errorf("openapitest: %w", err)
	}
	documents := make(map[string][]byte, len(paths))
	for path, gv := range paths {
		text, err := gv.Schema("application/json")
		if err != nil {
			return nil, fmt.Errorf("openapitest: %s: %w", path, err)
		}
		documents[path] = text
	}
	return documents, nil
}
