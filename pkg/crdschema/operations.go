package crdschema

import (
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// operation is one way to call a path.
type operation struct {
	method string // as OpenAPI names it
	// action is x-kubernetes-action, verb what the operation id begins with and the
	// description says.
	action, verb string
	// schema is the name of what is answered; body of what is sent, empty for none.
	schema, body string
	// bodyOptional is true where the body may be missing.
	bodyOptional bool
	parameters   []parameter
	// accepted are the codes of success beside 200.
	accepted []string
}

var codeTexts = map[string]string{"200": "OK", "201": "Created", "202": "Accepted"}

// The media types of bodies and answers.
var (
	objectTypes = []string{"application/json", "application/yaml"}
	patchTypes  = []string{"application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"}
)

// paths returns the paths of a version, as k8s.io/apiserver installs them for a
// custom resource.
func (d *Definition) paths(v *version) members {
	kind, list := d.schemaName(v, d.Kind), d.schemaName(v, d.ListKind)
	root := "/apis/" + d.Group + "/" + v.Name + "/"
	collection := root + d.Plural
	shared := []jsontext.Value{prettyParameter.reference()}
	listing := operation{method: "get", action: "list", verb: "list", schema: list, parameters: listParameters}
	var out members
	if d.Namespaced {
		out = append(out, member{collection, d.pathItem(v, "", "ForAllNamespaces", shared, listing)})
		collection = root + "namespaces/{namespace}/" + d.Plural
		shared = append(shared, namespaceParameter.reference())
	}
	out = append(out, member{collection, d.pathItem(v, "", "", shared, listing,
		operation{method: "post", action: "post", verb: "create", schema: kind, body: kind, parameters: createParameters, accepted: []string{"201", "202"}},
		operation{method: "delete", action: "deletecollection", verb: "deletecollection", schema: statusName, parameters: listParameters},
	)})

	shared = append(shared, pathParameter("name", "name of the "+d.Kind))
	item := func(schema string) []operation {
		return []operation{
			{method: "get", action: "get", verb: "read", schema: schema, parameters: getParameters},
			{method: "put", action: "put", verb: "replace", schema: schema, body: schema, parameters: updateParameters, accepted: []string{"201"}},
			{method: "patch", action: "patch", verb: "patch", schema: schema, body: patchName, parameters: patchParameters},
		}
	}
	out = append(out, member{collection + "/{name}", d.pathItem(v, "", "", shared, append(item(kind),
		operation{method: "delete", action: "delete", verb: "delete", schema: statusName, body: deleteOptions, bodyOptional: true, parameters: deleteParameters, accepted: []string{"202"}},
	)...)})
	if v.hasStatus() {
		out = append(out, member{collection + "/{name}/status", d.pathItem(v, "status", "", shared, item(kind)...)})
	}
	if v.hasScale() {
		out = append(out, member{collection + "/{name}/scale", d.pathItem(v, "scale", "", shared, item(scaleName)...)})
	}
	return out
}

func (v *version) hasStatus() bool { return v.Subresources.Status.Kind() == jsontext.KindBeginObject }
func (v *version) hasScale() bool  { return v.Subresources.Scale.Kind() == jsontext.KindBeginObject }

// pathItem returns the path item of some operations on a kind or a subresource of it.
func (d *Definition) pathItem(v *version, subresource, idSuffix string, shared []jsontext.Value, operations ...operation) jsontext.Value {
	m := members{{"parameters", array(shared)}}
	for _, o := range operations {
		m = append(m, member{o.method, d.operation(v, &o, subresource, idSuffix)})
	}
	return m.object()
}

func (d *Definition) operation(v *version, o *operation, subresource, idSuffix string) jsontext.Value {
	m := members{
		{"description", quoted(d.describe(o.verb, subresource))},
		{"operationId", quoted(d.operationID(v, o.verb, subresource, idSuffix))},
		{"tags", array([]jsontext.Value{quoted(identifier(d.shortGroup(), false) + "_" + identifier(v.Name, false))})},
		{"x-kubernetes-action", quoted(o.action)},
		// An object, where schemas have a list: kubectl explain and apply look for both.
		{"x-kubernetes-group-version-kind", d.groupVersionKind(v, d.Kind)},
	}
	if len(o.parameters) > 0 {
		parameters := make([]jsontext.Value, 0, len(o.parameters))
		for _, p := range o.parameters {
			if o.method == "patch" {
				parameters = append(parameters, p.value)
			} else {
				parameters = append(parameters, p.reference())
			}
		}
		m = append(m, member{"parameters", array(parameters)})
	}
	if o.body != "" {
		types := objectTypes
		if o.method == "patch" {
			types = patchTypes
		}
		body := members{{"content", content(types, o.body)}}
		if !o.bodyOptional {
			body = append(body, member{"required", jsontext.Value("true")})
		}
		m = append(m, member{"requestBody", body.object()})
	}
	responses := members{}
	for _, code := range append([]string{"200"}, o.accepted...) {
		responses = append(responses, member{code, members{
			{"content", content(objectTypes, o.schema)}, {"description", quoted(codeTexts[code])},
		}.object()})
	}
	responses = append(responses, member{"401", members{{"description", quoted("Unauthorized")}}.object()})
	return append(m, member{"responses", responses.object()}).object()
}

func content(types []string, schema string) jsontext.Value {
	m := make(members, 0, len(types))
	for _, t := range types {
		m = append(m, member{t, members{{"schema", refTo(schema)}}.object()})
	}
	return m.object()
}

// describe says what an operation does.
func (d *Definition) describe(verb, subresource string) string {
	of := ""
	if subresource != "" {
		of = subresource + " of "
	}
	switch verb {
	case "list":
		return "list " + of + "objects of kind " + d.Kind
	case "patch":
		return "partially update " + of + "the specified " + d.Kind
	case "deletecollection":
		return "delete collection of " + d.Kind
	case "create", "delete":
		return verb + " " + article(d.Kind) + d.Kind
	}
	return verb + " " + of + "the specified " + d.Kind
}

// article returns the article for a kind, with a space; a plural has none
// (k8s.io/apiserver/pkg/endpoints.GetArticleForNoun).
func article(kind string) string {
	switch {
	case strings.HasSuffix(kind, "s") && !strings.HasSuffix(kind, "ss"):
		return ""
	case strings.ContainsRune("aeiouAEIOU", rune(kind[0])):
		return "an "
	}
	return "a "
}

func (d *Definition) shortGroup() string { return strings.TrimSuffix(d.Group, ".k8s.io") }

// operationID returns the id of an operation: verb, group, version, scope, kind and
// subresource, in camel case (k8s.io/apiserver/pkg/endpoints/openapi).
func (d *Definition) operationID(v *version, verb, subresource, suffix string) string {
	rest := ""
	if verb == "deletecollection" {
		verb, rest = "delete", "Collection"
	}
	if d.Namespaced && suffix == "" {
		rest += "Namespaced"
	}
	rest += d.Kind + identifier(subresource, true) + suffix
	return verb + identifier(d.shortGroup(), true) + identifier(v.Name, true) + identifier(rest, true)
}

// identifier makes camel case of a name: letters, digits and underscores stay, and
// what follows anything else is capitalised (ToValidOperationID of the same package).
func identifier(name string, capitalize bool) string {
	var b strings.Builder
	for i, r := range name {
		switch {
		case unicode.IsLetter(r), r == '_', i != 0 && unicode.IsDigit(r):
			if capitalize {
				r = unicode.ToUpper(r)
				capitalize = false
			}
			b.WriteRune(r)
		default:
			capitalize = true
		}
	}
	return b.String()
}
