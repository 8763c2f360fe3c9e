package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/kube-openapi/pkg/handler3"
	openapi "k8s.io/kube-openapi/pkg/spec3"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/yaml"

	"github.com/seed-0662880d/openapi-server/internal/testdocs"
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

const (
	manyCRDs   = 1000
	manyGroups = 160
)

func compareManyCRDs(int) (row, error) {
	texts := generatedCRDs(manyCRDs, manyGroups)
	if err := checkGenerated(texts[0]); err != nil {
		return row{}, err
	}
	return compareCRDs(texts)
}

// compareRealCRDs takes the definitions of gateway-api (standard) and cert-manager.
func compareRealCRDs(int) (row, error) {
	definitions, err := testdocs.CustomResourceDefinitions()
	if err != nil {
		return row{}, err
	}
	var texts [][]byte
	for name, text := range definitions {
		if strings.Contains(name, "/experimental/") {
			continue // the same names once more
		}
		encoded, err := yaml.YAMLToJSON(text)
		if err != nil {
			return row{}, fmt.Errorf("%s: %w", name, err)
		}
		texts = append(texts, encoded)
	}
	// What both make once in a process.
	if _, err := compareCRDs(texts[:1]); err != nil {
		return row{}, err
	}
	return compareCRDs(texts)
}

func compareCRDs(texts [][]byte) (row, error) {
	start := time.Now()
	ours, err := oursOf(texts)
	if err != nil {
		return row{}, err
	}
	x := time.Since(start)
	runtime.KeepAlive(ours)
	start = time.Now()
	if _, err := incumbentOf(texts); err != nil {
		return row{}, err
	}
	y := time.Since(start)
	return row{
		ours: x.Round(time.Millisecond).String(), peer: y.Round(time.Millisecond).String(),
		ratio: fmt.Sprintf("%.1f x faster", y.Seconds()/x.Seconds()), met: y >= 5*x,
	}, nil
}

func compareManyCRDsHeap(int) (row, error) {
	texts := generatedCRDs(manyCRDs, manyGroups)
	// What is made once in a process is no matter of the number of definitions.
	if _, err := oursOf(texts[:1]); err != nil {
		return row{}, err
	}
	if _, err := incumbentOf(texts[:1]); err != nil {
		return row{}, err
	}
	before := heapInUse()
	ours, err := oursOf(texts)
	if err != nil {
		return row{}, err
	}
	x := heapInUse() - before
	runtime.KeepAlive(ours) // and no longer: what follows is the peer's alone
	before = heapInUse()
	peer, err := incumbentOf(texts)
	if err != nil {
		return row{}, err
	}
	y := heapInUse() - before
	runtime.KeepAlive(peer)
	runtime.KeepAlive(texts)
	return bytesRow(x, y, 1.0/8), nil
}

// changeOurs returns how long it takes from the text of a changed definition until
// the root and the gzipped document are served.
func changeOurs(s *store.Store, group string, n, rounds int) (float64, error) {
	h := handler.New(s, handler.Options{})
	var times []float64
	for i := range rounds {
		text := generatedCRD(group, n, i+1)
		start := time.Now()
		u, err := readOurs(text)
		if err != nil {
			return 0, err
		}
		if err := s.Apply(u); err != nil {
			return 0, err
		}
		if err := ask(h, "apis/"+group+"/v1", "application/json", "Accept-Encoding", "gzip"); err != nil {
			return 0, err
		}
		times = append(times, time.Since(start).Seconds()*1000)
	}
	return median(times), nil
}

func inOneGroup(n int) [][]byte {
	texts := make([][]byte, n)
	for i := range texts {
		texts[i] = generatedCRD("one.example.com", i, 0)
	}
	return texts
}

func compareCRDChange(rounds int) (row, error) {
	ours, err := oursOf(inOneGroup(100))
	if err != nil {
		return row{}, err
	}
	x, err := changeOurs(ours, "one.example.com", 50, 3*rounds)
	if err != nil {
		return row{}, err
	}
	peer, err := incumbentOf(inOneGroup(100))
	if err != nil {
		return row{}, err
	}
	var times []float64
	for i := range rounds {
		text := generatedCRD("one.example.com", 50, i+1)
		start := time.Now()
		path, err := peer.read(text)
		if err != nil {
			return row{}, err
		}
		if err := peer.merge(path); err != nil {
			return row{}, err
		}
		if err := peer.root(); err != nil {
			return row{}, err
		}
		if err := ask(http.HandlerFunc(peer.service.HandleGroupVersion), path, "application/json"); err != nil {
			return row{}, err
		}
		times = append(times, time.Since(start).Seconds()*1000)
	}
	y := median(times)
	return row{ours: fmt.Sprintf("%.2f ms", x), peer: fmt.Sprintf("%.1f ms", y), ratio: fmt.Sprintf("%.1f x faster", y/x), met: y/x >= 15}, nil
}

// compareCRDChangeByGroup is ours alone: a group-version with 100 definitions against
// one with 10.
func compareCRDChangeByGroup(rounds int) (row, error) {
	hundred, err := oursOf(inOneGroup(100))
	if err != nil {
		return row{}, err
	}
	ten, err := oursOf(inOneGroup(10))
	if err != nil {
		return row{}, err
	}
	var results pairs
	for range rounds {
		x, err := changeOurs(hundred, "one.example.com", 5, 5)
		if err != nil {
			return row{}, err
		}
		y, err := changeOurs(ten, "one.example.com", 5, 5)
		if err != nil {
			return row{}, err
		}
		results.add(x, y)
	}
	return row{
		ours: fmt.Sprintf("%.2f ms", results.ours()), peer: fmt.Sprintf("%.2f ms", results.peers()),
		ratio: fmt.Sprintf("%.2f x", results.ratio()), met: results.ratio() < 1.5,
	}, nil
}

// compareTenThousand is ours alone: 10,000 definitions against 1,000, in as many more
// groups.
func compareTenThousand(int) (row, error) {
	thousand, tenThousand := generatedCRDs(manyCRDs, manyGroups), generatedCRDs(10*manyCRDs, 10*manyGroups)
	start := time.Now()
	if _, err := oursOf(thousand); err != nil {
		return row{}, err
	}
	y := time.Since(start)
	start = time.Now()
	if _, err := oursOf(tenThousand); err != nil {
		return row{}, err
	}
	x := time.Since(start)
	return row{
		ours: x.Round(time.Millisecond).String(), peer: y.Round(time.Millisecond).String(),
		ratio: fmt.Sprintf("%.1f x", x.Seconds()/y.Seconds()), met: x < 12*y,
	}, nil
}

func compareTenThousandChange(rounds int) (row, error) {
	small, err := oursOf(generatedCRDs(manyCRDs, manyGroups))
	if err != nil {
		return row{}, err
	}
	large, err := oursOf(generatedCRDs(10*manyCRDs, 10*manyGroups))
	if err != nil {
		return row{}, err
	}
	var results pairs
	for range rounds {
		x, err := changeOurs(large, "group7.example.com", 7, 5)
		if err != nil {
			return row{}, err
		}
		y, err := changeOurs(small, "group7.example.com", 7, 5)
		if err != nil {
			return row{}, err
		}
		results.add(x, y)
	}
	return row{
		ours: fmt.Sprintf("%.2f ms", results.ours()), peer: fmt.Sprintf("%.2f ms", results.peers()),
		ratio: fmt.Sprintf("%.2f x", results.ratio()), met: results.ratio() < 1.5,
	}, nil
}
