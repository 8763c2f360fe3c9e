package spec3

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

var (
	// ErrTooLarge is wrapped by errors about text beyond [Limits.MaxBytes] or
	// [Limits.MaxYAMLBytes], before or after YAML aliases are expanded.
	ErrTooLarge = errors.New("document too large")
	// ErrTooDeep is wrapped by errors about nesting beyond [Limits.MaxDepth].
	ErrTooDeep = errors.New("document too deeply nested")
	// ErrDuplicateName is wrapped by errors about an object that has two members
	// of one name (RFC 8259 section 4 leaves their meaning open, so we refuse).
	ErrDuplicateName = errors.New("duplicate member name")
	// ErrNotOpenAPI3 is wrapped by errors about a value that is not an
	// OpenAPI 3.0.x document.
	ErrNotOpenAPI3 = errors.New("not an OpenAPI 3.0 document")
	// ErrUnresolved is wrapped by errors about a $ref whose target is not in the
	// document.
	ErrUnresolved = errors.New("unresolved $ref")
	// ErrNoGroupVersion is wrapped by errors about a path from which no
	// group-version can be told.
	ErrNoGroupVersion = errors.New("no group-version")
)

// Error says what is wrong with a text, and where.
type Error struct {
	// Pointer is the JSON Pointer (RFC 6901) of the offending value. It is empty
	// for the whole document, and where the text broke off too early to tell.
	Pointer string
	// Line and Column are the position in the text, counted from 1, Column in
	// bytes. They are 0 where the position is not known.
	Line, Column int
	// Err is the reason.
	Err error
}

// Error returns "LINE:COLUMN: POINTER: reason", without the parts that are not
// known, so that a caller can put "FILE:" before it.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Line > 0 {
		b.WriteString(strconv.Itoa(e.Line))
		b.WriteByte(':')
		b.WriteString(strconv.Itoa(e.Column))
		b.WriteString(": ")
	}
	if e.Pointer != "" {
		b.WriteString(e.Pointer)
		b.WriteString(": ")
	}
	b.WriteString(e.Err.Error())
	return b.String()
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// ConflictError says that two documents of one group-version define the same
// thing differently.
type ConflictError struct {
	// Pointer is the JSON Pointer of the thing both define.
	Pointer string
	// First and Second are the [Part.Source] of the two; Second came later in
	// the list given to [Merge].
	First, Second string
	// Index is the position of Second in that list.
	Index int
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s and %s both define %s, and not the same way", e.First, e.Second, e.Pointer)
}

// pointerTo joins reference tokens to a JSON Pointer (RFC 6901 section 3).
func pointerTo(tokens ...string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(pointerEscaper.Replace(t))
	}
	return b.String()
}

var (
	pointerEscaper   = strings.NewReplacer("~", "~0", "/", "~1")
	pointerUnescaper = strings.NewReplacer("~1", "/", "~0", "~")
)
