package store

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/seed-0662880d/openapi-server/internal/testdocs"
	"github.com/seed-0662880d/openapi-server/pkg/spec3"
)

func TestRootDocument(t *testing.T) {
	f := newFixture(t, Options{})
	if got := rootJSON(t, f.Snapshot(), Nested); got != `{"paths":{}}` {
		t.Errorf("an empty store publishes %s", got)
	}
	a, b := document(t, "/apis/apps/v1/a", "A", ""), document(t, "/api/v1/b", "B", "")
	f.set(t, Contribution{Source: "s", Path: "apis/apps/v1", Document: a}, Contribution{Source: "s", Path: "api/v1", Document: b})
	want := fmt.Sprintf(`{"paths":{"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1?etag=%s"},"apis/apps/v1":{"serverRelativeURL":"/openapi/v3/apis/apps/v1?etag=%s"}}}`, b.Tag(), a.Tag())
	if got := rootJSON(t, f.Snapshot(), Nested); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	want = fmt.Sprintf(`{"Paths":{"api/v1":"/openapi/v3/api/v1?etag=%s","apis/apps/v1":"/openapi/v3/apis/apps/v1?etag=%s"}}`, b.Tag(), a.Tag())
	if got := rootJSON(t, f.Snapshot(), Flat); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	rebuilds := f.metric(t, "openapi_server_rebuilds_total", "document")
	if err := f.Delete("s"); err != nil {
		t.Fatal(err)
	}
	if got := f.metric(t, "openapi_server_rebuilds_total", "document"); got != rebuilds {
		t.Error("a document that is gone is counted as built")
	}
	if got := rootJSON(t, f.Snapshot(), Nested); got != `{"paths":{}}` {
		t.Errorf("after everything was taken back: %s", got)
	}
	if len(f.slots) != 0 || len(f.bySource) != 0 {
		t.Errorf("%d slots and %d sources are left", len(f.slots), len(f.bySource))
	}
}

func TestIdenticalDocumentIsNoOp(t *testing.T) {
	f := newFixture(t, Options{})
	c := Contribution{Source: "s", Path: "api/v1", Document: document(t, "/api/v1/a", "A", "")}
	f.set(t, c)
	before, rebuilds := f.Snapshot(), f.metric(t, "openapi_server_rebuilds_total")
	c.Document = document(t, "/api/v1/a", "A", "")
	f.set(t, c)
	if f.Snapshot() != before || f.metric(t, "openapi_server_rebuilds_total") != rebuilds {
		t.Error("the same document again was published again")
	}
}

func TestChangeRebuildsItselfAndTheRootOnly(t *testing.T) {
	f := newFixture(t, Options{})
	for i := range 20 {
		path := fmt.Sprintf("apis/g%d/v1", i)
		f.set(t, Contribution{Source: "s", Path: path, Document: document(t, "/"+path+"/a", "A", "")})
	}
	before, rebuilds := f.Snapshot(), f.metric(t, "openapi_server_rebuilds_total", "document")
	f.set(t, Contribution{Source: "s", Path: "apis/g7/v1", Document: document(t, "/apis/g7/v1/a", "A", "changed")})
	after := f.Snapshot()
	if got := f.metric(t, "openapi_server_rebuilds_total", "document") - rebuilds; got != 1 {
		t.Errorf("%v documents were rebuilt", got)
	}
	if got := after.ChangedSince(before); len(got) != 1 || got[0] != "apis/g7/v1" {
		t.Errorf("changed: %v", got)
	}
	for _, d := range after.Documents() {
		if same := before.Document(d.Path()) == d; same == (d.Path() == "apis/g7/v1") {
			t.Errorf("%s: kept is %v", d.Path(), same)
		}
	}
	if rootJSON(t, before, Nested) == rootJSON(t, after, Nested) {
		t.Error("the root is the same")
	}
}

