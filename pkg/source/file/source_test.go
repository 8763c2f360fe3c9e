package file

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-0662880d/openapi-server/pkg/spec3"
	"github.com/seed-0662880d/openapi-server/pkg/store"
)

func TestFolder(t *testing.T) {
	f := newFixture(t, map[string]string{
		"apps.json":    text("apis/apps/v1", "apps"),
		"core.yaml":    "openapi: 3.0.0\ninfo: {title: core, version: v1}\npaths: {/api/v1/pods: {}, /version/: {}}\n",
		"two.yml":      "# two documents\nopenapi: 3.0.0\ninfo: {title: one, version: v1}\npaths: {/apis/one/v1/x: {}}\n---\nopenapi: 3.0.0\ninfo: {title: two, version: v1}\npaths: {/apis/two/v1/x: {}}\n---\n",
		"comment.yaml": "# nothing yet\n",
		"README.md":    "not a document",
		".hidden.json": "not a document",
	})
	f.expect("api/v1=core apis/apps/v1=apps apis/one/v1=one apis/two/v1=two version=core")
	if got := f.broken(); got != "" {
		t.Errorf("broken: %s", got)
	}
}

func TestFilesOfOneGroupVersionAreMerged(t *testing.T) {
	part := func(resource string) string {
		return fmt.Sprintf(`{"openapi":"3.0.0","info":{"title":"t","version":"v1"},"paths":{"/api/v1/%s":{}}}`, resource)
	}
	f := newFixture(t, map[string]string{"a.json": part("a"), "b.json": part("b")})
	r, err := f.store.Snapshot().Document("api/v1").Representation(context.Background(), store.JSON)
	if err != nil || !strings.Contains(string(r.Body), `"paths":{"/api/v1/a":{},"/api/v1/b":{}}`) {
		t.Errorf("got %s, %v", r.Body, err)
	}
}

func TestTwoFilesForOnePath(t *testing.T) {
	f := newFixture(t, map[string]string{
		"a.json": `{"openapi":"3.0.0","info":{"title":"a","version":"v1"},"paths":{"/api/v1/x":{"get":{}}}}`,
		"b.json": `{"openapi":"3.0.0","info":{"title":"b","version":"v1"},"paths":{"/api/v1/x":{"put":{}}}}`,
	})
	f.expect("api/v1=a")
}

