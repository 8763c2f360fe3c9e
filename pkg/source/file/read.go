package file

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/seed-0662880d/openapi-server/pkg/crdschema"
	"github.com/seed-0662880d/openapi-server/pkg/spec3"
	"github.com/seed-0662880d/openapi-server/pkg/store"
)

// ErrNotYet is wrapped by errors about kinds of documents that are part of the
// design and not of this version.
var ErrNotYet = errors.New("not supported yet")

// Part is what one source of a file contributes.
type Part struct {
	store.Update
	// Definition is what the part was made of; nil for OpenAPI documents.
	Definition *crdschema.Definition
	// Took is how long it took to read a definition; 0 for OpenAPI documents.
	Took time.Duration
}

// Parts returns what the text of a file contributes: one part for its OpenAPI
// documents together, whose source is the file's name, and one for each
// CustomResourceDefinition, whose source is the name and that of the definition. No
// documents at all, as in a file of comments, is no error.
//
// Errors are those of single definitions, which hide no other, or one for the whole
// text. They name what is wrong as [spec3.Error] does.
func Parts(name string, text []byte, limits spec3.Limits) ([]Part, []error) {
	values, err := spec3.Decode(text, limits)
	if err != nil {
		return nil, []error{err}
	}
	r := reader{name: name, limits: limits, documents: map[string][]spec3.Part{}}
	for i, v := range values {
		source := name
		if len(values) > 1 {
			source = fmt.Sprintf("%s (document %d)", name, i+1)
		}
		if err := r.value(source, v); err != nil {
			return nil, []error{err}
		}
	}
	parts, err := r.parts()
	if err != nil {
		return nil, []error{err}
	}
	return parts, r.errs
}

// reader collects what the documents of a text contribute.
type reader struct {
	name        string
	limits      spec3.Limits
	documents   map[string][]spec3.Part
	paths       []string // of documents, in the order of the text
	definitions []Part
	errs        []error
}

// value reads one document. An error is one for the whole text.
func (r *reader) value(source string, v spec3.Value) error {
	d, err := spec3.FromValue(v, r.limits)
	if errors.Is(err, spec3.ErrNotOpenAPI3) {
		return r.otherKind(source, v, err)
	}
	if err != nil {
		return err
	}
	documents, err := d.Split()
	if err != nil {
		return v.Locate(err)
	}
	for path, d := range documents {
		if r.documents[path] == nil {
			r.paths = append(r.paths, path)
		}
		r.documents[path] = append(r.documents[path], spec3.Part{Source: source, Document: d})
	}
	return nil
}

// otherKind reads what is not an OpenAPI 3.0 document, or explains what it is.
func (r *reader) otherKind(source string, v spec3.Value, otherwise error) error {
	if version, ok := v.Member("swagger"); ok {
		return v.Locate(&spec3.Error{Pointer: "/swagger", Err: fmt.Errorf(
			"a Swagger %s document is %w; convert it to OpenAPI 3.0", version, ErrNotYet)})
	}
	kind, ok := v.Member("kind")
	if !ok {
		return otherwise
	}
	apiVersion, _ := v.Member("apiVersion")
	group, _, _ := strings.Cut(apiVersion, "/")
	switch {
	case group == "apiextensions.k8s.io" && kind == "CustomResourceDefinition":
		if err := r.definition(v); err != nil {
			r.errs = append(r.errs, err)
		}
		return nil
	case apiVersion == "v1" && kind == "List":
		for i, item := range v.Elements("items") {
			if err := r.value(fmt.Sprintf("%s (item %d)", source, i+1), item); err != nil {
				return err
			}
		}
		return nil
	case group == "apiregistration.k8s.io" && kind == "APIService":
		return v.Locate(&spec3.Error{Pointer: "/kind", Err: fmt.Errorf("an APIService (%s) is %w", apiVersion, ErrNotYet)})
	}
	return v.Locate(&spec3.Error{Pointer: "/kind", Err: fmt.Errorf(
		"a %s (%s) is nothing to publish; give OpenAPI 3.0 documents or CustomResourceDefinitions", kind, apiVersion)})
}

// definition reads a CustomResourceDefinition.
func (r *reader) definition(v spec3.Value) error {
	start := time.Now()
	d, err := crdschema.Parse(v, r.limits)
	if err != nil {
		return err
	}
	if d.Withheld != "" {
		return v.Locate(&spec3.Error{Pointer: "/status", Err: fmt.Errorf("%s is not served by its cluster: %s", d.Name, d.Withheld)})
	}
	documents, err := d.Documents(r.limits)
	if err != nil {
		return err
	}
	u := Part{Update: store.Update{Source: r.name + ": " + d.Name}, Definition: d}
	for _, other := range r.definitions {
		if other.Source == u.Source {
			return v.Locate(&spec3.Error{Pointer: "/metadata", Err: fmt.Errorf("the CustomResourceDefinition %s is there twice", d.Name)})
		}
	}
	for _, x := range documents {
		u.Contributions = append(u.Contributions, store.Contribution{
			Path: x.Path, Priority: store.PriorityCRD, Part: true, Document: x.Document,
		})
	}
	u.Took = time.Since(start)
	r.definitions = append(r.definitions, u)
	return nil
}

// parts returns what was read.
func (r *reader) parts() ([]Part, error) {
	if len(r.paths) == 0 {
		return r.definitions, nil
	}
	u := Part{Update: store.Update{Source: r.name}}
	for _, path := range r.paths {
		d, conflicts := spec3.Merge(r.documents[path]...)
		if len(conflicts) > 0 {
			return nil, conflicts[0]
		}
		u.Contributions = append(u.Contributions, store.Contribution{Path: path, Priority: store.PriorityDocument, Document: d})
	}
	return append(r.definitions, u), nil
}

// errUnread is wrapped by errors about files whose text could not be had. They may
// be in order at the next try, though nothing of them changes.
var errUnread = errors.New("cannot be read")

// readFile reads a regular file that is no larger than the limit. It never reads
// more, and never opens anything else: opening a pipe waits for a writer.
func readFile(path string, limits spec3.Limits) ([]byte, error) {
	limit := limits.MaxBytes
	if limit == 0 {
		limit = spec3.DefaultMaxBytes
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnread, reason(err))
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: it is not a regular file", errUnread)
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%w: %d bytes, the limit is %d", spec3.ErrTooLarge, info.Size(), limit)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnread, reason(err))
	}
	defer f.Close()
	// The file may grow while it is read; Decode refuses the byte too many.
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnread, reason(err))
	}
	return text, nil
}

// reason takes the path out of an error of package os: who shows the error puts
// it in front.
func reason(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}

// At puts a file's name in front of an error of [Parts], as "FILE:LINE:COLUMN: …"
// where the place is known, so that editors find it.
func At(path string, err error) error {
	if e, ok := errors.AsType[*spec3.Error](err); ok && e.Line > 0 {
		return fmt.Errorf("%s:%w", path, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}
