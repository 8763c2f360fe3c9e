package store

import (
	"crypto/sha256"
	"fmt"
	"slices"
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
	chunks []rootChunk
	flat   func() (Representations, error)
}

// Representations are the two forms of a root document.
type Representations struct {
	JSON, JSONGzip Representation
}

// rootChunk is a part of the root document, about some documents that follow each
// other. One change makes one new chunk; all others are taken from the root before.
type rootChunk struct {
	documents []*Document
	text      []byte
	sum       [sha256.Size]byte
	gzip      spec3.Chunk
}

// chunkDocuments is how many documents a chunk is about.
const chunkDocuments = 64

// rootFormat is what stands around the URLs.
type rootFormat struct{ begin, before, after string }

var (
	nestedFormat = rootFormat{`{"paths":{`, `{"serverRelativeURL":"`, `"}`}
	flatFormat   = rootFormat{`{"Paths":{`, `"`, `"`}
)

// newRoot makes the root document of documents that are sorted by path. The shape
// that clients read is made at once, with what is left of the root before it (which
// may be nil); the other one when it is asked for.
func newRoot(documents []*Document, before *Root) (*Root, error) {
	r := &Root{
		flat: sync.OnceValues(func() (Representations, error) {
			forms, _, err := encodeRoot(documents, nil, flatFormat)
			return forms, err
		}),
	}
	var known []rootChunk
	if before != nil {
		known = before.chunks
	}
	var err error
	r.nested, r.chunks, err = encodeRoot(documents, known, nestedFormat)
	if err != nil {
		return nil, fmt.Errorf("root document: %w", err)
	}
	return r, nil
}

// Representations returns the forms of the root document in a shape.
func (r *Root) Representations(shape Shape) (Representations, error) {
	if shape == Flat {
		return r.flat()
	}
	return r.nested, nil
}

// encodeRoot writes a root document. Its entity tag is made of the sums of its
// chunks, which are a function of its content.
func encodeRoot(documents []*Document, known []rootChunk, format rootFormat) (Representations, []rootChunk, error) {
	begin, err := spec3.NewChunk([]byte(format.begin))
	if err != nil {
		return Representations{}, nil, err
	}
	end, err := spec3.NewChunk([]byte("}}"))
	if err != nil {
		return Representations{}, nil, err
	}
	compressed := []spec3.Chunk{begin}
	size := len(format.begin) + 2
	sum := sha256.New()
	var chunks []rootChunk
	for start := 0; start < len(documents); start += chunkDocuments {
		part := documents[start:min(start+chunkDocuments, len(documents))]
		var c rootChunk
		if n := len(chunks); n < len(known) && slices.Equal(known[n].documents, part) {
			c = known[n]
		} else if c, err = newRootChunk(part, start > 0, format); err != nil {
			return Representations{}, nil, err
		}
		chunks = append(chunks, c)
		compressed = append(compressed, c.gzip)
		size += len(c.text)
		sum.Write(c.sum[:])
	}
	out := append(make([]byte, 0, size), format.begin...)
	for _, c := range chunks {
		out = append(out, c.text...)
	}
	out = append(out, "}}"...)
	sum.Write([]byte(format.begin))
	tag := fmt.Sprintf("%X", sum.Sum(nil))
	return Representations{
		JSON:     Representation{Body: out, ETag: etag(tag, JSON)},
		JSONGzip: Representation{Body: spec3.JoinChunks(append(compressed, end)...), ETag: etag(tag, JSONGzip)},
	}, chunks, nil
}

// newRootChunk writes a chunk. Paths and tags hold only characters that need no
// escaping, neither in JSON nor in a URL (see [spec3.CheckPath]).
func newRootChunk(documents []*Document, comma bool, format rootFormat) (rootChunk, error) {
	const perDocument = 192
	// A copy: a part of the snapshot's list would hold all of the list, and with it
	// documents that are long gone.
	c := rootChunk{documents: slices.Clone(documents), text: make([]byte, 0, perDocument*len(documents))}
	for _, d := range documents {
		if comma {
			c.text = append(c.text, ',')
		}
		comma = true
		c.text = append(c.text, '"')
		c.text = append(c.text, d.path...)
		c.text = append(c.text, `":`...)
		c.text = append(c.text, format.before...)
		c.text = append(c.text, d.url...)
		c.text = append(c.text, format.after...)
	}
	c.sum = sha256.Sum256(c.text)
	var err error
	c.gzip, err = spec3.NewChunk(c.text)
	return c, err
}
