package handler_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/go-chi/chi/v5"

	"github.com/seed-0662880d/openapi-server/pkg/handler"
	"github.com/seed-0662880d/openapi-server/pkg/spec3"
	"github.com/seed-0662880d/openapi-server/pkg/store"
)

// An API server publishes its own documents, where it used kube-openapi's handler3
// before.
func Example() {
	s, err := store.New(store.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/openapi/", handler.New(s, handler.Options{})) // the one line

	// Whenever a group-version changes:
	document, err := spec3.Parse([]byte(`{"openapi":"3.0.0","info":{"title":"Things","version":"v1"},"paths":{"/apis/things.example/v1/":{}}}`), spec3.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := s.Set(store.Contribution{Source: "built-in", Path: "apis/things.example/v1", Document: document}); err != nil {
		fmt.Println(err)
		return
	}

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/openapi/v3/apis/things.example/v1", nil))
	body, err := io.ReadAll(w.Body)
	fmt.Println(w.Code, string(body), err)
	// Output:
	// 200 {"info":{"title":"Things","version":"v1"},"openapi":"3.0.0","paths":{"/apis/things.example/v1/":{}}} <nil>
}

// The same handler on a chi router.
func ExampleNew_chi() {
	s, err := store.New(store.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := chi.NewRouter()
	r.Mount("/openapi", handler.New(s, handler.Options{})) // the one line

	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/openapi/v3", nil))
	fmt.Println(w.Code, w.Body)
	// Output:
	// 200 {"paths":{}}
}
