package spec3

import (
	"bytes"
	"iter"
)

// cursor walks over canonical JSON. It relies on what canonical bytes are: valid,
// and without white space. That makes it several times as fast as a decoder, which
// matters because every document is walked whole. On other bytes it gives nonsense,
// but it always moves on and never leaves the slice.
type cursor struct {
	text []byte
	at   int
}

// kind returns the first byte of the next token, or 0 at the end.
func (c *cursor) kind() byte {
	if c.at < len(c.text) {
		return c.text[c.at]
	}
	return 0
}

// enter steps into an object or array.
func (c *cursor) enter() { c.at++ }

// more reports whether the object or array has another member or element, and
// stands in front of it; otherwise it has left the object or array.
func (c *cursor) more() bool {
	switch c.kind() {
	case ',':
		c.at++
	case '}', ']':
		c.at++
		return false
	}
	return c.at < len(c.text)
}

// name reads a member name and the colon, and returns the name's literal.
func (c *cursor) name() []byte {
	raw := c.literal()
	c.at = min(c.at+1, len(c.text))
	return raw
}

// literal reads a string and returns its literal, with the quotes.
func (c *cursor) literal() []byte {
	start := c.at
	end := start + 1
	for end < len(c.text) {
		i := bytes.IndexByte(c.text[end:], '"')
		if i < 0 {
			break
		}
		end += i
		// A quote after an odd number of backslashes is part of the string.
		backslashes := 0
		for c.text[end-1-backslashes] == '\\' {
			backslashes++
		}
		end++
		if backslashes%2 == 0 {
			c.at = end
			return c.text[start:end:end]
		}
	}
	c.at = len(c.text)
	return []byte(`""`)
}

// skip reads any value.
func (c *cursor) skip() {
	depth := 0
	for c.at < len(c.text) {
		switch c.text[c.at] {
		case '"':
			c.literal()
		case '{', '[':
			depth++
			c.at++
		case '}', ']':
			depth--
			c.at++
		case ',', ':':
			if depth == 0 {
				return
			}
			c.at++
			continue
		default:
			c.scalar()
		}
		if depth <= 0 {
			return
		}
	}
}

// scalar reads a number, true, false or null.
func (c *cursor) scalar() {
	for c.at < len(c.text) {
		switch c.text[c.at] {
		case ',', ']', '}':
			return
		}
		c.at++
	}
}

// Members yields the names and values of an object in canonical form, in their
// order; nothing for any other value. The values are parts of canonical. It checks
// no syntax: what is not canonical JSON (see [Value.Canonical]) gives nonsense.
func Members(canonical []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		c := cursor{text: canonical}
		if c.kind() != '{' {
			return
		}
		for c.enter(); c.more(); {
			name := decodeName(c.name())
			start := c.at
			c.skip()
			if !yield(name, c.text[start:c.at:c.at]) {
				return
			}
		}
	}
}

// Elements is [Members] for the elements of an array.
func Elements(canonical []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		c := cursor{text: canonical}
		if c.kind() != '[' {
			return
		}
		for c.enter(); c.more(); {
			start := c.at
			c.skip()
			if !yield(c.text[start:c.at:c.at]) {
				return
			}
		}
	}
}
