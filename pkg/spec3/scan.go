package spec3

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// scanner reads canonical bytes once, finds the units and every reference in
// them.
type scanner struct {
	cursor
	// targets holds each distinct reference once, by its literal.
	targets map[string]*target
	// found are the targets seen in the unit being read.
	found []*target
	// count is the number of paths and components.
	count int
}

// maxUnits bounds the paths and components of a document, each of which costs much
// more memory than its shortest text. All of Kubernetes has two thousand.
const maxUnits = 200_000

// maxLookup bounds the bytes that are read to resolve references that lead below a
// component, which starts at the component for each of them.
const maxLookup = 512 << 20

// target is where references of one text lead.
type target struct {
	text string
	// at is the offset of the end of the first reference that has to resolve, or
	// -1 where all of them are only hints (extensions, discriminator mappings).
	at  int
	key unitKey
	ok  bool // key names a unit of the document
}

func newScanner(canonical []byte) *scanner {
	return &scanner{cursor: cursor{text: canonical}, targets: map[string]*target{}}
}

// document fills in the units of d.
func (s *scanner) document(d *Document) error {
	return s.object(func(name string, raw []byte) error {
		child, _ := rootGrammar.below([]byte(name))
		switch name {
		case pathsMember:
			d.pathsName = raw
			return s.units(&d.paths, child, "/"+pathsMember)
		case componentsMember:
			d.componentsName = raw
			if err := s.expectObject("/" + componentsMember); err != nil {
				return err
			}
			return s.object(func(name string, raw []byte) error {
				sec := section{unit: unit{name: name, raw: raw}}
				grammar, _ := child.below([]byte(name))
				if grammar.free {
					sec.whole = true
					s.unit(&sec.unit, grammar)
				} else if err := s.units(&sec.entries, grammar, pointerTo(componentsMember, name)); err != nil {
					return err
				}
				d.sections = append(d.sections, sec)
				return nil
			})
		}
		u := unit{name: name, ascii: isASCII(name), raw: raw}
		s.unit(&u, child)
		d.root = append(d.root, u)
		return nil
	})
}

// units reads an object whose members are units.
func (s *scanner) units(into *[]unit, grammar *object, pointer string) error {
	if err := s.expectObject(pointer); err != nil {
		return err
	}
	return s.object(func(name string, raw []byte) error {
		child, known := grammar.below([]byte(name))
		if !known && pointer == "/"+pathsMember {
			return &Error{Pointer: pointerTo(pathsMember, name), Err: fmt.Errorf("a path has to begin with a slash (write %q)", "/"+name)}
		}
		if !child.free && s.kind() != '{' {
			return s.expectObject(pointer + pointerTo(name))
		}
		if s.count++; s.count > maxUnits {
			return &Error{Pointer: pointer, Err: fmt.Errorf("%w: more than %d paths and components", ErrTooLarge, maxUnits)}
		}
		u := unit{name: name, ascii: isASCII(name), raw: raw}
		s.unit(&u, child)
		*into = append(*into, u)
		return nil
	})
}

func (s *scanner) expectObject(pointer string) error {
	if s.kind() == '{' {
		return nil
	}
	return &Error{Pointer: pointer, Err: fmt.Errorf("it is %s where an object belongs", kindName(s.kind()))}
}

// unit reads the value of a unit and notes what it refers to.
func (s *scanner) unit(u *unit, grammar *object) {
	start := s.at
	s.found = s.found[:0]
	s.value(grammar, false)
	u.value = s.text[start:s.at:s.at]
	u.sum = sha256.Sum256(u.value)
	if len(s.found) == 0 {
		return
	}
	slices.SortFunc(s.found, func(a, b *target) int { return strings.Compare(a.text, b.text) })
	s.found = slices.Compact(s.found)
	u.refs = make([]unitKey, 0, len(s.found))
	for _, t := range s.found {
		u.refs = append(u.refs, t.key)
	}
}

// object reads an object and calls member for each of its members, in front of
// the value.
func (s *scanner) object(member func(name string, raw []byte) error) error {
	for s.enter(); s.more(); {
		raw := s.name()
		if err := member(decodeName(raw), raw); err != nil {
			return err
		}
	}
	return nil
}

// value reads a value by its grammar. hint is true inside extensions and unknown
// members, where references are noted but do not have to resolve.
func (s *scanner) value(grammar *object, hint bool) {
	if grammar.data {
		s.skip()
		return
	}
	hint = hint || grammar.free
	switch s.kind() {
	case '{':
		s.members(grammar, hint)
	case '[':
		items := grammar.items
		if grammar.free {
			items = grammar
		} else if items == nil {
			items = unknown
		}
		for s.enter(); s.more(); {
			s.value(items, hint)
		}
	case '"':
		raw := s.literal()
		if grammar.mapping {
			s.noteMapping(decodeName(raw))
		}
	default:
		s.skip()
	}
}

