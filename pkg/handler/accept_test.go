package handler

import (
	"mime"
	"strings"
	"testing"

	"github.com/munnerz/goautoneg"
)

func TestPreferredMediaType(t *testing.T) {
	const pb, old = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf", "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
	for _, tc := range []struct {
		rule   string
		accept []string
		want   *mediaType
	}{
		{"no header accepts everything (RFC 9110 12.5.1)", nil, mediaTypeJSON},
		{"an empty line accepts everything", []string{""}, mediaTypeJSON},
		{"empty elements are ignored (5.6.1.2)", []string{" , ,"}, mediaTypeJSON},
		{"any type", []string{"*/*"}, mediaTypeJSON},
		{"any subtype", []string{"application/*"}, mediaTypeJSON},
		{"JSON", []string{"application/json"}, mediaTypeJSON},
		{"protobuf", []string{pb}, mediaTypeProtobuf},
		{"the older name, which is no media type", []string{old}, mediaTypeProtobuf},
		{"kubectl", []string{"application/json, */*"}, mediaTypeJSON},
		{"names are case-insensitive (8.3.1)", []string{"Application/JSON"}, mediaTypeJSON},
		{"all lines are one list (5.3)", []string{"text/html", pb}, mediaTypeProtobuf},
		{"white space around separators (5.6.3)", []string{" text/html ;\tq=0.3 ,\tapplication/json ; q=0.2 "}, mediaTypeJSON},
		{"weights count", []string{"application/json;q=0.5, " + pb}, mediaTypeProtobuf},
		{"weights count to the third decimal", []string{"application/json;q=0.998, " + pb + ";q=0.999"}, mediaTypeProtobuf},
		{"weight 0 is refused (12.4.2)", []string{"application/json;q=0, */*;q=0.1"}, mediaTypeProtobuf},
		{"weight 0.000 is refused", []string{"application/json;q=0.000"}, nil},
		{"the name of the weight is case-insensitive", []string{"application/json;Q=0"}, nil},
		{"the most specific range decides", []string{"*/*, application/*;q=0.1, " + pb + ";q=0.2"}, mediaTypeProtobuf},
		{"a wildcard does not lift what was refused", []string{"*/*, application/json;q=0"}, mediaTypeProtobuf},
		{"everything refused", []string{"*/*;q=0"}, nil},
		{"between equal weights the more specific wins", []string{"*/*, " + pb}, mediaTypeProtobuf},
		{"between equal ranges the first wins", []string{pb + ", application/json"}, mediaTypeProtobuf},
		{"between equal ranges the first wins", []string{"application/json, " + pb}, mediaTypeJSON},
		{"parameters that our types lack match where nothing else does", []string{"application/json;charset=utf-8"}, mediaTypeJSON},
		{"a range without parameters decides before one with", []string{"application/json;as=Table;q=0.1, application/json, " + pb + ";q=0.5"}, mediaTypeJSON},
		{"what is refused with parameters is not refused without", []string{"application/json;as=Table;q=0, application/json"}, mediaTypeJSON},
		{"even a wildcard decides before a range with parameters", []string{pb + ";v=1;q=0, */*;q=0.1, application/json;q=0"}, mediaTypeProtobuf},
		{"Java's HttpURLConnection", []string{"text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"}, mediaTypeJSON},
		{"quoted parameters hold separators (5.6.4)", []string{`application/json;x="a,b;q=0";q=0.5`}, mediaTypeJSON},
		{"quoted parameters hold escapes", []string{`text/html;x="\",application/json", ` + pb}, mediaTypeProtobuf},
		{"discovery's parameters do not disturb", []string{"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}, mediaTypeJSON},
		{"a browser", []string{"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"}, mediaTypeJSON},
		{"no slash", []string{"foo"}, nil},
		{"another type", []string{"text/html"}, nil},
		{"a dot is no weight", []string{"application/json;q=."}, nil},
		{"a wildcard for the type alone is no range", []string{"*/json"}, nil},
		{"a part of a name is no name", []string{"application/jso, application/jsonx"}, nil},
		{"a weight above 1 breaks the grammar", []string{"application/json;q=1.1"}, nil},
		{"a weight with four decimals breaks the grammar", []string{"application/json;q=0.1234"}, nil},
		{"a negative weight breaks the grammar", []string{"application/json;q=-1"}, nil},
		{"a broken element leaves the others", []string{"application/json;q=x, foo, " + pb + ";q=0.1"}, mediaTypeProtobuf},
		{"an unfinished quote ends with its line", []string{`text/html;x="`, "application/json"}, mediaTypeJSON},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			got, ok := preferredMediaType(tc.accept, documentMediaTypes)
			if got != tc.want || ok != (tc.want != nil) {
				t.Errorf("%q: got %v, want %v", tc.accept, got, tc.want)
			}
		})
	}
}

