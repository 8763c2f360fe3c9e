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
}

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
		u := unit{name: name, raw: raw}
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
		u := unit{name: name, raw: raw}
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
	if grammar == literal {
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
		if string(raw) == `"$ref"` && s.kind() == '"' {
			s.note(s.literal(), !hint)
			continue
		}
		child := grammar
		if !grammar.free {
			child, _ = grammar.below(plainName(raw))
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
// Pointer below that unit. It is not ok for references out of the document and
// for malformed ones.
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
	first, rest, deeper := strings.Cut(fragment, "/")
	key.name = pointerUnescaper.Replace(first)
	if key.name == pathsMember || key.name == componentsMember {
		if !deeper {
			return unitKey{}, "", false
		}
		key.section = key.name
		if key.name == componentsMember {
			first, rest, deeper = strings.Cut(rest, "/")
			key.section = pointerUnescaper.Replace(first)
			if !deeper || key.section == pathsMember || key.section == "" {
				return unitKey{}, "", false
			}
		}
		first, rest, deeper = strings.Cut(rest, "/")
		key.name = pointerUnescaper.Replace(first)
	}
	if deeper {
		below = "/" + rest
	}
	return key, below, true
}

// resolve checks that every reference leads to a value of the document. The
// first one that does not, in the order of the canonical bytes, is the error.
func (s *scanner) resolve(d *Document) error {
	var bad *target
	for _, t := range s.targets {
		if t.at < 0 || (bad != nil && bad.at < t.at) {
			continue
		}
		if !d.resolves(t.text) {
			bad = t
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

func (d *Document) resolves(text string) bool {
	if text == "#" {
		return true
	}
	key, below, ok := parseTarget(text)
	if !ok {
		return false
	}
	u := d.unit(key)
	if u == nil {
		return false
	}
	if below == "" {
		return true
	}
	_, ok = offsetOf(u.value, below)
	return ok
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
