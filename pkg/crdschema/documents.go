package crdschema

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed-0662880d/openapi-server/pkg/spec3"
)

// Document is the part of a group-version's document that one definition gives.
type Document struct {
	// Path is where it is published: "apis/example.com/v1".
	Path string
	// Version is the name of the version: "v1".
	Version  string
	Document *spec3.Document
}

// Documents returns one document for each version that is served, in the order of
// the definition. Definitions that a cluster withholds have documents, too; see
// [Definition.Withheld]. Errors are of type [*spec3.Error], with the place in the
// text where one is known.
func (d *Definition) Documents(limits spec3.Limits) ([]Document, error) {
	kubernetes, err := shared()
	if err != nil {
		return nil, err
	}
	var out []Document
	for i := range d.versions {
		v := &d.versions[i]
		if !v.Served {
			continue
		}
		text, err := d.text(v)
		if err != nil {
			return nil, d.value.Locate(err)
		}
		base := kubernetes.plain
		if v.hasScale() {
			base = kubernetes.scale
		}
		document, err := spec3.ParseOnto(base, text, limits)
		if err != nil {
			// The error points into what was made, not into what was read.
			if e, ok := errors.AsType[*spec3.Error](err); ok {
				err = fmt.Errorf("%s: %w", e.Pointer, e.Err)
			}
			return nil, fmt.Errorf("the document of %s %s: %w", d.Name, v.Name, err)
		}
		out = append(out, Document{Path: "apis/" + d.Group + "/" + v.Name, Version: v.Name, Document: document})
	}
	return out, nil
}

// text returns the JSON of a version's own part of its document.
func (d *Definition) text(v *version) (jsontext.Value, error) {
	kind, err := d.kindSchema(v)
	if err != nil {
		return nil, err
	}
	schemas := members{
		{d.schemaName(v, d.Kind), kind},
		{d.schemaName(v, d.ListKind), d.listSchema(v)},
	}
	return members{
		{"openapi", quoted("3.0.0")},
		{"info", info},
		{"paths", d.paths(v).object()},
		{"components", members{{"schemas", schemas.object()}}.object()},
	}.object(), nil
}

// info is the same for all definitions, so that their documents merge.
var info = members{{"title", quoted("Kubernetes CRD Swagger")}, {"version", quoted("v0.1.0")}}.object()
