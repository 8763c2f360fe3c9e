package store

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/seed-0662880d/openapi-server/pkg/spec3"
)

func TestPrecedence(t *testing.T) {
	const path = "apis/g/v1"
	c := func(source string, priority Priority, schema, content string) Contribution {
		return Contribution{Source: source, Path: path, Priority: priority, Document: document(t, "/apis/g/v1/"+schema, schema, content)}
	}
	f := newFixture(t, Options{})
	crd, file, upstream := c("crd", PriorityCRD, "A", "crd"), c("file", PriorityDocument, "A", "file"), c("upstream", PriorityUpstream, "A", "upstream")
	published := func(want Contribution) {
		t.Helper()
		if d := f.Snapshot().Document(path); d == nil || d.Tag() != want.Document.Tag() {
			t.Errorf("published is not the document of %s", want.Source)
		}
	}
	f.set(t, crd)
	published(crd)
	f.set(t, upstream)
	published(upstream)
	f.set(t, file)
	published(upstream)
	if got := f.metric(t, "openapi_server_shadowed_contributions"); got != 2 {
		t.Errorf("%v are shadowed", got)
	}
	if log := f.logs.String(); !strings.Contains(log, `path=apis/g/v1 published=[upstream] shadowed="[file crd]"`) {
		t.Errorf("the log does not say who is shadowed:\n%s", log)
	}
	lines := strings.Count(f.logs.String(), "\n")
	f.set(t, upstream, file)
	if got := strings.Count(f.logs.String(), "\n"); got != lines {
		t.Errorf("nothing changed, and it was logged again:\n%s", f.logs)
	}
	if err := f.Delete("upstream"); err != nil {
		t.Fatal(err)
	}
	published(file)
	if err := f.Delete("file"); err != nil {
		t.Fatal(err)
	}
	published(crd)
	if got := f.metric(t, "openapi_server_shadowed_contributions"); got != 0 {
		t.Errorf("%v are shadowed", got)
	}
}

// Documents of one path are merged in the same way, however they are held.
func TestPartsAreMerged(t *testing.T) {
	t.Run("whole", func(t *testing.T) { testPartsAreMerged(t, func(string) bool { return false }) })
	t.Run("as parts", func(t *testing.T) { testPartsAreMerged(t, func(string) bool { return true }) })
	t.Run("mixed", func(t *testing.T) { testPartsAreMerged(t, func(source string) bool { return source == "b.json" }) })
}

func testPartsAreMerged(t *testing.T, isPart func(source string) bool) {
	const path = "apis/g/v1"
	c := func(source, schema, content string) Contribution {
		return Contribution{Source: source, Path: path, Part: isPart(source), Document: document(t, "/apis/g/v1/"+schema, schema, content)}
	}
	sources := func(f *fixture) string {
		return strings.Join(f.Snapshot().Document(path).Sources(), " ")
	}
	t.Run("different parts", func(t *testing.T) {
		f := newFixture(t, Options{})
		f.set(t, c("b.json", "B", ""), c("a.json", "A", ""))
		merged, _ := spec3.Merge(spec3.Part{Document: document(t, "/apis/g/v1/A", "A", "")}, spec3.Part{Document: document(t, "/apis/g/v1/B", "B", "")})
		r, err := f.Snapshot().Document(path).Representation(context.Background(), JSON)
		if err != nil || string(r.Body) != string(merged.JSON()) || f.Snapshot().Document(path).Tag() != merged.Tag() {
			t.Errorf("published is not the merged document: %s, %v", r.Body, err)
		}
		if got := sources(f); got != "a.json b.json" {
			t.Errorf("published: %s", got)
		}
		whole := f.Snapshot().Document(path)
		f.set(t, c("c.json", "C", ""))
		if err := f.Delete("c.json"); err != nil {
			t.Fatal(err)
		}
		if f.Snapshot().Document(path).Tag() != whole.Tag() {
			t.Error("a part that came and went left something behind")
		}
	})
	t.Run("equal parts", func(t *testing.T) {
		f := newFixture(t, Options{})
		f.set(t, c("a.json", "A", ""))
		before := rootJSON(t, f.Snapshot(), Nested)
		if _, err := f.Snapshot().Document(path).Representation(context.Background(), Protobuf); err != nil {
			t.Fatal(err)
		}
		f.set(t, c("b.json", "A", ""))
		if f.Snapshot().Document(path).variants[Protobuf].Load() == nil {
			t.Error("the forms that were made are gone, though nothing changed")
		}
		if got := sources(f); got != "a.json b.json" || rootJSON(t, f.Snapshot(), Nested) != before {
			t.Errorf("published: %s", got)
		}
	})
	t.Run("a contradiction", func(t *testing.T) {
		f := newFixture(t, Options{})
		f.set(t, c("b.json", "A", "2"), c("a.json", "A", "1"), c("c.json", "C", ""))
		if got := sources(f); got != "a.json c.json" {
			t.Errorf("published: %s", got)
		}
		if got := f.metric(t, "openapi_server_conflicting_contributions"); got != 1 {
			t.Errorf("%v conflicts", got)
		}
		for _, want := range []string{"published=a.json", "leftOut=b.json", "at=/components/schemas/A"} {
			if !strings.Contains(f.logs.String(), want) {
				t.Errorf("the log does not say %s:\n%s", want, f.logs)
			}
		}
		// Once the two agree, both are published.
		f.set(t, c("b.json", "A", "1"))
		if got := sources(f); got != "a.json b.json c.json" || f.metric(t, "openapi_server_conflicting_contributions") != 0 {
			t.Errorf("published: %s", got)
		}
	})
	t.Run("a stale part yields", func(t *testing.T) {
		f := newFixture(t, Options{})
		f.set(t, c("a.json", "A", "old"), c("b.json", "A", "new"))
		if got := sources(f); got != "a.json" {
			t.Errorf("published: %s", got)
		}
		if err := f.SetStale(true, "a.json"); err != nil {
			t.Fatal(err)
		}
		if got := sources(f); got != "b.json" {
			t.Errorf("published: %s", got)
		}
		if err := f.SetStale(false, "a.json"); err != nil {
			t.Fatal(err)
		}
		if got := sources(f); got != "a.json" {
			t.Errorf("published: %s", got)
		}
	})
	t.Run("a stale document stays while nothing contradicts it", func(t *testing.T) {
		f := newFixture(t, Options{})
		f.set(t, c("a.json", "A", ""))
		before := f.Snapshot()
		if err := f.SetStale(true, "a.json"); err != nil {
			t.Fatal(err)
		}
		if f.Snapshot() != before {
			t.Error("it was published again")
		}
	})
}

func TestApplyReplacesAllOfASource(t *testing.T) {
	f := newFixture(t, Options{})
	c := func(path string) Contribution {
		return Contribution{Path: path, Document: document(t, "/"+path+"/a", "A", "")}
	}
	apply := func(paths ...string) {
		t.Helper()
		u := Update{Source: "s"}
		for _, p := range paths {
			u.Contributions = append(u.Contributions, c(p))
		}
		if err := f.Apply(u); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range f.Snapshot().Documents() {
			got = append(got, d.Path())
		}
		if !slices.Equal(got, append([]string{"apis/other/v1"}, paths...)) {
			t.Errorf("published: %v", got)
		}
	}
	f.set(t, Contribution{Source: "other", Path: "apis/other/v1", Document: document(t, "/api/v1/a", "A", "")})
	apply("apis/x/v1", "apis/y/v1")
	apply("apis/y/v1", "apis/z/v1")
	apply()
}