func TestPreferredCoding(t *testing.T) {
	for _, tc := range []struct {
		accept []string
		want   string
	}{
		{nil, "identity"},
		{[]string{""}, "identity"},
		{[]string{"gzip"}, "gzip"},
		{[]string{"GZip"}, "gzip"},
		{[]string{"x-gzip"}, "gzip"},
		{[]string{"gzip;q=1.0"}, "gzip"},
		{[]string{"gzip;q=0"}, "identity"},
		{[]string{"gzip;q=0.000"}, "identity"},
		{[]string{"gzip ; q=0"}, "identity"},
		{[]string{"gzip;q=0.001"}, "gzip"},
		{[]string{"deflate, gzip;q=0.5, br"}, "gzip"},
		{[]string{"br", "gzip"}, "gzip"},
		{[]string{"gzip;q=0.5, identity"}, "identity"},
		{[]string{"gzip;q=0.5, identity;q=0.5"}, "gzip"},
		{[]string{"*"}, "gzip"},
		{[]string{"*;q=0.5, gzip;q=0"}, "identity"},
		{[]string{"*;q=0, gzip"}, "gzip"},
		{[]string{"identity"}, "identity"},
		{[]string{"identity;q=0, gzip"}, "gzip"},
		{[]string{"br"}, "identity"},
		{[]string{"gzipped, notgzip"}, "identity"},
		{[]string{"identity;q=0"}, "none"},
		{[]string{"*;q=0"}, "none"},
		{[]string{"identity;q=0, gzip;q=0"}, "none"},
		{[]string{"*;q=0, identity"}, "identity"},
		{[]string{"gzip;q=x"}, "identity"},
		{[]string{"gzip;q=2, br"}, "identity"},
	} {
		got := "none"
		if c, ok := preferredCoding(tc.accept); ok {
			got = [...]string{"identity", "gzip"}[c]
		}
		if got != tc.want {
			t.Errorf("%q: %s, want %s", tc.accept, got, tc.want)
		}
	}
}

// Whatever stands in Accept: no panic, and what is chosen was not refused by name.
// Where the peer's parser and ours both take a header of one plain type, they agree.
func FuzzAccept(f *testing.F) {
	for _, seed := range []string{"", "*/*", "application/json;q=0, */*;q=0.1", `a/b;x="\"`, "application/json;q=", ";;,,//", "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		got, ok := preferredMediaType([]string{first, second}, documentMediaTypes)
		if ok != (got != nil) {
			t.Fatal("ok and the result do not agree")
		}
		if strings.TrimSpace(first) == got2name(got)+";q=0" && second == "" {
			t.Fatalf("%q was chosen all the same", first)
		}
		if name, parameters, err := mime.ParseMediaType(first); err == nil && len(parameters) == 0 && !strings.ContainsAny(first, ",;*") {
			peer := goautoneg.Negotiate(name, []string{mediaTypeJSON.name, mediaTypeProtobuf.name})
			if only, _ := preferredMediaType([]string{first}, documentMediaTypes); got2name(only) != peer {
				t.Fatalf("%q: ours %q, the peer's %q", first, got2name(only), peer)
			}
		}
	})
}

func got2name(m *mediaType) string {
	if m == nil {
		return ""
	}
	return m.name
}

func FuzzAcceptEncoding(f *testing.F) {
	for _, seed := range []string{"", "gzip", "gzip;q=0", "*;q=0", `gzip;x="`, "identity;q=0,*"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		c, ok := preferredCoding([]string{line})
		if !ok && c != codingIdentity {
			t.Fatal("refused and chosen")
		}
		if c == codingGzip && !strings.Contains(strings.ToLower(line), "gzip") && !strings.Contains(line, "*") {
			t.Fatalf("%q does not ask for gzip", line)
		}
		// One line or two make no difference.
		if before, after, found := strings.Cut(line, ","); found && !strings.Contains(line, `"`) {
			if c2, ok2 := preferredCoding([]string{before, after}); c2 != c || ok2 != ok {
				t.Fatalf("%q: on two lines it is another one", line)
			}
		}
	})
}

func FuzzIfNoneMatch(f *testing.F) {
	for _, seed := range []string{"", "*", `"a"`, `W/"a", "b"`, `"a`, `,"`, `W/`, `"\""`} {
		f.Add(seed)
	}
	const tag = `"TAG"`
	f.Fuzz(func(t *testing.T, line string) {
		got := anyMatches([]string{line}, tag, weak)
		if got && !strings.Contains(line, tag) && strings.TrimSpace(line) != "*" {
			t.Fatalf("%q matches", line)
		}
		if anyMatches([]string{"x", line}, tag, weak) != got || anyMatches([]string{line, `"other"`}, tag, weak) != got {
			t.Fatalf("%q: another line changes the result", line)
		}
		if !anyMatches([]string{line, tag}, tag, strong) || !anyMatches([]string{`W/"x" , W/` + tag + ", " + line}, tag, weak) {
			t.Fatalf("%q hides a tag that is there", line)
		}
	})
}