func TestBadFiles(t *testing.T) {
	files := map[string]string{"good.json": text("apis/good/v1", "good")}
	want := map[string]string{}
	bad := func(name, text, message string) {
		files[name] = text
		want[name] = message
	}
	bad("not.json", "{\n  \"openapi\": oops\n}", ":2:14: /openapi: not JSON: invalid character 'o' at start of value")
	bad("cut.json", text("apis/cut/v1", "cut")[:70], ":4:2: the text breaks off: unexpected EOF")
	bad("empty.json", "", ": unexpected EOF")
	bad("word.yaml", "hello", ":1:1: not an OpenAPI 3.0 document: it is a string, not an object")
	bad("tabs.yaml", "openapi: 3.0.0\npaths:\n\tx: y\n", ": not YAML: found character that cannot start any token")
	bad("dangling.json", "{\"openapi\":\"3.0.0\",\"paths\":{\n\"/a\":{\"$ref\":\"#/nowhere\"}}}", `:2:14: /paths/~1a/$ref: unresolved $ref "#/nowhere"`)
	bad("swagger.json", "{\n\"swagger\": \"2.0\", \"paths\": {}}", ":2:12: /swagger: a Swagger 2.0 document is not supported yet")
	bad("three-one.yaml", "openapi: 3.1.0\npaths: {}\n", `:1:10: /openapi: not an OpenAPI 3.0 document: its version is "3.1.0"`)
	bad("crd.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n", ":1:1: /spec: the CustomResourceDefinition has no /spec/group")
	bad("apiservice.yaml", "apiVersion: apiregistration.k8s.io/v1\nkind: APIService\n", ":2:7: /kind: an APIService (apiregistration.k8s.io/v1) is not supported yet")
	bad("list.yaml", "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret}\n", "4:26: /kind: a Secret (v1) is nothing to publish")
	bad("configmap.yaml", "apiVersion: v1\nkind: ConfigMap\n", ":2:7: /kind: a ConfigMap (v1) is nothing to publish")
	bad("climb.json", text("apis/../v1", "climb"), `:4:35: /paths/~1apis~1..~1v1~1things: no group-version: the path "apis/../v1" cannot be published`)
	bad("second.yaml", "openapi: 3.0.0\npaths: {/api/v1/x: {}}\n---\nopenapi: 3.0.0\npaths: []\n", ":5:8: /paths: it is an array where an object belongs")
	bad("contradiction.yaml", "openapi: 3.0.0\npaths: {/api/v1/x: {}}\n---\nopenapi: 3.0.0\npaths: {/api/v1/x: {get: {}}}\n", "contradiction.yaml (document 2) both define /paths/~1api~1v1~1x, and not the same way")
	f := newFixture(t, files)
	f.expect("apis/good/v1=good")
	lines := strings.Split(f.logs.String(), "\n")
	for name, message := range want {
		found := 0
		for _, line := range lines {
			line = strings.ReplaceAll(line, `\"`, `"`)
			if strings.Contains(line, f.path(name)) {
				found++
				if !strings.Contains(line, message) || !strings.Contains(line, "level=ERROR") || !strings.Contains(line, "nothing of it is published") {
					t.Errorf("%s: %s\nwant %s", name, line, message)
				}
			}
		}
		if found != 1 {
			t.Errorf("%s: logged %d times", name, found)
		}
		if !strings.Contains(" "+f.broken()+" ", " "+name+" ") {
			t.Errorf("%s is not in the metric: %s", name, f.broken())
		}
	}
	f.scan()
	if got := strings.Split(f.logs.String(), "\n"); len(got) != len(lines) {
		t.Errorf("nothing changed, and it was logged again: %q", got[len(lines)-1:])
	}
}

