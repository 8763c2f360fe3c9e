package spec3_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-0662880d/openapi-server/pkg/spec3"
)

func TestParseCanonical(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{
			name: "members are sorted and white space goes",
			in:   "{ \"paths\": {},\n \"openapi\": \"3.0.3\", \"info\": {\"version\": \"v1\", \"title\": \"t\"} }",
			want: `{"info":{"title":"t","version":"v1"},"openapi":"3.0.3","paths":{}}`,
		},
		{
			name: "numbers keep their literal",
			in:   doc(`"paths":{},"x-n":[9007199254740993,1.0,1e2,-0,0.10,123456789012345678901234567890]`),
			want: `{"info":{"title":"t","version":"v1"},"openapi":"3.0.0","paths":{},"x-n":[9007199254740993,1.0,1e2,-0,0.10,123456789012345678901234567890]}`,
		},
		{
			name: "strings keep their literal",
			in:   doc(`"paths":{},"x-s":["\u0041","A","\/","é"]`),
			want: `{"info":{"title":"t","version":"v1"},"openapi":"3.0.0","paths":{},"x-s":["\u0041","A","\/","é"]}`,
		},
		{
			name: "default null, unknown keywords and extensions survive",
			in:   doc(`"paths":{},"components":{"schemas":{"A":{"default":null,"x-a":{"b":1},"unheardOf":[],"const":1}}}`),
			want: `{"components":{"schemas":{"A":{"const":1,"default":null,"unheardOf":[],"x-a":{"b":1}}}},"info":{"title":"t","version":"v1"},"openapi":"3.0.0","paths":{}}`,
		},
		{
			name: "names sort by UTF-16 code units",
			in:   doc(`"paths":{},"x-o":{"\uFF5E":1,"😀":2,"é":3,"a":4}`),
			want: `{"info":{"title":"t","version":"v1"},"openapi":"3.0.0","paths":{},"x-o":{"a":4,"é":3,"😀":2,"\uFF5E":1}}`,
		},
		{
			name: "a byte order mark is no part of the document",
			in:   "\xef\xbb\xbf" + doc(`"paths":{}`),
			want: `{"info":{"title":"t","version":"v1"},"openapi":"3.0.0","paths":{}}`,
		},
		{
			name: "YAML says the same",
			in: `
openapi: 3.0.1
info: {title: t, version: "1.0"}
paths:
  /api/v1/things:
    get:
      responses:
        200: {description: yes}
x-n: [9007199254740993, 1.0, null, ~, true, 0x1F, 0o17, 1_000, .5, 5., +1, 08, 010.5, 01e3, 010, <<, 2001-01-01, "1.0", 1e3]
x-base: &base {a: 1, b: 2}
x-merged:
  <<: *base
  b: 3
x-alias: *base
`,
			want: `{"info":{"title":"t","version":"1.0"},"openapi":"3.0.1",` +
				`"paths":{"/api/v1/things":{"get":{"responses":{"200":{"description":"yes"}}}}},` +
				`"x-alias":{"a":1,"b":2},"x-base":{"a":1,"b":2},"x-merged":{"a":1,"b":3},` +
				`"x-n":[9007199254740993,1.0,null,null,true,31,15,1000,0.5,5.0,1,8,10.5,1e3,8,"<<","2001-01-01","1.0",1e3]}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := string(mustParse(t, tc.in).JSON()); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestParseKubernetesDocumentsLosesNothing(t *testing.T) {
	for path, text := range kubernetes(t) {
		d := mustParse(t, string(text))
		if !reflect.DeepEqual(decode(t, d.JSON()), decode(t, text)) {
			t.Errorf("%s: the canonical form says something else than the source", path)
		}
		again := mustParse(t, string(d.JSON()))
		if string(again.JSON()) != string(d.JSON()) || again.Tag() != d.Tag() {
			t.Errorf("%s: the canonical form of the canonical form differs", path)
		}
	}
}

func TestParseErrors(t *testing.T) {
	deep := func(n int) string {
		return doc(`"paths":{},"x-deep":` + strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n))
	}
	var bomb strings.Builder
	bomb.WriteString("openapi: 3.0.0\npaths: {}\nx-a0: &a0 [lol,lol,lol,lol,lol,lol,lol,lol,lol,lol]\n")
	for i := 1; i <= 12; i++ {
		fmt.Fprintf(&bomb, "x-a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	var merges strings.Builder
	merges.WriteString("openapi: 3.0.0\npaths: {}\nx-a0: &a0 {k: v}\n")
	for i := 1; i <= 12; i++ {
		fmt.Fprintf(&merges, "x-a%d: &a%d\n  <<: [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	empties := "openapi: 3.0.0\npaths: {}\nx:\n  <<: [&a0 []"
	for i := 1; i <= 12; i++ {
		empties += fmt.Sprintf(", &a%d [%s]", i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	empties += "]\n"
	// Each of these documents expands to a little less than the limit.
	many := strings.Repeat("---\nopenapi: 3.0.0\na: &a ["+strings.Repeat("x,", 300)+"]\nb: &b ["+strings.Repeat("*a,", 300)+"]\nc: ["+strings.Repeat("*b,", 4)+"]\n", 20)
	small := spec3.Limits{MaxBytes: 1 << 20}
	for _, tc := range []struct {
		name   string
		in     string
		limits spec3.Limits
		is     error
		want   string
	}{
		{name: "empty", in: "", want: "unexpected EOF"},
		{name: "white space", in: " \n", want: "unexpected EOF"},
		{name: "not JSON", in: "{\n  \"openapi\": 3.0.0\n}", want: `2:17: not JSON: invalid character '.' after object value (expecting ',' or '}')`},
		{name: "truncated", in: `{"openapi":"3.0.0","paths":{"/api/v1/p"`, want: `1:40: /paths/~1api~1v1~1p: the text breaks off: unexpected EOF`},
		{name: "two values", in: doc(`"paths":{}`) + doc(`"paths":{}`), want: `1:67: not JSON: invalid character '{' after top-level value`},
		{name: "invalid UTF-8", in: doc("\"paths\":{},\"x-s\":\"\xff\""), want: `1:74: /x-s: not JSON: invalid UTF-8`},
		{name: "a word", in: "hello", is: spec3.ErrNotOpenAPI3, want: "1:1: not an OpenAPI 3.0 document: it is a string, not an object"},
		{name: "an array", in: "[1]", is: spec3.ErrNotOpenAPI3, want: "1:1: not an OpenAPI 3.0 document: it is an array, not an object"},
		{name: "an empty object", in: "{}", is: spec3.ErrNotOpenAPI3, want: `1:1: not an OpenAPI 3.0 document: it has no member "openapi"`},
		{name: "Swagger 2.0", in: "{\n\"swagger\": \"2.0\"}", is: spec3.ErrNotOpenAPI3, want: `2:12: /swagger: not an OpenAPI 3.0 document: it is a Swagger "2.0" document`},
		{name: "OpenAPI 3.1", in: "{\n\"openapi\": \"3.1.0\",\"paths\":{}}", is: spec3.ErrNotOpenAPI3, want: `2:12: /openapi: not an OpenAPI 3.0 document: its version is "3.1.0"; only 3.0.x is published`},
		{name: "a number for a version", in: "openapi: 3.0", is: spec3.ErrNotOpenAPI3, want: `1:10: /openapi: not an OpenAPI 3.0 document: its version is 3.0; only 3.0.x is published`},
		{name: "duplicate member", in: doc(`"paths":{},` + "\n" + `"paths":{}`), is: spec3.ErrDuplicateName, want: "2:1: /paths: duplicate member name"},
		{name: "duplicate member in other words", in: doc(`"paths":{},"x":{"a":1,"\u0061":2}`), is: spec3.ErrDuplicateName, want: "1:78: /x/a: duplicate member name"},
		{name: "paths are an array", in: doc(`"paths":[]`), want: "1:64: /paths: it is an array where an object belongs"},
		{name: "paths are null", in: doc(`"paths":null`), want: "1:64: /paths: it is null where an object belongs"},
		{name: "components are a string", in: doc(`"paths":{},"components":"x"`), want: "1:80: /components: it is a string where an object belongs"},
		{name: "schemas are null", in: doc(`"paths":{},"components":{"schemas":null}`), want: "1:91: /components/schemas: it is null where an object belongs"},
		{name: "a schema is a number", in: doc(`"paths":{},"components":{"schemas":{"A":1}}`), want: "1:96: /components/schemas/A: it is a number where an object belongs"},
		{name: "a path item is null", in: doc(`"paths":{"/a":null}`), want: "1:70: /paths/~1a: it is null where an object belongs"},
		{name: "a path without a slash", in: doc(`"paths":{"a":{}}`), want: `1:69: /paths/a: a path has to begin with a slash (write "/a")`},
		{name: "10,000 levels", in: deep(10_000), is: spec3.ErrTooDeep, want: "1:2571: document too deeply nested: more than 500 levels"},
		{name: "10,000 levels of YAML", in: "openapi: 3.0.0\nx: " + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), is: spec3.ErrTooDeep, want: "more than 500 levels"},
		{name: "100,000 levels of YAML", in: "openapi: 3.0.0\nx: " + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), is: spec3.ErrTooDeep, want: "exceeded max depth"},
		{name: "too large", in: doc(`"paths":{},"x":"` + strings.Repeat("x", 2<<20) + `"`), limits: small, is: spec3.ErrTooLarge, want: "document too large: 2097225 bytes, the limit is 1048576"},
		{name: "too large for YAML", in: "openapi: 3.0.0\nx: " + strings.Repeat("x", 2<<20), limits: spec3.Limits{MaxYAMLBytes: 1 << 20}, is: spec3.ErrTooLarge, want: "bytes of YAML, the limit is 1048576 (JSON may have 67108864)"},
		{name: "YAML alias bomb", in: bomb.String(), is: spec3.ErrTooLarge, want: "its aliases and merge keys expand to more than 67108864 bytes"},
		{name: "YAML merge bomb", in: merges.String(), limits: small, is: spec3.ErrTooLarge, want: "its aliases and merge keys expand to more than 1048576 bytes"},
		{name: "YAML merge bomb of empty lists", in: empties, is: spec3.ErrTooLarge, want: "its aliases and merge keys expand to more than"},
		{name: "YAML merge bomb of empty mappings", in: strings.ReplaceAll(empties, "&a0 []", "&a0 {}"), is: spec3.ErrTooLarge, want: "its aliases and merge keys expand to more than"},
		{name: "YAML alias bombs in many documents", in: many, limits: spec3.Limits{MaxBytes: 2 << 20}, is: spec3.ErrTooLarge, want: "its aliases and merge keys expand to more than 2097152 bytes"},
		{name: "YAML merged list key", in: "openapi: 3.0.0\n<<: {? [a] : 1}", want: "2:8: a member name has to be a string"},
		{name: "YAML merged duplicate key", in: "openapi: 3.0.0\n<<: {b: 3, b: 4}", is: spec3.ErrDuplicateName, want: `2:12: duplicate member name "b"`},
		{name: "YAML merge of a string", in: "openapi: 3.0.0\n<<: b", want: "2:5: a merge key takes a mapping or a list of mappings"},
		{name: "YAML that contains itself", in: "openapi: 3.0.0\nx: &a [*a]", is: spec3.ErrTooDeep, want: "more than 500 levels"},
		{name: "YAML duplicate key", in: "openapi: 3.0.0\npaths: {}\npaths: {}", is: spec3.ErrDuplicateName, want: `3:1: duplicate member name "paths"`},
		{name: "YAML infinity", in: "openapi: 3.0.0\nx: .inf", want: `2:4: ".inf" is a number that JSON cannot say`},
		{name: "YAML tag", in: "openapi: 3.0.0\nx: !!binary aGk=", want: `2:4: the YAML tag !!binary has no place in JSON`},
		{name: "YAML key that is a list", in: "openapi: 3.0.0\n? [a]\n: b", want: "2:3: a member name has to be a string"},
		{name: "YAML syntax", in: "openapi: 3.0.0\npaths:\n  a: b: c\n", want: "3:1: not YAML: mapping values are not allowed in this context"},
		{name: "YAML tab", in: "openapi: 3.0.0\npaths:\n\ta: b\n", want: "not YAML: found character that cannot start any token"},
		{name: "several documents", in: "openapi: 3.0.0\n---\nopenapi: 3.0.0\n", want: "2 documents in one text where one is expected"},
		{name: "dangling reference", in: doc(`"paths":{"/api/v1/p":{"get":{"responses":{"200":` + "\n" + `{"$ref":"#/components/responses/OK"}}}}}`), is: spec3.ErrUnresolved,
			want: `2:9: /paths/~1api~1v1~1p/get/responses/200/$ref: unresolved $ref "#/components/responses/OK": the document has no such value`},
		{name: "dangling reference in YAML", in: "openapi: 3.0.0\npaths: {}\ncomponents:\n  schemas:\n    A:\n      allOf:\n      - $ref: '#/components/schemas/B'\n", is: spec3.ErrUnresolved,
			want: `7:15: /components/schemas/A/allOf/0/$ref: unresolved $ref "#/components/schemas/B"`},
		{name: "dangling reference in other words", in: doc(`"paths":{},"components":{"schemas":{"A":{"items":{"\u0024ref":"#/components/schemas/B"}}}}`), is: spec3.ErrUnresolved, want: "unresolved $ref"},
		{name: "dangling reference into an extension", in: doc(`"paths":{},"components":{"x-a":{"b":{}},"schemas":{"A":{"items":{"$ref":"#/components/x-a/c"}}}}`), is: spec3.ErrUnresolved, want: "unresolved $ref"},
		{name: "reference to another document", in: doc(`"paths":{},"components":{"schemas":{"A":{"items":{"$ref":"b.yaml#/B"}}}}`), is: spec3.ErrUnresolved,
			want: `unresolved $ref "b.yaml#/B": it leads out of the document, and nothing is fetched`},
		{name: "reference below a component", in: doc(`"paths":{},"components":{"schemas":{"A":{"items":{"$ref":"#/components/schemas/A/properties/b"}}}}`), is: spec3.ErrUnresolved, want: "unresolved $ref"},
		{name: "reference with a broken escape", in: doc(`"paths":{},"components":{"schemas":{"A":{"items":{"$ref":"#/components/schemas/%zz"}}}}`), is: spec3.ErrUnresolved, want: "unresolved $ref"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := spec3.Parse([]byte(tc.in), tc.limits)
			if err == nil {
				t.Fatal("no error")
			}
			if _, ok := errors.AsType[*spec3.Error](err); !ok {
				t.Errorf("the error is a %T", err)
			}
			if tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("%q is not %q", err, tc.is)
			}
			if !strings.Contains(err.Error(), tc.want) || len(err.Error()) > 400 {
				t.Errorf("got  %s\nwant %s", err, tc.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
}

func TestParseReferencesThatAreNone(t *testing.T) {
	for name, members := range map[string]string{
		"in an example":               `"components":{"schemas":{"A":{"example":{"$ref":"#/nowhere"}}}}`,
		"in a default":                `"components":{"schemas":{"A":{"default":{"$ref":"#/nowhere"}}}}`,
		"in an enum":                  `"components":{"schemas":{"A":{"enum":[{"$ref":"#/nowhere"}]}}}`,
		"in an extension":             `"components":{"schemas":{"A":{"x-a":{"$ref":"#/nowhere"}}}}`,
		"in an unknown member":        `"components":{"schemas":{"A":{"if":{"$ref":"#/nowhere"}}}}`,
		"a property of that name":     `"components":{"schemas":{"A":{"properties":{"$ref":{"type":"string"}}}}}`,
		"a property called default":   `"components":{"schemas":{"A":{"properties":{"default":{"type":"string"}}}}}`,
		"a mapping to another file":   `"components":{"schemas":{"A":{"discriminator":{"propertyName":"p","mapping":{"b":"b.json#/B"}}}}}`,
		"a schema by that name":       `"components":{"schemas":{"A":{"discriminator":{"propertyName":"p","mapping":{"$ref":"Foo"}}}}}`,
		"a scope of that name":        `"components":{"securitySchemes":{"A":{"type":"oauth2","flows":{"implicit":{"scopes":{"$ref":"all"}}}}}}`,
		"a security scheme not there": `"security":[{"Bearer":[]}]`,
	} {
		t.Run(name, func(t *testing.T) { mustParse(t, doc(`"paths":{},`+members)) })
	}
}

func TestParseReferencesThatResolve(t *testing.T) {
	for name, ref := range map[string]string{
		"a component":           "#/components/schemas/A",
		"below a component":     "#/components/schemas/A/properties/b",
		"an element":            "#/components/schemas/A/allOf/0",
		"with slash and tilde":  "#/components/schemas/A/properties/c~1d~0e",
		"percent-encoded":       "#/components/schemas/A/properties/%C3%A9",
		"a path item's part":    "#/paths/~1api~1v1~1p/get/responses/200",
		"a property of a name":  "#/components/schemas/A/properties/default",
		"the document's root":   "#",
		"a member of the root":  "#/info",
		"an extension's member": "#/x-shared/a",
		"below an extension":    "#/components/x-shared/b/c",
		"a whole section":       "#/components/schemas",
		"all components":        "#/components",
		"all paths":             "#/paths",
	} {
		t.Run(name, func(t *testing.T) {
			mustParse(t, doc(`"x-shared":{"a":{}},"paths":{"/api/v1/p":{"get":{"responses":{"200":{"description":""}}}}},
				"components":{"x-shared":{"b":{"c":{}}},"schemas":{"A":{"allOf":[{}],"properties":{"b":{},"c/d~e":{},"é":{},"default":{}}},"B":{"not":{"$ref":"`+ref+`"}}}}`))
		})
	}
}

// The tag is part of URLs that caches keep for a year. It must not change with the
// version of this program.
func TestTagIsStable(t *testing.T) {
	d := mustParse(t, doc(`"paths":{"/api/v1/p":{}},"components":{"schemas":{"A":{"default":null}},"x-c":1}`))
	const want = "CDC341B4384EE2CB499961BC540BAFD53EA156A4922D08A14D661CF9DA7729F0"
	if d.Tag() != want {
		t.Errorf("the tag of a fixed document is %s, it was %s", d.Tag(), want)
	}
}

func TestTagNamesContent(t *testing.T) {
	base := doc(`"paths":{"/api/v1/p":{}},"components":{"schemas":{"A":{},"B":{}}}`)
	for _, tc := range []struct {
		name, other string
		equal       bool
	}{
		{"other order and white space", "{\"components\": {\"schemas\":{\"B\":{},\"A\":{}}},\n\"paths\":{\"/api/v1/p\":{}},\"info\":{\"version\":\"v1\",\"title\":\"t\"},\"openapi\":\"3.0.0\"}", true},
		{"a component less", doc(`"paths":{"/api/v1/p":{}},"components":{"schemas":{"A":{}}}`), false},
		{"another name", doc(`"paths":{"/api/v1/p":{}},"components":{"schemas":{"A":{},"C":{}}}`), false},
		{"another section", doc(`"paths":{"/api/v1/p":{}},"components":{"responses":{"A":{},"B":{}}}`), false},
		{"an empty section more", doc(`"paths":{"/api/v1/p":{}},"components":{"schemas":{"A":{},"B":{}},"responses":{}}`), false},
		{"another path", doc(`"paths":{"/api/v1/q":{}},"components":{"schemas":{"A":{},"B":{}}}`), false},
		{"an escape", doc(`"paths":{"/api/v1/\u0070":{}},"components":{"schemas":{"A":{},"B":{}}}`), false},
		{"an escape in the name paths", doc(`"p\u0061ths":{"/api/v1/p":{}},"components":{"schemas":{"A":{},"B":{}}}`), false},
		{"a member of the root more", doc(`"x-a":1,"paths":{"/api/v1/p":{}},"components":{"schemas":{"A":{},"B":{}}}`), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, b := mustParse(t, base), mustParse(t, tc.other)
			if sameBytes := string(a.JSON()) == string(b.JSON()); sameBytes != tc.equal {
				t.Fatalf("the canonical bytes are equal: %v", sameBytes)
			}
			if (a.Tag() == b.Tag()) != tc.equal {
				t.Errorf("tags %s and %s", a.Tag(), b.Tag())
			}
		})
	}
}

// Any order of members gives the same bytes and the same tag.
func TestCanonicalFormIgnoresOrder(t *testing.T) {
	members := []string{`"openapi":"3.0.0"`, `"info":{"title":"t"}`, `"paths":{}`, `"x-é":1`, `"x-\uD83D\uDE00":2`, `"x-\uFF5E":3`, `"x-a":{"b":1,"a":2}`, `"components":{}`}
	first := mustParse(t, "{"+strings.Join(members, ",")+"}")
	for range 50 {
		rand.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		d := mustParse(t, "{"+strings.Join(members, ",")+"}")
		if string(d.JSON()) != string(first.JSON()) || d.Tag() != first.Tag() {
			t.Fatalf("%s\n%s", d.JSON(), first.JSON())
		}
	}
}
