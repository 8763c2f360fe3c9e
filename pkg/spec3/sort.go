package spec3

import (
	"bytes"
	"slices"
)

// sorter brings the members of compact JSON into canonical order, in place. The JSON
// library can do that, too, but decodes every token for it, and nearly all objects
// that people and programs write are sorted already.
type sorter struct {
	cursor
	// members is a stack: those of the object being read are on top.
	members []span
	scratch []byte
}

// span is a member in the text.
type span struct {
	start, end int
	name       []byte // its literal, without the quotes
}

// sortMembers sorts the members of all objects of a text that is compact, valid and
// within bounds of depth.
func sortMembers(compact []byte) {
	s := sorter{cursor: cursor{text: compact}}
	s.value()
}

func (s *sorter) value() {
	switch s.kind() {
	case '{':
		s.object()
	case '[':
		for s.enter(); s.more(); {
			s.value()
		}
	default:
		s.skip()
	}
}

func (s *sorter) object() {
	base, start, sorted := len(s.members), s.at+1, true
	for s.enter(); s.more(); {
		m := span{start: s.at}
		raw := s.name()
		m.name = raw[1 : len(raw)-1]
		s.value()
		m.end = s.at
		if n := len(s.members); n > base && sorted {
			sorted = compareLiterals(s.members[n-1].name, m.name) < 0
		}
		s.members = append(s.members, m)
	}
	if members := s.members[base:]; !sorted {
		slices.SortFunc(members, func(a, b span) int { return compareLiterals(a.name, b.name) })
		s.scratch = s.scratch[:0]
		for i, m := range members {
			if i > 0 {
				s.scratch = append(s.scratch, ',')
			}
			s.scratch = append(s.scratch, s.text[m.start:m.end]...)
		}
		copy(s.text[start:], s.scratch)
	}
	s.members = s.members[:base]
}

// compareLiterals is compareNames for literals without their quotes.
func compareLiterals(a, b []byte) int {
	if isPlain(a) && isPlain(b) {
		return bytes.Compare(a, b)
	}
	return compareNames(decodeInner(a), decodeInner(b))
}

// isPlain reports whether a literal is ASCII and has no escapes.
func isPlain(literal []byte) bool {
	for _, c := range literal {
		if c >= 0x80 || c == '\\' {
			return false
		}
	}
	return true
}

func decodeInner(literal []byte) string {
	return decodeName(slices.Concat([]byte{'"'}, literal, []byte{'"'}))
}
