package file

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	errors *prometheus.GaugeVec
	reads  *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	f := promauto.With(r)
	return &metrics{
		errors: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "openapi_server_source_error",
			Help: "1 for each source that cannot be published as it is, until it is mended.",
		}, []string{"source"}),
		reads: f.NewCounterVec(prometheus.CounterOpts{
			Name: "openapi_server_source_reads_total",
			Help: "Sources that were read because they had changed, by result.",
		}, []string{"result"}),
	}
}
