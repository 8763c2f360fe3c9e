package spec3

import (
	"cmp"
	"strings"
	"unicode/utf8"
)

// compareNames orders member names by UTF-16 code units, the order of the
// canonical form (RFC 8785 section 3.2.3). It differs from the order of the
// UTF-8 bytes only for characters beyond the basic multilingual plane.
func compareNames(a, b string) int {
	for a != "" && b != "" {
		if a[0] < utf8.RuneSelf && b[0] < utf8.RuneSelf {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		ra, na := utf8.DecodeRuneInString(a)
		rb, nb := utf8.DecodeRuneInString(b)
		if ra != rb {
			return cmp.Compare(utf16Weight(ra), utf16Weight(rb))
		}
		a, b = a[na:], b[nb:]
	}
	return cmp.Compare(len(a), len(b))
}

// compareUnits orders units by their names. Most names are ASCII, for which the
// order of bytes is the same, and several times as fast to find.
func compareUnits(a, b *unit) int {
	if a.ascii && b.ascii {
		return strings.Compare(a.name, b.name)
	}
	return compareNames(a.name, b.name)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// utf16Weight maps a rune to a number that sorts as the rune's UTF-16 code units
// do: a surrogate pair (lead 0xD800 to 0xDBFF) comes before 0xE000 to 0xFFFF.
func utf16Weight(r rune) int64 {
	if r < 0x10000 {
		return int64(r) << 20
	}
	lead, trail := 0xD800+(r-0x10000)>>10, (r-0x10000)&0x3FF
	return int64(lead)<<20 | int64(trail)
}
