package crdschema

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed-0662880d/openapi-server/pkg/spec3"
)

// member is a member of a JSON object, as it was written.
type member struct {
	name  string
	value jsontext.Value
}

// members is a JSON object.
type members []member

// parseMembers splits the bytes of an object, which are canonical, as all are here:
// they come from [spec3.Value.Canonical] or were made of such.
func parseMembers(raw jsontext.Value) members {
	var out members
	for name, value := range spec3.Members(raw) {
		out = append(out, member{name, value})
	}
	return out
}

func (m members) get(name string) (jsontext.Value, bool) {
	i := slices.IndexFunc(m, func(m member) bool { return m.name == name })
	if i < 0 {
		return nil, false
	}
	return m[i].value, true
}

// set replaces a member or adds it.
func (m members) set(name string, value jsontext.Value) members {
	if i := slices.IndexFunc(m, func(m member) bool { return m.name == name }); i >= 0 {
		m[i].value = value
		return m
	}
	return append(m, member{name, value})
}

// object returns the bytes of the object.
func (m members) object() jsontext.Value {
	size := 2
	for _, x := range m {
		size += len(x.name) + len(x.value) + 4
	}
	out := append(make([]byte, 0, size), '{')
	for i, x := range m {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendQuoted(out, x.name)
		out = append(out, ':')
		out = append(out, x.value...)
	}
	return append(out, '}')
}

func appendQuoted(out []byte, text string) []byte {
	// The only error is for text that is not UTF-8; this one was decoded from JSON,
	// which is, or is ours.
	out, _ = jsontext.AppendQuote(out, text)
	return out
}

func quoted(text string) jsontext.Value { return appendQuoted(nil, text) }

// enrich returns a schema with what Kubernetes adds to it: fields of embedded
// resources and what int-or-string stands for, there and in all schemas below it
// that say what fields there are (properties, items, additionalProperties).
func enrich(schema jsontext.Value, pointer string) (jsontext.Value, error) {
	if schema.Kind() != jsontext.KindBeginObject {
		return schema, nil
	}
	m := parseMembers(schema)
	if _, ok := m.get("$ref"); ok {
		return nil, &spec3.Error{Pointer: pointer + "/$ref", Err: errors.New("the schema of a CustomResourceDefinition cannot hold a $ref")}
	}
	for i := range m {
		var err error
		switch name := m[i].name; name {
		case "properties":
			m[i].value, err = enrichAll(m[i].value, pointer+"/properties")
		case "items", "additionalProperties":
			m[i].value, err = enrich(m[i].value, pointer+"/"+name)
		}
		if err != nil {
			return nil, err
		}
	}
	if isTrue(m, "x-kubernetes-int-or-string") {
		m = unfoldIntOrString(m)
	}
	if isTrue(m, "x-kubernetes-embedded-resource") {
		m = addRequired(addObjectFields(m, &embeddedFields), "kind", "apiVersion")
	}
	return m.object(), nil
}

func enrichAll(properties jsontext.Value, pointer string) (jsontext.Value, error) {
	if properties.Kind() != jsontext.KindBeginObject {
		return properties, nil
	}
	m := parseMembers(properties)
	for i := range m {
		var err error
		if m[i].value, err = enrich(m[i].value, pointer+"/"+pointerEscaper.Replace(m[i].name)); err != nil {
			return nil, err
		}
	}
	return m.object(), nil
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

func isTrue(m members, name string) bool {
	value, ok := m.get(name)
	return ok && value.Kind() == jsontext.KindTrue
}

// intOrString is the anyOf that says in OpenAPI what x-kubernetes-int-or-string
// means; integer comes first, because readers recognise it so.
var intOrString = jsontext.Value(`[{"type":"integer"},{"type":"string"}]`)

// unfoldIntOrString adds that anyOf, as Structural.Unfold of apiextensions does:
// where the author wrote it, there or in the first allOf, nothing is added; where
// another anyOf stands, it goes in front of allOf.
func unfoldIntOrString(m members) members {
	anyOf, hasAnyOf := m.get("anyOf")
	if hasAnyOf && bytes.Equal(anyOf, intOrString) {
		return m
	}
	allOf, _ := m.get("allOf")
	elements := parseElements(allOf)
	if len(elements) > 0 {
		if a, ok := parseMembers(elements[0]).get("anyOf"); ok && bytes.Equal(a, intOrString) {
			return m
		}
	}
	if !hasAnyOf {
		return m.set("anyOf", intOrString)
	}
	unfolded := members{{"anyOf", intOrString}}.object()
	return m.set("allOf", array(append([]jsontext.Value{unfolded}, elements...)))
}

// parseElements splits the bytes of an array; anything else has no elements.
func parseElements(raw jsontext.Value) []jsontext.Value {
	var out []jsontext.Value
	for e := range spec3.Elements(raw) {
		out = append(out, e)
	}
	return out
}

func array(elements []jsontext.Value) jsontext.Value {
	out := []byte{'['}
	for i, e := range elements {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, e...)
	}
	return append(out, ']')
}

