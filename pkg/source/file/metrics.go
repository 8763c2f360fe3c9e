package file

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	errors *prometheus.GaugeVec
	reads  *prometheus.CounterVec
	// aggregation has the name that KEP-2896 gives it.
	aggregation prometheus.Histogram
	findings    prometheus.Gauge
}

// newMetrics makes the metrics and registers them, where r is not nil.
func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		errors: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "openapi_server_source_error",
			Help: "1 for each source that cannot be published as it is, until it is mended.",
		}, []string{"source"}),
		reads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "openapi_server_source_reads_total",
			Help: "Sources that were read because they had changed, by result.",
		}, []string{"result"}),
		aggregation: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "crd_openapi_v3_aggregation_duration_seconds",
			Help:    "How long it took to turn a CustomResourceDefinition that is new or has changed into OpenAPI v3.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 9),
		}),
		findings: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "openapi_server_crd_findings",
			Help: "Versions of CustomResourceDefinitions that are published although their schema is not structural.",
		}),
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.errors, m.reads, m.aggregation, m.findings} {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("registering the metrics of files: %w", err)
		}
	}
	return m, nil
}
