package spec3

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// scanner reads canonical bytes once, finds the units and every reference in
// them. Canonical bytes are valid JSON without duplicate names, so it does not
// check syntax again.
type scanner struct {
	json []byte
	dec  *jsontext.Decoder
	// targets holds each distinct reference once.
	targets map[string]*target
	// found are the targets seen in the unit being read.
	found []*target
}

// target is where references of one text lead.
type target struct {
	text string
	// at is the offset of the end of the first reference that has to resolve, or
	// -1 where all of them are only hints (extensions, discriminator mappings).
	at  int64
	key unitKey
	ok  bool // key names a unit of the document
}

func newScanner(canonical []byte) *scanner {
	return &scanner{
		json: canonical,
		dec: jsontext.NewDecoder(bytes.NewBuffer(canonical),
			jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
		targets: map[string]*target{},
	}
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
					if err := s.unit(&sec.unit, grammar); err != nil {
						return err
					}
				} else if err := s.units(&sec.entries, grammar, pointerTo(componentsMember, name)); err != nil {
					return err
				}
				d.sections = append(d.sections, sec)
				return nil
			})
		}
		u := unit{name: name, raw: raw}
		if err := s.unit(&u, child); err != nil {
			return err
		}
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
		u := unit{name: name, raw: raw}
		if !child.free {
			if err := s.expectObject(pointer + pointerTo(name)); err != nil {
				return err
			}
		}
		if err := s.unit(&u, child); err != nil {
			return err
		}
		*into = append(*into, u)
		return nil
	})
}

func (s *scanner) expectObject(pointer string) error {
	if k := s.dec.PeekKind(); k != jsontext.KindBeginObject {
		return &Error{Pointer: pointer, Err: fmt.Errorf("it is %s where an object belongs", kindName(k))}
	}
	return nil
}

// unit reads the value of a unit and notes what it refers to.
func (s *scanner) unit(u *unit, grammar *object) error {
	start := s.dec.InputOffset() + 1 // after the colon
	s.found = s.found[:0]
	if err := s.value(grammar, false); err != nil {
		return err
	}
	end := s.dec.InputOffset()
	u.value = s.json[start:end:end]
	u.sum = sha256.Sum256(u.value)
	if len(s.found) > 0 {
		slices.SortFunc(s.found, func(a, b *target) int { return cmp.Compare(a.text, b.text) })
		for _, t := range slices.Compact(s.found) {
			u.refs = append(u.refs, t.key)
		}
	}
	return nil
}

// object reads an object and calls member for each of its members, with the
// decoder in front of the value.
func (s *scanner) object(member func(name string, raw []byte) error) error {
	if _, err := s.dec.ReadToken(); err != nil {
		return &Error{Err: err}
	}
	for s.dec.PeekKind() != jsontext.KindEndObject {
		raw, err := s.name()
		if err != nil {
			return err
		}
		if err := member(decodeName(raw), raw); err != nil {
			return err
		}
	}
	if _, err := s.dec.ReadToken(); err != nil {
		return &Error{Err: err}
	}
	return nil
}

// name reads a member name and returns its literal, which stays valid.
func (s *scanner) name() ([]byte, error) {
	raw, err := s.dec.ReadValue()
	if err != nil {
		return nil, &Error{Err: err}
	}
	end := s.dec.InputOffset()
	return s.json[end-int64(len(raw)) : end : end], nil
}

// value reads a value by its grammar. hint is true inside extensions and unknown
// members, where references are noted but do not have to resolve.
func (s *scanner) value(grammar *object, hint bool) error {
	if grammar == literal {
		return s.dec.SkipValue()
	}
	hint = hint || grammar.free
	switch s.dec.PeekKind() {
	case jsontext.KindBeginObject:
		return s.members(grammar, hint)
	case jsontext.KindBeginArray:
		items := grammar.items
		if grammar.free {
			items = grammar
		} else if items == nil {
			items = unknown
		}
		if _, err := s.dec.ReadToken(); err != nil {
			return err
		}
		for s.dec.PeekKind() != jsontext.KindEndArray {
			if err := s.value(items, hint); err != nil {
				return err
			}
		}
		_, err := s.dec.ReadToken()
		return err
	case jsontext.KindString:
		raw, err := s.dec.ReadValue()
		if err != nil {
			return err
		}
		if grammar.mapping {
			s.noteMapping(raw)
		}
		return nil
	default:
		return s.dec.SkipValue()
	}
}

func (s *scanner) members(grammar *object, hint bool) error {
	if _, err := s.dec.ReadToken(); err != nil {
		return err
	}
	for s.dec.PeekKind() != jsontext.KindEndObject {
		raw, err := s.name()
		if err != nil {
			return err
		}
		if string(raw) == `"$ref"` && s.dec.PeekKind() == jsontext.KindString {
			ref, err := s.dec.ReadValue()
			if err != nil {
				return err
			}
			s.note(decodeName(ref), !hint)
			continue
		}
		var child *object
		if grammar.free {
			child = grammar
		} else {
			child, _ = grammar.below(plainName(raw))
		}
		if grammar.names {
			s.note("#/components/securitySchemes/"+url.PathEscape(pointerEscaper.Replace(decodeName(raw))), false)
		}
		if err := s.value(child, hint); err != nil {
			return err
		}
	}
	_, err := s.dec.ReadToken()
	return err
}

// noteMapping notes a value of a discriminator's mapping (section 4.7.25), which
// is a reference or the name of a schema.
func (s *scanner) noteMapping(raw []byte) {
	text := decodeName(raw)
	if !strings.Contains(text, "#") {
		text = "#/components/schemas/" + url.PathEscape(pointerEscaper.Replace(text))
	}
	s.note(text, false)
}

// note records a reference from the unit being read.
func (s *scanner) note(text string, must bool) {
	t, ok := s.targets[text]
	if !ok {
		t = &target{text: text, at: -1}
		t.key, _, t.ok = parseTarget(text)
		s.targets[text] = t
	}
	if must && t.at < 0 {
		t.at = s.dec.InputOffset()
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
		Pointer: pointerAt(s.json, bad.at),
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
