package crdschema_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"sigs.k8s.io/yaml"

	"github.com/seed-0662880d/openapi-server/internal/testdocs"
	"github.com/seed-0662880d/openapi-server/pkg/crdschema"
	"github.com/seed-0662880d/openapi-server/pkg/spec3"
)

// The documents of the incumbent's builder and ours are equal, but for the
// differences that normalize takes out, each of which is intended.
func TestDocumentsEqualTheIncumbents(t *testing.T) {
	definitions, err := testdocs.CustomResourceDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(definitions, corners)
	compared := 0
	for name, text := range definitions {
		t.Run(name, func(t *testing.T) {
			for version, ours := range build(t, text) {
				compared++
				peer := buildPeer(t, text, version)
				normalizeOurs(ours)
				normalizePeer(peer)
				normalizeBoth(ours, peer)
				compare(t, version, ours, peer)
			}
		})
	}
	if compared < 30 {
		t.Errorf("only %d documents were compared", compared)
	}
}

// documents reads one definition.
func documents(t testing.TB, text []byte) []crdschema.Document {
	t.Helper()
	values, err := spec3.Decode(text, spec3.Limits{})
	if err != nil || len(values) != 1 {
		t.Fatal(len(values), err)
	}
	d, err := crdschema.Parse(values[0], spec3.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := d.Documents(spec3.Limits{})
	if err != nil {
		t.Fatalf("%v\n%.2000s", err, text)
	}
	return out
}

func build(t testing.TB, text []byte) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for _, x := range documents(t, text) {
		out[x.Version] = decode(t, x.Document.JSON())
	}
	return out
}

func buildPeer(t testing.TB, text []byte, version string) map[string]any {
	t.Helper()
	var crd apiextensions.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	if crd.Spec.Names.ListKind == "" {
		crd.Spec.Names.ListKind = crd.Spec.Names.Kind + "List"
	}
	document, err := builder.BuildOpenAPIV3(&crd, version, builder.Options{IncludeSelectableFields: true})
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, encoded)
}

func decode(t testing.TB, text []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// normalizeOurs: parameters are shared as components, where the incumbent has them
// inline.
func normalizeOurs(document map[string]any) {
	components := document["components"].(map[string]any)
	parameters := components["parameters"].(map[string]any)
	eachParameters(document, func(list []any) []any {
		for i, p := range list {
			if ref, ok := p.(map[string]any)["$ref"].(string); ok {
				list[i] = parameters[strings.TrimPrefix(ref, "#/components/parameters/")]
			}
		}
		return list
	})
	delete(components, "parameters")
}

// normalizePeer: DeleteOptions is listed under every group that the scheme of
// apiextensions knows, which has nothing to do with the document.
func normalizePeer(document map[string]any) {
	schemas := document["components"].(map[string]any)["schemas"].(map[string]any)
	options := schemas["io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"].(map[string]any)
	options["x-kubernetes-group-version-kind"] = []any{map[string]any{"group": "", "kind": "DeleteOptions", "version": "v1"}}
}

// normalizeBoth: parameters that all operations of a path share may stand with the
// path or with each operation; the descriptions of pretty and namespace are our own;
// and what the author says of apiVersion, kind and metadata stays, where the
// incumbent replaces it.
func normalizeBoth(ours, peer map[string]any) {
	for _, document := range []map[string]any{ours, peer} {
		for _, item := range document["paths"].(map[string]any) {
			item := item.(map[string]any)
			common, _ := item["parameters"].([]any)
			delete(item, "parameters")
			for _, o := range item {
				o := o.(map[string]any)
				own, _ := o["parameters"].([]any)
				all := append(slices.Clone(common), own...)
				for i, p := range all {
					p := maps.Clone(p.(map[string]any))
					if p["name"] == "pretty" || p["name"] == "namespace" {
						delete(p, "description")
					}
					all[i] = p
				}
				slices.SortFunc(all, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
				o["parameters"] = all
			}
		}
	}
	ourSchemas := ours["components"].(map[string]any)["schemas"].(map[string]any)
	peerSchemas := peer["components"].(map[string]any)["schemas"].(map[string]any)
	for name, s := range ourSchemas {
		if p, ok := peerSchemas[name]; ok && !strings.HasPrefix(name, "io.k8s.api.") && !strings.HasPrefix(name, "io.k8s.apimachinery.") {
			adoptObjectFields(s, p, true)
		}
	}
}

// adoptObjectFields takes out what differs by intention in the fields that every
// object has, at the root and in embedded resources.
func adoptObjectFields(ours, peer any, root bool) {
	o, ok := ours.(map[string]any)
	p, ok2 := peer.(map[string]any)
	if !ok || !ok2 {
		return
	}
	properties, _ := o["properties"].(map[string]any)
	peers, _ := p["properties"].(map[string]any)
	if root || o["x-kubernetes-embedded-resource"] == true {
		for _, name := range []string{"apiVersion", "kind"} {
			if x, ok := properties[name].(map[string]any); ok {
				x["description"] = peers[name].(map[string]any)["description"]
			}
		}
		if x, ok := properties["metadata"].(map[string]any); ok {
			own, kubernetes := maps.Clone(x), peers["metadata"].(map[string]any)
			if !reflect.DeepEqual(own["allOf"], kubernetes["allOf"]) {
				own["differs"] = true
			}
			properties["metadata"] = maps.Clone(kubernetes)
			if own["differs"] == true {
				properties["metadata"].(map[string]any)["differs"] = own
			}
		}
	}
	for name := range properties {
		adoptObjectFields(properties[name], peers[name], false)
	}
	adoptObjectFields(o["items"], p["items"], false)
	adoptObjectFields(o["additionalProperties"], p["additionalProperties"], false)
}

func eachParameters(document map[string]any, change func([]any) []any) {
	for _, item := range document["paths"].(map[string]any) {
		item := item.(map[string]any)
		if list, ok := item["parameters"].([]any); ok {
			item["parameters"] = change(list)
		}
		for _, o := range item {
			if o, ok := o.(map[string]any); ok {
				if list, ok := o["parameters"].([]any); ok {
					o["parameters"] = change(list)
				}
			}
		}
	}
}

// compare reports the first few places where two values differ.
func compare(t *testing.T, pointer string, ours, peer any) {
	t.Helper()
	if t.Failed() {
		return
	}
	if reflect.DeepEqual(ours, peer) {
		return
	}
	o, ok := ours.(map[string]any)
	p, ok2 := peer.(map[string]any)
	if !ok || !ok2 {
		t.Errorf("%s:\nours %.600s\npeer %.600s", pointer, encoded(ours), encoded(peer))
		return
	}
	names := map[string]bool{}
	for name := range o {
		names[name] = true
	}
	for name := range p {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		a, inOurs := o[name]
		b, inPeer := p[name]
		if inOurs != inPeer {
			t.Errorf("%s/%s: in ours %v, in the peer's %v: %.300s", pointer, name, inOurs, inPeer, encoded([]any{a, b}))
			return
		}
		compare(t, pointer+"/"+name, a, b)
	}
}

func encoded(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(out)
}
