package server

import (
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// accessMetrics count requests. They are the only thing that is written down per
// request.
type accessMetrics struct {
	requests *prometheus.CounterVec
	bytes    *prometheus.CounterVec
}

func newAccessMetrics(r prometheus.Registerer) *accessMetrics {
	f := promauto.With(r)
	return &accessMetrics{
		requests: f.NewCounterVec(prometheus.CounterOpts{
			Name: "openapi_server_requests_total",
			Help: "Requests that were answered, by handler and HTTP status code.",
		}, []string{"handler", "code"}),
		bytes: f.NewCounterVec(prometheus.CounterOpts{
			Name: "openapi_server_response_bytes_total",
			Help: "Bytes of response bodies, by handler, as they went over the wire.",
		}, []string{"handler"}),
	}
}

// instrument counts what a handler answers.
func (m *accessMetrics) instrument(name string, next http.Handler) http.Handler {
	c := &counters{name: name, requests: m.requests, bytes: m.bytes.WithLabelValues(name)}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := recorders.Get().(*recorder)
		*recorder = responseRecorder(w)
		defer func() {
			if r.Method == http.MethodHead {
				recorder.written = 0 // net/http does not send it
			}
			c.count(recorder.code, recorder.written)
			recorder.ResponseWriter = nil
			recorders.Put(recorder)
		}()
		next.ServeHTTP(recorder, r)
	})
}

// counters holds the counters of one handler, so that a request does not look
// them up by their labels.
type counters struct {
	name     string
	requests *prometheus.CounterVec
	bytes    prometheus.Counter
	byCode   [600]atomic.Pointer[prometheus.Counter]
}

func (c *counters) count(code int, written int64) {
	if code < 100 || code >= len(c.byCode) {
		code = http.StatusInternalServerError
	}
	counter := c.byCode[code].Load()
	if counter == nil {
		found := c.requests.WithLabelValues(c.name, strconv.Itoa(code))
		counter = &found
		c.byCode[code].Store(counter)
	}
	(*counter).Inc()
	c.bytes.Add(float64(written))
}

// recorder notes the status and the size of an answer.
type recorder struct {
	http.ResponseWriter
	code    int
	written int64
}

var recorders = sync.Pool{New: func() any { return new(recorder) }}

func responseRecorder(w http.ResponseWriter) recorder {
	return recorder{ResponseWriter: w, code: http.StatusOK}
}

// WriteHeader implements [http.ResponseWriter].
func (r *recorder) WriteHeader(code int) {
	r.code = code
	r.ResponseWriter.WriteHeader(code)
}

// Write implements [http.ResponseWriter].
func (r *recorder) Write(p []byte) (int, error) {
	n, err := r.ResponseWriter.Write(p)
	r.written += int64(n)
	return n, err
}

// Unwrap lets [http.ResponseController] reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
