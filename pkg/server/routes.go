package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/seed-0662880d/openapi-server/pkg/handler"
)

// routes returns the handler of all paths. Each is wrapped in the access metrics
// under its own name.
func (s *Server) routes(openapi http.Handler) http.Handler {
	m := newAccessMetrics(s.registry)
	r := chi.NewRouter()
	// Everything below is matched by path alone: handlers decide on methods, so
	// that all of them refuse one in the same way.
	r.Mount("/openapi", m.instrument("openapi", openapi))
	health := func(name string, ready func() error) {
		r.Handle(name, m.instrument("health", getOnly(probe(ready))))
	}
	health("/livez", func() error { return nil })
	health("/healthz", func() error { return nil })
	health("/readyz", s.ready)
	r.Handle("/metrics", m.instrument("metrics", getOnly(
		promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{Registry: s.registry}))))
	r.Handle("/version", m.instrument("version", getOnly(s.version())))
	paths := metav1.RootPaths{Paths: []string{
		"/healthz", "/livez", "/metrics", handler.Root, "/readyz", "/version",
	}}
	slices.Sort(paths.Paths)
	r.Handle("/", m.instrument("index", getOnly(jsonOf(paths))))
	r.NotFound(m.instrument("other", http.HandlerFunc(notFound)).ServeHTTP)
	// chi comes here with methods that it has never heard of, whatever the path.
	r.MethodNotAllowed(m.instrument("other", getOnly(http.HandlerFunc(notFound))).ServeHTTP)
	return r
}

// ready returns why the server is not ready, or nil.
func (s *Server) ready() error {
	switch {
	case s.stopping.Load():
		return fmt.Errorf("the server is stopping")
	case !s.loaded.Load():
		return fmt.Errorf("sources are being read")
	}
	return nil
}

func (s *Server) version() http.Handler { return jsonOf(s.options.Version) }

// probe answers as the probes of k8s.io/apiserver/pkg/server/healthz do: "ok", or
// the reason.
func probe(check func() error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		if err := check(); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, "not ready:", err)
			return
		}
		fmt.Fprint(w, "ok")
	})
}

// jsonOf answers with a value that does not change.
func jsonOf(value any) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			handler.WriteStatus(w, r, http.StatusInternalServerError, metav1.StatusReasonInternalError, err.Error())
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-cache")
		fmt.Fprintf(w, "%s\n", body)
	})
}

func getOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			w.Header().Set("Vary", "Accept, Accept-Encoding")
			handler.WriteStatus(w, r, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
				fmt.Sprintf("%s is not allowed here; use GET or HEAD", r.Method))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func notFound(w http.ResponseWriter, r *http.Request) {
	handler.WriteStatus(w, r, http.StatusNotFound, metav1.StatusReasonNotFound,
		fmt.Sprintf("nothing is served at %q; / lists what is", r.URL.Path))
}
