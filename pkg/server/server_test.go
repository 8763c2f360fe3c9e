package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/version"

	"github.com/seed-0662880d/openapi-server/pkg/store"
)

// small is a document in canonical form.
const small = `{"info":{"title":"t","version":"v1"},"openapi":"3.0.0","paths":{"/api/v1/x":{}}}`

// plain asks for no compression behind a test's back.
var plain = &http.Client{Transport: &http.Transport{DisableCompression: true}}

func options() Options {
	return Options{Listen: "127.0.0.1:0", SampleName: "sample", Sample: []byte(small), Version: version.Info{GitVersion: "v1.2.3"}}
}

func newServer(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := New(o, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// running is a server that runs.
type running struct {
	url  string
	stop context.CancelFunc
	done chan error
}

func run(t *testing.T, s *Server) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{stop: cancel, done: make(chan error, 1)}
	started := make(chan string, 1)
	go func() {
		r.done <- s.Run(ctx, func(a net.Addr, _ []*store.Document) { started <- "http://" + a.String() })
	}()
	select {
	case r.url = <-started:
	case err := <-r.done:
		t.Fatal(err)
	}
	t.Cleanup(cancel)
	return r
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	response, err := plain.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestOptionsValidate(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(o *Options)
		want   string // empty: it is fine
	}{
		"IPv4 loopback":    {func(o *Options) { o.Listen = "127.0.0.1:8080" }, ""},
		"all of 127/8":     {func(o *Options) { o.Listen = "127.1.2.3:8080" }, ""},
		"IPv6 loopback":    {func(o *Options) { o.Listen = "[::1]:8080" }, ""},
		"localhost":        {func(o *Options) { o.Listen = "localhost:8080" }, ""},
		"insecure":         {func(o *Options) { o.Listen, o.Insecure = "0.0.0.0:8080", true }, ""},
		"all addresses":    {func(o *Options) { o.Listen = ":8080" }, "--listen :8080 is not a loopback address"},
		"any IPv4":         {func(o *Options) { o.Listen = "0.0.0.0:8080" }, "not a loopback address"},
		"another host":     {func(o *Options) { o.Listen = "example.com:8080" }, "not a loopback address"},
		"no such port":     {func(o *Options) { o.Listen = "127.0.0.1:99999" }, `--listen "127.0.0.1:99999" has no port between 0 and 65535`},
		"an empty source":  {func(o *Options) { o.Sources = []string{""} }, "an empty SOURCE"},
		"no port":          {func(o *Options) { o.Listen = "127.0.0.1" }, `--listen "127.0.0.1" is not HOST:PORT`},
		"a URL":            {func(o *Options) { o.Sources = []string{"https://api.example"} }, "the source https://api.example is an API server, which is not supported yet"},
		"negative timeout": {func(o *Options) { o.ShutdownTimeout = -1 }, "--shutdown-timeout"},
		"negative memory":  {func(o *Options) { o.VariantBytes = -1 }, "--variant-bytes -1 is negative"},
		"all at once":      {func(o *Options) { o.Listen, o.VariantBytes = ":1", -1 }, "--variant-bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options()
			tc.change(&o)
			err := o.Validate()
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestOwnPaths(t *testing.T) {
	s := newServer(t, options())
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	for _, path := range []string{"/livez", "/healthz"} {
		if code, body := get(t, server.URL+path); code != 200 || body != "ok" {
			t.Errorf("%s: %d %q", path, code, body)
		}
	}
	if code, body := get(t, server.URL+"/readyz"); code != 503 || body != "not ready: sources are being read\n" {
		t.Errorf("before the sources were read: %d %q", code, body)
	}
	// kube-aggregator takes a root that is not 200 for a legacy or broken server.
	if code, body := get(t, server.URL+"/openapi/v3"); code != 200 || body != `{"paths":{}}` {
		t.Errorf("before the sources were read: %d %q", code, body)
	}
	if err := s.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	if code, body := get(t, server.URL+"/readyz"); code != 200 || body != "ok" {
		t.Errorf("/readyz: %d %q", code, body)
	}
	var v version.Info
	if code, body := get(t, server.URL+"/version"); code != 200 || json.Unmarshal([]byte(body), &v) != nil || v.GitVersion != "v1.2.3" {
		t.Errorf("/version: %d %q", code, body)
	}
	if code, body := get(t, server.URL+"/"); code != 200 || !strings.Contains(body, `"/openapi/v3"`) {
		t.Errorf("/: %d %q", code, body)
	}
	if code, body := get(t, server.URL+"/nope"); code != 404 || !strings.Contains(body, `"kind":"Status"`) {
		t.Errorf("/nope: %d %q", code, body)
	}
	for _, path := range []string{"/livez", "/metrics", "/version", "/", "/openapi/v3", "/openapi/v3/api/v1"} {
		for _, method := range []string{"POST", "OPTIONS", "PROPFIND", "MADEUP"} {
			request, err := http.NewRequest(method, server.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := plain.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err != nil || response.StatusCode != 405 || response.Header.Get("Allow") != "GET, HEAD" || !strings.Contains(string(body), `"kind":"Status"`) {
				t.Errorf("%s %s: %d %v %s", method, path, response.StatusCode, response.Header, body)
			}
		}
	}
}

func TestMetrics(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"good.json": small, "bad.json": "{"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := options()
	o.Sources = []string{folder}
	s := newServer(t, o)
	if err := s.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	_, body := get(t, server.URL+"/openapi/v3/api/v1")
	get(t, server.URL+"/openapi/v3/nope")
	get(t, server.URL+"/nope")
	response, err := plain.Head(server.URL + "/version")
	if err != nil || response.StatusCode != 200 {
		t.Fatal(err)
	}
	response.Body.Close()
	_, metrics := get(t, server.URL+"/metrics")
	for _, want := range []string{
		`openapi_server_requests_total{code="200",handler="openapi"} 1`,
		`openapi_server_requests_total{code="404",handler="openapi"} 1`,
		`openapi_server_requests_total{code="404",handler="other"} 1`,
		`openapi_server_response_bytes_total{handler="openapi"} `,
		`openapi_server_response_bytes_total{handler="version"} 0`,
		`openapi_server_documents 1`,
		fmt.Sprintf(`openapi_server_document_bytes{form="json"} %d`, len(small)),
		`openapi_server_rebuilds_total{kind="document"} 1`,
		`openapi_server_rebuilds_total{kind="root"} 1`,
		`openapi_server_rebuild_duration_seconds_count{kind="document"} 1`,
		`openapi_server_source_error{source="` + filepath.Join(folder, "bad.json") + `"} 1`,
		`openapi_server_source_reads_total{result="error"} 1`,
		`openapi_server_shadowed_contributions 0`,
		`openapi_server_conflicting_contributions 0`,
		`go_goroutines`, `process_resident_memory_bytes`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("/metrics has no %s", want)
		}
	}
	if _, rest, _ := strings.Cut(metrics, `openapi_server_response_bytes_total{handler="openapi"} `); !strings.HasPrefix(rest, fmt.Sprint(len(body)+notFoundBytes(t, server.URL))) {
		t.Errorf("bytes are not those of the bodies: %.20s", rest)
	}
}

func notFoundBytes(t *testing.T, url string) int {
	t.Helper()
	_, body := get(t, url+"/openapi/v3/nope")
	return len(body)
}

func TestPortInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	o := options()
	o.Listen = taken.Addr().String()
	err = newServer(t, o).Run(context.Background(), nil)
	if err == nil || !strings.Contains(err.Error(), "address already in use; choose another address with --listen") {
		t.Errorf("error %v", err)
	}
}

func TestHTTP2WithoutTLS(t *testing.T) {
	r := run(t, newServer(t, options()))
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: protocols}}
	response, err := client.Get(r.url + "/openapi/v3/api/v1")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || response.ProtoMajor != 2 || string(body) != small {
		t.Errorf("%s %q %v", response.Proto, body, err)
	}
}

func TestHeadersAreBounded(t *testing.T) {
	r := run(t, newServer(t, options()))
	request, err := http.NewRequest(http.MethodGet, r.url+"/openapi/v3", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", strings.Repeat("a/b,", 100<<10))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("status %d", response.StatusCode)
	}
}

// A server that is asked to stop is not ready any more, takes no new connection,
// finishes the download that is under way, and ends without an error.
func TestShutdownFinishesDownloads(t *testing.T) {
	o := options()
	// Larger than what the kernel buffers between the two ends.
	o.Sample = fmt.Appendf(nil, `{"openapi":"3.0.0","info":{"title":"t","version":"v1"},"paths":{"/api/v1/x":{}},"x-large":%q}`, strings.Repeat("x", 20<<20))
	s := newServer(t, o)
	r := run(t, s)
	response, err := plain.Get(r.url + "/openapi/v3/api/v1")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	r.stop()
	for !s.stopping.Load() {
		// Run notices at once; there is nothing else to wait for.
		select {
		case err := <-r.done:
			t.Fatalf("it ended before the download: %v", err)
		default:
		}
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	if w.Code != 503 || w.Body.String() != "not ready: the server is stopping\n" {
		t.Errorf("/readyz: %d %s", w.Code, w.Body)
	}
	n, err := io.Copy(io.Discard, response.Body)
	if err != nil || n != response.ContentLength || n < 20<<20 {
		t.Errorf("%d of %d bytes, %v", n, response.ContentLength, err)
	}
	if err := <-r.done; err != nil {
		t.Error(err)
	}
	if conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://")); err == nil {
		conn.Close()
		t.Error("it still takes connections")
	}
}

func TestShutdownEndsInAnyCase(t *testing.T) {
	o := options()
	o.ShutdownTimeout = 1 // a nanosecond
	o.Sample = fmt.Appendf(nil, `{"openapi":"3.0.0","info":{"title":"t","version":"v1"},"paths":{"/api/v1/x":{}},"x-large":%q}`, strings.Repeat("x", 20<<20))
	r := run(t, newServer(t, o))
	response, err := plain.Get(r.url + "/openapi/v3/api/v1")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	r.stop()
	if err := <-r.done; err == nil || !strings.Contains(err.Error(), "downloads did not finish in 1ns (see --shutdown-timeout)") {
		t.Errorf("error %v", err)
	}
}

func TestBrokenSample(t *testing.T) {
	o := options()
	o.Sample = []byte("{")
	err := newServer(t, o).Run(context.Background(), nil)
	if err == nil || !strings.Contains(err.Error(), "sample: 1:2: the text breaks off") {
		t.Errorf("error %v", err)
	}
}
