package spec3

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// decodeYAML reads the documents of a YAML stream. A panic of the YAML library
// is an error of the text.
func decodeYAML(text []byte, limits Limits) (values []Value, err error) {
	defer func() {
		if p := recover(); p != nil {
			values, err = nil, &Error{Err: fmt.Errorf("not YAML: the parser panicked: %v", p)}
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(text))
	w := yamlWriter{limits: limits}
	for {
		var doc yaml.Node
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return values, nil
		}
		if err != nil {
			return nil, yamlError(err)
		}
		if len(doc.Content) != 1 {
			continue
		}
		root := doc.Content[0]
		if root.ShortTag() == "!!null" {
			continue
		}
		json, err := w.value(root)
		if err != nil {
			return nil, err
		}
		values = append(values, Value{json: json, node: root})
	}
}

var yamlErrorLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)

// yamlError takes the line out of the library's message, which has no type.
func yamlError(err error) *Error {
	m := yamlErrorLine.FindStringSubmatch(err.Error())
	if m == nil {
		return &Error{Err: fmt.Errorf("not YAML: %w", err)}
	}
	reason := fmt.Errorf("not YAML: %s", m[2])
	if strings.Contains(m[2], "exceeded max depth") {
		reason = fmt.Errorf("%w: %s", ErrTooDeep, m[2])
	}
	if line, err := strconv.Atoi(m[1]); err == nil {
		return &Error{Line: line, Column: 1, Err: reason}
	}
	return &Error{Err: reason}
}

// yamlWriter writes YAML nodes as JSON, literals as they were written. One serves
// all documents of a text, so that its bounds are those of the text.
type yamlWriter struct {
	out    []byte
	limits Limits
	// steps counts the nodes visited: aliases and merge keys can visit many without
	// writing any.
	steps int64
}

// bytesPerStep is how many bytes of JSON allow for one node to be visited. Every
// node that is written takes two, with its separator.
const bytesPerStep = 2

// value writes one document and returns its JSON.
func (w *yamlWriter) value(n *yaml.Node) ([]byte, error) {
	start := len(w.out)
	if err := w.node(n, 0); err != nil {
		return nil, err
	}
	return w.out[start:len(w.out):len(w.out)], nil
}

func (w *yamlWriter) fail(n *yaml.Node, format string, args ...any) error {
	return &Error{Line: n.Line, Column: n.Column, Err: fmt.Errorf(format, args...)}
}

// step counts a node and checks the bounds.
func (w *yamlWriter) step(n *yaml.Node, depth int) error {
	if w.steps++; w.steps > w.limits.MaxBytes/bytesPerStep || int64(len(w.out)) > w.limits.MaxBytes {
		return w.fail(n, "%w: its aliases and merge keys expand to more than %d bytes", ErrTooLarge, w.limits.MaxBytes)
	}
	if depth > w.limits.MaxDepth {
		return w.fail(n, "%w: more than %d levels", ErrTooDeep, w.limits.MaxDepth)
	}
	return nil
}

func (w *yamlWriter) node(n *yaml.Node, depth int) error {
	if err := w.step(n, depth); err != nil {
		return err
	}
	switch n.Kind {
	case yaml.AliasNode:
		return w.node(n.Alias, depth+1)
	case yaml.MappingNode:
		return w.mapping(n, depth)
	case yaml.SequenceNode:
		w.out = append(w.out, '[')
		for i, item := range n.Content {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			if err := w.node(item, depth+1); err != nil {
				return err
			}
		}
		w.out = append(w.out, ']')
		return nil
	case yaml.ScalarNode:
		return w.scalar(n)
	}
	return w.fail(n, "a YAML node of an unknown kind")
}

func (w *yamlWriter) mapping(n *yaml.Node, depth int) error {
	w.out = append(w.out, '{')
	written := make(map[string]bool, len(n.Content)/2)
	if err := w.members(n, written, depth); err != nil {
		return err
	}
	w.out = append(w.out, '}')
	return nil
}

