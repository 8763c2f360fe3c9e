package crdschema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	clientopenapi3 "k8s.io/client-go/openapi3"
	"k8s.io/client-go/rest"
	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/validation/spec"
	explain "k8s.io/kubectl/pkg/explain/v2"

	"github.com/seed-0662880d/openapi-server/internal/testdocs"
	"github.com/seed-0662880d/openapi-server/pkg/handler"
	"github.com/seed-0662880d/openapi-server/pkg/store"
)

// all returns the definitions of gateway-api and cert-manager, without the
// experimental ones of names that the standard ones have, and the corner cases.
func all(t testing.TB) map[string][]byte {
	t.Helper()
	definitions, err := testdocs.CustomResourceDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(definitions, func(name string, _ []byte) bool { return strings.Contains(name, "/experimental/") })
	definitions["corner"] = corners["subresources and selectable fields"]
	return definitions
}

// published is a server that publishes definitions.
func published(t testing.TB, definitions map[string][]byte) (*store.Store, *discovery.DiscoveryClient) {
	t.Helper()
	s, err := store.New(store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range definitions {
		u := store.Update{Source: name}
		for _, x := range documents(t, text) {
			u.Contributions = append(u.Contributions, store.Contribution{Path: x.Path, Priority: store.PriorityCRD, Part: true, Document: x.Document})
		}
		if err := s.Apply(u); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(handler.New(s, handler.Options{}))
	t.Cleanup(server.Close)
	client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return s, client
}

// client-go reads the documents, kin-openapi finds them valid, and server-side apply
// takes their schemas.
func TestClientsReadTheDocuments(t *testing.T) {
	_, client := published(t, all(t))
	root := clientopenapi3.NewRoot(client.OpenAPIV3())
	gvs, err := root.GroupVersions()
	if err != nil || len(gvs) < 5 {
		t.Fatalf("%v, %v", gvs, err)
	}
	for _, gv := range gvs {
		t.Run(gv.String(), func(t *testing.T) {
			document, err := root.GVSpec(gv)
			if err != nil {
				t.Fatal(err)
			}
			encoded, err := json.Marshal(document)
			if err != nil {
				t.Fatal(err)
			}
			loaded, err := openapi3.NewLoader().LoadFromData(encoded)
			if err != nil {
				t.Fatal(err)
			}
			// Patterns are of RE2 with a few words of ECMAScript; examples are not ours.
			if err := loaded.Validate(t.Context(), openapi3.DisableSchemaPatternValidation(), openapi3.DisableExamplesValidation(), openapi3.DisableSchemaDefaultsValidation()); err != nil {
				t.Errorf("kin-openapi: %.600s", err)
			}
			schemas := map[string]*spec.Schema{}
			maps.Copy(schemas, document.Components.Schemas)
			converted, err := schemaconv.ToSchemaFromOpenAPI(schemas, false)
			if err != nil || len(converted.Types) < len(schemas) {
				t.Errorf("schemaconv: %v", err)
			}
		})
	}
}

// kubectl explain renders the kinds, down to a field and recursively.
func TestKubectlExplain(t *testing.T) {
	_, client := published(t, all(t))
	for _, tc := range []struct {
		gvr       schema.GroupVersionResource
		path      []string
		recursive bool
		want      []string
	}{
		{schema.GroupVersionResource{Group: "fruit.example.k8s.io", Version: "v1", Resource: "apples"}, nil, false,
			[]string{"GROUP:      fruit.example.k8s.io", "KIND:       Apple", "apiVersion\t<string>", "metadata\t<ObjectMeta>", "spec\t<Object>"}},
		{schema.GroupVersionResource{Group: "fruit.example.k8s.io", Version: "v1", Resource: "apples"}, []string{"spec", "color"}, false,
			[]string{"FIELD: color <string>"}},
		{schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"}, nil, true,
			[]string{"KIND:       HTTPRoute", "parentRefs\t<[]Object>", "    sectionName\t<string>", "ownerReferences\t<[]OwnerReference>"}},
		{schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"}, []string{"spec", "privateKey"}, false,
			[]string{"FIELD: privateKey <Object>", "rotationPolicy\t<string>"}},
	} {
		var out bytes.Buffer
		if err := explain.PrintModelDescription(tc.path, &out, client.OpenAPIV3(), tc.gvr, tc.recursive, 0, "plaintext"); err != nil {
			t.Errorf("%v: %v", tc.gvr, err)
			continue
		}
		for _, want := range tc.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%v %v: no %q in\n%.1500s", tc.gvr, tc.path, want, out.String())
			}
		}
	}
}

