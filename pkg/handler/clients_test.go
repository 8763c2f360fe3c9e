package handler_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gregjones/httpcache"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi/cached"
	"k8s.io/client-go/openapi3"
	"k8s.io/client-go/rest"
	forked "k8s.io/client-go/third_party/forked/httpcache"

	"github.com/seed-0662880d/openapi-server/pkg/handler"
	"github.com/seed-0662880d/openapi-server/pkg/spec3"
	"github.com/seed-0662880d/openapi-server/pkg/store"
)

// client-go's own client, its cached client and openapi3.Root read every document
// of openapitest as it is in the source.
func TestClientGo(t *testing.T) {
	f := newFixture(t, handler.Options{})
	source := kubernetes(t)
	for path, text := range source {
		f.publish(t, path, text)
	}
	client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: f.url})
	if err != nil {
		t.Fatal(err)
	}
	openapi := client.OpenAPIV3()
	paths, err := openapi.Paths()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := slices.Sorted(maps.Keys(paths)), slices.Sorted(maps.Keys(source)); !slices.Equal(got, want) {
		t.Fatalf("paths %v, want %v", got, want)
	}
	for path, gv := range paths {
		got, err := gv.Schema(typeJSON)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(decoded(t, got), decoded(t, source[path])) {
			t.Errorf("%s: not what the source says", path)
		}
		for _, contentType := range []string{typeProtobuf, typeOldProtobuf} {
			if message, err := gv.Schema(contentType); err != nil || len(message) == 0 || message[0] == '{' {
				t.Errorf("%s as %s: %v", path, contentType, err)
			}
		}
	}

	t.Run("openapi3.Root", func(t *testing.T) {
		root := openapi3.NewRoot(cached.NewClient(openapi))
		gvs, err := root.GroupVersions()
		if err != nil || len(gvs) != len(source) {
			t.Fatalf("%v, %v", gvs, err)
		}
		for _, gv := range gvs {
			path := "apis/" + gv.String()
			if gv == (schema.GroupVersion{Version: "v1"}) {
				path = "api/v1"
			}
			got, err := root.GVSpecAsMap(gv)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(any(got), decoded(t, source[path])) {
				t.Errorf("%s: not what the source says", gv)
			}
			spec, err := root.GVSpec(gv)
			if err != nil || len(spec.Paths.Paths) == 0 {
				t.Errorf("%s: %v", gv, err)
			}
		}
	})
}

func decoded(t testing.TB, text []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// counter counts the requests that reach the server.
type counter struct {
	http.RoundTripper
	requests atomic.Int64
}

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.requests.Add(1)
	return c.RoundTripper.RoundTrip(r)
}

// httpCaches are the HTTP caches that Kubernetes' clients use.
var httpCaches = map[string]func(http.RoundTripper) http.RoundTripper{
	"gregjones/httpcache": func(next http.RoundTripper) http.RoundTripper {
		t := httpcache.NewMemoryCacheTransport()
		t.Transport = next
		return t
	},
	"client-go's fork": func(next http.RoundTripper) http.RoundTripper {
		t := forked.NewTransport(httpcache.NewMemoryCache())
		t.Transport = next
		return t
	},
}

// eachCache runs a test with a client of every cache.
func eachCache(t *testing.T, test func(t *testing.T, f *fixture, get func(path string) []byte, requests func() int64)) {
	for name, newCache := range httpCaches {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, handler.Options{})
			c := &counter{RoundTripper: &http.Transport{}}
			client := &http.Client{Transport: newCache(c)}
			get := func(path string) []byte {
				t.Helper()
				response, err := client.Get(f.url + path)
				if err != nil {
					t.Fatal(err)
				}
				defer response.Body.Close()
				body, err := io.ReadAll(response.Body)
				if err != nil || response.StatusCode != 200 {
					t.Fatalf("%d, %v", response.StatusCode, err)
				}
				return body
			}
			requests := func() int64 { return c.requests.Swap(0) }
			test(t, f, get, requests)
		})
	}
}