// members writes the members of a mapping that are not written yet, and then those
// that it merges: what is merged yields to what is written out, and to what was
// merged before (YAML merge key language-independent type).
func (w *yamlWriter) members(n *yaml.Node, written map[string]bool, depth int) error {
	var merges []*yaml.Node
	seen := make(map[string]bool, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := resolveAlias(n.Content[i]), n.Content[i+1]
		if key.ShortTag() == "!!merge" {
			merges = append(merges, value)
			continue
		}
		if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!null" {
			return w.fail(key, "a member name has to be a string")
		}
		if seen[key.Value] {
			return w.fail(key, "%w %q", ErrDuplicateName, key.Value)
		}
		seen[key.Value] = true
		if written[key.Value] {
			if err := w.step(value, depth); err != nil {
				return err
			}
			continue
		}
		if len(written) > 0 {
			w.out = append(w.out, ',')
		}
		written[key.Value] = true
		if err := w.quote(key, key.Value); err != nil {
			return err
		}
		w.out = append(w.out, ':')
		if err := w.node(value, depth+1); err != nil {
			return err
		}
	}
	for _, merge := range merges {
		if err := w.merge(merge, written, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (w *yamlWriter) merge(n *yaml.Node, written map[string]bool, depth int) error {
	if err := w.step(n, depth); err != nil {
		return err
	}
	switch n = resolveAlias(n); n.Kind {
	case yaml.SequenceNode:
		for _, item := range n.Content {
			if err := w.merge(item, written, depth+1); err != nil {
				return err
			}
		}
		return nil
	case yaml.MappingNode:
		return w.members(n, written, depth)
	}
	return w.fail(n, "a merge key takes a mapping or a list of mappings")
}

func resolveAlias(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

func (w *yamlWriter) scalar(n *yaml.Node) error {
	switch tag := n.ShortTag(); tag {
	case "!!str", "!!timestamp", "!!merge": // "<<" is a merge key only as a key
		return w.quote(n, n.Value)
	case "!!null":
		w.out = append(w.out, "null"...)
		return nil
	case "!!bool":
		v, err := strconv.ParseBool(strings.ToLower(n.Value))
		if err != nil {
			return w.fail(n, "%q is not a boolean", clip([]byte(n.Value)))
		}
		w.out = strconv.AppendBool(w.out, v)
		return nil
	case "!!int", "!!float":
		literal := n.Value
		if !jsonNumber.MatchString(literal) {
			var ok bool
			if literal, ok = jsonLiteral(literal); !ok {
				return w.fail(n, "%q is a number that JSON cannot say", clip([]byte(n.Value)))
			}
		}
		w.out = append(w.out, literal...)
		return nil
	default:
		return w.fail(n, "the YAML tag %s has no place in JSON", tag)
	}
}

// jsonLiteral writes YAML's other spellings of numbers (0x1F, 0o17, 1_000, .5,
// 5., +1, 08.5) as JSON. An integer that begins with 0 is octal, as in YAML 1.1,
// where it can be.
func jsonLiteral(literal string) (string, bool) {
	const longest = 128
	literal = strings.TrimPrefix(strings.ReplaceAll(literal, "_", ""), "+")
	if len(literal) > longest {
		return "", false
	}
	if i, ok := new(big.Int).SetString(literal, 0); ok {
		return i.String(), true
	}
	sign := ""
	if rest, ok := strings.CutPrefix(literal, "-"); ok {
		sign, literal = "-", rest
	}
	for len(literal) > 1 && literal[0] == '0' && '0' <= literal[1] && literal[1] <= '9' {
		literal = literal[1:]
	}
	if strings.HasPrefix(literal, ".") {
		literal = "0" + literal
	}
	if mantissa, exponent, ok := strings.Cut(literal, "."); ok && (exponent == "" || exponent[0] == 'e' || exponent[0] == 'E') {
		literal = mantissa + ".0" + exponent
	}
	literal = sign + literal
	return literal, jsonNumber.MatchString(literal)
}

func (w *yamlWriter) quote(n *yaml.Node, text string) error {
	out, err := jsontext.AppendQuote(w.out, text)
	if err != nil {
		return w.fail(n, "%w", err)
	}
	w.out = out
	return nil
}

// nodeAt returns the node that a JSON Pointer names, or nil.
func nodeAt(n *yaml.Node, pointer string) *yaml.Node {
	for pointer != "" {
		var token string
		token, pointer = cutToken(pointer)
		var next *yaml.Node
		switch n = resolveAlias(n); n.Kind {
		case yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				if resolveAlias(n.Content[i]).Value == token {
					next = n.Content[i+1]
				}
			}
		case yaml.SequenceNode:
			if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(n.Content) {
				next = n.Content[i]
			}
		}
		if next == nil {
			return nil
		}
		n = next
	}
	return n
}
