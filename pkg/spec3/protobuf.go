package spec3

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/gnostic-models/compiler"
	openapi "github.com/google/gnostic-models/openapiv3"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"
)

// Protobuf returns canonical JSON (see [Document.JSON]) as gnostic's
// openapi.v3.Document in the protobuf wire format, the form that Kubernetes
// serves. That message cannot say all that JSON can, so JSON is authoritative:
//
//   - a member that the specification does not know, and that is no extension,
//     is left out (gnostic would refuse the whole document);
//   - a default that is null, an object or an array is left out (gnostic would
//     write one that means null);
//   - a $ref with other members beside it is wrapped in allOf where a schema
//     stands, so that they survive, and stands alone elsewhere;
//   - numbers are doubles, and a zero is no different from an absent number.
//
// The error says what in the document the message has no way to hold. A panic of
// the library is such an error.
func Protobuf(canonical []byte) (message []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			message, err = nil, fmt.Errorf("to protobuf: the encoder panicked: %v", p)
		}
	}()
	w := nodeWriter{dec: jsontext.NewDecoder(bytes.NewBuffer(canonical),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	root, err := w.node(rootGrammar)
	if err != nil {
		return nil, fmt.Errorf("to protobuf: %w", err)
	}
	document, err := openapi.NewDocument(root, compiler.NewContext("$root", root, nil))
	if err != nil {
		return nil, fmt.Errorf("to protobuf: %w", err)
	}
	message, err = proto.MarshalOptions{Deterministic: true}.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("to protobuf: %w", err)
	}
	return message, nil
}

// nodeWriter makes the YAML nodes that gnostic reads, straight from JSON. That
// spares a YAML parser's time, its idea of what a number is, and gnostic's lock
// around it.
type nodeWriter struct {
	dec *jsontext.Decoder
}

func (w *nodeWriter) node(grammar *object) (*yaml.Node, error) {
	switch w.dec.PeekKind() {
	case jsontext.KindBeginObject:
		return w.object(grammar)
	case jsontext.KindBeginArray:
		items := grammar.items
		if items == nil {
			items = grammar
		}
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		if _, err := w.dec.ReadToken(); err != nil {
			return nil, err
		}
		for w.dec.PeekKind() != jsontext.KindEndArray {
			item, err := w.node(items)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, item)
		}
		_, err := w.dec.ReadToken()
		return n, err
	default:
		token, err := w.dec.ReadToken()
		if err != nil {
			return nil, err
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: scalarTag(token), Value: token.String()}, nil
	}
}

func (w *nodeWriter) object(grammar *object) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	if _, err := w.dec.ReadToken(); err != nil {
		return nil, err
	}
	var ref *yaml.Node
	for w.dec.PeekKind() != jsontext.KindEndObject {
		token, err := w.dec.ReadToken()
		if err != nil {
			return nil, err
		}
		name := token.String()
		child := grammar
		if !grammar.free {
			var known bool
			child, known = grammar.below([]byte(name))
			reference := name == "$ref" && grammar.reference
			if !known && !reference || name == "default" && child == literal && !scalarKind(w.dec.PeekKind()) {
				if err := w.dec.SkipValue(); err != nil {
					return nil, err
				}
				continue
			}
			if reference {
				if ref, err = w.node(scalar); err != nil {
					return nil, err
				}
				continue
			}
		}
		value, err := w.node(child)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}, value)
	}
	if _, err := w.dec.ReadToken(); err != nil {
		return nil, err
	}
	if ref != nil {
		return withReference(grammar, n, ref), nil
	}
	return n, nil
}

// withReference returns the node of an object that has a $ref beside the members
// of n.
func withReference(grammar *object, n, ref *yaml.Node) *yaml.Node {
	name := func(text string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text} }
	reference := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{name("$ref"), ref}}
	_, isSchema := grammar.fields["allOf"]
	if !isSchema || len(n.Content) == 0 {
		return reference
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "allOf" && n.Content[i+1].Kind == yaml.SequenceNode {
			n.Content[i+1].Content = append([]*yaml.Node{reference}, n.Content[i+1].Content...)
			return n
		}
	}
	n.Content = append(n.Content, name("allOf"),
		&yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: []*yaml.Node{reference}})
	return n
}

func scalarKind(k jsontext.Kind) bool {
	return k == jsontext.KindString || k == jsontext.KindNumber || k == jsontext.KindTrue || k == jsontext.KindFalse
}

// scalarTag returns the YAML tag of a JSON scalar. An integer beyond 64 bits is
// tagged as a float: gnostic reads those, and would take the other for 0.
func scalarTag(token jsontext.Token) string {
	switch token.Kind() {
	case jsontext.KindString:
		return "!!str"
	case jsontext.KindTrue, jsontext.KindFalse:
		return "!!bool"
	case jsontext.KindNull:
		return "!!null"
	}
	literal := token.String()
	if strings.ContainsAny(literal, ".eE") {
		return "!!float"
	}
	if _, err := strconv.ParseInt(literal, 10, 64); err != nil {
		return "!!float"
	}
	return "!!int"
}
