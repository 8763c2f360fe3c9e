package crdschema

import (
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// parameter is a parameter of operations.
type parameter struct {
	// component is its name in components/parameters, such as "ListOptions.limit".
	component string
	value     jsontext.Value
}

// reference returns the reference to the shared parameter.
func (p parameter) reference() jsontext.Value {
	return members{{"$ref", quoted("#/components/parameters/" + p.component)}}.object()
}

// The parameters of Kubernetes' options, read from their types. The order is that of
// the fields.
var (
	listParameters   = parametersOf(metav1.ListOptions{})
	getParameters    = parametersOf(metav1.GetOptions{})
	createParameters = parametersOf(metav1.CreateOptions{})
	updateParameters = parametersOf(metav1.UpdateOptions{})
	patchParameters  = parametersOf(metav1.PatchOptions{})
	deleteParameters = parametersOf(metav1.DeleteOptions{})

	prettyParameter = parameter{"pretty", queryParameter("pretty", "string",
		"Whether the answer is indented for people: true or false. Without it, the server decides by the user agent.")}
	namespaceParameter = parameter{"namespace", pathParameter("namespace", "The namespace of the object, its scope of names and of authorization.")}
)

// sharedParameters are all that documents refer to. Those of PATCH are missing on
// purpose: kubectl looks for fieldValidation there, follows references to
// "#/parameters/" only, and so has to find it inline
// (k8s.io/cli-runtime/pkg/resource/query_param_verifier_v3.go).
func sharedParameters() members {
	var out members
	for _, list := range [][]parameter{
		{namespaceParameter, prettyParameter}, listParameters, getParameters, createParameters, updateParameters, deleteParameters,
	} {
		for _, p := range list {
			out = append(out, member{p.component, p.value})
		}
	}
	return out
}

// documented is what Kubernetes' option types are.
type documented interface{ SwaggerDoc() map[string]string }

// parametersOf returns the query parameters that the fields of an options type
// stand for, as k8s.io/apiserver/pkg/endpoints.AddObjectParams does: fields that are
// structs or interfaces are none.
func parametersOf(options documented) []parameter {
	t, docs := reflect.TypeOf(options), options.SwaggerDoc()
	var out []parameter
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		kind := f.Type
		if kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice {
			kind = kind.Elem()
		}
		if name == "" || kind.Kind() == reflect.Struct || kind.Kind() == reflect.Interface {
			continue
		}
		out = append(out, parameter{t.Name() + "." + name, queryParameter(name, jsonType(kind.Kind()), docs[name])})
	}
	return out
}

func jsonType(k reflect.Kind) string {
	switch k {
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "integer"
	}
	return "string"
}

// queryParameter and pathParameter write a parameter as go-restful does; uniqueItems
// says nothing of a string, and is what every client of Kubernetes gets.
func queryParameter(name, kind, description string) jsontext.Value {
	return members{
		{"description", quoted(description)}, {"in", quoted("query")}, {"name", quoted(name)},
		{"schema", parameterSchema(kind)},
	}.object()
}

func pathParameter(name, description string) jsontext.Value {
	return members{
		{"description", quoted(description)}, {"in", quoted("path")}, {"name", quoted(name)},
		{"required", jsontext.Value("true")}, {"schema", parameterSchema("string")},
	}.object()
}

func parameterSchema(kind string) jsontext.Value {
	return members{{"type", quoted(kind)}, {"uniqueItems", jsontext.Value("true")}}.object()
}
