package handler_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	openapi "github.com/google/gnostic-models/openapiv3"
	"google.golang.org/protobuf/proto"

	"github.com/seed-0662880d/openapi-server/pkg/handler"
	"github.com/seed-0662880d/openapi-server/pkg/spec3"
)

const (
	bothVary  = "Accept, Accept-Encoding"
	immutable = "public, max-age=31536000, immutable"
	document  = "/openapi/v3/apis/apps/v1"
)

func TestRoot(t *testing.T) {
	f := newFixture(t, handler.Options{})
	f.get(t, "/openapi/v3").expect(t, 200, "Content-Type", typeJSON)
	tag := f.publish(t, "apis/apps/v1", text("a"))
	nested := `{"paths":{"apis/apps/v1":{"serverRelativeURL":"/openapi/v3/apis/apps/v1?etag=` + tag + `"}}}`
	flat := `{"Paths":{"apis/apps/v1":"/openapi/v3/apis/apps/v1?etag=` + tag + `"}}`
	for query, want := range map[string]string{"": nested, "/": nested, "?timeout=32s": nested, "?view=flat": flat, "/?view=flat": flat, "?view=other": nested} {
		a := f.get(t, "/openapi/v3"+query)
		a.expect(t, 200, "Content-Type", typeJSON, "Cache-Control", "no-cache", "Vary", bothVary, "Expires", "",
			"Last-Modified", "", "Content-Encoding", "", "Content-Length", fmt.Sprint(len(want)), "X-Content-Type-Options", "nosniff")
		if string(a.body) != want {
			t.Errorf("%s: got %s", query, a.body)
		}
		etag := a.header.Get("ETag")
		f.get(t, "/openapi/v3"+query, "If-None-Match", etag).expect(t, 304, "ETag", etag, "Cache-Control", "no-cache", "Vary", bothVary, "Content-Type", "")
		gz := f.get(t, "/openapi/v3"+query, "Accept-Encoding", "gzip")
		gz.expect(t, 200, "Content-Encoding", "gzip")
		if plain, err := spec3.Gunzip(gz.body, len(want)); err != nil || string(plain) != want || gz.header.Get("ETag") == etag {
			t.Errorf("gzipped: %s, %v, ETag %s", plain, err, gz.header.Get("ETag"))
		}
	}
	before := f.get(t, "/openapi/v3").header.Get("ETag")
	f.publish(t, "apis/apps/v1", text("b"))
	// If-Modified-Since has nothing to say: a change within its second would be lost.
	f.get(t, "/openapi/v3", "If-None-Match", before).expect(t, 200)
	f.get(t, "/openapi/v3", "If-Modified-Since", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)).expect(t, 200)
	f.get(t, "/openapi/v3", "Accept", typeProtobuf).status(t, 406, "NotAcceptable")
}

