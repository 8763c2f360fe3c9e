package handler

import (
	"net/http"
	"strings"
)

// notModified sets ETag, and answers 304 if the request has that one already
// (RFC 9110 section 13.1.2). If-Modified-Since is not looked at: two documents
// within one second would be the same to it.
func notModified(w http.ResponseWriter, r *http.Request, etag string) bool {
	w.Header()["Etag"] = []string{etag}
	lines := r.Header["If-None-Match"]
	if len(lines) == 0 || !anyMatches(lines, etag) {
		return false
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}

// anyMatches reports whether the lines of an If-None-Match header name an entity
// tag, by weak comparison (RFC 9110 section 8.8.3.2), or are "*". What follows a
// malformed entity tag on its line is ignored.
func anyMatches(lines []string, etag string) bool {
	for _, line := range lines {
		if trimSpace(line) == "*" {
			return true
		}
		for {
			line = strings.TrimLeft(line, " \t,")
			var found string
			var ok bool
			found, line, ok = cutETag(line)
			if !ok {
				break
			}
			if found == etag {
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
