// Package sample holds the API that openapi-server serves when it is given
// nothing else.
package sample

import _ "embed"

// Name is what the sample is called where a file has its path.
const Name = "embedded sample"

// Text is an OpenAPI 3.0 document of several groups and versions, in YAML.
//
//go:embed library.yaml
var Text []byte
