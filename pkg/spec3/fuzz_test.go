package spec3_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed-0662880d/openapi-server/pkg/spec3"
)

// Whatever is read: no panic, no hang, an error of our own type on one line; and
// what is accepted has a canonical form that is its own canonical form, splits into
// documents that are documents, and can be asked for its protobuf form.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		doc(`"paths":{"/api/v1/a":{"get":{"responses":{"200":{"$ref":"#/components/responses/R"}}}}},"components":{"responses":{"R":{"description":""}}}`),
		doc(`"paths":{"/apis/g/v1/a":{},"/apis/g/v2/b":{}},"components":{"schemas":{"A":{"default":null,"allOf":[{"$ref":"#/components/schemas/A"}]}},"x-a":1}`),
		`{"openapi":"3.0.0","paths":{"/b":{"z":1,"a":[{"y":2,"\u0078":{"é":1,"e":2,"～":3,"😀":4}}],"a!":0},"/a":{}},"info":{"b":1,"a":{}}}`,
		"openapi: 3.0.0\npaths:\n  /a: &a {get: {responses: {200: {description: x}}}}\n  /b: *a\nx-m: {<<: *a}\n",
		`{"openapi":"3.0.0","paths":{"/a":{}},"x":[1.0,-0,1e999,"\ud83d\ude00"]}`,
		`{"swagger":"2.0"}`, "---\n---\n", "[", "{", "\x00",
	} {
		f.Add([]byte(seed))
	}
	limits := spec3.Limits{MaxBytes: 1 << 20, MaxDepth: 100}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		d, err := spec3.Parse(text, limits)
		if !bytes.Equal(before, text) {
			t.Fatal("the input was changed")
		}
		if err != nil {
			if _, ok := errors.AsType[*spec3.Error](err); !ok {
				t.Fatalf("the error is a %T: %v", err, err)
			}
			return
		}
		check(t, d, limits)
		// The JSON library brings it into the same form.
		if text := bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))); text[0] == '{' {
			peer, err := jsontext.AppendFormat(nil, text, jsontext.ReorderRawObjects(true), jsontext.PreserveRawStrings(true))
			if err != nil || !bytes.Equal(peer, d.JSON()) {
				t.Fatalf("the library's canonical form is another one: %v\n%s\n%s", err, d.JSON(), peer)
			}
		}
		documents, err := d.Split()
		if err != nil {
			return
		}
		for path, part := range documents {
			if err := spec3.CheckPath(path); err != nil || strings.Contains(path, "..") {
				t.Fatalf("path %q: %v", path, err)
			}
			check(t, part, limits)
		}
	})
}

func check(t *testing.T, d *spec3.Document, limits spec3.Limits) {
	t.Helper()
	if !json.Valid(d.JSON()) {
		t.Fatalf("not JSON: %q", d.JSON())
	}
	again, err := spec3.Parse(d.JSON(), limits)
	if err != nil {
		t.Fatalf("its canonical form is refused: %v\n%s", err, d.JSON())
	}
	if !bytes.Equal(again.JSON(), d.JSON()) || again.Tag() != d.Tag() {
		t.Fatalf("its canonical form has another one:\n%s\n%s", d.JSON(), again.JSON())
	}
	merged, conflicts := spec3.Merge(spec3.Part{Source: "a", Document: d}, spec3.Part{Source: "b", Document: again})
	if len(conflicts) > 0 || merged.Tag() != d.Tag() {
		t.Fatalf("merged with itself it is another one: %v\n%s\n%s", conflicts, d.JSON(), merged.JSON())
	}
	if _, err := spec3.Protobuf(d.JSON()); err != nil && !strings.HasPrefix(err.Error(), "to protobuf: ") {
		t.Fatal(err)
	}
}

// The order of units is the order into which the JSON library sorts members.
func FuzzOrder(f *testing.F) {
	f.Add("a", "b")
	f.Add("é", "～")
	f.Add("😀", "～")
	f.Add("x😀a", "x😀b")
	f.Add("ab", "a")
	f.Fuzz(func(t *testing.T, a, b string) {
		if a == b || !strings.HasPrefix(a, "/") || !strings.HasPrefix(b, "/") {
			a, b = "/a"+a, "/b"+b
		}
		quote := func(s string) string {
			q, err := jsontext.AppendQuote(nil, s)
			if err != nil {
				return ""
			}
			return string(q)
		}
		x, errX := spec3.Parse([]byte(doc(`"paths":{`+quote(a)+`:{}}`)), spec3.Limits{})
		y, errY := spec3.Parse([]byte(doc(`"paths":{`+quote(b)+`:{}}`)), spec3.Limits{})
		both, errBoth := spec3.Parse([]byte(doc(`"paths":{`+quote(b)+`:{},`+quote(a)+`:{}}`)), spec3.Limits{})
		if errX != nil || errY != nil || errBoth != nil {
			return
		}
		for _, parts := range [][]*spec3.Document{{x, y}, {y, x}} {
			merged, conflicts := spec3.Merge(spec3.Part{Source: "x", Document: parts[0]}, spec3.Part{Source: "y", Document: parts[1]})
			if len(conflicts) > 0 || !bytes.Equal(merged.JSON(), both.JSON()) {
				t.Fatalf("%v\n%s\n%s", conflicts, merged.JSON(), both.JSON())
			}
		}
	})
}
