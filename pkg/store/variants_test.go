package store

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/seed-0662880d/openapi-server/pkg/spec3"
)

func TestVariantsAreMadeOnceAndOnDemand(t *testing.T) {
	f := newFixture(t, Options{})
	f.set(t, Contribution{Source: "s", Path: "api/v1", Document: document(t, "/api/v1/a", "A", "")})
	d := f.Snapshot().Document("api/v1")
	if got := f.metric(t, "openapi_server_variant_builds_total"); got != 0 {
		t.Errorf("%v forms were made before anybody asked", got)
	}
	// All are let go at once, while the only place to build is taken.
	for range cap(f.variants.building) {
		f.variants.building <- struct{}{}
	}
	var waiting sync.WaitGroup
	for range 20 {
		waiting.Go(func() {
			if _, err := d.Representation(context.Background(), Protobuf); err != nil {
				t.Error(err)
			}
		})
	}
	for range cap(f.variants.building) {
		<-f.variants.building
	}
	waiting.Wait()
	if got := f.metric(t, "openapi_server_variant_builds_total", "protobuf"); got != 1 {
		t.Errorf("the form was made %v times", got)
	}
}

func TestVariantsKeepWithinTheirBudget(t *testing.T) {
	docs := map[string]*spec3.Document{}
	var size int64
	for _, name := range []string{"a", "b", "c"} {
		docs[name] = document(t, "/apis/"+name+"/v1/x", "A", strings.Repeat(name, 1000))
		size = int64(len(docs[name].JSON())) + variantOverhead
	}
	f := newFixture(t, Options{VariantBytes: 2 * size})
	for name, d := range docs {
		f.set(t, Contribution{Source: "s", Path: "apis/" + name + "/v1", Document: d})
	}
	once := func(name string) {
		t.Helper()
		if _, err := f.Snapshot().Document("apis/"+name+"/v1").Representation(context.Background(), JSON); err != nil {
			t.Fatal(err)
		}
	}
	get := func(name string) {
		t.Helper()
		once(name)
		once(name)
	}
	held := func(name string) bool {
		return f.Snapshot().Document("apis/" + name + "/v1").variants[JSON].Load() != nil
	}
	once("a")
	if held("a") {
		t.Error("plain JSON is kept after its first use")
	}
	get("a")
	get("b")
	get("a")
	get("c") // takes the place of b, which was used last of all
	if !held("a") || held("b") || !held("c") {
		t.Errorf("held: a %v, b %v, c %v", held("a"), held("b"), held("c"))
	}
	if got := f.metric(t, "openapi_server_variant_bytes"); got != float64(2*size) {
		t.Errorf("%v bytes are held, the budget is %d", got, 2*size)
	}
	if got := f.metric(t, "openapi_server_variant_evictions_total"); got != 1 {
		t.Errorf("%v were dropped", got)
	}
	// A document that is replaced takes its forms along.
	f.set(t, Contribution{Source: "s", Path: "apis/a/v1", Document: document(t, "/apis/a/v1/x", "A", "changed")})
	if got := f.metric(t, "openapi_server_variant_bytes"); got != float64(size) {
		t.Errorf("%v bytes are held after a document was replaced", got)
	}
}

func TestVariantLargerThanTheBudgetIsServed(t *testing.T) {
	f := newFixture(t, Options{VariantBytes: 1})
	d := document(t, "/api/v1/a", "A", "")
	f.set(t, Contribution{Source: "s", Path: "api/v1", Document: d})
	r, err := f.Snapshot().Document("api/v1").Representation(context.Background(), JSON)
	if err != nil || string(r.Body) != string(d.JSON()) {
		t.Errorf("got %q, %v", r.Body, err)
	}
	if got := f.metric(t, "openapi_server_variant_bytes"); got != 0 {
		t.Errorf("%v bytes are held", got)
	}
}

func TestVariantThatThereCannotBe(t *testing.T) {
	f := newFixture(t, Options{})
	d, err := spec3.Parse([]byte(`{"openapi":"3.0.0","info":{"title":"t","version":"v1"},"paths":{},"components":{"schemas":{"A":{"maximum":"high"}}}}`), spec3.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	f.set(t, Contribution{Source: "s", Path: "api/v1", Document: d})
	for range 3 {
		if _, err := f.Snapshot().Document("api/v1").Representation(context.Background(), Protobuf); err == nil || !strings.Contains(err.Error(), "to protobuf") {
			t.Errorf("error %v", err)
		}
	}
	if got := f.metric(t, "openapi_server_variant_builds_total"); got != 1 {
		t.Errorf("it was tried %v times", got)
	}
}

// While all places to make protobuf are taken, plain JSON is served all the same.
func TestPlainJSONDoesNotWaitForProtobuf(t *testing.T) {
	f := newFixture(t, Options{})
	f.set(t, Contribution{Source: "s", Path: "api/v1", Document: document(t, "/api/v1/a", "A", "")})
	for range cap(f.variants.building) {
		f.variants.building <- struct{}{}
	}
	if _, err := f.Snapshot().Document("api/v1").Representation(context.Background(), JSON); err != nil {
		t.Error(err)
	}
	for range cap(f.variants.building) {
		<-f.variants.building
	}
}

func TestVariantWaitEndsWithTheRequest(t *testing.T) {
	f := newFixture(t, Options{})
	f.set(t, Contribution{Source: "s", Path: "api/v1", Document: document(t, "/api/v1/a", "A", "")})
	for range cap(f.variants.building) {
		f.variants.building <- struct{}{}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := f.Snapshot().Document("api/v1").Representation(ctx, Protobuf); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	for range cap(f.variants.building) {
		<-f.variants.building
	}
}
