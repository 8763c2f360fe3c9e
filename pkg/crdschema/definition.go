package crdschema

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed-0662880d/openapi-server/pkg/spec3"
)

// Definition is a CustomResourceDefinition, as far as its documents need it.
type Definition struct {
	// Name is the name of the object: "widgets.example.com".
	Name string
	// Group, Plural, Kind and ListKind are its names. ListKind is Kind with "List"
	// where the author gave none (as apiextensions defaults it).
	Group, Plural, Kind, ListKind string
	// Namespaced tells the scope.
	Namespaced bool
	// Withheld says why a cluster does not serve the definition, by its status; it is
	// empty where it does, and for objects without a status.
	Withheld string

	versions []version
	value    spec3.Value
}

// version is one member of spec.versions, with the index it has there.
type version struct {
	Name   string `json:"name"`
	Served bool   `json:"served"`
	Schema struct {
		OpenAPIV3Schema jsontext.Value `json:"openAPIV3Schema"`
	} `json:"schema"`
	Subresources struct {
		Status jsontext.Value `json:"status"`
		Scale  jsontext.Value `json:"scale"`
	} `json:"subresources"`
	SelectableFields []struct {
		JSONPath string `json:"jsonPath"`
	} `json:"selectableFields"`

	index int
}

// object is what Parse reads of a CRD.
type object struct {
	APIVersion string `json:"apiVersion"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Group string `json:"group"`
		Scope string `json:"scope"`
		Names struct {
			Plural   string `json:"plural"`
			Kind     string `json:"kind"`
			ListKind string `json:"listKind"`
		} `json:"names"`
		Versions []version `json:"versions"`
	} `json:"spec"`
	Status struct {
		Conditions []struct {
			Type    string `json:"type"`
			Status  string `json:"status"`
			Message string `json:"message"`
		} `json:"conditions"`
	} `json:"status"`
}

// Parse reads a CustomResourceDefinition of apiextensions.k8s.io/v1. Errors are of
// type [*spec3.Error], with the place in the text where one is known: what is no
// such object, lacks a name or a version, or holds a served version without a
// schema.
func Parse(v spec3.Value, limits spec3.Limits) (*Definition, error) {
	canonical, err := v.Canonical(limits)
	if err != nil {
		return nil, err
	}
	var o object
	if err := json.Unmarshal(canonical, &o); err != nil {
		if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
			return nil, v.Locate(&spec3.Error{Pointer: string(semantic.JSONPointer), Err: fmt.Errorf("not a CustomResourceDefinition: it has the wrong type")})
		}
		return nil, v.Locate(&spec3.Error{Err: fmt.Errorf("not a CustomResourceDefinition: %w", err)})
	}
	fail := func(pointer, format string, args ...any) error {
		return v.Locate(&spec3.Error{Pointer: pointer, Err: fmt.Errorf(format, args...)})
	}
	if o.APIVersion != "apiextensions.k8s.io/v1" {
		return nil, fail("/apiVersion", "a CustomResourceDefinition of %s cannot be published; write it as apiextensions.k8s.io/v1", o.APIVersion)
	}
	d := &Definition{
		Name:       o.Metadata.Name,
		Group:      o.Spec.Group,
		Plural:     o.Spec.Names.Plural,
		Kind:       o.Spec.Names.Kind,
		ListKind:   o.Spec.Names.ListKind,
		Namespaced: o.Spec.Scope == "Namespaced",
		value:      v,
	}
	if d.ListKind == "" {
		d.ListKind = d.Kind + "List"
	}
	for _, required := range []struct{ pointer, value string }{
		{"/spec/group", d.Group}, {"/spec/names/plural", d.Plural}, {"/spec/names/kind", d.Kind}, {"/spec/scope", o.Spec.Scope},
	} {
		if required.value == "" {
			return nil, fail("/spec", "the CustomResourceDefinition has no %s", required.pointer)
		}
	}
	if o.Spec.Scope != "Namespaced" && o.Spec.Scope != "Cluster" {
		return nil, fail("/spec/scope", "the scope %q is neither Namespaced nor Cluster", o.Spec.Scope)
	}
	for i := range o.Spec.Versions {
		ver := o.Spec.Versions[i]
		ver.index = i
		pointer := fmt.Sprintf("/spec/versions/%d", i)
		if err := spec3.CheckPath("apis/" + d.Group + "/" + ver.Name); err != nil {
			return nil, fail(pointer, "%w", err)
		}
		if slices.ContainsFunc(d.versions, func(other version) bool { return other.Name == ver.Name }) {
			return nil, fail(pointer+"/name", "the version %s is there twice", ver.Name)
		}
		if ver.Served && ver.Schema.OpenAPIV3Schema.Kind() != jsontext.KindBeginObject {
			return nil, fail(pointer, "the version %s has no schema; apiextensions.k8s.io/v1 wants one at schema.openAPIV3Schema", ver.Name)
		}
		d.versions = append(d.versions, ver)
	}
	if len(d.versions) == 0 {
		return nil, fail("/spec", "the CustomResourceDefinition has no versions")
	}
	for _, c := range o.Status.Conditions {
		// Terminating definitions are still served.
		if (c.Type == "NamesAccepted" || c.Type == "Established") && c.Status != "True" && d.Withheld == "" {
			d.Withheld = fmt.Sprintf("%s is %s: %s", c.Type, c.Status, c.Message)
		}
	}
	return d, nil
}
