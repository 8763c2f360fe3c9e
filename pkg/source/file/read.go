package file

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/seed-0662880d/openapi-server/pkg/spec3"
	"github.com/seed-0662880d/openapi-server/pkg/store"
)

// ErrNotYet is wrapped by errors about kinds of documents that are part of the
// design and not of this version.
var ErrNotYet = errors.New("not supported yet")

// Contributions returns what the text of a file contributes: one document per
// group-version. No documents at all, as in a file of comments, is no error. The
// contributions have no source; [store.Store.Apply] sets it.
//
// Errors name what is wrong as [spec3.Error] does.
func Contributions(name string, text []byte, limits spec3.Limits) ([]store.Contribution, error) {
	values, err := spec3.Decode(text, limits)
	if err != nil {
		return nil, err
	}
	byPath := map[string][]spec3.Part{}
	var paths []string
	for i, v := range values {
		d, err := spec3.FromValue(v, limits)
		if errors.Is(err, spec3.ErrNotOpenAPI3) {
			err = otherKind(v, err)
		}
		if err != nil {
			return nil, err
		}
		documents, err := d.Split()
		if err != nil {
			return nil, v.Locate(err)
		}
		for path, d := range documents {
			if byPath[path] == nil {
				paths = append(paths, path)
			}
			source := name
			if len(values) > 1 {
				source = fmt.Sprintf("%s (document %d)", name, i+1)
			}
			byPath[path] = append(byPath[path], spec3.Part{Source: source, Document: d})
		}
	}
	contributions := make([]store.Contribution, 0, len(paths))
	for _, path := range paths {
		d, conflicts := spec3.Merge(byPath[path]...)
		if len(conflicts) > 0 {
			return nil, conflicts[0]
		}
		contributions = append(contributions, store.Contribution{Path: path, Priority: store.PriorityDocument, Document: d})
	}
	return contributions, nil
}

// otherKind explains what a value is that is not an OpenAPI 3.0 document.
func otherKind(v spec3.Value, otherwise error) error {
	if version, ok := v.Member("swagger"); ok {
		return v.Locate(&spec3.Error{Pointer: "/swagger", Err: fmt.Errorf(
			"a Swagger %s document is %w; convert it to OpenAPI 3.0", version, ErrNotYet)})
	}
	kind, ok := v.Member("kind")
	if !ok {
		return otherwise
	}
	apiVersion, _ := v.Member("apiVersion")
	var err error
	switch group, _, _ := strings.Cut(apiVersion, "/"); {
	case group == "apiextensions.k8s.io" && kind == "CustomResourceDefinition",
		group == "apiregistration.k8s.io" && kind == "APIService",
		apiVersion == "v1" && kind == "List":
		err = fmt.Errorf("a %s (%s) is %w; give OpenAPI 3.0 documents", kind, apiVersion, ErrNotYet)
	default:
		err = fmt.Errorf("a %s (%s) is nothing to publish; give OpenAPI 3.0 documents", kind, apiVersion)
	}
	return v.Locate(&spec3.Error{Pointer: "/kind", Err: err})
}

// readFile reads a regular file that is no larger than the limit. It never reads
// more, and never opens anything else: opening a pipe waits for a writer.
func readFile(path string, limits spec3.Limits) ([]byte, error) {
	limit := limits.MaxBytes
	if limit == 0 {
		limit = spec3.DefaultMaxBytes
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, reason(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%w: %d bytes, the limit is %d", spec3.ErrTooLarge, info.Size(), limit)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, reason(err)
	}
	defer f.Close()
	// The file may grow while it is read; Decode refuses the byte too many.
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, reason(err)
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