// addRequired appends names to required that are not there yet.
func addRequired(m members, names ...string) members {
	existing, _ := m.get("required")
	elements := parseElements(existing)
	for _, name := range names {
		if !slices.ContainsFunc(elements, func(e jsontext.Value) bool { return bytes.Equal(e, quoted(name)) }) {
			elements = append(elements, quoted(name))
		}
	}
	return m.set("required", array(elements))
}

// addObjectFields adds the fields that every object has. What the author says of
// apiVersion and kind stays as it is; metadata becomes a reference to ObjectMeta in
// allOf, beside what the author says of it.
func addObjectFields(m members, fields *objectFields) members {
	existing, _ := m.get("properties")
	properties := parseMembers(existing)
	for _, f := range []member{{"apiVersion", fields.apiVersion}, {"kind", fields.kind}} {
		if _, ok := properties.get(f.name); !ok {
			properties = properties.set(f.name, f.value)
		}
	}
	metadata, _ := properties.get("metadata")
	own := parseMembers(metadata)
	allOf, _ := own.get("allOf")
	own = own.set("allOf", array(append(parseElements(allOf), refTo(objectMeta))))
	if _, ok := own.get("description"); !ok {
		own = own.set("description", fields.metadata)
	}
	properties = properties.set("metadata", own.object())
	return m.set("properties", properties.object())
}

// kindSchema returns the schema of a version's kind.
func (d *Definition) kindSchema(v *version) (jsontext.Value, error) {
	pointer := "/spec/versions/" + strconv.Itoa(v.index) + "/schema/openAPIV3Schema"
	schema, err := enrich(v.Schema.OpenAPIV3Schema, pointer)
	if err != nil {
		return nil, err
	}
	m := addObjectFields(parseMembers(schema), &rootFields)
	m = m.set("x-kubernetes-group-version-kind", array([]jsontext.Value{d.groupVersionKind(v, d.Kind)}))
	return withSelectableFields(m, v).object(), nil
}

// listSchema returns the schema of a version's list kind.
func (d *Definition) listSchema(v *version) jsontext.Value {
	items := members{
		{"description", quoted(fmt.Sprintf("List of %s. More info: %s", d.Plural, conventions))},
		{"type", quoted("array")},
		{"items", refTo(d.schemaName(v, d.Kind))},
	}
	metadata := members{
		{"description", listMetadataDescription},
		{"allOf", array([]jsontext.Value{refTo(listMeta)})},
	}
	m := members{
		{"description", quoted(d.ListKind + " is a list of " + d.Kind)},
		{"type", quoted("object")},
		{"required", jsontext.Value(`["items"]`)},
		{"properties", members{
			{"apiVersion", rootFields.apiVersion}, {"items", items.object()},
			{"kind", rootFields.kind}, {"metadata", metadata.object()},
		}.object()},
		{"x-kubernetes-group-version-kind", array([]jsontext.Value{d.groupVersionKind(v, d.ListKind)})},
	}
	return withSelectableFields(m, v).object()
}

func withSelectableFields(m members, v *version) members {
	if len(v.SelectableFields) == 0 {
		return m
	}
	fields := make([]jsontext.Value, 0, len(v.SelectableFields))
	for _, f := range v.SelectableFields {
		fields = append(fields, members{{"fieldPath", quoted(strings.TrimPrefix(f.JSONPath, "."))}}.object())
	}
	return m.set("x-kubernetes-selectable-fields", array(fields))
}

func (d *Definition) groupVersionKind(v *version, kind string) jsontext.Value {
	return members{{"group", quoted(d.Group)}, {"kind", quoted(kind)}, {"version", quoted(v.Name)}}.object()
}

// schemaName returns the name of a kind's schema: the group with its parts reversed,
// version and kind (gvkToModelName of the apiextensions builder).
func (d *Definition) schemaName(v *version, kind string) string {
	parts := strings.Split(d.Group, ".")
	slices.Reverse(parts)
	return strings.Join(parts, ".") + "." + v.Name + "." + kind
}

func refTo(schema string) jsontext.Value {
	return members{{"$ref", quoted("#/components/schemas/" + schema)}}.object()
}
