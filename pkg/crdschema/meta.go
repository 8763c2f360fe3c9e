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

	"github.com/seed-0662880d/openapi-server/pkg/spec3"
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

// base holds what all documents have in common, with and without the schemas of a
// scale subresource.
type base struct{ plain, scale *spec3.Document }

// shared makes the documents that all others are based on, once in the process, from
// the definitions that apiextensions-apiserver generates of Kubernetes' types.
var shared = sync.OnceValues(func() (base, error) {
	definitions := generated.GetOpenAPIDefinitions(func(name string) spec.Ref {
		return spec.MustCreateRef("#/components/schemas/" + name)
	})
	always := []string{objectMeta, listMeta, statusName, patchName, deleteOptions}
	plain, err := baseOf(definitions, always)
	if err != nil {
		return base{}, err
	}
	scale, err := baseOf(definitions, append(always, scaleName))
	return base{plain: plain, scale: scale}, err
})

func baseOf(definitions map[string]common.OpenAPIDefinition, names []string) (*spec3.Document, error) {
	schemas, err := closure(definitions, names...)
	if err != nil {
		return nil, err
	}
	d, err := spec3.Parse(members{
		{"openapi", quoted("3.0.0")},
		{"components", members{{"schemas", schemas.object()}, {"parameters", sharedParameters().object()}}.object()},
	}.object(), spec3.Limits{})
	if err != nil {
		return nil, fmt.Errorf("the schemas of Kubernetes: %w", err)
	}
	return d, nil
}

// closure returns the schemas of the given names and of all that they refer to.
func closure(definitions map[string]common.OpenAPIDefinition, names ...string) (members, error) {
	names = slices.Clone(names)
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
	return parseMembers(encoded).set("x-kubernetes-group-version-kind", array([]jsontext.Value{
		members{{"group", quoted(gvk.Group)}, {"kind", quoted(gvk.Kind)}, {"version", quoted(gvk.Version)}}.object(),
	})).object(), nil
}
