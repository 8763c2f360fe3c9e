package crdschema

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	generated "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	builder "k8s.io/kube-openapi/pkg/builder3/util"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Names of the schemas that documents refer to.
var (
	objectMeta    = metav1.ObjectMeta{}.OpenAPIModelName()
	listMeta      = metav1.ListMeta{}.OpenAPIModelName()
	statusName    = metav1.Status{}.OpenAPIModelName()
	patchName     = metav1.Patch{}.OpenAPIModelName()
	deleteOptions = metav1.DeleteOptions{}.OpenAPIModelName()
	scaleName     = autoscalingv1.Scale{}.OpenAPIModelName()
)

// conventions is where the API conventions are explained.
const conventions = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"

// objectFields are the schemas of apiVersion and kind, and the description of
// metadata, of an object that says nothing of them itself.
type objectFields struct{ apiVersion, kind, metadata jsontext.Value }

var (
	rootFields     = fieldsOf(metav1.TypeMeta{}.SwaggerDoc()["apiVersion"], metav1.TypeMeta{}.SwaggerDoc()["kind"])
	embeddedFields = fieldsOf(
		"apiVersion defines the versioned schema of this representation of an object. More info: "+conventions+"#resources",
		"kind is a string value representing the type of this object. In CamelCase. More info: "+conventions+"#types-kinds",
	)
	listMetadataDescription = quoted(metav1.PartialObjectMetadataList{}.SwaggerDoc()["metadata"])
)

func fieldsOf(apiVersion, kind string) objectFields {
	field := func(description string) jsontext.Value {
		return members{{"description", quoted(description)}, {"type", quoted("string")}}.object()
	}
	return objectFields{
		apiVersion: field(apiVersion),
		kind:       field(kind),
		metadata:   quoted(metav1.PartialObjectMetadata{}.SwaggerDoc()["metadata"]),
	}
}

// sharedSchemas are the schemas of Kubernetes that a document needs, with all that
// they refer to.
type sharedSchemas struct {
	// always are those of every document, scale those that a scale subresource adds.
	always, scale members
}

// shared reads the schemas of Kubernetes, once in the process, from the definitions
// that apiextensions-apiserver generates of its types.
var shared = sync.OnceValues(func() (sharedSchemas, error) {
	definitions := generated.GetOpenAPIDefinitions(func(name string) spec.Ref {
		return spec.MustCreateRef("#/components/schemas/" + name)
	})
	always, err := closure(definitions, objectMeta, listMeta, statusName, patchName, deleteOptions)
	if err != nil {
		return sharedSchemas{}, err
	}
	scale, err := closure(definitions, scaleName)
	if err != nil {
		return sharedSchemas{}, err
	}
	scale = slices.DeleteFunc(scale, func(m member) bool {
		_, there := always.get(m.name)
		return there
	})
	return sharedSchemas{always: always, scale: scale}, nil
})

// closure returns the schemas of the given names and of all that they refer to.
func closure(definitions map[string]common.OpenAPIDefinition, names ...string) (members, error) {
	found := map[string]jsontext.Value{}
	for len(names) > 0 {
		name := names[len(names)-1]
		names = names[:len(names)-1]
		if found[name] != nil {
			continue
		}
		definition, ok := definitions[name]
		if !ok {
			return nil, fmt.Errorf("apiextensions-apiserver has no definition of %s", name)
		}
		encoded, err := encodeShared(name, definition)
		if err != nil {
			return nil, fmt.Errorf("the definition of %s: %w", name, err)
		}
		found[name] = encoded
		names = append(names, definition.Dependencies...)
	}
	var out members
	for _, name := range slices.Sorted(maps.Keys(found)) {
		out = append(out, member{name, found[name]})
	}
	return out, nil
}

// kindsOf are the shared schemas that are kinds. The incumbent lists DeleteOptions
// under every group that its scheme happens to know; a document says what it is.
var kindsOf = map[string]metav1.GroupVersionKind{
	statusName:    {Version: "v1", Kind: "Status"},
	deleteOptions: {Version: "v1", Kind: "DeleteOptions"},
	scaleName:     {Group: "autoscaling", Version: "v1", Kind: "Scale"},
}

func encodeShared(name string, definition common.OpenAPIDefinition) (jsontext.Value, error) {
	schema := definition.Schema
	// A type with a schema of its own for v3 has it here, and the one for v2 in an
	// extension.
	delete(schema.Extensions, common.ExtensionV2Schema)
	encoded, err := builder.WrapRefs(&schema).MarshalJSON()
	if err != nil {
		return nil, err
	}
	gvk, isKind := kindsOf[name]
	if !isKind {
		return encoded, nil
	}
	m, err := parseMembers(encoded)
	if err != nil {
		return nil, err
	}
	return m.set("x-kubernetes-group-version-kind", array([]jsontext.Value{
		members{{"group", quoted(gvk.Group)}, {"kind", quoted(gvk.Kind)}, {"version", quoted(gvk.Version)}}.object(),
	})).object(), nil
}
