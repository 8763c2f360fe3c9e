package store

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/seed-0662880d/openapi-server/pkg/spec3"
)

// document returns a document of one path and one schema; content makes it differ.
func document(t testing.TB, apiPath, schema, content string) *spec3.Document {
	t.Helper()
	d, err := spec3.Parse(fmt.Appendf(nil,
		`{"openapi":"3.0.0","info":{"title":"t","version":"v1"},"paths":{%q:{"get":{"responses":{"200":{"description":"OK"}}}}},"components":{"schemas":{%q:{"description":%q}}}}`,
		apiPath, schema, content), spec3.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// fixture is a store with its metrics and logs.
type fixture struct {
	*Store
	registry *prometheus.Registry
	logs     *strings.Builder
}

func newFixture(t testing.TB, o Options) *fixture {
	t.Helper()
	f := &fixture{registry: prometheus.NewRegistry(), logs: new(strings.Builder)}
	o.Registerer = f.registry
	o.Logger = slog.New(slog.NewTextHandler(f.logs, nil))
	var err error
	if f.Store, err = New(o); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) set(t testing.TB, contributions ...Contribution) {
	t.Helper()
	if err := f.Set(contributions...); err != nil {
		t.Fatal(err)
	}
}

// metric returns the sum of a metric's values whose labels have the given values.
func (f *fixture) metric(t testing.TB, name string, labels ...string) float64 {
	t.Helper()
	families, err := f.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var sum float64
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			if hasLabels(m, labels) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum
}

func hasLabels(m *dto.Metric, values []string) bool {
	for _, want := range values {
		found := false
		for _, l := range m.GetLabel() {
			found = found || l.GetValue() == want
		}
		if !found {
			return false
		}
	}
	return true
}

func rootJSON(t testing.TB, s *Snapshot, shape Shape) string {
	t.Helper()
	forms, err := s.Root().Representations(shape)
	if err != nil {
		t.Fatal(err)
	}
	return string(forms.JSON.Body)
}
