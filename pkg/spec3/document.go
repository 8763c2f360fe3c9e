package spec3

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
)

// Names of the root object's members that are lists of units.
const (
	pathsMember      = "paths"
	componentsMember = "components"
)

// Document is an immutable OpenAPI 3.0 document in canonical form. Its methods
// are safe for concurrent use.
type Document struct {
	json []byte
	tag  string

	// root holds the members of the root object without paths and components.
	root []unit
	// paths holds the members of paths. pathsName is its name as it was written,
	// and nil where the document has none.
	paths     []unit
	pathsName []byte
	// sections holds the sections of components; componentsName as pathsName.
	sections       []section
	componentsName []byte

	// flat is what flatten returns; only fragments, which are joined again and again,
	// keep it.
	flat []named
}

// section is one member of components. An x- member of components is a section
// without entries: it moves as a whole.
type section struct {
	unit
	entries []unit
	whole   bool
}

// unit is a member that moves between documents as a whole.
type unit struct {
	name  string // decoded
	ascii bool   // of the name
	raw   []byte // the name as it was written, with its quotes
	value []byte // canonical JSON; a part of some document's json
	sum   [sha256.Size]byte
	refs  []unitKey // the units that this one refers to, each once
	// piece is the member in compressed form, in fragments, where value is nil.
	piece *piece
}

// unitKey names a unit: {"", "info"}, {"paths", "/api/v1/pods"} or
// {"schemas", "Pod"}.
type unitKey struct{ section, name string }

// Parse reads one OpenAPI 3.0.x document from JSON or YAML text, checks it, and
// brings it into canonical form. It checks that the text keeps within limits,
// that no object has a member twice, that the version is 3.0.x, that paths and
// components are made of objects, and that every $ref resolves inside the
// document; nothing is ever fetched. It does not validate the rest of the
// document against the specification: what the author said is published.
//
// Errors are of type [*Error] and wrap [ErrTooLarge], [ErrTooDeep],
// [ErrDuplicateName], [ErrNotOpenAPI3] or [ErrUnresolved] where they apply.
func Parse(text []byte, limits Limits) (*Document, error) {
	values, err := Decode(text, limits)
	if err != nil {
		return nil, err
	}
	if len(values) != 1 {
		return nil, &Error{Err: fmt.Errorf("%d documents in one text where one is expected", len(values))}
	}
	return FromValue(values[0], limits)
}

// FromValue is [Parse] for a value that was read by [Decode].
func FromValue(v Value, limits Limits) (*Document, error) {
	canonical, err := v.canonical(limits)
	if err != nil {
		return nil, err
	}
	d, err := newDocument(canonical)
	if err != nil {
		return nil, v.locate(err)
	}
	return d, nil
}

// ParseOnto is [Parse] for a text whose references may lead to what another document
// has: the result holds both, as [Merge] joins them with the text in front. What is
// in base is not read again.
func ParseOnto(base *Document, text []byte, limits Limits) (*Document, error) {
	values, err := Decode(text, limits)
	if err != nil {
		return nil, err
	}
	if len(values) != 1 {
		return nil, &Error{Err: fmt.Errorf("%d documents in one text where one is expected", len(values))}
	}
	canonical, err := values[0].canonical(limits)
	if err != nil {
		return nil, err
	}
	own, s, err := scan(canonical)
	if err != nil {
		return nil, values[0].locate(err)
	}
	joined, conflicts := merge([]Part{{Source: "the text", Document: own}, {Source: "the base", Document: base}})
	if len(conflicts) > 0 {
		return nil, values[0].locate(&Error{Pointer: conflicts[0].Pointer, Err: conflicts[0]})
	}
	if err := s.resolve(joined); err != nil {
		return nil, values[0].locate(err)
	}
	return assemble(*joined), nil
}

var version30 = regexp.MustCompile(`^"3\.0\.[0-9]+(-[0-9A-Za-z.-]+)?"$`)

// newDocument takes ownership of canonical bytes and indexes them.
func newDocument(canonical []byte) (*Document, error) {
	d, s, err := scan(canonical)
	if err != nil {
		return nil, err
	}
	if err := s.resolve(d); err != nil {
		return nil, err
	}
	d.setTag()
	return d, nil
}

// scan finds the units of canonical bytes and what they refer to.
func scan(canonical []byte) (*Document, *scanner, error) {
	d := &Document{json: canonical}
	s := newScanner(canonical)
	if s.kind() != '{' {
		return nil, nil, &Error{Err: fmt.Errorf("%w: it is %s, not an object", ErrNotOpenAPI3, kindName(s.kind()))}
	}
	if err := s.document(d); err != nil {
		return nil, nil, err
	}
	if err := d.checkVersion(); err != nil {
		return nil, nil, err
	}
	return d, s, nil
}

func (d *Document) checkVersion() error {
	if u := find(d.root, "openapi"); u != nil {
		if version30.Match(u.value) {
			return nil
		}
		return &Error{Pointer: "/openapi", Err: fmt.Errorf("%w: its version is %s; only 3.0.x is published", ErrNotOpenAPI3, clip(u.value))}
	}
	if u := find(d.root, "swagger"); u != nil {
		return &Error{Pointer: "/swagger", Err: fmt.Errorf("%w: it is a Swagger %s document", ErrNotOpenAPI3, clip(u.value))}
	}
	return &Error{Err: fmt.Errorf(`%w: it has no member "openapi"`, ErrNotOpenAPI3)}
}

