package store

import (
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/seed-0662880d/openapi-server/pkg/spec3"
)

// Shape is one of the forms that the root document has had.
type Shape int

const (
	// Nested is the shape that clients read:
	// {"paths":{"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1?etag=TAG"}}}
	// (OpenAPIV3Discovery of k8s.io/kube-openapi/pkg/handler3).
	Nested Shape = iota
	// Flat is the shape of KEP-2896: {"Paths":{"api/v1":"/openapi/v3/api/v1?etag=TAG"}}.
	Flat
)

// Root is the root document of one snapshot. It is immutable and has no protobuf
// form.
type Root struct {
	nested Representations
	flat   func() (Representations, error)
}

// Representations are the two forms of a root document.
type Representations struct {
	JSON, JSONGzip Representation
}

// newRoot makes the root document of documents that are sorted by path. The shape
// that clients read is made at once; the other one when it is asked for.
func newRoot(documents []*Document) (*Root, error) {
	nested, err := encodeRoot(documents, `{"paths":{`, `{"serverRelativeURL":"`, `"}`)
	if err != nil {
		return nil, err
	}
	return &Root{
		nested: nested,
		flat: sync.OnceValues(func() (Representations, error) {
			return encodeRoot(documents, `{"Paths":{`, `"`, `"`)
		}),
	}, nil
}

// Representations returns the forms of the root document in a shape.
func (r *Root) Representations(shape Shape) (Representations, error) {
	if shape == Flat {
		return r.flat()
	}
	return r.nested, nil
}

// encodeRoot writes a root document. Paths and tags hold only characters that
// need no escaping, neither in JSON nor in a URL (see [spec3.CheckPath]).
func encodeRoot(documents []*Document, begin, before, after string) (Representations, error) {
	const perDocument = 160
	out := make([]byte, 0, len(begin)+2+perDocument*len(documents))
	out = append(out, begin...)
	for i, d := range documents {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, '"')
		out = append(out, d.path...)
		out = append(out, `":`...)
		out = append(out, before...)
		out = append(out, d.url...)
		out = append(out, after...)
	}
	out = append(out, "}}"...)
	// Every change makes a new one, and half of it are tags, which are random.
	gz, err := spec3.GzipFast(out)
	if err != nil {
		return Representations{}, fmt.Errorf("root document: %w", err)
	}
	tag := fmt.Sprintf("%X", sha256.Sum256(out))
	return Representations{
		JSON:     Representation{Body: out, ETag: etag(tag, JSON)},
		JSONGzip: Representation{Body: gz, ETag: etag(tag, JSONGzip)},
	}, nil
}
