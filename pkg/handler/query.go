package handler

import (
	"net/url"
	"strings"
)

// query holds the parameters that mean something here. All others are kept and
// ignored: kubectl adds timeout to every request.
type query struct {
	// tag is the value of etag, or of hash, which Kubernetes sends.
	tag string
	// redirected is true when the client comes from our redirect, or another
	// replica's.
	redirected bool
	// view is the shape of the root document that is asked for.
	view string
}

// Names of the parameters.
const (
	paramETag       = "etag"
	paramHash       = "hash"
	paramRedirected = "redirected"
	paramView       = "view"
)

// parseQuery reads a raw query. Where a parameter is there more than once, the
// first counts, and etag counts more than hash.
func parseQuery(raw string) query {
	var q query
	var hash string
	for raw != "" {
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		name, value := splitPair(pair)
		switch name {
		case paramETag:
			setOnce(&q.tag, value)
		case paramHash:
			setOnce(&hash, value)
		case paramView:
			setOnce(&q.view, value)
		case paramRedirected:
			q.redirected = true
		}
	}
	if q.tag == "" {
		q.tag = hash
	}
	return q
}

func setOnce(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

// splitPair returns the decoded name and value of a parameter; what cannot be
// decoded is nothing that we know.
func splitPair(pair string) (name, value string) {
	name, value, _ = strings.Cut(pair, "=")
	return unescape(name), unescape(value)
}

func unescape(s string) string {
	if !strings.ContainsAny(s, "%+") {
		return s
	}
	decoded, err := url.QueryUnescape(s)
	if err != nil {
		return s
	}
	return decoded
}

// redirectQuery returns the query of a redirect to a tag: the parameters of the
// request as they were written, without an outdated tag.
func redirectQuery(raw, tag string) string {
	var b strings.Builder
	b.WriteString(paramETag + "=" + tag + "&" + paramRedirected + "=1")
	for raw != "" {
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		switch name, _ := splitPair(pair); name {
		case "", paramETag, paramHash, paramRedirected:
			continue
		}
		b.WriteByte('&')
		b.WriteString(pair)
	}
	return b.String()
}
