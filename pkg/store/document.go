package store

import (
	"context"
	"sync/atomic"

	"github.com/seed-0662880d/openapi-server/pkg/spec3"
)

// Format is one of the forms in which a document is served.
type Format int

// The forms there are. JSON is the canonical JSON of [spec3.Document]; Protobuf
// is gnostic's openapi.v3.Document.
const (
	JSON Format = iota
	JSONGzip
	Protobuf
	ProtobufGzip
	formats int = iota
)

var formatNames = [formats]string{"json", "json-gzip", "protobuf", "protobuf-gzip"}

// etagSuffixes tell the forms of one document apart. The plain JSON's ETag is the
// tag itself.
var etagSuffixes = [formats]string{"", ".gz", ".pb", ".pb.gz"}

func (f Format) String() string { return formatNames[f] }

func etag(tag string, f Format) string { return `"` + tag + etagSuffixes[f] + `"` }

// Representation is one form of a document.
type Representation struct {
	// Body must not be changed.
	Body []byte
	// ETag is a strong entity tag with its quotes (RFC 9110 section 8.8.3).
	ETag string
}

// Document is what is published under one path. It is immutable, apart from forms
// that are made on demand.
type Document struct {
	path    string
	url     string
	sources []string
	*content
}

// content is what a document says, in all its forms. A document that changes
// nothing but its sources keeps it.
type content struct {
	packed   packed
	etags    [formats]string
	cache    *variantCache
	variants [formats]atomic.Pointer[variant]
	// unpacked is true once somebody has asked for the plain JSON.
	unpacked atomic.Bool
}

// newDocument returns the document that follows before, which may be nil.
func newDocument(path string, o outcome, before *Document, cache *variantCache) *Document {
	d := &Document{path: path, url: "/openapi/v3/" + path + "?etag=" + o.packed.tag, sources: o.sources}
	if before != nil && before.packed.tag == o.packed.tag {
		d.content = before.content
		return d
	}
	d.content = &content{packed: o.packed, cache: cache}
	for f := range formats {
		d.etags[f] = etag(o.packed.tag, Format(f))
	}
	return d
}

// Path returns where the document is published: "apis/apps/v1".
func (d *Document) Path() string { return d.path }

// Tag returns the name of the document's content (see [spec3.Document.Tag]).
func (d *Document) Tag() string { return d.packed.tag }

// Sources returns the sources whose contributions the document is made of, in the
// order of precedence. The slice must not be changed.
func (d *Document) Sources() []string { return d.sources }

// Size returns the length of the canonical JSON in bytes.
func (d *Document) Size() int { return d.packed.size }

// ETag returns the entity tag of a form, with its quotes. The form is not made for
// that.
func (d *Document) ETag(f Format) string { return d.etags[f] }

// Representation returns a form of the document. Gzipped JSON is there always;
// other forms may have to be made, once for all who wait. An error is that of
// ctx, or says why the document has no such form; the latter is the same on every
// call.
func (d *Document) Representation(ctx context.Context, f Format) (Representation, error) {
	if f == JSONGzip {
		return Representation{Body: d.packed.gzip, ETag: d.etags[f]}, nil
	}
	body, err := d.cache.get(ctx, d, f)
	if err != nil {
		return Representation{}, err
	}
	return Representation{Body: body, ETag: d.etags[f]}, nil
}

// encode makes a form from what is kept.
func (d *Document) encode(f Format) ([]byte, error) {
	if f == ProtobufGzip {
		message, err := d.protobuf()
		if err != nil {
			return nil, err
		}
		return spec3.Gzip(message)
	}
	if f == Protobuf {
		return d.protobuf()
	}
	return spec3.Gunzip(d.packed.gzip, d.packed.size)
}

// protobuf returns the message that is held, or makes it.
func (d *Document) protobuf() ([]byte, error) {
	if v := d.variants[Protobuf].Load(); v != nil {
		return v.body, v.err
	}
	canonical, err := spec3.Gunzip(d.packed.gzip, d.packed.size)
	if err != nil {
		return nil, err
	}
	return spec3.Protobuf(canonical)
}