// Whatever a schema says is in what is published, literal by literal.
func TestPublishedHoldsAllThatIsWritten(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		schema := generate(random, 5)
		schema["type"] = "object"
		encoded, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		// Literals that decoding would change.
		written := strings.ReplaceAll(string(encoded), `"BIG"`, "9007199254740993")
		written = strings.ReplaceAll(written, `"FLOAT"`, "1.0")
		text := fmt.Appendf(nil, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"x"},
			"spec":{"group":"g.example","scope":"Cluster","names":{"plural":"xs","kind":"X"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":%s}}]}}`, written)
		var out struct {
			Components struct{ Schemas map[string]json.RawMessage }
		}
		if err := json.Unmarshal(documents(t, text)[0].Document.JSON(), &out); err != nil {
			t.Fatal(err)
		}
		if missing := subset(numbers(t, []byte(written)), numbers(t, out.Components.Schemas["example.g.v1.X"]), ""); missing != "" {
			t.Fatalf("%d: %s is not what was written\n%s\n%s", i, missing, written, out.Components.Schemas["example.g.v1.X"])
		}
	}
}

// numbers decodes JSON with its number literals.
func numbers(t *testing.T, text []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// subset returns where a value that was written is not in what is published: members
// may be added to objects, and elements around those of allOf and behind required.
func subset(written, published any, pointer string) string {
	w, ok := written.(map[string]any)
	p, ok2 := published.(map[string]any)
	if !ok || !ok2 {
		if reflect.DeepEqual(written, published) {
			return ""
		}
		a, ok := written.([]any)
		b, ok2 := published.([]any)
		switch {
		case ok && ok2 && strings.HasSuffix(pointer, "/allOf") && len(b) > len(a):
			for i := range len(b) - len(a) + 1 {
				if reflect.DeepEqual(a, b[i:i+len(a)]) {
					return ""
				}
			}
		case ok && ok2 && strings.HasSuffix(pointer, "/required") && len(b) > len(a) && reflect.DeepEqual(a, b[:len(a)]):
			return ""
		}
		return pointer
	}
	for name, value := range w {
		inner, ok := p[name]
		if !ok {
			return pointer + "/" + name
		}
		if missing := subset(value, inner, pointer+"/"+name); missing != "" {
			return missing
		}
	}
	return ""
}

// generate makes a schema at random.
func generate(r *rand.Rand, depth int) map[string]any {
	s := map[string]any{}
	values := []any{nil, true, "BIG", "FLOAT", 0, -1, "text", "null", []any{}, []any{1, nil}, map[string]any{}, map[string]any{"$ref": "#/nowhere", "a": nil}}
	value := func() any { return values[r.IntN(len(values))] }
	maybe := func(name string, v func() any) {
		if r.IntN(4) == 0 {
			s[name] = v()
		}
	}
	for _, name := range []string{"default", "example", "x-unknown", "x-null"} {
		maybe(name, value)
	}
	for _, name := range []string{"maximum", "minLength"} {
		maybe(name, func() any { return []any{"BIG", "FLOAT", 0, -1}[r.IntN(4)] })
	}
	maybe("enum", func() any { return []any{value(), value()} })
	maybe("description", func() any { return "<é> & \"quotes\"" })
	maybe("nullable", func() any { return r.IntN(2) == 0 })
	maybe("type", func() any { return []string{"string", "integer", "object", "array"}[r.IntN(4)] })
	maybe("required", func() any { return []any{"a", "kind"}[:r.IntN(3)] })
	maybe("externalDocs", func() any { return map[string]any{"url": "x"} })
	maybe("x-kubernetes-validations", func() any { return []any{map[string]any{"rule": "true", "optionalOldSelf": true}} })
	for _, name := range []string{"x-kubernetes-int-or-string", "x-kubernetes-embedded-resource", "x-kubernetes-preserve-unknown-fields"} {
		maybe(name, func() any { return true })
	}
	if depth == 0 {
		return s
	}
	for _, name := range []string{"oneOf", "anyOf", "allOf"} {
		maybe(name, func() any { return []any{generate(r, 0), generate(r, 0)} })
	}
	for _, name := range []string{"not", "items", "additionalProperties"} {
		maybe(name, func() any { return generate(r, depth-1) })
	}
	if r.IntN(2) == 0 {
		properties := map[string]any{}
		for _, name := range []string{"a", "default", "metadata", "kind", "items", "properties", "a/b~c"}[:r.IntN(8)] {
			properties[name] = generate(r, depth-1)
		}
		s["properties"] = properties
	}
	return s
}

// The paths are in the order in which a reader expects the operations of a namespaced
// kind with both subresources.
func TestPaths(t *testing.T) {
	for _, document := range build(t, corners["subresources and selectable fields"]) {
		got := slices.Sorted(maps.Keys(document["paths"].(map[string]any)))
		const root = "/apis/fruit.example.k8s.io/v1/"
		want := []string{root + "apples", root + "namespaces/{namespace}/apples", root + "namespaces/{namespace}/apples/{name}",
			root + "namespaces/{namespace}/apples/{name}/scale", root + "namespaces/{namespace}/apples/{name}/status"}
		if !slices.Equal(got, want) {
			t.Errorf("paths %v", got)
		}
	}
}
