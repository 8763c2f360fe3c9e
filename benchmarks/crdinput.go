package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/kube-openapi/pkg/handler3"
	openapi "k8s.io/kube-openapi/pkg/spec3"

	"golang.org/x/sync/errgroup"

	"github.com/seed-0662880d/openapi-server/pkg/crdschema"
	"github.com/seed-0662880d/openapi-server/pkg/handler"
	"github.com/seed-0662880d/openapi-server/pkg/spec3"
	"github.com/seed-0662880d/openapi-server/pkg/store"
)

// generatedCRD returns the JSON of a definition of realistic size: one version, about
// 40 KB as YAML, nested 8 deep. Variant makes it differ in one description.
func generatedCRD(group string, n, variant int) []byte {
	words := "the controller compares what is wanted with what it observes and reports the difference as a condition"
	var object func(depth int) map[string]any
	object = func(depth int) map[string]any {
		properties := map[string]any{}
		for i := range 9 {
			name := fmt.Sprintf("field%d%c", depth, 'A'+i)
			description := fmt.Sprintf("%s at level %d of definition %d says how %s.", name, depth, n, words)
			switch i % 4 {
			case 0:
				properties[name] = map[string]any{"type": "string", "description": description, "minLength": 1, "maxLength": 253}
			case 1:
				properties[name] = map[string]any{"type": "integer", "format": "int32", "description": description, "minimum": 0, "default": i}
			case 2:
				properties[name] = map[string]any{"type": "array", "description": description, "items": map[string]any{"type": "string"}, "x-kubernetes-list-type": "atomic"}
			default:
				properties[name] = map[string]any{"x-kubernetes-int-or-string": true, "description": description}
			}
		}
		if depth < 8 {
			properties["nested"] = object(depth + 1)
			properties["list"] = map[string]any{"type": "array", "items": map[string]any{"type": "object", "description": words, "properties": map[string]any{
				"key": map[string]any{"type": "string", "description": words}, "value": map[string]any{"type": "string", "description": words},
			}}}
		}
		for i := range 10 {
			properties[fmt.Sprintf("option%d%c", depth, 'A'+i)] = map[string]any{
				"type": "string", "enum": []any{"Always", "Never", fmt.Sprint("Sometimes", i)}, "description": "Whether " + words + ".",
			}
		}
		return map[string]any{"type": "object", "description": words, "properties": properties}
	}
	schema := map[string]any{
		"type": "object", "description": fmt.Sprintf("Definition %d, variant %d.", n, variant),
		"properties": map[string]any{"spec": object(2), "status": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
	}
	plural := fmt.Sprintf("things%d", n)
	text, err := json.Marshal(map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + group},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced",
			"names": map[string]any{"plural": plural, "kind": fmt.Sprintf("Thing%d", n), "listKind": fmt.Sprintf("Thing%dList", n)},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": schema}, "subresources": map[string]any{"status": map[string]any{}},
			}},
		},
	})
	if err != nil {
		return nil // maps of strings and numbers can be encoded
	}
	return text
}

func generatedCRDs(n, groups int) [][]byte {
	out := make([][]byte, n)
	for i := range out {
		out[i] = generatedCRD(fmt.Sprintf("group%d.example.com", i%groups), i, 0)
	}
	return out
}

// checkGenerated makes sure that what is generated is what the peer publishes in
// full: of a schema that is not structural it publishes nothing.
func checkGenerated(text []byte) error {
	values, err := spec3.Decode(text, spec3.Limits{})
	if err != nil {
		return err
	}
	d, err := crdschema.Parse(values[0], spec3.Limits{})
	if err != nil {
		return err
	}
	if findings := d.Findings(); len(findings) > 0 {
		return fmt.Errorf("the generated definition: %s", findings[0].Text)
	}
	return nil
}

// readOurs turns the text of a definition into contributions.
func readOurs(text []byte) (store.Update, error) {
	values, err := spec3.Decode(text, spec3.Limits{})
	if err != nil {
		return store.Update{}, err
	}
	d, err := crdschema.Parse(values[0], spec3.Limits{})
	if err != nil {
		return store.Update{}, err
	}
	documents, err := d.Documents(spec3.Limits{})
	if err != nil {
		return store.Update{}, err
	}
	u := store.Update{Source: d.Name}
	for _, x := range documents {
		u.Contributions = append(u.Contributions, store.Contribution{Path: x.Path, Priority: store.PriorityCRD, Part: true, Document: x.Document})
	}
	return u, nil
}

// oursOf publishes definitions as the file source does: in batches, side by side.
func oursOf(texts [][]byte) (*store.Store, error) {
	const batchFiles = 256
	s, err := store.New(store.Options{})
	if err != nil {
		return nil, err
	}
	for batch := range slices.Chunk(texts, batchFiles) {
		updates := make([]store.Update, len(batch))
		var group errgroup.Group
		group.SetLimit(runtime.GOMAXPROCS(0))
		for i, text := range batch {
			group.Go(func() (err error) {
				updates[i], err = readOurs(text)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return nil, err
		}
		if err := s.Apply(updates...); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// incumbent is what kube-apiserver has: the controller's specs of each definition,
// and handler3 with the merged ones.
type incumbent struct {
	service *handler3.OpenAPIService
	specs   map[string]map[string]*openapi.OpenAPI // by path and name
}

func (p *incumbent) read(text []byte) (path string, err error) {
	var crd apiextensions.CustomResourceDefinition
	if err := json.Unmarshal(text, &crd); err != nil {
		return "", err
	}
	for _, v := range crd.Spec.Versions {
		if !v.Served {
			continue
		}
		document, err := builder.BuildOpenAPIV3(&crd, v.Name, builder.Options{IncludeSelectableFields: true})
		if err != nil {
			return "", err
		}
		path = "apis/" + crd.Spec.Group + "/" + v.Name
		if p.specs[path] == nil {
			p.specs[path] = map[string]*openapi.OpenAPI{}
		}
		p.specs[path][crd.Name] = document
	}
	return path, nil
}

func (p *incumbent) merge(path string) error {
	var specs []*openapi.OpenAPI
	for _, s := range p.specs[path] {
		specs = append(specs, s)
	}
	merged, err := builder.MergeSpecsV3(specs...)
	if err != nil {
		return err
	}
	p.service.UpdateGroupVersion(path, merged)
	return nil
}

// root asks for the root document, which makes handler3 encode what it has to hash.
func (p *incumbent) root() error {
	w := &discard{header: http.Header{}}
	p.service.HandleDiscovery(w, httptest.NewRequest(http.MethodGet, handler.Root, nil))
	if w.size == 0 {
		return fmt.Errorf("no root document")
	}
	return nil
}

// incumbentOf publishes definitions, each merged once; the real controller merges a
// group-version again for each of its definitions.
func incumbentOf(texts [][]byte) (*incumbent, error) {
	p := &incumbent{service: handler3.NewOpenAPIService(), specs: map[string]map[string]*openapi.OpenAPI{}}
	for _, text := range texts {
		if _, err := p.read(text); err != nil {
			return nil, err
		}
	}
	for path := range p.specs {
		if err := p.merge(path); err != nil {
			return nil, err
		}
	}
	return p, p.root()
}
