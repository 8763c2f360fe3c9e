package spec3_test

import (
	"bytes"
	"strings"
	"testing"

	openapi "github.com/google/gnostic-models/openapiv3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"k8s.io/kube-openapi/pkg/handler3"

	"github.com/seed-0662880d/openapi-server/pkg/spec3"
)

func protobuf(t testing.TB, d *spec3.Document) *openapi.Document {
	t.Helper()
	message, err := spec3.Protobuf(d.JSON())
	if err != nil {
		t.Fatal(err)
	}
	var out openapi.Document
	if err := proto.Unmarshal(message, &out); err != nil {
		t.Fatal(err)
	}
	return &out
}

// What kube-openapi's handler3 serves as protobuf, we serve too, byte for byte, but
// for one intended difference: it turns a default that is null, an object or an
// array into a default without a value, which readers take for null; we leave it
// out.
func TestProtobufEqualsPeer(t *testing.T) {
	for path, text := range kubernetes(t) {
		d := mustParse(t, string(text))
		message, err := handler3.ToV3ProtoBinary(d.JSON())
		if err != nil {
			t.Fatal(err)
		}
		var peer openapi.Document
		if err := proto.Unmarshal(message, &peer); err != nil {
			t.Fatal(err)
		}
		dropped := dropEmptyDefaults(peer.ProtoReflect())
		if dropped == 0 {
			t.Errorf("%s: the peer has no empty default any more; take the difference out of this test", path)
		}
		if !proto.Equal(&peer, protobuf(t, d)) {
			t.Errorf("%s: differs from the peer's", path)
		}
	}
}

// dropEmptyDefaults removes defaults without a value and returns how many.
func dropEmptyDefaults(m protoreflect.Message) (dropped int) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsList() && f.Message() != nil:
			for i := range v.List().Len() {
				dropped += dropEmptyDefaults(v.List().Get(i).Message())
			}
		case f.Message() != nil:
			if d, ok := v.Message().Interface().(*openapi.DefaultType); ok && d.GetOneof() == nil {
				m.Clear(f)
				dropped++
				return true
			}
			dropped += dropEmptyDefaults(v.Message())
		}
		return true
	})
	return dropped
}

func TestProtobufKeepsWhatItCan(t *testing.T) {
	schema := func(text string) *openapi.Schema {
		d := protobuf(t, mustParse(t, doc(`"paths":{},"components":{"schemas":{"A":`+text+`,"B":{}}}`)))
		return d.GetComponents().GetSchemas().GetAdditionalProperties()[0].GetValue().GetSchema()
	}
	t.Run("unknown keywords are left out", func(t *testing.T) {
		s := schema(`{"type":"object","patternProperties":{"a":{}},"if":{},"properties":{"if":{"type":"string"}},"x-kept":{"a":9007199254740993}}`)
		if s.GetType() != "object" || len(s.GetProperties().GetAdditionalProperties()) != 1 {
			t.Errorf("got %v", s)
		}
		if x := s.GetSpecificationExtension(); len(x) != 1 || strings.TrimSpace(x[0].GetValue().GetYaml()) != "a: 9007199254740993" {
			t.Errorf("extensions %v", x)
		}
	})
	t.Run("defaults that it cannot say are left out", func(t *testing.T) {
		for _, value := range []string{`null`, `{}`, `{"a":1}`, `[]`, `[1]`} {
			if s := schema(`{"default":` + value + `}`); s.GetDefault() != nil {
				t.Errorf("%s becomes %v", value, s.GetDefault())
			}
		}
		if got := schema(`{"default":9223372036854775808}`).GetDefault().GetNumber(); got != 9223372036854775808 {
			t.Errorf("a big default becomes %v", got)
		}
		if got := schema(`{"default":1E400}`).GetDefault().GetString_(); got != "1E400" {
			t.Errorf("a default beyond all doubles becomes %v", got)
		}
		for _, number := range []string{"9223372036854775808", "18446744073709551615", "18446744073709551616"} {
			if got := schema(`{"enum":[` + number + `]}`).GetEnum()[0].GetYaml(); got != number+"\n" {
				t.Errorf("%s in an enum becomes %v", number, got)
			}
		}
		if got := schema(`{"default":false}`).GetDefault(); got == nil || got.GetOneof() == nil {
			t.Errorf("false becomes %v", got)
		}
	})
	t.Run("what stands beside a reference survives", func(t *testing.T) {
		s := schema(`{"$ref":"#/components/schemas/B","description":"why","nullable":true}`)
		if s.GetDescription() != "why" || !s.GetNullable() || s.GetAllOf()[0].GetReference().GetXRef() != "#/components/schemas/B" {
			t.Errorf("got %v", s)
		}
		d := protobuf(t, mustParse(t, doc(`"paths":{"/api/v1/a":{"get":{"responses":{"200":{"$ref":"#/components/responses/R","description":"why","x-a":1}}}}},"components":{"responses":{"R":{"description":""}}}`)))
		r := d.GetPaths().GetPath()[0].GetValue().GetGet().GetResponses().GetResponseOrReference()[0].GetValue().GetReference()
		if r.GetXRef() != "#/components/responses/R" || r.GetDescription() != "why" {
			t.Errorf("got %v", r)
		}
		s = schema(`{"$ref":"#/components/schemas/B","allOf":[{"type":"object"}]}`)
		if len(s.GetAllOf()) != 2 || s.GetAllOf()[0].GetReference() == nil {
			t.Errorf("got %v", s)
		}
	})
	t.Run("strings that look like something else stay strings", func(t *testing.T) {
		s := schema(`{"enum":["1.0","true","null","~","0x1F","2001-01-01","a: b"],"default":"1"}`)
		var got []string
		for _, e := range s.GetEnum() {
			got = append(got, strings.TrimSpace(e.GetYaml()))
		}
		if want := `"1.0" "true" "null" "~" "0x1F" "2001-01-01" 'a: b'`; strings.Join(got, " ") != want {
			t.Errorf("got %s", got)
		}
		if s.GetDefault().GetString_() != "1" {
			t.Errorf("default %v", s.GetDefault())
		}
	})
}

func TestProtobufSaysWhatItCannotHold(t *testing.T) {
	for name, members := range map[string]string{
		"a string for a number": `"paths":{},"components":{"schemas":{"A":{"maximum":"5"}}}`,
		"an array for an info":  `"paths":{},"tags":[1]`,
	} {
		d := mustParse(t, doc(members))
		if _, err := spec3.Protobuf(d.JSON()); err == nil || !strings.HasPrefix(err.Error(), "to protobuf: ") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestGzip(t *testing.T) {
	data := mustParse(t, string(kubernetes(t)["apis/apps/v1"])).JSON()
	a, err := spec3.Gzip(data)
	if err != nil {
		t.Fatal(err)
	}
	b, err := spec3.Gzip(bytes.Clone(data))
	if err != nil || !bytes.Equal(a, b) {
		t.Errorf("equal data gives other bytes: %v", err)
	}
	if cap(a) != len(a) {
		t.Errorf("%d bytes are held for %d", cap(a), len(a))
	}
	back, err := spec3.Gunzip(a, len(data))
	if err != nil || !bytes.Equal(back, data) {
		t.Errorf("it does not come back: %v", err)
	}
	if _, err := spec3.Gunzip(a[:len(a)/2], len(data)); err == nil {
		t.Error("half of it is no error")
	}
}
