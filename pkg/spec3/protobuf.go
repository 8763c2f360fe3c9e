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
//     stands, so that they survive; elsewhere summary and description do;
//   - numbers are doubles, and a zero is no different from an absent number.
//
// The error says what in the document the message has no way to hold. It wraps
// [ErrTooLarge] where making the message would take too much memory: data and
// extensions take hundreds of times their size. A panic of the library is an error,
// too.
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
	// weight is the memory that the nodes will take, in nodes of the grammar.
	weight int
}

// Bounds on the memory for one message. A node of the grammar takes about 200
// bytes, all in all, and one of data, which is also written as YAML, about 800.
// Kubernetes' largest document has 100,000 nodes.
const (
	maxWeight  = 2_000_000
	dataWeight = 4
)

func (w *nodeWriter) node(grammar *object) (*yaml.Node, error) {
	w.weight++
	if grammar.free {
		w.weight += dataWeight - 1
	}
	if w.weight > maxWeight {
		return nil, fmt.Errorf("%w: it has too many values", ErrTooLarge)
	}
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
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: scalarTag(token, grammar), Value: token.String()}, nil
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
			if !known && !reference || child == defaultLiteral && !scalarKind(w.dec.PeekKind()) {
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
	if !isSchema {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if key := n.Content[i].Value; key == "summary" || key == "description" {
				reference.Content = append(reference.Content, n.Content[i], n.Content[i+1])
			}
		}
		return reference
	}
	if len(n.Content) == 0 {
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

// scalarTag returns the YAML tag of a JSON scalar.
func scalarTag(token jsontext.Token, grammar *object) string {
	switch token.Kind() {
	case jsontext.KindString:
		return "!!str"
	case jsontext.KindTrue, jsontext.KindFalse:
		return "!!bool"
	case jsontext.KindNull:
		return "!!null"
	}
	literal := token.String()
	if _, err := strconv.ParseFloat(literal, 64); err != nil {
		// gnostic would take a number beyond all doubles for 0.
		return "!!str"
	}
	if strings.ContainsAny(literal, ".eE") {
		return "!!float"
	}
	if _, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return "!!int"
	}
	// YAML's integers have 64 bits, with or without sign; gnostic takes a default of
	// more than 63 for 0, unless it is a float.
	if _, err := strconv.ParseUint(literal, 10, 64); err == nil && grammar != defaultLiteral {
		return "!!int"
	}
	return "!!float"
}
