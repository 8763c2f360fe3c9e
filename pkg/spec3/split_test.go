package spec3_test

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seed-0662880d/openapi-server/pkg/spec3"
)

func TestGroupVersionPath(t *testing.T) {
	for in, want := range map[string]string{
		"/api/":                               "api",
		"/api/v1/":                            "api/v1",
		"/api/v1/pods/{name}/log":             "api/v1",
		"/apis/":                              "apis",
		"/apis/apps/":                         "apis/apps",
		"/apis/apps/v1/":                      "apis/apps/v1",
		"/apis/apps/v1/namespaces/{ns}/x":     "apis/apps/v1",
		"/version/":                           "version",
		"/logs/{logpath}":                     "logs",
		"/.well-known/openid-configuration/":  ".well-known/openid-configuration",
		"/openid/v1/jwks/":                    "openid/v1/jwks",
		"/oapi/v1/builds":                     "oapi/v1",
		"/things/example.com/v1beta1/gadgets": "things/example.com/v1beta1",
		"/things/example.com/v2alpha3/{g}":    "things/example.com/v2alpha3",
		"/pets":                               "pets",
		"/pets/{id}/toys":                     "pets",
		"/stores/near/me/v1":                  "stores",
		"/apis/{group}/v1":                    "apis",
		"/things/v1beta/x":                    "things",
		"/things/vx/v/v1":                     "things",
	} {
		if got, err := spec3.GroupVersionPath(in); got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", "/", "//", "/{x}", "/apis/../v1/x", "/apis/./v1", "/apis//v1", "/a b", "/api/v1\n", "/apis/ä/v1", "/" + strings.Repeat("x", 2000)} {
		if got, err := spec3.GroupVersionPath(in); !errors.Is(err, spec3.ErrNoGroupVersion) {
			t.Errorf("%.40q gives %.40q and error %v", in, got, err)
		}
	}
}