func TestDocument(t *testing.T) {
	f := newFixture(t, handler.Options{})
	source := kubernetes(t)["apis/apps/v1"]
	tag := f.publish(t, "apis/apps/v1", source)
	d, err := spec3.Parse(source, spec3.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	size := fmt.Sprint(len(d.JSON()))

	t.Run("without a tag", func(t *testing.T) {
		a := f.get(t, document)
		a.expect(t, 200, "Content-Type", typeJSON, "ETag", `"`+tag+`"`, "Cache-Control", "no-cache", "Expires", "",
			"Vary", bothVary, "Content-Length", size, "Accept-Ranges", "bytes", "Last-Modified", "")
		if !bytes.Equal(a.body, d.JSON()) {
			t.Error("the body is not the document")
		}
		f.get(t, document+"/").expect(t, 200, "ETag", `"`+tag+`"`)
		f.get(t, document+"?etag=&hash=").expect(t, 200, "Cache-Control", "no-cache")
	})
	t.Run("with its tag", func(t *testing.T) {
		for _, query := range []string{"?etag=" + tag, "?hash=" + tag, "?timeout=32s&hash=" + tag, "?etag=" + tag + "&redirected=1", "?%65tag=" + tag, "?etag=" + tag + "&hash=OLD"} {
			a := f.get(t, document+query)
			a.expect(t, 200, "Cache-Control", immutable, "Expires", "Wed, 03 Feb 2027 03:05:06 GMT", "Vary", bothVary, "ETag", `"`+tag+`"`)
			if !bytes.Equal(a.body, d.JSON()) {
				t.Errorf("%s: the body is not the document", query)
			}
		}
	})
	t.Run("protobuf", func(t *testing.T) {
		message, err := spec3.Protobuf(d.JSON())
		if err != nil {
			t.Fatal(err)
		}
		for _, accept := range []string{typeProtobuf, typeOldProtobuf} {
			a := f.get(t, document+"?hash="+tag, "Accept", accept)
			a.expect(t, 200, "Content-Type", typeProtobuf, "ETag", `"`+tag+`.pb"`, "Cache-Control", immutable)
			if !bytes.Equal(a.body, message) || proto.Unmarshal(a.body, new(openapi.Document)) != nil {
				t.Error("the body is not the message")
			}
			gz := f.get(t, document, "Accept", accept, "Accept-Encoding", "gzip")
			gz.expect(t, 200, "Content-Type", typeProtobuf, "ETag", `"`+tag+`.pb.gz"`, "Content-Encoding", "gzip")
			if plain, err := spec3.Gunzip(gz.body, len(message)); err != nil || !bytes.Equal(plain, message) {
				t.Error("the gzipped body is not the message")
			}
		}
	})
	t.Run("gzip", func(t *testing.T) {
		a := f.get(t, document, "Accept-Encoding", "gzip")
		a.expect(t, 200, "Content-Type", typeJSON, "Content-Encoding", "gzip", "ETag", `"`+tag+`.gz"`, "Content-Length", fmt.Sprint(len(a.body)), "Accept-Ranges", "")
		if plain, err := spec3.Gunzip(a.body, len(d.JSON())); err != nil || !bytes.Equal(plain, d.JSON()) {
			t.Errorf("it does not unpack to the document: %v", err)
		}
		if len(a.body)*10 > len(source) {
			t.Errorf("%d of %d bytes is more than a tenth", len(a.body), len(source))
		}
		f.get(t, document, "Accept-Encoding", "gzip;q=0").expect(t, 200, "Content-Encoding", "", "Content-Length", size)
		f.get(t, document, "Accept-Encoding", "identity;q=0, gzip;q=0").status(t, 406, "NotAcceptable")
	})
	t.Run("HEAD has the headers of GET", func(t *testing.T) {
		for _, header := range [][]string{{}, {"Accept-Encoding", "gzip"}, {"Accept", typeProtobuf}, {"If-None-Match", "*"}, {"If-Match", "x"}, {"Accept", "text/html"}} {
			for _, path := range []string{document, document + "?hash=" + tag, document + "?hash=OLD", "/openapi/v3", "/openapi/v3/nope"} {
				get, head := f.get(t, path, header...), f.do(t, http.MethodHead, path, header...)
				get.header.Del("Date")
				head.header.Del("Date")
				if len(head.body) != 0 || head.code != get.code || fmt.Sprint(head.header) != fmt.Sprint(get.header) {
					t.Errorf("%s %q:\nGET  %d %v\nHEAD %d %v", path, header, get.code, get.header, head.code, head.header)
				}
			}
		}
	})
	t.Run("Range", func(t *testing.T) {
		part := f.get(t, document, "Range", "bytes=0-9")
		part.expect(t, 206, "Content-Range", "bytes 0-9/"+size, "Content-Type", typeJSON, "ETag", `"`+tag+`"`)
		if !bytes.Equal(part.body, d.JSON()[:10]) {
			t.Errorf("got %q", part.body)
		}
		f.get(t, document, "Range", "bytes=0-9", "If-Range", `"`+tag+`"`).expect(t, 206)
		whole := f.get(t, document, "Range", "bytes=0-9", "If-Range", `"`+tag+`.pb"`)
		whole.expect(t, 200, "Content-Length", size)
		f.get(t, document, "Range", "bytes=0-9", "Accept-Encoding", "gzip").expect(t, 200, "Content-Encoding", "gzip", "Content-Range", "")
		// What cannot be served is no answer that a cache may keep under the tag's URL.
		a := f.get(t, document+"?etag="+tag, "Range", "bytes=99999999-")
		a.status(t, 416, "BadRequest")
		a.expect(t, 416, "Content-Range", "bytes */"+size, "Expires", "")
		// Other units, other methods and other lines of it are none of ours.
		for _, header := range []string{"items=0-5", "bytes 0-5", ""} {
			f.get(t, document, "Range", header).expect(t, 200, "Content-Length", size)
		}
		f.do(t, http.MethodHead, document, "Range", "bytes=0-9").expect(t, 200, "Content-Length", size)
	})
	t.Run("If-Match", func(t *testing.T) {
		for _, header := range [][]string{{}, {"Range", "bytes=0-9"}, {"Accept-Encoding", "gzip"}, {"If-None-Match", "*"}} {
			f.get(t, document+"?etag="+tag, append(header, "If-Match", `"x"`)...).status(t, 412, "Conflict")
		}
		f.get(t, document, "If-Match", `W/"`+tag+`"`).status(t, 412, "Conflict")
		f.get(t, document, "If-Match", `"x", "`+tag+`"`).expect(t, 200)
		f.get(t, document, "If-Match", `*`).expect(t, 200)
	})
	t.Run("If-None-Match", func(t *testing.T) {
		for _, inm := range []string{`"` + tag + `"`, `W/"` + tag + `"`, `*`, `"x", "` + tag + `"`, `"a,b",W/"` + tag + `"`, `,, "` + tag + `"`} {
			f.get(t, document+"?hash="+tag, "If-None-Match", inm).expect(t, 304,
				"ETag", `"`+tag+`"`, "Cache-Control", immutable, "Vary", bothVary, "Content-Type", "", "Content-Length", "", "Expires", "Wed, 03 Feb 2027 03:05:06 GMT")
		}
		for _, inm := range []string{`"x"`, tag, `"` + tag, `"` + tag + `.pb"`, `w/"` + tag + `"`, `"` + strings.ToLower(tag) + `"`} {
			f.get(t, document, "If-None-Match", inm).expect(t, 200)
		}
		f.get(t, document, "If-None-Match", `"x"`, "If-None-Match", `"`+tag+`"`).expect(t, 304)
		f.get(t, document, "If-None-Match", `"`+tag+`.gz"`, "Accept-Encoding", "gzip").expect(t, 304)
		f.get(t, document, "If-None-Match", `"`+tag+`"`, "Accept-Encoding", "gzip").expect(t, 200)
	})
}

func TestOutdatedTag(t *testing.T) {
	f := newFixture(t, handler.Options{})
	old := f.publish(t, "apis/apps/v1", text("a"))
	tag := f.publish(t, "apis/apps/v1", text("b"))
	for query, want := range map[string]string{
		"?etag=" + old:                      "",
		"?hash=" + old:                      "",
		"?hash=" + strings.ToLower(tag):     "",
		"?hash=x&timeout=5s":                "&timeout=5s",
		"?a=1&etag=x&hash=y&b=%20+;&a=2&c":  "&a=1&b=%20+;&a=2&c",
		"?etag=%22%3E%3Cscript%3E":          "",
		"?hash=x&Location=http://elsewhere": "&Location=http://elsewhere",
	} {
		for _, header := range [][]string{{}, {"If-None-Match", `"` + tag + `"`}, {"Accept-Encoding", "gzip"}, {"Accept", typeProtobuf}} {
			a := f.get(t, document+query, header...)
			a.expect(t, 301, "Location", document+"?etag="+tag+"&redirected=1"+want, "Cache-Control", "no-store",
				"ETag", "", "Expires", "", "Content-Type", "", "Vary", bothVary, "Content-Length", "0")
		}
	}
	// A client that was redirected and is still outdated gets what there is: this
	// replica and the other one do not agree.
	a := f.get(t, document+"?etag="+old+"&redirected=1")
	a.expect(t, 200, "Cache-Control", "no-store", "ETag", `"`+tag+`"`, "Location", "", "Expires", "")
	f.get(t, "/openapi/v3/nope?etag=x").status(t, 404, "NotFound")
}

func TestBehindAggregatorNothingIsRedirected(t *testing.T) {
	f := newFixture(t, handler.Options{BehindAggregator: true})
	tag := f.publish(t, "apis/apps/v1", text("a"))
	f.get(t, document+"?hash=OLD").expect(t, 200, "Cache-Control", "no-store", "ETag", `"`+tag+`"`, "Location", "")
}

func TestPrivate(t *testing.T) {
	f := newFixture(t, handler.Options{Private: true})
	tag := f.publish(t, "apis/apps/v1", text("a"))
	f.get(t, "/openapi/v3").expect(t, 200, "Cache-Control", "no-cache, private")
	f.get(t, document).expect(t, 200, "Cache-Control", "no-cache, private")
	f.get(t, document+"?etag="+tag).expect(t, 200, "Cache-Control", "private, max-age=31536000, immutable")
}

// A prefix that a middleware strips is in the redirect, and can never become a host.
func TestRedirectKeepsThePrefix(t *testing.T) {
	f := newFixture(t, handler.Options{})
	tag := f.publish(t, "apis/apps/v1", text("a"))
	strip := func(prefix string) http.Handler {
		return http.StripPrefix(prefix, handler.New(f.Store, handler.Options{}))
	}
	for _, tc := range []struct{ prefix, request, want string }{
		{"/clusters/one", "/clusters/one" + document, "/clusters/one" + document},
		{"/clusters/a b", "/clusters/a%20b" + document, "/clusters/a%20b" + document},
		{"//evil.example", "//evil.example" + document, "/evil.example" + document},
		{`/\evil.example`, `/\evil.example` + document, "/%5Cevil.example" + document},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://localhost"+document, nil)
		r.RequestURI = tc.request + "?hash=OLD"
		var err error
		if r.URL, err = url.ParseRequestURI(r.RequestURI); err != nil {
			// A request line is parsed with ParseRequestURI, which takes "//host" for one.
			t.Fatal(err)
		}
		r.URL.Path = tc.prefix + document
		w := httptest.NewRecorder()
		strip(tc.prefix).ServeHTTP(w, r)
		if got, want := w.Header().Get("Location"), tc.want+"?etag="+tag+"&redirected=1"; got != want {
			t.Errorf("%s: got %q, want %q", tc.request, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	f := newFixture(t, handler.Options{})
	f.publish(t, "apis/apps/v1", text("a"))
	for _, path := range []string{
		"/openapi/v3/apis/nope/v1", "/openapi/v3/apis", "/openapi/v3/apis/apps/v1//", "/openapi/v3//apis/apps/v1",
		"/openapi/v3/apis/apps%2Fv1", "/openapi/v3/apis%2fapps/v1", "/openapi/v3/apis/../apis/apps/v1", "/openapi/v3/APIS/apps/v1",
		"/openapi/v2", "/openapi/v3x", "/openapi/", "/",
	} {
		s := f.get(t, path).status(t, 404, "NotFound")
		if !strings.Contains(s.Message, "/openapi/v3 lists those that are") {
			t.Errorf("%s: %s", path, s.Message)
		}
	}
	f.get(t, "/openapi/v3/%61pis/apps/v1").expect(t, 200)
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"} {
		for _, path := range []string{"/openapi/v3", document, "/openapi/v3/nope"} {
			a := f.do(t, method, path)
			a.status(t, 405, "MethodNotAllowed")
			a.expect(t, 405, "Allow", "GET, HEAD")
		}
	}
	for _, accept := range []string{"foo", "text/html", "application/jsonp", "application/xml, text/*", "application/json;q=0", "*/*;q=0", "application/json;q=2", "*/json"} {
		s := f.get(t, document, "Accept", accept).status(t, 406, "NotAcceptable")
		if !strings.Contains(s.Message, typeJSON) || !strings.Contains(s.Message, typeProtobuf) {
			t.Errorf("%s: it does not list what there is: %s", accept, s.Message)
		}
	}
}

// A middleware in front that sets headers of its own keeps them.
func TestBehindMiddleware(t *testing.T) {
	f := newFixture(t, handler.Options{})
	f.publish(t, "apis/apps/v1", text("a"))
	h := handler.New(f.Store, handler.Options{})
	for _, path := range []string{"/openapi/v3", document, document + "?etag=OLD", "/openapi/v3/nope"} {
		w := httptest.NewRecorder()
		w.Header().Set("Vary", "Origin")
		w.Header().Set("Access-Control-Allow-Origin", "https://portal.example")
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if got := strings.Join(w.Header().Values("Vary"), ", "); got != "Origin, "+bothVary || w.Header().Get("Access-Control-Allow-Origin") == "" {
			t.Errorf("%s: %v", path, w.Header())
		}
	}
}

// One request for a form that is there allocates a handful of small things, however
// large the document is.
func TestAllocations(t *testing.T) {
	f := newFixture(t, handler.Options{})
	tags := map[string]string{
		"apis/small/v1": f.publish(t, "apis/small/v1", text("a")),
		"apis/large/v1": f.publish(t, "apis/large/v1", kubernetes(t)["api/v1"]),
	}
	h := handler.New(f.Store, handler.Options{})
	w := &nobody{header: http.Header{}}
	for _, header := range [][]string{{"Accept-Encoding", "gzip"}, {"Accept", typeProtobuf}, {"Accept", "text/html, application/json;q=0.9, */*;q=0.1"}, {"If-None-Match", `"x", W/"y", *`}} {
		allocations := func(path string) float64 {
			r := httptest.NewRequest(http.MethodGet, "/openapi/v3/"+path+"?timeout=32s&etag="+tags[path], nil)
			r.Header.Set(header[0], header[1])
			for range 3 { // plain JSON is kept from its second use on
				h.ServeHTTP(w, r)
			}
			return testing.AllocsPerRun(100, func() {
				clear(w.header)
				h.ServeHTTP(w, r)
			})
		}
		if small, large := allocations("apis/small/v1"), allocations("apis/large/v1"); small > 25 || large > small+2 {
			t.Errorf("%q: %v allocations for a small document, %v for a large one", header, small, large)
		}
	}
}

// nobody is a client that reads nothing.
type nobody struct{ header http.Header }

func (n *nobody) Header() http.Header         { return n.header }
func (n *nobody) WriteHeader(int)             {}
func (n *nobody) Write(p []byte) (int, error) { return len(p), nil }

// A document that protobuf cannot hold is there as JSON, for who accepts it.
func TestDocumentWithoutProtobuf(t *testing.T) {
	f := newFixture(t, handler.Options{})
	f.publish(t, "apis/apps/v1", []byte(`{"openapi":"3.0.0","info":{"title":"t","version":"v1"},"paths":{},"components":{"schemas":{"A":{"maximum":"high"}}}}`))
	f.get(t, document, "Accept", typeProtobuf).status(t, 406, "NotAcceptable")
	f.get(t, document, "Accept", typeProtobuf+", */*;q=0.1").expect(t, 200, "Content-Type", typeJSON)
}

func TestStatusIsKubernetes(t *testing.T) {
	f := newFixture(t, handler.Options{})
	var got map[string]any
	if err := json.Unmarshal(f.get(t, "/openapi/v3/nope").body, &got); err != nil {
		t.Fatal(err)
	}
	want := `map[apiVersion:v1 code:404 kind:Status message:no OpenAPI document is published at "nope"; /openapi/v3 lists those that are metadata:map[] reason:NotFound status:Failure]`
	if fmt.Sprint(got) != want {
		t.Errorf("got %v", got)
	}
}
