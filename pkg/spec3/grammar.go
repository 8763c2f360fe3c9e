package spec3

import "bytes"

// object describes one kind of object of the OpenAPI 3.0 grammar: which members
// it may have and what stands below them. It is all that this package has to
// know of OpenAPI to tell a reference from data that looks like one, and a
// member that the protobuf form has a place for from one that it has not.
type object struct {
	// fields are the members that the specification names.
	fields map[string]*object
	// each is what stands below any other member, for maps such as properties
	// or responses. It is nil for objects with fixed fields.
	each *object
	// keyed tells which other members belong to each; nil means all of them.
	keyed func(name []byte) bool
	// items is what the elements are where the value is an array.
	items *object
	// free is true for values without grammar.
	free bool
	// data is true for free values in which nothing is a reference.
	data bool
	// reference is true where a Reference Object may stand instead.
	reference bool
	// mapping is true for strings that may name a schema without being a $ref.
	mapping bool
	// names is true for Security Requirement Objects: the names of their members
	// refer to components/securitySchemes.
	names bool
}

// below returns what stands below the member of the given name, and whether the
// grammar knows that member.
func (o *object) below(name []byte) (child *object, known bool) {
	if child, ok := o.fields[string(name)]; ok {
		return child, true
	}
	if o.each != nil && (o.keyed == nil || o.keyed(name)) {
		return o.each, true
	}
	if o.extensible() && isExtension(name) {
		return extension, true
	}
	return unknown, false
}

// extensible reports whether x- members are extensions of the object. In a plain
// map, such as properties or schemas, they are names like any other.
func (o *object) extensible() bool { return o.each == nil || o.keyed != nil }

// leaf reports whether there is nothing below.
func (o *object) leaf() bool { return o.fields == nil && o.each == nil && o.items == nil && !o.free }

func isExtension(name []byte) bool { return bytes.HasPrefix(name, []byte("x-")) }

var (
	// scalar is a string, number or boolean.
	scalar = &object{}
	// mappingTarget is a value of a discriminator's mapping: the name of a schema
	// or a reference to one.
	mappingTarget = &object{mapping: true}
	// literal is data: a $ref in it refers to nothing.
	literal = &object{free: true, data: true}
	// defaultLiteral is the value of a default, for which the protobuf form has less
	// room than for other data.
	defaultLiteral = &object{free: true, data: true}
	// extension is the value of an x- member. What looks like a reference in it
	// may be one, so it keeps components alive but is not checked.
	extension = &object{free: true}
	// unknown is the value of a member that the specification does not know. It is
	// treated like an extension.
	unknown = &object{free: true}

	rootGrammar = grammar()
)

