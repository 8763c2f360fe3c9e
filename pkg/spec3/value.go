package spec3

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// Limits bounds what a text may ask of the process. The zero value of a field
// stands for its default.
type Limits struct {
	// MaxBytes bounds a text, and the JSON that all of its YAML documents together
	// expand to. Default: [DefaultMaxBytes].
	MaxBytes int64
	// MaxYAMLBytes bounds a YAML text, which costs many times its size in memory
	// while it is parsed. Default: [DefaultMaxYAMLBytes].
	MaxYAMLBytes int64
	// MaxDepth bounds the nesting of objects and arrays. Default: [DefaultMaxDepth].
	MaxDepth int
}

// Defaults of [Limits]. The OpenAPI of a whole Kubernetes cluster is 4 MB in one
// document, and its deepest schema nests 60 levels.
const (
	DefaultMaxBytes     = 64 << 20
	DefaultMaxYAMLBytes = 16 << 20
	DefaultMaxDepth     = 500
)

func (l Limits) withDefaults() Limits {
	if l.MaxBytes == 0 {
		l.MaxBytes = DefaultMaxBytes
	}
	if l.MaxYAMLBytes == 0 {
		l.MaxYAMLBytes = DefaultMaxYAMLBytes
	}
	if l.MaxDepth == 0 {
		l.MaxDepth = DefaultMaxDepth
	}
	return l
}

// Value is one JSON value that was read from JSON or YAML text. It keeps the
// text it was read from, so that an error can name a line.
type Value struct {
	json []byte
	// text is the original for JSON, in which the value begins at offset; node is the
	// original for YAML.
	text   []byte
	offset int64
	node   *yaml.Node
}

// Decode reads the values of a text: one for JSON, one per document that is not
// empty for YAML. Text that begins with a brace or bracket is JSON. Plain scalars of
// YAML are what the YAML library takes them for (null, true, 1, 0x1F, 1.0; yes and
// no are strings): numbers keep their literal where JSON can say it, timestamps are
// strings, aliases and merge keys are expanded, and what JSON has no word for
// (infinity, other tags) is an error.
//
// The syntax of JSON text is checked by what reads the value, not here. The
// values refer to text, which must not be changed afterwards.
//
// Errors are of type [*Error] and wrap [ErrTooLarge], [ErrTooDeep] or
// [ErrDuplicateName] where they apply.
func Decode(text []byte, limits Limits) (values []Value, err error) {
	limits = limits.withDefaults()
	if int64(len(text)) > limits.MaxBytes {
		return nil, &Error{Err: fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooLarge, len(text), limits.MaxBytes)}
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	content := bytes.TrimLeft(text, " \t\r\n")
	if len(content) == 0 {
		return nil, &Error{Err: io.ErrUnexpectedEOF}
	}
	if content[0] == '{' || content[0] == '[' {
		return []Value{{json: text, text: text}}, nil
	}
	if int64(len(text)) > limits.MaxYAMLBytes {
		return nil, &Error{Err: fmt.Errorf("%w: %d bytes of YAML, the limit is %d (JSON may have %d)",
			ErrTooLarge, len(text), limits.MaxYAMLBytes, limits.MaxBytes)}
	}
	return decodeYAML(text, limits)
}

// Member returns the string that the root object has as the member of the given
// name, and whether it has one. It serves to tell what kind of document a value
// is, and reads no further than that member; malformed text has no members.
func (v Value) Member(name string) (string, bool) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(v.json), jsontext.AllowDuplicateNames(true))
	if open, err := dec.ReadToken(); err != nil || open.Kind() != jsontext.KindBeginObject {
		return "", false
	}
	if !descend(dec, jsontext.KindBeginObject, name) || dec.PeekKind() != jsontext.KindString {
		return "", false
	}
	token, err := dec.ReadToken()
	if err != nil {
		return "", false
	}
	return token.String(), true
}

