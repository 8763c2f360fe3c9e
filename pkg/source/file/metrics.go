package file

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	errors *prometheus.GaugeVec
	reads  *prometheus.CounterVec
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
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.errors, m.reads} {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("registering the metrics of files: %w", err)
		}
	}
	return m, nil
}