func TestSplit(t *testing.T) {
	d := mustParse(t, doc(`
		"security":[{"Root":[]}],
		"x-root":{"keep":1.0},
		"paths":{
			"x-paths":1,
			"/api/v1/a":{"get":{"responses":{"200":{"$ref":"#/components/responses/R"}}}},
			"/apis/g/v1/b":{"post":{"security":[{"Op":[]}],"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/B"}}}},"responses":{}}},
			"/apis/g/v2/c":{"get":{"responses":{"200":{"description":"","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Loop1"}}}}}}},
			"/apis/g/v3/d":{"$ref":"#/paths/~1apis~1g~1v2~1c"},
			"/version/":{"get":{"responses":{}}}
		},
		"components":{
			"x-components":{"a":1,"also":{"$ref":"#/components/schemas/ByComponents"}},
			"responses":{"R":{"description":"","content":{"application/json":{"schema":{"properties":{"d":{"not":{"$ref":"#/components/schemas/Deep/properties/x"}}}}}}}},
			"schemas":{
				"B":{"discriminator":{"propertyName":"p","mapping":{"one":"ByName","two":"#/components/schemas/ByRef"}},"x-also":{"$ref":"#/components/schemas/ByExtension"}},
				"ByName":{},"ByRef":{},"ByComponents":{},"ByExtension":{},
				"Deep":{"properties":{"x":{}}},
				"Loop1":{"items":{"$ref":"#/components/schemas/Loop2"}},"Loop2":{"items":{"$ref":"#/components/schemas/Loop1"}},
				"Unused":{}
			},
			"securitySchemes":{"Root":{"type":"http","scheme":"basic"},"Op":{"type":"http","scheme":"bearer"},"None":{"type":"http","scheme":"x"}}
		}`))
	documents, err := d.Split()
	if err != nil {
		t.Fatal(err)
	}
	const head = `"info":{"title":"t","version":"v1"},"openapi":"3.0.0","paths":`
	const tail = `,"security":[{"Root":[]}],"x-root":{"keep":1.0}}`
	const rootScheme = `"securitySchemes":{"Root":{"scheme":"basic","type":"http"}}`
	want := map[string]string{
		"api/v1": `{"components":{"responses":{"R":{"content":{"application/json":{"schema":{"properties":{"d":{"not":{"$ref":"#/components/schemas/Deep/properties/x"}}}}}},"description":""}},` +
			`"schemas":{"ByComponents":{},"Deep":{"properties":{"x":{}}}},` + rootScheme + `,"x-components":{"a":1,"also":{"$ref":"#/components/schemas/ByComponents"}}},` + head +
			`{"/api/v1/a":{"get":{"responses":{"200":{"$ref":"#/components/responses/R"}}}},"x-paths":1}` + tail,
		"apis/g/v1": `{"components":{"schemas":{"B":{"discriminator":{"mapping":{"one":"ByName","two":"#/components/schemas/ByRef"},"propertyName":"p"},"x-also":{"$ref":"#/components/schemas/ByExtension"}},` +
			`"ByComponents":{},"ByExtension":{},"ByName":{},"ByRef":{}},"securitySchemes":{"Op":{"scheme":"bearer","type":"http"},"Root":{"scheme":"basic","type":"http"}},"x-components":{"a":1,"also":{"$ref":"#/components/schemas/ByComponents"}}},` + head +
			`{"/apis/g/v1/b":{"post":{"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/B"}}}},"responses":{},"security":[{"Op":[]}]}},"x-paths":1}` + tail,
		"apis/g/v2": `{"components":{"schemas":{"ByComponents":{},"Loop1":{"items":{"$ref":"#/components/schemas/Loop2"}},"Loop2":{"items":{"$ref":"#/components/schemas/Loop1"}}},` + rootScheme + `,"x-components":{"a":1,"also":{"$ref":"#/components/schemas/ByComponents"}}},` + head +
			`{"/apis/g/v2/c":{"get":{"responses":{"200":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Loop1"}}},"description":""}}}},"x-paths":1}` + tail,
		"apis/g/v3": `{"components":{"schemas":{"ByComponents":{},"Loop1":{"items":{"$ref":"#/components/schemas/Loop2"}},"Loop2":{"items":{"$ref":"#/components/schemas/Loop1"}}},` + rootScheme + `,"x-components":{"a":1,"also":{"$ref":"#/components/schemas/ByComponents"}}},` + head +
			`{"/apis/g/v2/c":{"get":{"responses":{"200":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Loop1"}}},"description":""}}}},"/apis/g/v3/d":{"$ref":"#/paths/~1apis~1g~1v2~1c"},"x-paths":1}` + tail,
		"version": `{"components":{"schemas":{"ByComponents":{}},` + rootScheme + `,"x-components":{"a":1,"also":{"$ref":"#/components/schemas/ByComponents"}}},` + head + `{"/version/":{"get":{"responses":{}}},"x-paths":1}` + tail,
	}
	if got := slices.Sorted(maps.Keys(documents)); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
		t.Fatalf("paths %v", got)
	}
	for path, w := range want {
		got := documents[path]
		if string(got.JSON()) != w {
			t.Errorf("%s:\ngot  %s\nwant %s", path, got.JSON(), w)
		}
		// What was assembled is a document in its own right: canonical, complete, and
		// with the tag that anyone computes from its bytes.
		again := mustParse(t, string(got.JSON()))
		if string(again.JSON()) != string(got.JSON()) || again.Tag() != got.Tag() {
			t.Errorf("%s: parsing it again gives another document", path)
		}
	}
}

func TestSplitOfOneGroupVersionKeepsAll(t *testing.T) {
	d := mustParse(t, doc(`"paths":{"/api/v1/a":{},"/api/v1/b":{}},"components":{"schemas":{"Unused":{}}}`))
	documents, err := d.Split()
	if err != nil {
		t.Fatal(err)
	}
	if len(documents) != 1 || documents["api/v1"] != d {
		t.Errorf("got %v", documents)
	}
}