func TestCachesAskOnceForATaggedDocument(t *testing.T) {
	eachCache(t, func(t *testing.T, f *fixture, get func(string) []byte, requests func() int64) {
		tag := f.publish(t, "apis/apps/v1", kubernetes(t)["apis/apps/v1"])
		first := get(document + "?etag=" + tag)
		if got := requests(); got != 1 {
			t.Fatalf("%d requests for the first read", got)
		}
		for range 5 {
			if !bytes.Equal(get(document+"?etag="+tag), first) {
				t.Error("another body")
			}
		}
		if got := requests(); got != 0 {
			t.Errorf("%d requests for a document that the cache holds", got)
		}
		// Without a tag it asks, and is told that nothing changed.
		get(document)
		get(document)
		if got := requests(); got != 2 {
			t.Errorf("%d requests without a tag", got)
		}
	})
}

func TestCachesFollowOneRedirect(t *testing.T) {
	eachCache(t, func(t *testing.T, f *fixture, get func(string) []byte, requests func() int64) {
		old := f.publish(t, "apis/apps/v1", text("a"))
		get(document + "?etag=" + old)
		requests()
		f.publish(t, "apis/apps/v1", text("b"))
		if body := get(document + "?etag=UNKNOWN"); !bytes.Contains(body, []byte(`"b"`)) {
			t.Errorf("got %s", body)
		}
		if got := requests(); got != 2 {
			t.Errorf("%d requests: one for the redirect and one for the document are enough", got)
		}
		// The tag that the cache holds is good for a year.
		if body := get(document + "?etag=" + old); !bytes.Contains(body, []byte(`"a"`)) || requests() != 0 {
			t.Errorf("got %s", body)
		}
	})
}

// A document that goes from A to B and back to A: a redirect from A to B that a
// cache had kept would meet one from B to A.
func TestCachesNeverLoop(t *testing.T) {
	eachCache(t, func(t *testing.T, f *fixture, get func(string) []byte, requests func() int64) {
		tags := map[string]string{}
		for round, content := range []string{"a", "b", "a", "b", "c", "a"} {
			tags[content] = f.publish(t, "apis/apps/v1", text(content))
			for _, tag := range append(slices.Collect(maps.Values(tags)), "NEVER") {
				requests()
				body := get(document + "?etag=" + tag)
				if got := requests(); got > 2 {
					t.Fatalf("round %d: %d requests for one document", round, got)
				}
				if tag == tags[content] && !bytes.Contains(body, []byte(`"`+content+`"`)) {
					t.Errorf("round %d: the current tag gives %s", round, body)
				}
				if tag == "NEVER" && !bytes.Contains(body, []byte(`"`+content+`"`)) {
					t.Errorf("round %d: an unknown tag gives %s", round, body)
				}
			}
		}
	})
}

// Two replicas that disagree, behind a balancer that takes turns: a client is sent
// around once and then gets a document, which it does not keep under a wrong tag.
func TestReplicasThatDisagree(t *testing.T) {
	one, two := newFixture(t, handler.Options{}), newFixture(t, handler.Options{})
	tagOne, tagTwo := one.publish(t, "apis/apps/v1", text("one")), two.publish(t, "apis/apps/v1", text("two"))
	handlers := []http.Handler{handler.New(one.Store, handler.Options{}), handler.New(two.Store, handler.Options{})}
	var turn atomic.Int64
	balancer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers[turn.Add(1)%2].ServeHTTP(w, r)
	}))
	t.Cleanup(balancer.Close)
	for name, newCache := range httpCaches {
		for start := range int64(2) {
			for _, tag := range []string{tagOne, tagTwo, "NEITHER"} {
				c := &counter{RoundTripper: &http.Transport{}}
				client := &http.Client{Transport: newCache(c)}
				turn.Store(start)
				response, err := client.Get(balancer.URL + document + "?hash=" + tag)
				if err != nil {
					t.Fatal(err)
				}
				_, err = io.Copy(io.Discard, response.Body)
				response.Body.Close()
				if err != nil || response.StatusCode != 200 || c.requests.Load() > 2 {
					t.Errorf("%s, %s: %d after %d requests, %v", name, tag, response.StatusCode, c.requests.Load(), err)
				}
				final := response.Request.URL.Query().Get("etag")
				if cc := response.Header.Get("Cache-Control"); c.requests.Load() == 2 && cc != "no-store" && `"`+final+`"` != response.Header.Get("ETag") {
					t.Errorf("%s, %s: kept under a tag that is not its own: %s", name, tag, cc)
				}
			}
		}
	}
}

