package spec3_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/seed-0662880d/openapi-server/pkg/spec3"
)

// Fragments compose to what the documents merge to: the same tag, and a gzip member
// that every reader takes, the standard library's as well.
func TestComposeEqualsMerge(t *testing.T) {
	texts := []string{
		doc(`"paths":{"/apis/g/v1/a":{"get":{}}},"components":{"schemas":{"A":{"default":1.0},"Shared":{"type":"object"}},"x-c":1}`),
		doc(`"paths":{"/apis/g/v1/b":{}},"components":{"schemas":{"B":{},"Shared":{"type":"object"}},"responses":{}},"x-b":2`),
		doc(`"paths":{}`),
		doc(`"\u0070aths":{"/é":{},"/\ud83d\ude00":{}},"components":{}`),
		doc(`"paths":{"/apis/g/v1/a":{"put":{}}}`), // contradicts the first one
	}
	for _, text := range kubernetes(t) {
		texts = append(texts, string(text))
	}
	var shared spec3.Pieces
	var parts []spec3.Part
	var fragments []spec3.FragmentPart
	for i, text := range texts {
		d := mustParse(t, text)
		f, err := spec3.NewFragment(d, &shared)
		if err != nil {
			t.Fatal(err)
		}
		if f.Tag() != d.Tag() {
			t.Errorf("the fragment has another tag")
		}
		source := fmt.Sprint(i)
		parts = append(parts, spec3.Part{Source: source, Document: d})
		fragments = append(fragments, spec3.FragmentPart{Source: source, Fragment: f})
		check := func(parts []spec3.Part, fragments []spec3.FragmentPart) {
			t.Helper()
			want, wantConflicts := spec3.Merge(parts...)
			got, conflicts := spec3.Compose(fragments...)
			if fmt.Sprint(conflicts) != fmt.Sprint(wantConflicts) {
				t.Errorf("conflicts %v, want %v", conflicts, wantConflicts)
			}
			if got.Tag != want.Tag() || got.Size != len(want.JSON()) || len(got.Gzip) != cap(got.Gzip) {
				t.Errorf("tag %s of %d bytes, want %s of %d; %d of %d bytes are used", got.Tag, got.Size, want.Tag(), len(want.JSON()), len(got.Gzip), cap(got.Gzip))
			}
			r, err := gzip.NewReader(bytes.NewReader(got.Gzip))
			if err != nil {
				t.Fatal(err)
			}
			r.Multistream(false)
			back, err := io.ReadAll(r)
			if err != nil || !bytes.Equal(back, want.JSON()) {
				t.Errorf("it does not unpack to the merged document: %v", err)
			}
			if back, err := spec3.Gunzip(got.Gzip, got.Size); err != nil || !bytes.Equal(back, want.JSON()) {
				t.Errorf("it does not unpack to the merged document: %v", err)
			}
		}
		check(parts, fragments)
		check(parts[i:], fragments[i:])
	}
}

// What fragments have in common is held once, and goes with the last of them.
func TestPiecesAreShared(t *testing.T) {
	d := mustParse(t, string(kubernetes(t)["apis/apps/v1"]))
	var shared spec3.Pieces
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	fragment := func() *spec3.Fragment {
		f, err := spec3.NewFragment(d, &shared)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	before := heap()
	first := fragment()
	one := heap() - before
	var others []*spec3.Fragment
	for range 10 {
		others = append(others, fragment())
	}
	if eleven := heap() - before; eleven > 5*one {
		t.Errorf("one fragment takes %d bytes, eleven equal ones %d", one, eleven)
	}
	runtime.KeepAlive(others)
	runtime.KeepAlive(first)
}
