package handler

import (
	"net/http"
	"strings"
)

// preconditionDecides sets ETag, and answers 412 or 304 where the request has a
// precondition that says so (RFC 9110 section 13.2.2). Dates are not looked at: two
// documents within one second would be the same to If-Modified-Since.
func preconditionDecides(w http.ResponseWriter, r *http.Request, etag string) bool {
	w.Header()["Etag"] = []string{etag}
	if lines := r.Header["If-Match"]; len(lines) > 0 && !anyMatches(lines, etag, strong) {
		writePreconditionFailed(w, r, etag)
		return true
	}
	if lines := r.Header["If-None-Match"]; len(lines) > 0 && anyMatches(lines, etag, weak) {
		w.WriteHeader(http.StatusNotModified)
		return true
	}
	return false
}

// comparison is one of the two ways to compare entity tags (RFC 9110 section
// 8.8.3.2). Ours are strong; to strong comparison a weak one is never equal.
type comparison bool

const (
	weak   comparison = false
	strong comparison = true
)

// anyMatches reports whether the lines of an If-Match or If-None-Match header name
// an entity tag, or are "*". What follows a malformed entity tag on its line is
// ignored.
func anyMatches(lines []string, etag string, c comparison) bool {
	for _, line := range lines {
		if trimSpace(line) == "*" {
			return true
		}
		for {
			line = strings.TrimLeft(line, " \t,")
			isWeak := strings.HasPrefix(line, "W/")
			var found string
			var ok bool
			found, line, ok = cutETag(line)
			if !ok {
				break
			}
			if found == etag && (c == weak || !isWeak) {
				return true
			}
		}
	}
	return false
}

// cutETag cuts an entity tag off the front of s and returns its opaque part, with
// the quotes.
func cutETag(s string) (opaque, rest string, ok bool) {
	s = strings.TrimPrefix(s, "W/")
	if s == "" || s[0] != '"' {
		return "", "", false
	}
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return s[:i+1], s[i+1:], true
		case c < 0x21 || c == 0x7f:
			return "", "", false
		}
	}
	return "", "", false
}
