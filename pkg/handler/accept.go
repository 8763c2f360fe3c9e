package handler

import (
	"strconv"
	"strings"

	"github.com/seed-0662880d/openapi-server/pkg/store"
)

// mediaType is a media type that we can answer with.
type mediaType struct {
	// name and alias are what a client may call it, in lower case.
	name, alias string
	// header is the value of Content-Type.
	header []string
	// formats are the document's forms of this type, by coding.
	formats [2]store.Format
}

// The media types of OpenAPI documents (k8s.io/kube-openapi/pkg/handler3). The
// alias is the older name of the protobuf form, which client-go still sends; '@'
// cannot stand in a media type, so it is never what we answer with.
var (
	mediaTypeJSON = &mediaType{
		name:    "application/json",
		header:  []string{"application/json"},
		formats: [2]store.Format{store.JSON, store.JSONGzip},
	}
	mediaTypeProtobuf = &mediaType{
		name:    "application/com.github.proto-openapi.spec.v3.v1.0+protobuf",
		alias:   "application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
		header:  []string{"application/com.github.proto-openapi.spec.v3.v1.0+protobuf"},
		formats: [2]store.Format{store.Protobuf, store.ProtobufGzip},
	}
	// In the order in which we prefer them, where the client has no preference.
	documentMediaTypes = []*mediaType{mediaTypeJSON, mediaTypeProtobuf}
	rootMediaTypes     = []*mediaType{mediaTypeJSON}
)

// preferredMediaType returns the offer that the Accept lines of a request prefer
// (RFC 9110 section 12.5.1): for each offer the most specific range that matches
// decides its weight, and the highest weight wins. Between equal weights the more
// specific range wins, then the one that comes first, then our own order. It is
// not ok where nothing offered is acceptable. No line, or empty ones, accept
// everything.
//
// Our types have no parameters, so a range with some matches only where no other
// range does, as a client that asks for charset=utf-8 would expect. Elements that
// break the grammar are ignored, one by one; two mistakes that Java's HTTP client
// makes are not: "*" for "*/*", and weights such as ".2".
func preferredMediaType(lines []string, offers []*mediaType) (best *mediaType, ok bool) {
	const most = 4
	var matches [most]match
	empty := true
	position := 0
	for _, line := range lines {
		for line != "" {
			var element string
			element, line = cutElement(line)
			if element == "" {
				continue
			}
			empty = false
			position++
			r, ok := parseMediaRange(element)
			if !ok {
				continue
			}
			for i, offer := range offers[:min(most, len(offers))] {
				if s := r.specificity(offer); s > matches[i].specificity {
					matches[i] = match{specificity: s, weight: r.weight, position: position}
				}
			}
		}
	}
	if empty {
		return offers[0], true
	}
	var bestMatch match
	for i, offer := range offers[:min(most, len(offers))] {
		if m := matches[i]; m.weight > 0 && m.better(bestMatch) {
			best, bestMatch = offer, m
		}
	}
	return best, best != nil
}

// match is how an offer fares.
type match struct {
	specificity int // 0: no range matches
	weight      int // thousandths
	position    int
}

func (m match) better(than match) bool {
	if m.weight != than.weight {
		return m.weight > than.weight
	}
	if m.specificity != than.specificity {
		return m.specificity > than.specificity
	}
	return m.position < than.position
}

// mediaRange is an element of Accept.
type mediaRange struct {
	name, subtype string
	weight        int // thousandths
	// parameters is true where there are others than the weight.
	parameters bool
}

// specificity returns how closely the range describes an offer, 0 where it does not.
func (r mediaRange) specificity(offer *mediaType) int {
	s := 0
	switch {
	case r.name == "*" && r.subtype == "*":
		s = 2
	case r.is(offer.name) || (offer.alias != "" && r.is(offer.alias)):
		s = 4
	case r.subtype == "*" && strings.EqualFold(r.name, offer.name[:strings.IndexByte(offer.name, '/')]):
		s = 3
	}
	if r.parameters {
		return min(s, 1)
	}
	return s
}

func (r mediaRange) is(full string) bool {
	name, subtype, _ := strings.Cut(full, "/")
	return strings.EqualFold(r.name, name) && strings.EqualFold(r.subtype, subtype)
}

