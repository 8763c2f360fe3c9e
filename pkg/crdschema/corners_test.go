package crdschema_test

import "fmt"

// corners are definitions that no real one covers.
var corners = map[string][]byte{
	"int-or-string": crd("Namespaced", "", `
        type: object
        properties:
          bare: {x-kubernetes-int-or-string: true}
          canonical: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
          inAllOf: {x-kubernetes-int-or-string: true, allOf: [{anyOf: [{type: integer}, {type: string}]}, {pattern: x}]}
          other: {x-kubernetes-int-or-string: true, anyOf: [{minimum: 1}, {maxLength: 3}], allOf: [{pattern: z}]}
          nested: {type: array, items: {type: object, additionalProperties: {x-kubernetes-int-or-string: true}}}
`),
	"embedded resources": crd("Cluster", "", `
        type: object
        properties:
          bare: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
          required: {type: object, required: [kind, spec], x-kubernetes-embedded-resource: true, properties: {spec: {type: string}}}
          nested: {type: array, items: {type: object, x-kubernetes-embedded-resource: true, properties: {inner: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}}}
`),
	"subresources and selectable fields": crd("Namespaced", `
      subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
      selectableFields: [{jsonPath: .spec.color}]`, `
        type: object
        properties:
          spec: {type: object, properties: {color: {type: string}, replicas: {type: integer}}}
          status: {type: object, properties: {replicas: {type: integer}}}
`),
	"keywords": crd("Cluster", `
      subresources: {status: {}}`, `
        type: object
        description: All keywords that a structural schema may have.
        required: [spec]
        x-kubernetes-validations: [{rule: self.spec.a != self.spec.b, message: differ, reason: FieldValueInvalid, fieldPath: .spec.a}]
        properties:
          spec:
            type: object
            nullable: true
            title: Title
            externalDocs: {url: "https://example.com", description: docs}
            default: {a: x}
            example: {a: 1.5}
            maxProperties: 5
            minProperties: 1
            x-kubernetes-map-type: atomic
            oneOf: [{required: [a]}, {required: [b]}]
            not: {required: [a, b, c]}
            properties:
              a: {type: string, enum: [x, z], maxLength: 5, minLength: 1, pattern: "^x", format: byte, default: x}
              b: {type: number, maximum: 5, exclusiveMaximum: true, minimum: 1, exclusiveMinimum: true, multipleOf: 0.5}
              c: {type: array, maxItems: 3, minItems: 1, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], properties: {k: {type: string}}}}
              d: {type: object, additionalProperties: {type: integer, format: int32}}
              e: {type: object, x-kubernetes-preserve-unknown-fields: true}
              f: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              g: {type: boolean, default: false}
`),
}

// crd returns a definition with one version, v1, of apples.fruit.example.k8s.io.
func crd(scope, version, schema string) []byte {
	return fmt.Appendf(nil, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: apples.fruit.example.k8s.io}
spec:
  group: fruit.example.k8s.io
  scope: %s
  names: {plural: apples, singular: apple, kind: Apple}
  versions:
    - name: v1
      served: true
      storage: true%s
      schema:
       openAPIV3Schema:%s`, scope, version, schema)
}
