package spec3

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// cutToken cuts the first reference token, decoded, off a JSON Pointer that is not
// empty. What is left is a JSON Pointer, too.
func cutToken(pointer string) (token, rest string) {
	end := len(pointer)
	if i := strings.IndexByte(pointer[1:], '/'); i >= 0 {
		end = i + 1
	}
	return pointerUnescaper.Replace(pointer[1:end]), pointer[end:]
}

// offsetOf returns the offset of the value that a JSON Pointer names in JSON
// text, and whether there is one.
func offsetOf(text []byte, pointer string) (int64, bool) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(text),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for pointer != "" {
		var token string
		token, pointer = cutToken(pointer)
		open, err := dec.ReadToken()
		if err != nil {
			return 0, false
		}
		if !descend(dec, open.Kind(), token) {
			return 0, false
		}
	}
	if dec.PeekKind() == jsontext.KindInvalid {
		return 0, false
	}
	// The decoder stands behind the previous token; skip what separates.
	at := dec.InputOffset()
	for int(at) < len(text) && strings.IndexByte(" \t\r\n:,", text[at]) >= 0 {
		at++
	}
	return at, int(at) < len(text)
}

// descend moves the decoder in front of the member or element that token names.
func descend(dec *jsontext.Decoder, kind jsontext.Kind, token string) bool {
	switch kind {
	case jsontext.KindBeginObject:
		for dec.PeekKind() == jsontext.KindString {
			name, err := dec.ReadToken()
			if err != nil {
				return false
			}
			if name.String() == token {
				return true
			}
			if dec.SkipValue() != nil {
				return false
			}
		}
	case jsontext.KindBeginArray:
		index, err := strconv.Atoi(token)
		if err != nil || index < 0 {
			return false
		}
		for range index {
			if k := dec.PeekKind(); k == jsontext.KindEndArray || k == jsontext.KindInvalid || dec.SkipValue() != nil {
				return false
			}
		}
		return dec.PeekKind() != jsontext.KindEndArray
	}
	return false
}

// exists reports whether canonical JSON has a value that a JSON Pointer names.
func exists(canonical []byte, pointer string) bool {
	c := cursor{text: canonical}
	for pointer != "" {
		var token string
		token, pointer = cutToken(pointer)
		if !c.descend(token) {
			return false
		}
	}
	return c.kind() != 0
}

// descend moves in front of the member or element that a token names.
func (c *cursor) descend(token string) bool {
	switch c.kind() {
	case '{':
		for c.enter(); c.more(); c.skip() {
			if string(plainName(c.name())) == token {
				return true
			}
		}
	case '[':
		index, err := strconv.Atoi(token)
		if err != nil || index < 0 {
			return false
		}
		for c.enter(); c.more(); c.skip() {
			if index == 0 {
				return true
			}
			index--
		}
	}
	return false
}

// pointerAt returns the JSON Pointer of the token that ends at an offset.
func pointerAt(text []byte, offset int64) string {
	dec := jsontext.NewDecoder(bytes.NewBuffer(text),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		if _, err := dec.ReadToken(); err != nil {
			return ""
		}
		if dec.InputOffset() >= offset {
			return string(dec.StackPointer())
		}
	}
}

// lineColumn returns the position of an offset in a text, both counted from 1,
// the column in bytes.
func lineColumn(text []byte, offset int64) (line, column int) {
	before := text[:max(0, min(int(offset), len(text)))]
	return 1 + bytes.Count(before, []byte{'\n'}), len(before) - bytes.LastIndexByte(before, '\n')
}
