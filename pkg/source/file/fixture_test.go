package file

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-0662880d/openapi-server/pkg/spec3"
	"github.com/seed-0662880d/openapi-server/pkg/store"
)

// fixture is a folder, a store, and the source between them.
type fixture struct {
	t        testing.TB
	folder   string
	store    *store.Store
	source   *Source
	registry *prometheus.Registry
	logs     *logs
}

// testLimits are the defaults.
var testLimits spec3.Limits

func textLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

// logs is a log that may be read while it is written.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newFixture makes a source of a new folder, or of the paths in it that are named.
func newFixture(t testing.TB, files map[string]string, paths ...string) *fixture {
	t.Helper()
	f := &fixture{t: t, folder: t.TempDir(), registry: prometheus.NewRegistry(), logs: new(logs)}
	for name, text := range files {
		f.write(name, text)
	}
	var err error
	if f.store, err = store.New(store.Options{}); err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		paths = []string{""}
	}
	for i := range paths {
		paths[i] = filepath.Join(f.folder, paths[i])
	}
	f.source, err = New(paths, f.store, Options{Logger: slog.New(slog.NewTextHandler(f.logs, nil)), Registerer: f.registry})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.source.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) path(name string) string { return filepath.Join(f.folder, name) }

func (f *fixture) write(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(f.path(name), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) remove(name string) {
	f.t.Helper()
	if err := os.Remove(f.path(name)); err != nil {
		f.t.Fatal(err)
	}
}

// scan looks at the files as Run does after a change.
func (f *fixture) scan() {
	f.t.Helper()
	if _, err := f.source.scan(context.Background(), false); err != nil {
		f.t.Fatal(err)
	}
}

// published returns paths and the titles of their documents.
func (f *fixture) published() string {
	var all []string
	for _, d := range f.store.Snapshot().Documents() {
		r, err := d.Representation(context.Background(), store.JSON)
		if err != nil {
			f.t.Fatal(err)
		}
		_, title, _ := strings.Cut(string(r.Body), `"title":"`)
		title, _, _ = strings.Cut(title, `"`)
		all = append(all, d.Path()+"="+title)
	}
	return strings.Join(all, " ")
}

func (f *fixture) expect(want string) {
	f.t.Helper()
	if got := f.published(); got != want {
		f.t.Errorf("published: %s\nwant:      %s\n%s", got, want, f.logs)
	}
}

// broken returns the sources that the metric names, without their folder.
func (f *fixture) broken() string {
	families, err := f.registry.Gather()
	if err != nil {
		f.t.Fatal(err)
	}
	var names []string
	for _, family := range families {
		if family.GetName() != "openapi_server_source_error" {
			continue
		}
		for _, m := range family.GetMetric() {
			names = append(names, strings.TrimPrefix(m.GetLabel()[0].GetValue(), f.folder+"/"))
		}
	}
	return strings.Join(names, " ")
}

// text is a document of a group-version.
func text(path, title string) string {
	return fmt.Sprintf("{\n  \"openapi\": \"3.0.0\",\n  \"info\": {\"title\": %q, \"version\": \"v1\"},\n  \"paths\": {%q: {}}\n}\n", title, "/"+path+"/things")
}
