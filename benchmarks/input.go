package main

import (
	"context"
	"fmt"

	"github.com/seed-0662880d/openapi-server/internal/testdocs"
	"github.com/seed-0662880d/openapi-server/pkg/handler"
	"github.com/seed-0662880d/openapi-server/pkg/server"
	"github.com/seed-0662880d/openapi-server/pkg/spec3"
	"github.com/seed-0662880d/openapi-server/pkg/store"

	"log/slog"
	"net/http"
	"net/http/httptest"

	openapi "k8s.io/kube-openapi/pkg/spec3"

	"k8s.io/kube-openapi/pkg/handler3"
)

// input is a document of Kubernetes.
type input struct {
	path string
	text []byte
}

// url is where both sides serve it.
func (in input) url() string { return handler.Root + "/" + in.path }

func loadInputs() ([]input, error) {
	documents, err := testdocs.Kubernetes()
	if err != nil {
		return nil, err
	}
	var inputs []input
	for _, path := range []string{"apis/apps/v1", "api/v1"} {
		text, ok := documents[path]
		if !ok {
			return nil, fmt.Errorf("openapitest has no %s", path)
		}
		inputs = append(inputs, input{path, text})
	}
	return inputs, nil
}

// ourServer returns the handler of the whole server, with routes and metrics as
// `openapi-server serve` has them, serving the input.
func ourServer(in input) (http.Handler, error) {
	s, err := server.New(server.Options{
		Listen: "127.0.0.1:0", SampleName: in.path, Sample: in.text,
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return s.Handler(), s.Load(context.Background())
}

// publishOurs takes the text of a document to what is served.
func publishOurs(s *store.Store, path string, text []byte) error {
	d, err := spec3.Parse(text, spec3.Limits{})
	if err != nil {
		return err
	}
	return s.Set(store.Contribution{Source: "benchmark", Path: path, Document: d})
}

// publishPeer does the same with handler3: it encodes on the first request.
func publishPeer(s *handler3.OpenAPIService, path string, text []byte) error {
	var document openapi.OpenAPI
	// Directly, because encoding/json would check the syntax a second time before.
	if err := document.UnmarshalJSON(text); err != nil {
		return err
	}
	s.UpdateGroupVersion(path, &document)
	return ask(http.HandlerFunc(s.HandleGroupVersion), path, "application/json")
}

// ask asks a handler for a document, in the process.
func ask(h http.Handler, path, accept string, header ...string) error {
	r := httptest.NewRequest(http.MethodGet, handler.Root+"/"+path, nil)
	r.Header.Set("Accept", accept)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := &discard{header: http.Header{}}
	h.ServeHTTP(w, r)
	if w.code != 0 && w.code != http.StatusOK || w.size == 0 {
		return fmt.Errorf("status %d, %d bytes", w.code, w.size)
	}
	return nil
}

// discard is a response that nobody keeps.
type discard struct {
	header http.Header
	code   int
	size   int
}

func (d *discard) Header() http.Header  { return d.header }
func (d *discard) WriteHeader(code int) { d.code = code }
func (d *discard) Write(p []byte) (int, error) {
	d.size += len(p)
	return len(p), nil
}
