package handler_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed-0662880d/openapi-server/internal/testdocs"
	"github.com/seed-0662880d/openapi-server/pkg/handler"
	"github.com/seed-0662880d/openapi-server/pkg/spec3"
	"github.com/seed-0662880d/openapi-server/pkg/store"
)

const (
	typeJSON        = "application/json"
	typeProtobuf    = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
	typeOldProtobuf = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
)

// now is the time at which tests run.
var now = time.Date(2026, 2, 3, 4, 5, 6, 0, time.FixedZone("east", 3600))

// fixture is a store that is served over a real socket.
type fixture struct {
	*store.Store
	url    string
	client *http.Client
}

func newFixture(t testing.TB, o handler.Options) *fixture {
	t.Helper()
	s, err := store.New(store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o.Now = func() time.Time { return now }
	server := httptest.NewServer(handler.New(s, o))
	t.Cleanup(server.Close)
	return &fixture{Store: s, url: server.URL, client: &http.Client{
		// What goes over the wire is what a test sees: no compression behind its back,
		// and no redirect followed.
		Transport:     &http.Transport{DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// publish publishes a document made of text, and returns its tag.
func (f *fixture) publish(t testing.TB, path string, text []byte) string {
	t.Helper()
	d, err := spec3.Parse(text, spec3.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Set(store.Contribution{Source: "test", Path: path, Document: d}); err != nil {
		t.Fatal(err)
	}
	return d.Tag()
}

// text is a small document; content makes it differ.
func text(content string) []byte {
	return []byte(`{"openapi":"3.0.0","info":{"title":"t","version":"v1"},"paths":{"/apis/apps/v1/x":{"get":{"responses":{"200":{"description":"` + content + `"}}}}}}`)
}

func kubernetes(t testing.TB) map[string][]byte {
	t.Helper()
	documents, err := testdocs.Kubernetes()
	if err != nil {
		t.Fatal(err)
	}
	return documents
}

// answer is a response that was read to its end.
type answer struct {
	code   int
	header http.Header
	body   []byte
}

func (f *fixture) get(t testing.TB, path string, header ...string) answer {
	t.Helper()
	return f.do(t, http.MethodGet, path, header...)
}

// do sends a request; headers are names and values in turn.
func (f *fixture) do(t testing.TB, method, path string, header ...string) answer {
	t.Helper()
	r, err := http.NewRequest(method, f.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	response, err := f.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{code: response.StatusCode, header: response.Header, body: body}
}

// expect checks the status and headers; an empty value means that the header is
// absent.
func (a answer) expect(t testing.TB, code int, header ...string) {
	t.Helper()
	if a.code != code {
		t.Errorf("status %d, want %d: %s", a.code, code, a.body)
	}
	for i := 0; i+1 < len(header); i += 2 {
		values := a.header.Values(header[i])
		if len(values) > 1 {
			t.Errorf("%d lines of %s: %q", len(values), header[i], values)
		}
		if got := a.header.Get(header[i]); got != header[i+1] {
			t.Errorf("%s: %q, want %q", header[i], got, header[i+1])
		}
	}
}

// status checks that the body is a metav1.Status as Kubernetes sends it.
func (a answer) status(t testing.TB, code int, reason metav1.StatusReason) metav1.Status {
	t.Helper()
	a.expect(t, code, "Content-Type", typeJSON, "Cache-Control", "no-store", "ETag", "", "Vary", "Accept, Accept-Encoding")
	var s metav1.Status
	if err := json.Unmarshal(a.body, &s); err != nil {
		t.Fatalf("%v: %q", err, a.body)
	}
	if s.Kind != "Status" || s.APIVersion != "v1" || s.Status != "Failure" || s.Code != int32(code) || s.Reason != reason || s.Message == "" {
		t.Errorf("status %+v", s)
	}
	return s
}