func TestHugeFileIsNotRead(t *testing.T) {
	f := newFixture(t, map[string]string{"good.json": text("apis/good/v1", "good")})
	huge, err := os.Create(f.path("huge.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := huge.Truncate(200 << 20); err != nil {
		t.Fatal(err)
	}
	if err := huge.Close(); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f.scan()
	runtime.ReadMemStats(&after)
	if read := after.TotalAlloc - before.TotalAlloc; read > 1<<20 {
		t.Errorf("%d bytes were allocated for it", read)
	}
	f.expect("apis/good/v1=good")
	if !strings.Contains(f.logs.String(), "huge.json: document too large: 209715200 bytes, the limit is 67108864") {
		t.Errorf("the log does not say so:\n%s", f.logs)
	}
}

func TestMissingPath(t *testing.T) {
	if _, err := New([]string{"/no/such/folder"}, nil, Options{}); err == nil || err.Error() != "/no/such/folder: no such file or directory" {
		t.Errorf("error %v", err)
	}
}

func TestEmptyFolder(t *testing.T) {
	f := newFixture(t, nil)
	f.expect("")
	if !strings.Contains(f.logs.String(), "there are no .json, .yaml or .yml files yet") {
		t.Errorf("the log does not say so: %s", f.logs)
	}
	f.write("a.json", text("api/v1", "a"))
	f.scan()
	f.expect("api/v1=a")
}

func TestWhatWasPublishedStays(t *testing.T) {
	const name = "a.json"
	good := text("api/v1", "old")
	for what, spoil := range map[string]func(f *fixture){
		"broken":       func(f *fixture) { f.write(name, "{") },
		"half-written": func(f *fixture) { f.write(name, good[:40]) },
		"emptied":      func(f *fixture) { f.write(name, "") },
		"gone":         func(f *fixture) { f.remove(name) },
		"a folder now": func(f *fixture) {
			f.remove(name)
			if err := os.Mkdir(f.path(name), 0o700); err != nil {
				f.t.Fatal(err)
			}
		},
		"a pipe now, which would block who opens it": func(f *fixture) {
			f.remove(name)
			if err := syscall.Mkfifo(f.path(name), 0o600); err != nil {
				f.t.Fatal(err)
			}
		},
		"a dangling link now": func(f *fixture) {
			f.remove(name)
			if err := os.Symlink("nowhere", f.path(name)); err != nil {
				f.t.Fatal(err)
			}
		},
	} {
		for _, how := range []string{"", name} {
			t.Run(what+" "+how, func(t *testing.T) {
				f := newFixture(t, map[string]string{name: good}, how)
				before := f.store.Snapshot()
				spoil(f)
				for range 3 {
					f.scan()
				}
				if f.store.Snapshot() != before {
					t.Errorf("published: %s", f.published())
				}
				if got := f.broken(); got != name {
					t.Errorf("broken: %q", got)
				}
				if n := strings.Count(f.logs.String(), "level=ERROR"); n != 1 || !strings.Contains(f.logs.String(), "stays") {
					t.Errorf("%d errors are logged:\n%s", n, f.logs)
				}
				if err := os.RemoveAll(f.path(name)); err != nil {
					t.Fatal(err)
				}
				f.write(name, text("api/v1", "new"))
				f.scan()
				f.expect("api/v1=new")
				if got := f.broken(); got != "" || !strings.Contains(f.logs.String(), "in order again") {
					t.Errorf("still broken: %q\n%s", got, f.logs)
				}
			})
		}
	}
}

func TestFolderThatIsGoneKeepsItsFiles(t *testing.T) {
	f := newFixture(t, nil)
	inner := f.path("inner")
	if err := os.Mkdir(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	f.write("inner/a.json", text("api/v1", "a"))
	var err error
	if f.source, err = New([]string{inner}, f.store, Options{Logger: slog.New(slog.NewTextHandler(f.logs, nil))}); err != nil {
		t.Fatal(err)
	}
	f.scan()
	if err := os.RemoveAll(inner); err != nil {
		t.Fatal(err)
	}
	f.scan()
	f.scan()
	f.expect("api/v1=a")
	if n := strings.Count(f.logs.String(), "level=ERROR"); n != 1 {
		t.Errorf("%d errors are logged:\n%s", n, f.logs)
	}
	if err := os.Mkdir(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	f.write("inner/a.json", text("api/v1", "b"))
	f.scan()
	f.expect("api/v1=b")
}

func TestRenamedFileLeavesNoTrace(t *testing.T) {
	f := newFixture(t, map[string]string{"a.json": text("api/v1", "a")})
	if err := os.Rename(f.path("a.json"), f.path("b.json")); err != nil {
		t.Fatal(err)
	}
	f.scan()
	f.expect("api/v1=a")
	if got := f.broken(); got != "" {
		t.Errorf("broken: %s", got)
	}
	f.write("b.json", text("api/v1", "b"))
	f.scan()
	f.expect("api/v1=b")
	if got := f.store.Snapshot().Document("api/v1").Sources(); len(got) != 1 || got[0] != f.path("b.json") {
		t.Errorf("sources: %v", got)
	}
}

func TestGoneFileYieldsToOthers(t *testing.T) {
	a := `{"openapi":"3.0.0","info":{"title":"a","version":"v1"},"paths":{"/api/v1/x":{"get":{}},"/apis/a/v1/y":{}}}`
	b := `{"openapi":"3.0.0","info":{"title":"b","version":"v1"},"paths":{"/api/v1/x":{"put":{}}}}`
	f := newFixture(t, map[string]string{"a.json": a})
	f.remove("a.json")
	f.write("b.json", b)
	f.scan()
	f.expect("api/v1=b apis/a/v1=a")
}

func TestCommentTakesDocumentsBack(t *testing.T) {
	f := newFixture(t, map[string]string{"a.yaml": text("api/v1", "a"), "b.yaml": text("apis/b/v1", "b")})
	f.write("a.yaml", "# withdrawn\n")
	f.scan()
	// It may be the beginning of a file that is being written.
	f.expect("api/v1=a apis/b/v1=b")
	long := time.Now().Add(-withdrawAfter)
	if err := os.Chtimes(f.path("a.yaml"), long, long); err != nil {
		t.Fatal(err)
	}
	f.scan()
	f.expect("apis/b/v1=b")
}

// One of several files of a group-version that goes takes nothing along, in whatever
// order files go.
func TestGoneFilesOfOneGroupVersion(t *testing.T) {
	part := func(resource string) string {
		return fmt.Sprintf(`{"openapi":"3.0.0","info":{"title":"t","version":"v1"},"paths":{"/api/v1/%s":{}}}`, resource)
	}
	f := newFixture(t, map[string]string{"a.json": part("a"), "b.json": part("b")})
	before := f.store.Snapshot().Document("api/v1").Tag()
	for _, name := range []string{"b.json", "a.json"} {
		f.remove(name)
		f.scan()
		if d := f.store.Snapshot().Document("api/v1"); d == nil || d.Tag() != before {
			t.Errorf("without %s something else is published", name)
		}
	}
	if got := f.broken(); got != "a.json b.json" {
		t.Errorf("broken: %s", got)
	}
}

// A file that is written slowly is an error once, not with every read.
func TestSlowWriterIsLoggedOnce(t *testing.T) {
	f := newFixture(t, map[string]string{"a.json": text("api/v1", "old")})
	whole := text("api/v1", "new")
	for i := 1; i < len(whole)-2; i++ {
		f.write("a.json", whole[:i])
		f.scan()
	}
	if n := strings.Count(f.logs.String(), "level=ERROR"); n != 1 {
		t.Errorf("%d errors are logged", n)
	}
	f.expect("api/v1=old")
	f.write("a.json", whole)
	f.scan()
	f.expect("api/v1=new")
}

// A text that could not be had once is tried again, though nothing of the file
// changes.
func TestUnreadFileIsTriedAgain(t *testing.T) {
	f := newFixture(t, map[string]string{"a.json": text("api/v1", "a")})
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(f.path("a.json"), old, old); err != nil {
		t.Fatal(err)
	}
	f.scan()
	info, err := os.Stat(f.path("a.json"))
	if err != nil {
		t.Fatal(err)
	}
	st := f.source.files[f.path("a.json")]
	if !st.unchanged(info) {
		t.Fatal("it would be read again anyway")
	}
	if err := f.source.note(&reading{path: f.path("a.json"), info: info, readAt: time.Now(), errs: []error{fmt.Errorf("%w: too many open files", errUnread)}}); err != nil {
		t.Fatal(err)
	}
	if f.broken() != "a.json" {
		t.Fatal("the error does not show")
	}
	f.scan()
	f.expect("api/v1=a")
	if got := f.broken(); got != "" {
		t.Errorf("broken: %s", got)
	}
}

func TestDanglingLink(t *testing.T) {
	f := newFixture(t, nil)
	if err := os.Symlink("nowhere", f.path("a.json")); err != nil {
		t.Fatal(err)
	}
	f.scan()
	if got := f.broken(); got != "a.json" || !strings.Contains(f.logs.String(), "a.json: the link leads nowhere") {
		t.Errorf("broken: %s\n%s", got, f.logs)
	}
}

func TestChangeOfPathsTakesTheOldOnesBack(t *testing.T) {
	f := newFixture(t, map[string]string{"a.json": text("apis/old/v1", "a")})
	f.write("a.json", text("apis/new/v1", "a"))
	f.scan()
	f.expect("apis/new/v1=a")
}

// Two writes within one tick of the file system's clock, with the same size.
func TestChangeWithinATick(t *testing.T) {
	f := newFixture(t, map[string]string{"a.json": text("api/v1", "a")})
	info, err := os.Stat(f.path("a.json"))
	if err != nil {
		t.Fatal(err)
	}
	f.write("a.json", text("api/v1", "b"))
	if err := os.Chtimes(f.path("a.json"), info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	f.scan()
	f.expect("api/v1=b")
}

func TestPartsKeepTheLimits(t *testing.T) {
	_, errs := Parts("x", []byte(text("api/v1", "x")), spec3.Limits{MaxBytes: 10})
	if len(errs) != 1 || !errors.Is(errs[0], spec3.ErrTooLarge) {
		t.Errorf("errors %v", errs)
	}
}