func parseMediaRange(element string) (r mediaRange, ok bool) {
	full, parameters := cutUnquoted(element, ';')
	if full = trimSpace(full); full == "*" {
		full = "*/*"
	}
	r.name, r.subtype, ok = strings.Cut(full, "/")
	if !ok || !isToken(r.name) || !isToken(strings.ReplaceAll(r.subtype, "@", "")) {
		return r, false
	}
	r.weight, r.parameters, ok = weightOf(parameters)
	return r, ok
}

// The codings that we can answer with, as indexes of mediaType.formats.
type coding int

const (
	codingIdentity coding = iota
	codingGzip
)

// preferredCoding returns the content coding that the Accept-Encoding lines of a
// request prefer (RFC 9110 section 12.5.3). It is not ok where they refuse both
// gzip and no coding at all. Between equal weights gzip wins.
func preferredCoding(lines []string) (coding, bool) {
	const unset = -1
	gzip, identity, other := unset, unset, unset
	for _, line := range lines {
		for line != "" {
			var element string
			element, line = cutElement(line)
			name, parameters := cutUnquoted(element, ';')
			weight, _, ok := weightOf(parameters)
			if !ok {
				continue
			}
			switch name = trimSpace(name); {
			case strings.EqualFold(name, "gzip"), strings.EqualFold(name, "x-gzip"):
				gzip = max(gzip, weight)
			case strings.EqualFold(name, "identity"):
				identity = max(identity, weight)
			case name == "*":
				other = max(other, weight)
			}
		}
	}
	if gzip == unset {
		gzip = max(other, 0)
	}
	// Without a word about it, no coding is acceptable, and what comes last.
	identityRefused := identity == 0 || identity == unset && other == 0
	switch {
	case gzip > 0 && gzip >= identity:
		return codingGzip, true
	case identityRefused:
		return codingIdentity, false
	}
	return codingIdentity, true
}

// cutElement cuts the first element off a comma-separated list, without the white
// space around it. Commas in quoted strings do not separate.
func cutElement(list string) (element, rest string) {
	element, rest = cutUnquoted(list, ',')
	return trimSpace(element), rest
}

// cutUnquoted cuts s at the first separator that is not in a quoted string
// (RFC 9110 section 5.6.4).
func cutUnquoted(s string, separator byte) (before, after string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == separator && !quoted:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

// weightOf returns the weight among the parameters of an element, in thousandths
// (RFC 9110 section 12.4.2), 1000 where there is none, and whether there are other
// parameters. It is not ok where one breaks the grammar.
func weightOf(parameters string) (weight int, others, ok bool) {
	weight = 1000
	for parameters != "" {
		var parameter string
		parameter, parameters = cutUnquoted(parameters, ';')
		if parameter = trimSpace(parameter); parameter == "" {
			continue
		}
		name, value, _ := strings.Cut(parameter, "=")
		if !isToken(name) || !isValue(value) {
			return 0, false, false
		}
		if name != "q" && name != "Q" {
			others = true
			continue
		}
		if weight, ok = parseWeight(value); !ok {
			return 0, false, false
		}
	}
	return weight, others, true
}

// parseWeight reads a qvalue: 0, 1, or either with up to three decimals, of which
// the 0 may be missing.
func parseWeight(s string) (thousandths int, ok bool) {
	whole, decimals, _ := strings.Cut(s, ".")
	if whole == "" && decimals != "" {
		whole = "0"
	}
	if (whole != "0" && whole != "1") || len(decimals) > 3 {
		return 0, false
	}
	n, scale := 0, 1
	if decimals != "" {
		d, err := strconv.ParseUint(decimals, 10, 16)
		if err != nil {
			return 0, false
		}
		n = int(d)
	}
	for range 3 - len(decimals) {
		scale *= 10
	}
	thousandths = n * scale
	if whole == "1" {
		thousandths += 1000
	}
	return thousandths, thousandths <= 1000
}

func trimSpace(s string) string { return strings.Trim(s, " \t") }

// isToken reports whether s is a token (RFC 9110 section 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// isValue reports whether s is a token, a quoted string, or nothing: a parameter
// without a value occurs, and does no harm.
func isValue(s string) bool {
	if s == "" || isToken(s) {
		return true
	}
	return len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"'
}