// Elements returns the elements of the array that the root object has as the member
// of the given name; none where it has no such array.
func (v Value) Elements(name string) []Value {
	pointer := pointerTo(name)
	at, ok := offsetOf(v.json, pointer)
	if !ok || v.json[at] != '[' {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(v.json[at:]), jsontext.AllowDuplicateNames(true))
	if _, err := dec.ReadToken(); err != nil {
		return nil
	}
	var elements []Value
	for dec.PeekKind() != jsontext.KindEndArray {
		element, err := dec.ReadValue()
		if err != nil {
			return nil // who reads the whole value finds out what is wrong
		}
		end := at + dec.InputOffset()
		start := end - int64(len(element))
		e := Value{json: v.json[start:end], text: v.text, offset: v.offset + start}
		if v.node != nil {
			e.node = nodeAt(v.node, pointer+"/"+strconv.Itoa(len(elements)))
		}
		elements = append(elements, e)
	}
	return elements
}

// Canonical returns the canonical form of the value, in memory of its own. Errors are
// of type [*Error] and wrap [ErrTooDeep] or [ErrDuplicateName] where they apply.
func (v Value) Canonical(limits Limits) ([]byte, error) { return v.canonical(limits) }

func (v Value) canonical(limits Limits) ([]byte, error) {
	limits = limits.withDefaults()
	// Sorting members copies an object once per level, so the depth is bounded
	// before anything is sorted.
	if at := tooDeep(v.json, limits.MaxDepth); at >= 0 {
		return nil, v.at(at, "", fmt.Errorf("%w: more than %d levels", ErrTooDeep, limits.MaxDepth))
	}
	out, err := jsontext.AppendFormat(make([]byte, 0, len(v.json)), v.json, jsontext.PreserveRawStrings(true))
	if err == nil {
		sortMembers(out)
		return out, nil
	}
	syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return nil, v.at(0, "", err)
	}
	pointer := string(syntax.JSONPointer)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		err = ErrDuplicateName
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("the text breaks off: %w", io.ErrUnexpectedEOF)
	default:
		err = fmt.Errorf("not JSON: %w", syntax.Err)
	}
	return nil, v.at(syntax.ByteOffset, pointer, err)
}

// at makes an error at an offset of the JSON text.
func (v Value) at(offset int64, pointer string, err error) *Error {
	e := &Error{Pointer: pointer, Err: err}
	if v.text != nil {
		e.Line, e.Column = lineColumn(v.text, v.offset+offset)
		return e
	}
	return v.locate(e)
}

// Locate adds to an error of this package the position of the value that it points
// to.
func (v Value) Locate(err error) error { return v.locate(err) }

func (v Value) locate(err error) *Error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = &Error{Err: err}
	}
	located := *e
	// Of a value that is missing, the position is that of what lacks it.
	for pointer := e.Pointer; ; pointer = pointer[:max(0, strings.LastIndexByte(pointer, '/'))] {
		located.Line, located.Column = v.Position(pointer)
		if located.Line > 0 || pointer == "" {
			return &located
		}
	}
}

// Position returns where in the text the value is that a JSON Pointer names,
// counted from 1, or zeros where there is no such value.
func (v Value) Position(pointer string) (line, column int) {
	if v.node != nil {
		if n := nodeAt(v.node, pointer); n != nil {
			return n.Line, n.Column
		}
		return 0, 0
	}
	if offset, ok := offsetOf(v.json, pointer); ok {
		return lineColumn(v.text, v.offset+offset)
	}
	return 0, 0
}

// tooDeep returns the offset of the bracket that exceeds the depth, or -1. It is
// made for speed: most of a document is strings, which IndexByte leaps over.
func tooDeep(text []byte, limit int) int64 {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			c := cursor{text: text, at: i}
			c.literal()
			i = c.at - 1
		case '{', '[':
			if depth++; depth > limit {
				return int64(i)
			}
		case '}', ']':
			depth--
		}
	}
	return -1
}