const helperProcess = "OPENAPI_SERVER_TEST_DIGEST"

// Another process that publishes the same documents in another order serves the
// same bytes.
func TestTwoProcessesServeTheSameBytes(t *testing.T) {
	if order := os.Getenv(helperProcess); order != "" {
		// This is the other process.
		t.Logf("digest=%s\n", digest(t, order))
		return
	}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, order := range []string{"ascending", "descending", "one by one"} {
		command := exec.Command(executable, "-test.run=^TestTwoProcessesServeTheSameBytes$", "-test.v")
		command.Env = append(os.Environ(), helperProcess+"="+order)
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		_, line, found := bytes.Cut(out, []byte("digest="))
		if !found {
			t.Fatalf("no digest in %s", out)
		}
		line, _, _ = bytes.Cut(line, []byte("\n"))
		seen[string(line)] = true
	}
	seen[digest(t, "ascending")] = true
	if len(seen) != 1 {
		t.Errorf("processes differ: %v", slices.Collect(maps.Keys(seen)))
	}
}

// digest publishes all documents in an order, and sums up everything that is
// served of them: status, headers but Date, and bodies.
func digest(t *testing.T, order string) string {
	f := newFixture(t, handler.Options{})
	source := kubernetes(t)
	paths := slices.Sorted(maps.Keys(source))
	if order == "descending" {
		slices.Reverse(paths)
	}
	for _, path := range paths {
		f.publish(t, path, source[path])
		if order == "one by one" {
			f.publish(t, path, text(path))
			f.publish(t, path, source[path])
		}
	}
	sum := sha256.New()
	slices.Sort(paths)
	for _, path := range append([]string{"", "?view=flat"}, paths...) {
		if path != "" && path[0] != '?' {
			path = "/" + path
		}
		for _, header := range [][]string{{}, {"Accept-Encoding", "gzip"}, {"Accept", typeProtobuf}} {
			a := f.get(t, "/openapi/v3"+path, header...)
			a.header.Del("Date")
			fmt.Fprintln(sum, path, a.code, a.header)
			sum.Write(a.body)
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// While a document changes without end, a reader that follows the root gets whole
// documents and redirects, and nothing else.
func TestReadersWhileADocumentChanges(t *testing.T) {
	f := newFixture(t, handler.Options{})
	texts := [][]byte{text("a"), text("b")}
	f.publish(t, "apis/apps/v1", texts[0])
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			d, err := spec3.Parse(texts[i%2], spec3.Limits{})
			if err == nil {
				err = f.Set(store.Contribution{Source: "test", Path: "apis/apps/v1", Document: d})
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	defer writer.Wait()
	defer close(stop)
	var root struct {
		Paths map[string]struct {
			ServerRelativeURL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	for range 200 {
		if err := json.Unmarshal(f.get(t, "/openapi/v3").body, &root); err != nil {
			t.Fatal(err)
		}
		a := f.get(t, root.Paths["apis/apps/v1"].ServerRelativeURL)
		if a.code != 200 && a.code != 301 {
			t.Fatalf("status %d", a.code)
		}
		if a.code == 200 && !json.Valid(a.body) {
			t.Fatalf("a torn body: %s", a.body)
		}
	}
}