func TestSplitErrors(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"no paths":           {doc(`"components":{}`), "/paths: no group-version: the document has no paths to tell it from"},
		"empty paths":        {doc(`"paths":{}`), "/paths: no group-version: the document has no paths to tell it from"},
		"only extensions":    {doc(`"paths":{"x-a":1}`), "no group-version"},
		"the root path":      {doc(`"paths":{"/":{}}`), `/paths/~1: no group-version: "/" has no literal first segment`},
		"a path that climbs": {doc(`"paths":{"/apis/../v1/x":{}}`), `/paths/~1apis~1..~1v1~1x: no group-version: the path "apis/../v1" cannot be published`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := mustParse(t, tc.in).Split()
			if !errors.Is(err, spec3.ErrNoGroupVersion) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
}

func TestMerge(t *testing.T) {
	a := mustParse(t, doc(`"paths":{"/api/v1/a":{"$ref":"#/components/schemas/S"}},"components":{"schemas":{"S":{"default":1.0},"A":{}},"x-c":1},"x-a":1,"tags":[1]`))
	b := mustParse(t, `{"openapi":"3.0.3","info":{"title":"other"},"paths":{"/api/v1/b":{}},"components":{"schemas":{"S":{"default":1.0},"B":{}},"responses":{"R":{"description":""}}},"x-b":2}`)
	merged, conflicts := spec3.Merge(spec3.Part{Source: "a", Document: a}, spec3.Part{Source: "b", Document: b})
	if len(conflicts) > 0 {
		t.Fatal(conflicts[0])
	}
	const want = `{"components":{"responses":{"R":{"description":""}},"schemas":{"A":{},"B":{},"S":{"default":1.0}},"x-c":1},"info":{"title":"t","version":"v1"},"openapi":"3.0.0",` +
		`"paths":{"/api/v1/a":{"$ref":"#/components/schemas/S"},"/api/v1/b":{}},"tags":[1],"x-a":1,"x-b":2}`
	if got := string(merged.JSON()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if again := mustParse(t, string(merged.JSON())); again.Tag() != merged.Tag() {
		t.Error("the tag is not that of the bytes")
	}
	same, conflicts := spec3.Merge(spec3.Part{Source: "a", Document: a}, spec3.Part{Source: "copy", Document: mustParse(t, string(a.JSON()))})
	if len(conflicts) > 0 || same.Tag() != a.Tag() {
		t.Errorf("a document merged with itself: %v", conflicts)
	}
}

func TestMergeConflicts(t *testing.T) {
	for name, tc := range map[string]struct{ a, b, pointer string }{
		"a schema":              {`"paths":{},"components":{"schemas":{"S/1":{"type":"string"}}}`, `"paths":{},"components":{"schemas":{"S/1":{"type":"number"}}}`, "/components/schemas/S~11"},
		"a literal":             {`"paths":{},"components":{"schemas":{"S":{"default":1}}}`, `"paths":{},"components":{"schemas":{"S":{"default":1.0}}}`, "/components/schemas/S"},
		"a path":                {`"paths":{"/api/v1/a":{}}`, `"paths":{"/api/v1/a":{"get":{}}}`, "/paths/~1api~1v1~1a"},
		"security":              {`"paths":{},"security":[]`, `"paths":{},"security":[{}]`, "/security"},
		"servers":               {`"paths":{},"servers":[]`, `"paths":{},"servers":[{"url":"/x"}]`, "/servers"},
		"an extension":          {`"paths":{},"x-a":1`, `"paths":{},"x-a":2`, "/x-a"},
		"a component extension": {`"paths":{},"components":{"x-a":1}`, `"paths":{},"components":{"x-a":2}`, "/components/x-a"},
	} {
		t.Run(name, func(t *testing.T) {
			zero, one := mustParse(t, doc(`"paths":{}`)), mustParse(t, doc(tc.a))
			merged, conflicts := spec3.Merge(
				spec3.Part{Source: "zero.json", Document: zero},
				spec3.Part{Source: "one.json", Document: one},
				spec3.Part{Source: "two.json", Document: mustParse(t, doc(tc.b))})
			if len(conflicts) != 1 {
				t.Fatalf("conflicts %v", conflicts)
			}
			if want := (spec3.ConflictError{Pointer: tc.pointer, First: "one.json", Second: "two.json", Index: 2}); *conflicts[0] != want {
				t.Errorf("got %+v, want %+v", *conflicts[0], want)
			}
			if got, want := conflicts[0].Error(), "one.json and two.json both define "+tc.pointer+", and not the same way"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if without, _ := spec3.Merge(spec3.Part{Document: zero}, spec3.Part{Document: one}); merged.Tag() != without.Tag() {
				t.Error("what is left out has left something behind")
			}
		})
	}
}

// What is left out contradicts nobody, whatever the order of names.
func TestMergeLeftOutPartsContradictNobody(t *testing.T) {
	for _, names := range [][2]string{{"x", "y"}, {"y", "x"}} {
		part := func(source, schemas string) spec3.Part {
			schemas = strings.NewReplacer("first", names[0], "second", names[1]).Replace(schemas)
			return spec3.Part{Source: source, Document: mustParse(t, doc(`"paths":{},"components":{"schemas":{`+schemas+`}}`))}
		}
		merged, conflicts := spec3.Merge(
			part("a", `"second":{"type":"string"}`),
			part("b", `"second":{"type":"number"},"first":{"type":"string"}`),
			part("c", `"first":{"type":"number"}`))
		if len(conflicts) != 1 || conflicts[0].First != "a" || conflicts[0].Second != "b" {
			t.Errorf("conflicts %v", conflicts)
		}
		if !strings.Contains(string(merged.JSON()), `"`+names[0]+`":{"type":"number"}`) {
			t.Errorf("c is not part of %s", merged.JSON())
		}
	}
}

// Work that grows faster than the document is bounded.
func TestHostileDocumentsAreRefusedInTime(t *testing.T) {
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	t.Run("many group-versions that share much", func(t *testing.T) {
		d := mustParse(t, `{"openapi":"3.0.0","info":{"description":"`+strings.Repeat("x", 1<<20)+`"},"paths":{`+many(1000, `"/apis/g%d/v1":{}`)+`}}`)
		if _, err := d.Split(); !errors.Is(err, spec3.ErrTooLarge) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("many group-versions", func(t *testing.T) {
		d := mustParse(t, doc(`"paths":{`+many(20_000, `"/apis/g%d/v1":{}`)+`}`))
		if documents, err := d.Split(); err != nil || len(documents) != 20_000 {
			t.Errorf("%d documents, error %v", len(documents), err)
		}
	})
	t.Run("many references below a large component", func(t *testing.T) {
		_, err := spec3.Parse([]byte(doc(`"paths":{},"components":{"schemas":{"A":{"properties":{`+many(40_000, `"p%d":{}`)+
			`}},"B":{"allOf":[`+many(40_000, `{"$ref":"#/components/schemas/A/properties/p%d"}`)+`]}}}`)), spec3.Limits{})
		if !errors.Is(err, spec3.ErrTooLarge) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("many unknown sections", func(t *testing.T) {
		mustParse(t, doc(`"paths":{},"components":{`+many(40_000, `"u%d":{}`)+`,"schemas":{`+many(40_000, `"s%d":{}`)+`},"x-refs":[]},"x-more":{}`))
	})
	t.Run("more paths than anybody has", func(t *testing.T) {
		_, err := spec3.Parse([]byte(doc(`"paths":{`+many(200_001, `"/a%d":{}`)+`}`)), spec3.Limits{})
		if !errors.Is(err, spec3.ErrTooLarge) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("data that protobuf would blow up", func(t *testing.T) {
		d := mustParse(t, doc(`"paths":{},"x-d":[`+strings.Repeat("1,", 1<<20)+`1]`))
		if _, err := spec3.Protobuf(d.JSON()); !errors.Is(err, spec3.ErrTooLarge) {
			t.Errorf("error %v", err)
		}
	})
}

// Kubernetes' documents, merged into one and split again, are what they were, but
// for components that nothing refers to.
func TestMergeAndSplitKubernetes(t *testing.T) {
	var parts []spec3.Part
	want := map[string]*spec3.Document{}
	for path, text := range kubernetes(t) {
		d := mustParse(t, string(text))
		want[path] = d
		parts = append(parts, spec3.Part{Source: path, Document: d})
	}
	slices.SortFunc(parts, func(a, b spec3.Part) int { return strings.Compare(a.Source, b.Source) })
	merged, conflicts := spec3.Merge(parts...)
	if len(conflicts) > 0 {
		t.Fatal(conflicts[0])
	}
	documents, err := merged.Split()
	if err != nil {
		t.Fatal(err)
	}
	if len(documents) != len(want) {
		t.Fatalf("%d documents", len(documents))
	}
	for path, w := range want {
		complete := decode(t, w.JSON())
		pruneUnreferenced(complete.(map[string]any))
		if !reflect.DeepEqual(decode(t, documents[path].JSON()), complete) {
			t.Errorf("%s: differs after merging and splitting", path)
		}
		mustParse(t, string(documents[path].JSON()))
	}
}

// pruneUnreferenced removes the schemas that nothing refers to, in the simplest way
// there is, again and again.
func pruneUnreferenced(document map[string]any) {
	components := document["components"].(map[string]any)
	schemas := components["schemas"].(map[string]any)
	delete(components, "securitySchemes") // no operation of these documents names one
	for {
		referenced := map[string]bool{}
		var walk func(v any, within string)
		walk = func(v any, within string) {
			switch v := v.(type) {
			case map[string]any:
				for name, child := range v {
					ref, ok := child.(string)
					if name == "$ref" && ok && ref != "#/components/schemas/"+within {
						referenced[strings.TrimPrefix(ref, "#/components/schemas/")] = true
					}
					walk(child, within)
				}
			case []any:
				for _, child := range v {
					walk(child, within)
				}
			}
		}
		walk(document["paths"], "")
		for name, s := range schemas {
			walk(s, name)
		}
		before := len(schemas)
		for name := range schemas {
			if !referenced[name] {
				delete(schemas, name)
			}
		}
		if len(schemas) == before {
			return
		}
	}
}
