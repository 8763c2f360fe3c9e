package spec3_test

import (
	"encoding/json"
	"testing"

	"github.com/seed-0662880d/openapi-server/internal/testdocs"
	"github.com/seed-0662880d/openapi-server/pkg/spec3"
)

// doc wraps members of the root object into a document.
func doc(members string) string {
	return `{"openapi":"3.0.0","info":{"title":"t","version":"v1"},` + members + `}`
}

func mustParse(t testing.TB, text string) *spec3.Document {
	t.Helper()
	d, err := spec3.Parse([]byte(text), spec3.Limits{})
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return d
}

func kubernetes(t testing.TB) map[string][]byte {
	t.Helper()
	documents, err := testdocs.Kubernetes()
	if err != nil {
		t.Fatal(err)
	}
	return documents
}

func decode(t testing.TB, text []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}
