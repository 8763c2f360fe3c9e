package store

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are what an operator sees of the store.
type metrics struct {
	documents        prometheus.Gauge
	bytes            *prometheus.GaugeVec
	rebuilds         *prometheus.CounterVec
	rebuildSeconds   *prometheus.HistogramVec
	shadowed         prometheus.Gauge
	conflicts        prometheus.Gauge
	variantBytes     prometheus.Gauge
	variantBuilds    *prometheus.CounterVec
	variantEvictions prometheus.Counter
}

// newMetrics makes the metrics and registers them, where r is not nil.
func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		documents: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "openapi_server_documents",
			Help: "Documents that are published.",
		}),
		bytes: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "openapi_server_document_bytes",
			Help: "Bytes of all published documents: as canonical JSON, and as the gzipped JSON that is kept in memory.",
		}, []string{"form"}),
		rebuilds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "openapi_server_rebuilds_total",
			Help: "Documents and root documents that were built because something changed.",
		}, []string{"kind"}),
		rebuildSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "openapi_server_rebuild_duration_seconds",
			Help:    "How long building a document or the root document took.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 9),
		}, []string{"kind"}),
		shadowed: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "openapi_server_shadowed_contributions",
			Help: "Contributions that are not published because a source of a higher priority has the same path.",
		}),
		conflicts: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "openapi_server_conflicting_contributions",
			Help: "Contributions that are not published because they contradict another one to the same path.",
		}),
		variantBytes: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "openapi_server_variant_bytes",
			Help: "Memory that forms of documents take that were made on demand.",
		}),
		variantBuilds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "openapi_server_variant_builds_total",
			Help: "Forms of documents that were made on demand.",
		}, []string{"format"}),
		variantEvictions: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "openapi_server_variant_evictions_total",
			Help: "Forms of documents that were dropped to keep within the memory budget.",
		}),
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{
		m.documents, m.bytes, m.rebuilds, m.rebuildSeconds, m.shadowed, m.conflicts,
		m.variantBytes, m.variantBuilds, m.variantEvictions,
	} {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("registering the store's metrics: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) built(kind string, took time.Duration) {
	m.rebuilds.WithLabelValues(kind).Inc()
	m.rebuildSeconds.WithLabelValues(kind).Observe(took.Seconds())
}

func (m *metrics) published(s *Snapshot) {
	var plain, gzipped float64
	for _, d := range s.documents {
		plain += float64(d.packed.size)
		gzipped += float64(len(d.packed.gzip))
	}
	m.documents.Set(float64(len(s.documents)))
	m.bytes.WithLabelValues("json").Set(plain)
	m.bytes.WithLabelValues("json-gzip").Set(gzipped)
}