func TestMalformedContributions(t *testing.T) {
	d := document(t, "/api/v1/a", "A", "")
	good := Contribution{Source: "s", Path: "apis/good/v1", Document: d}
	for name, tc := range map[string]struct {
		c    Contribution
		want string
	}{
		"no source":           {Contribution{Path: "api/v1", Document: d}, "a contribution without a source"},
		"no document":         {Contribution{Source: "s", Path: "api/v1"}, `s contributes no document to "api/v1"`},
		"no path":             {Contribution{Source: "s", Document: d}, "cannot be published"},
		"a path that climbs":  {Contribution{Source: "s", Path: "apis/../v1", Document: d}, `s: the path "apis/../v1" cannot be published: ".."`},
		"a path with a slash": {Contribution{Source: "s", Path: "/api/v1", Document: d}, "cannot be published"},
		"a path with a query": {Contribution{Source: "s", Path: "api/v1?x", Document: d}, "cannot be published"},
		"a path with a quote": {Contribution{Source: "s", Path: `api/v1"`, Document: d}, "cannot be published"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, Options{})
			before := f.Snapshot()
			if err := f.Set(good, tc.c); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v", err)
			}
			if f.Snapshot() != before {
				t.Error("something was published all the same")
			}
		})
	}
}

// Any order of contributions gives the same bytes: replicas agree.
func TestOrderDoesNotMatter(t *testing.T) {
	texts, err := testdocs.Kubernetes()
	if err != nil {
		t.Fatal(err)
	}
	var contributions []Contribution
	for path, text := range texts {
		d, err := spec3.Parse(text, spec3.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		contributions = append(contributions, Contribution{Source: "file " + path, Path: path, Document: d})
	}
	// Parts of one group-version, two of which contradict each other, one that is
	// stale, and a lower priority.
	part := func(source, schema, content string, priority Priority, stale bool) {
		contributions = append(contributions, Contribution{
			Source: source, Path: "apis/parts/v1", Priority: priority, Stale: stale,
			Document: document(t, "/apis/parts/v1/"+schema, schema, content),
		})
	}
	part("one", "A", "1", PriorityDocument, false)
	part("two", "B", "1", PriorityDocument, false)
	part("three", "A", "2", PriorityDocument, false)
	part("a stale one", "B", "2", PriorityDocument, true)
	part("crd", "C", "1", PriorityCRD, false)

	var want string
	for i := range 10 {
		rand.Shuffle(len(contributions), func(i, j int) {
			contributions[i], contributions[j] = contributions[j], contributions[i]
		})
		f := newFixture(t, Options{})
		if i%2 == 0 {
			f.set(t, contributions...)
		} else {
			for _, c := range contributions {
				f.set(t, c)
			}
		}
		got := rootJSON(t, f.Snapshot(), Nested)
		for _, d := range f.Snapshot().Documents() {
			for _, format := range []Format{JSON, JSONGzip} {
				r, err := d.Representation(context.Background(), format)
				if err != nil {
					t.Fatal(err)
				}
				got += string(r.Body)
			}
		}
		if want == "" {
			want = got
		}
		if got != want {
			t.Fatal("another order gives other bytes")
		}
	}
}

func TestWritersAndReaders(t *testing.T) {
	f := newFixture(t, Options{VariantBytes: 4 << 10})
	const paths, rounds = 8, 40
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	for w := range 4 {
		writers.Go(func() {
			for i := range rounds {
				p := (w*3 + i) % paths
				path := fmt.Sprintf("apis/g%d/v1", p)
				c := Contribution{Source: fmt.Sprintf("w%d", w), Path: path, Document: document(t, "/"+path+"/a", "A", fmt.Sprint(i%3))}
				var err error
				switch i % 4 {
				case 3:
					err = f.Delete(c.Source, path)
				case 2:
					err = f.Apply(Update{Source: c.Source, Contributions: []Contribution{c}})
				default:
					err = f.Set(c)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	snapshots, cancel := f.Subscribe()
	defer cancel()
	for r := range 4 {
		readers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				case <-snapshots:
				default:
				}
				s := f.Snapshot()
				root := rootJSON(t, s, Shape(i%2))
				for _, d := range s.Documents() {
					if !strings.Contains(root, d.Path()+"?etag="+d.Tag()) {
						t.Errorf("the root of a snapshot does not list its %s", d.Path())
						return
					}
					form, err := d.Representation(context.Background(), Format((r+i)%formats))
					if err != nil || len(form.Body) == 0 || form.ETag != d.ETag(Format((r+i)%formats)) {
						t.Errorf("%s: %v", d.Path(), err)
						return
					}
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	// What is published in the end is what the contributions say.
	for path, sl := range f.slots {
		o, err := decide(sl.contributions)
		if err != nil {
			t.Fatal(err)
		}
		if d := f.Snapshot().Document(path); d == nil || d.Tag() != o.packed.tag {
			t.Errorf("%s: published is not what was contributed last", path)
		}
	}
	if len(f.slots) != len(f.Snapshot().Documents()) {
		t.Errorf("%d paths are contributed to, %d published", len(f.slots), len(f.Snapshot().Documents()))
	}
}

// A build that takes long holds up nobody: not other paths, not those who set one of
// its paths together with others, and not even a later change of the same path.
func TestSlowBuildDelaysNoOther(t *testing.T) {
	f := newFixture(t, Options{})
	entered, gate := make(chan struct{}), make(chan struct{})
	f.decide = func(h []held) (outcome, error) {
		if len(h) == 1 && h[0].source == "slow" {
			close(entered)
			<-gate
		}
		return decide(h)
	}
	c := func(source, path, content string) Contribution {
		return Contribution{Source: source, Path: path, Document: document(t, "/"+path+"/"+source, "A-"+source, content)}
	}
	slow := make(chan error)
	go func() { slow <- f.Set(c("slow", "apis/z/v1", ""), c("other", "apis/a/v1", "")) }()
	<-entered
	published := func(path, tag string) {
		t.Helper()
		if d := f.Snapshot().Document(path); d == nil || d.Tag() != tag {
			t.Errorf("%s is not published", path)
		}
	}
	// While it is stuck, others are set, changed and taken back.
	fast := c("fast", "apis/fast/v1", "1")
	f.set(t, fast)
	fast = c("fast", "apis/fast/v1", "2")
	f.set(t, fast)
	published("apis/fast/v1", fast.Document.Tag())
	// So are paths that wait to be published with it.
	f.set(t, c("third", "apis/a/v1", ""))
	if got := f.Snapshot().Document("apis/a/v1").Sources(); strings.Join(got, " ") != "other third" {
		t.Errorf("sources: %v", got)
	}
	// And the path itself: this build includes what the stuck one is about.
	f.set(t, c("later", "apis/z/v1", ""))
	if got := f.Snapshot().Document("apis/z/v1").Sources(); strings.Join(got, " ") != "later slow" {
		t.Errorf("sources: %v", got)
	}
	before := f.Snapshot()
	close(gate)
	if err := <-slow; err != nil {
		t.Fatal(err)
	}
	if f.Snapshot() != before {
		t.Error("the build that came too late was published all the same")
	}
	if err := f.Delete("slow"); err != nil {
		t.Fatal(err)
	}
	if got := f.Snapshot().Document("apis/z/v1").Sources(); strings.Join(got, " ") != "later" {
		t.Errorf("sources: %v", got)
	}
}

func TestApplyDoesNotTouchItsArguments(t *testing.T) {
	u := Update{Source: "s", Contributions: []Contribution{{Path: "api/v1", Document: document(t, "/api/v1/a", "A", "")}}}
	var both sync.WaitGroup
	for range 2 {
		f := newFixture(t, Options{})
		both.Go(func() {
			if err := f.Apply(u); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if u.Contributions[0].Source != "" {
		t.Error("the source was written into the caller's slice")
	}
}

func TestApplyOfOneSourceTwice(t *testing.T) {
	f := newFixture(t, Options{})
	u := Update{Source: "s", Contributions: []Contribution{{Path: "api/v1", Document: document(t, "/api/v1/a", "A", "")}}}
	if err := f.Apply(u, Update{Source: "s"}); err != nil {
		t.Fatal(err)
	}
	if len(f.Snapshot().Documents()) != 0 || len(f.slots) != 0 {
		t.Error("the second update is not all that the source contributes")
	}
}

func TestMetricsRegisteredTwiceAreAnError(t *testing.T) {
	f := newFixture(t, Options{})
	if _, err := New(Options{Registerer: f.registry}); err == nil || !strings.Contains(err.Error(), "registering the store's metrics") {
		t.Errorf("error %v", err)
	}
}

func TestPanicInABuildIsAnError(t *testing.T) {
	f := newFixture(t, Options{})
	f.decide = func([]held) (outcome, error) { panic("boom") }
	c := Contribution{Source: "s", Path: "api/v1", Document: document(t, "/api/v1/a", "A", "")}
	if err := f.Set(c); err == nil || !strings.Contains(err.Error(), "building api/v1 panicked: boom") {
		t.Errorf("error %v", err)
	}
	f.decide = decide
	f.set(t, c)
	if f.Snapshot().Document("api/v1") == nil {
		t.Error("the path cannot be used any more")
	}
}

func TestSubscribe(t *testing.T) {
	f := newFixture(t, Options{})
	first := f.Snapshot()
	snapshots, cancel := f.Subscribe()
	for i := range 3 {
		f.set(t, Contribution{Source: "s", Path: fmt.Sprintf("apis/g%d/v1", i), Document: document(t, "/api/v1/a", "A", "")})
	}
	got := <-snapshots
	if got != f.Snapshot() {
		t.Error("a slow receiver did not find the newest snapshot")
	}
	if changed := got.ChangedSince(first); strings.Join(changed, " ") != "apis/g0/v1 apis/g1/v1 apis/g2/v1" {
		t.Errorf("changed: %v", changed)
	}
	if err := f.Delete("s", "apis/g1/v1"); err != nil {
		t.Fatal(err)
	}
	if changed := (<-snapshots).ChangedSince(got); strings.Join(changed, " ") != "apis/g1/v1" {
		t.Errorf("changed: %v", changed)
	}
	cancel()
	cancel()
	if _, open := <-snapshots; open {
		t.Error("the channel is open after cancel")
	}
	f.set(t, Contribution{Source: "s", Path: "api/v1", Document: document(t, "/api/v1/a", "A", "")})
}

func TestRepresentationsSayTheSame(t *testing.T) {
	f := newFixture(t, Options{})
	d := document(t, "/api/v1/a", "A", "")
	f.set(t, Contribution{Source: "s", Path: "api/v1", Document: d})
	published := f.Snapshot().Document("api/v1")
	body := func(format Format) []byte {
		r, err := published.Representation(context.Background(), format)
		if err != nil {
			t.Fatal(err)
		}
		return r.Body
	}
	if !bytes.Equal(body(JSON), d.JSON()) || published.Size() != len(d.JSON()) {
		t.Error("the JSON is not the document's")
	}
	message, err := spec3.Protobuf(d.JSON())
	if err != nil || !bytes.Equal(body(Protobuf), message) {
		t.Errorf("the protobuf is not the document's: %v", err)
	}
	for gzipped, plain := range map[Format]Format{JSONGzip: JSON, ProtobufGzip: Protobuf} {
		back, err := spec3.Gunzip(body(gzipped), len(body(plain)))
		if err != nil || !bytes.Equal(back, body(plain)) {
			t.Errorf("%s does not unpack to %s: %v", gzipped, plain, err)
		}
	}
	etags := map[string]bool{}
	for format := range formats {
		etags[published.ETag(Format(format))] = true
	}
	if len(etags) != formats || published.ETag(JSON) != `"`+d.Tag()+`"` {
		t.Errorf("entity tags %v", etags)
	}
}
