package crdschema

import (
	"encoding/json"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Finding is something that is wrong with a definition that is published all the
// same.
type Finding struct {
	// Version is the name of the version.
	Version string
	// Text says what is wrong, and where.
	Text string
}

// Findings returns the served versions whose schema is not structural, which
// Kubernetes asks for since apiextensions.k8s.io/v1 and without which it publishes
// nothing of a schema. The check is that of apiextensions-apiserver.
func (d *Definition) Findings() []Finding {
	var out []Finding
	for i := range d.versions {
		v := &d.versions[i]
		if !v.Served {
			continue
		}
		if text := nonStructural(v); text != "" {
			out = append(out, Finding{Version: v.Name, Text: text})
		}
	}
	return out
}

// nonStructural returns why a version's schema is not structural; empty where it is.
func nonStructural(v *version) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprintf("the check of the schema panicked: %v", p)
		}
	}()
	var written apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(v.Schema.OpenAPIV3Schema, &written); err != nil {
		return fmt.Sprintf("the schema is not what apiextensions.k8s.io/v1 has: %v", err)
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&written, &internal, nil); err != nil {
		return fmt.Sprintf("the schema is not structural: %v", err)
	}
	structural, err := structuralschema.NewStructural(&internal)
	if err != nil {
		return fmt.Sprintf("the schema is not structural: %v", err)
	}
	root := field.NewPath("spec", "versions").Index(v.index).Child("schema", "openAPIV3Schema")
	problems := structuralschema.ValidateStructural(root, structural)
	switch len(problems) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("the schema is not structural: %v", problems[0])
	}
	return fmt.Sprintf("the schema is not structural: %v (and %d more like it)", problems[0], len(problems)-1)
}