func (s *scanner) members(grammar *object, hint bool) {
	for s.enter(); s.more(); {
		raw := s.name()
		name := plainName(raw)
		// In a map of strings, such as the scopes of a flow, $ref is a name.
		if string(name) == "$ref" && s.kind() == '"' && (grammar.each == nil || !grammar.each.leaf()) {
			s.note(s.literal(), !hint)
			continue
		}
		child := grammar
		if !grammar.free {
			child, _ = grammar.below(name)
		}
		if grammar.names {
			s.noteText("#/components/securitySchemes/"+url.PathEscape(pointerEscaper.Replace(decodeName(raw))), false)
		}
		s.value(child, hint)
	}
}

// noteMapping notes a value of a discriminator's mapping (section 4.7.25), which
// is a reference or the name of a schema.
func (s *scanner) noteMapping(text string) {
	if !strings.Contains(text, "#") {
		text = "#/components/schemas/" + url.PathEscape(pointerEscaper.Replace(text))
	}
	s.noteText(text, false)
}

// note records a reference, given by its literal, from the unit being read.
func (s *scanner) note(raw []byte, must bool) {
	t, ok := s.targets[string(plainName(raw))]
	if !ok {
		s.noteText(decodeName(raw), must)
		return
	}
	s.noteTarget(t, must)
}

func (s *scanner) noteText(text string, must bool) {
	t, ok := s.targets[text]
	if !ok {
		t = &target{text: text, at: -1}
		t.key, _, t.ok = parseTarget(text)
		s.targets[text] = t
	}
	s.noteTarget(t, must)
}

func (s *scanner) noteTarget(t *target, must bool) {
	if must && t.at < 0 {
		t.at = s.at
	}
	if t.ok {
		s.found = append(s.found, t)
	}
}

// parseTarget splits a reference into the unit that it names and the JSON
// Pointer below that unit. A reference to all paths, all components or a whole
// section has the key {"", "paths"}, {"", "components"} or {"components", SECTION}.
// It is not ok for references out of the document and for malformed ones.
func parseTarget(text string) (key unitKey, below string, ok bool) {
	fragment, ok := strings.CutPrefix(text, "#/")
	if !ok {
		return unitKey{}, "", false
	}
	if strings.Contains(fragment, "%") {
		decoded, err := url.PathUnescape(fragment)
		if err != nil {
			return unitKey{}, "", false
		}
		fragment = decoded
	}
	token := func() string {
		t, rest, deeper := strings.Cut(fragment, "/")
		fragment, ok = rest, deeper
		return pointerUnescaper.Replace(t)
	}
	key.name = token()
	if ok && key.name == componentsMember {
		key.section, key.name = key.name, token()
		if ok {
			key.section, key.name = key.name, token()
		}
	} else if ok && key.name == pathsMember {
		key.section, key.name = key.name, token()
	}
	if ok {
		below = "/" + fragment
	}
	return key, below, true
}

// resolve checks that every reference leads to a value of the document. The
// first one that does not, in the order of the canonical bytes, is the error.
func (s *scanner) resolve(d *Document) error {
	var bad *target
	budget := maxLookup
	for _, t := range s.targets {
		if t.at < 0 || (bad != nil && bad.at < t.at) {
			continue
		}
		if !d.resolves(t.text, &budget) {
			bad = t
		}
		if budget < 0 {
			return &Error{Err: fmt.Errorf("%w: too many references lead below large components", ErrTooLarge)}
		}
	}
	if bad == nil {
		return nil
	}
	reason := "the document has no such value"
	if !strings.HasPrefix(bad.text, "#") {
		reason = "it leads out of the document, and nothing is fetched; put what it names under components"
	}
	return &Error{
		Pointer: pointerAt(s.text, int64(bad.at)),
		Err:     fmt.Errorf("%w %q: %s", ErrUnresolved, clip([]byte(bad.text)), reason),
	}
}

// resolves reports whether a reference leads to a value of the document. It takes
// what it reads below units off the budget, in bytes.
func (d *Document) resolves(text string, budget *int) bool {
	if text == "#" {
		return true
	}
	key, below, ok := parseTarget(text)
	if !ok {
		return false
	}
	switch key {
	case unitKey{"", pathsMember}:
		return d.pathsName != nil
	case unitKey{"", componentsMember}:
		return d.componentsName != nil
	}
	if key.section == componentsMember {
		return d.section(key.name) != nil
	}
	if sec := d.section(key.section); sec != nil && sec.whole {
		*budget -= len(sec.value)
		return exists(sec.value, pointerTo(key.name)+below)
	}
	u := d.unit(key)
	if u == nil {
		return false
	}
	if below == "" {
		return true
	}
	*budget -= len(u.value)
	return exists(u.value, below)
}

// plainName returns the text of a name's literal as bytes, without allocating for
// names that need no decoding.
func plainName(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') >= 0 {
		return []byte(decodeName(raw))
	}
	return raw[1 : len(raw)-1]
}

// decodeName returns the text of a string literal.
func decodeName(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		// Canonical bytes hold valid literals only.
		return string(raw)
	}
	return string(text)
}