// grammar builds the table from the OpenAPI Specification 3.0.3, section 4.7.
func grammar() *object {
	var (
		document, components, info, server, pathItem, operation, docs    object
		parameter, requestBody, mediaType, encoding, responses, response object
		callback, example, link, header, schema, securityScheme          object
		contact, license, variable, tag, discriminator, xml, flows, flow object
	)
	mapOf := func(o *object) *object { return &object{each: o} }
	listOf := func(o *object) *object { return &object{items: o} }
	fixed := func(o *object, fields map[string]*object) { o.fields = fields }
	scalars := func(o *object, names ...string) {
		if o.fields == nil {
			o.fields = map[string]*object{}
		}
		for _, name := range names {
			o.fields[name] = scalar
		}
	}
	security := listOf(&object{each: literal, names: true})

	fixed(&document, map[string]*object{
		"info": &info, "servers": listOf(&server), "components": &components,
		"security": security, "tags": listOf(&tag), "externalDocs": &docs,
		"paths": {each: &pathItem, keyed: func(name []byte) bool { return len(name) > 0 && name[0] == '/' }},
	})
	scalars(&document, "openapi")
	fixed(&info, map[string]*object{"contact": &contact, "license": &license})
	scalars(&info, "title", "description", "termsOfService", "version")
	scalars(&contact, "name", "url", "email")
	scalars(&license, "name", "url")
	fixed(&server, map[string]*object{"variables": mapOf(&variable)})
	scalars(&server, "url", "description")
	fixed(&variable, map[string]*object{"enum": listOf(scalar)})
	scalars(&variable, "default", "description")
	fixed(&components, map[string]*object{
		"schemas": mapOf(&schema), "responses": mapOf(&response), "parameters": mapOf(&parameter),
		"examples": mapOf(&example), "requestBodies": mapOf(&requestBody), "headers": mapOf(&header),
		"securitySchemes": mapOf(&securityScheme), "links": mapOf(&link), "callbacks": mapOf(&callback),
	})
	fixed(&pathItem, map[string]*object{"servers": listOf(&server), "parameters": listOf(&parameter)})
	for _, method := range []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"} {
		pathItem.fields[method] = &operation
	}
	scalars(&pathItem, "$ref", "summary", "description")
	fixed(&operation, map[string]*object{
		"tags": listOf(scalar), "externalDocs": &docs, "parameters": listOf(&parameter),
		"requestBody": &requestBody, "responses": &responses, "callbacks": mapOf(&callback),
		"security": security, "servers": listOf(&server),
	})
	scalars(&operation, "summary", "description", "operationId", "deprecated")
	scalars(&docs, "description", "url")
	headerFields := func(o *object) {
		fixed(o, map[string]*object{
			"schema": &schema, "example": literal, "examples": mapOf(&example), "content": mapOf(&mediaType),
		})
		scalars(o, "description", "required", "deprecated", "allowEmptyValue", "style", "explode", "allowReserved")
		o.reference = true
	}
	headerFields(&header)
	headerFields(&parameter)
	scalars(&parameter, "name", "in")
	fixed(&requestBody, map[string]*object{"content": mapOf(&mediaType)})
	scalars(&requestBody, "description", "required")
	fixed(&mediaType, map[string]*object{
		"schema": &schema, "example": literal, "examples": mapOf(&example), "encoding": mapOf(&encoding),
	})
	fixed(&encoding, map[string]*object{"headers": mapOf(&header)})
	scalars(&encoding, "contentType", "style", "explode", "allowReserved")
	responses = object{
		fields: map[string]*object{"default": &response},
		each:   &response,
		keyed:  isStatusPattern,
	}
	fixed(&response, map[string]*object{
		"headers": mapOf(&header), "content": mapOf(&mediaType), "links": mapOf(&link),
	})
	scalars(&response, "description")
	callback = object{each: &pathItem, keyed: func(name []byte) bool { return !isExtension(name) && string(name) != "$ref" }}
	fixed(&example, map[string]*object{"value": literal})
	scalars(&example, "summary", "description", "externalValue")
	fixed(&link, map[string]*object{"parameters": mapOf(literal), "requestBody": literal, "server": &server})
	scalars(&link, "operationRef", "operationId", "description")
	fixed(&tag, map[string]*object{"externalDocs": &docs})
	scalars(&tag, "name", "description")

	// additionalProperties is a schema or a boolean; a boolean has no members, so
	// the schema's grammar serves both.
	fixed(&schema, map[string]*object{
		"required": listOf(scalar), "enum": listOf(literal), "default": defaultLiteral, "example": literal,
		"allOf": listOf(&schema), "oneOf": listOf(&schema), "anyOf": listOf(&schema), "not": &schema,
		"items": &schema, "properties": mapOf(&schema), "additionalProperties": &schema,
		"discriminator": &discriminator, "xml": &xml, "externalDocs": &docs,
	})
	scalars(&schema, "title", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum",
		"maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "maxProperties",
		"minProperties", "type", "description", "format", "nullable", "readOnly", "writeOnly", "deprecated")
	fixed(&discriminator, map[string]*object{"mapping": mapOf(mappingTarget)})
	scalars(&discriminator, "propertyName")
	scalars(&xml, "name", "namespace", "prefix", "attribute", "wrapped")
	fixed(&securityScheme, map[string]*object{"flows": &flows})
	scalars(&securityScheme, "type", "description", "name", "in", "scheme", "bearerFormat", "openIdConnectUrl")
	fixed(&flows, map[string]*object{
		"implicit": &flow, "password": &flow, "clientCredentials": &flow, "authorizationCode": &flow,
	})
	fixed(&flow, map[string]*object{"scopes": mapOf(scalar)})
	scalars(&flow, "authorizationUrl", "tokenUrl", "refreshUrl")

	for _, o := range []*object{&schema, &response, &requestBody, &example, &link, &callback, &securityScheme} {
		o.reference = true
	}
	return &document
}

// isStatusPattern reports whether name is an HTTP status code or a range of
// them, such as 200 or 4XX (section 4.7.16.2).
func isStatusPattern(name []byte) bool {
	if len(name) != 3 {
		return false
	}
	for i := range len(name) {
		if c := name[i]; (c < '0' || c > '9') && c != 'X' {
			return false
		}
	}
	return true
}