// setTag computes the tag from the units' names and sums. It hashes hashes so
// that a document that is composed of known units costs nothing but its units'
// sums; it is a function of the canonical bytes alone all the same, because the
// units and their order are.
func (d *Document) setTag() {
	h := sha256.New()
	add := func(kind byte, u *unit) {
		h.Write([]byte{kind})
		h.Write(u.raw)
		h.Write(u.sum[:])
	}
	for i := range d.root {
		add('r', &d.root[i])
	}
	if d.pathsName != nil {
		h.Write([]byte{'P'})
		h.Write(d.pathsName)
		for i := range d.paths {
			add('p', &d.paths[i])
		}
	}
	if d.componentsName != nil {
		h.Write([]byte{'C'})
		h.Write(d.componentsName)
		for i := range d.sections {
			s := &d.sections[i]
			add('s', &s.unit)
			for j := range s.entries {
				add('c', &s.entries[j])
			}
		}
	}
	d.tag = fmt.Sprintf("%X", h.Sum(nil))
}

// Tag returns the name of the document's content: 64 upper-case hexadecimal
// digits of a SHA-256. Equal canonical bytes have equal tags, in every process.
func (d *Document) Tag() string { return d.tag }

// JSON returns the canonical bytes. They must not be changed.
func (d *Document) JSON() []byte { return d.json }

// find returns the unit of the given name, or nil. Units are sorted.
func find(units []unit, name string) *unit {
	i, ok := slices.BinarySearchFunc(units, name, func(u unit, name string) int { return compareNames(u.name, name) })
	if !ok {
		return nil
	}
	return &units[i]
}

// section returns the section of components of the given name, or nil.
func (d *Document) section(name string) *section {
	i, ok := slices.BinarySearchFunc(d.sections, name, func(s section, name string) int { return compareNames(s.name, name) })
	if !ok {
		return nil
	}
	return &d.sections[i]
}

// unit returns the unit of the given key, or nil.
func (d *Document) unit(key unitKey) *unit {
	switch key.section {
	case "":
		return find(d.root, key.name)
	case pathsMember:
		return find(d.paths, key.name)
	}
	if s := d.section(key.section); s != nil {
		return find(s.entries, key.name)
	}
	return nil
}

// assemble writes the canonical bytes of a document of the given units, which
// are sorted, and returns it with its tag.
func assemble(d Document) *Document {
	size := 0
	count := func(u *unit) { size += len(u.raw) + 1 + len(u.value) }
	d.walk(func(text []byte) { size += len(text) }, count)

	// The units are about to refer to the new bytes; those of the documents they come
	// from stay as they are.
	out := &d
	out.root, out.paths, out.sections = slices.Clone(d.root), slices.Clone(d.paths), slices.Clone(d.sections)
	for i := range out.sections {
		out.sections[i].entries = slices.Clone(out.sections[i].entries)
	}
	buf := make([]byte, 0, size)
	out.walk(func(text []byte) { buf = append(buf, text...) }, func(u *unit) {
		start := len(buf)
		buf = append(buf, u.raw...)
		u.raw = buf[start:len(buf):len(buf)]
		buf = append(buf, ':')
		start = len(buf)
		buf = append(buf, u.value...)
		u.value = buf[start:len(buf):len(buf)]
	})
	out.json = buf
	out.setTag()
	return out
}

// What stands between members.
var (
	commaText, openText, beginText, closeText = []byte(","), []byte(":{"), []byte("{"), []byte("}")
)

// walk visits the canonical bytes of a document in their order: the members that are
// units, and what stands between them.
func (d *Document) walk(between func(text []byte), member func(u *unit)) {
	comma := false
	separate := func() {
		if comma {
			between(commaText)
		}
		comma = true
	}
	open := func(name []byte) {
		separate()
		between(name)
		between(openText)
		comma = false
	}
	closeObject := func() {
		between(closeText)
		comma = true
	}
	units := func(list []unit) {
		for i := range list {
			separate()
			member(&list[i])
		}
	}
	objects := []struct {
		name []byte
		sort string
		body func()
	}{
		{d.componentsName, componentsMember, func() {
			for i := range d.sections {
				s := &d.sections[i]
				if s.whole {
					separate()
					member(&s.unit)
					continue
				}
				open(s.raw)
				units(s.entries)
				closeObject()
			}
		}},
		{d.pathsName, pathsMember, func() { units(d.paths) }},
	}
	before := func(name string) {
		for len(objects) > 0 && (name == "" || compareNames(objects[0].sort, name) < 0) {
			if o := objects[0]; o.name != nil {
				open(o.name)
				o.body()
				closeObject()
			}
			objects = objects[1:]
		}
	}
	between(beginText)
	for i := range d.root {
		if name := d.root[i].name; name != "" {
			before(name)
		}
		separate()
		member(&d.root[i])
	}
	before("")
	between(closeText)
}

// clip shortens a literal for an error message.
func clip(literal []byte) string {
	const most = 40
	if len(literal) > most {
		return string(literal[:most]) + "…"
	}
	return string(literal)
}

// kindName says what a JSON value is, by its first byte.
func kindName(first byte) string {
	switch first {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	case 0:
		return "nothing"
	}
	return "a number"
}

// FromCanonical returns the document of bytes that [Document.JSON] returned
// earlier, and takes ownership of them. They are not brought into canonical form
// again: for other bytes use [Parse].
func FromCanonical(canonical []byte) (*Document, error) { return newDocument(canonical) }
