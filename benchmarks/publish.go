package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"k8s.io/kube-openapi/pkg/handler3"

	"github.com/seed-0662880d/openapi-server/pkg/handler"
	"github.com/seed-0662880d/openapi-server/pkg/store"
)

// oncePublished runs one publication of each side.
func oncePublished(in input) (ours, peer func() error) {
	ours = func() error {
		s, err := store.New(store.Options{})
		if err != nil {
			return err
		}
		return publishOurs(s, in.path, in.text)
	}
	peer = func() error { return publishPeer(handler3.NewOpenAPIService(), in.path, in.text) }
	return ours, peer
}

func comparePublishTime(in input, rounds int) (row, error) {
	ours, peer := oncePublished(in)
	const perRound = 5
	timed := func(f func() error) (float64, error) {
		runtime.GC()
		start := time.Now()
		for range perRound {
			if err := f(); err != nil {
				return 0, err
			}
		}
		return time.Since(start).Seconds() * 1000 / perRound, nil
	}
	var results pairs
	for i := range rounds + 1 {
		x, err := timed(ours)
		if err != nil {
			return row{}, err
		}
		y, err := timed(peer)
		if err != nil {
			return row{}, err
		}
		if i > 0 {
			results.add(x, y)
		}
	}
	faster := 1 / results.ratio()
	return row{
		ours:  fmt.Sprintf("%.1f ms", results.ours()),
		peer:  fmt.Sprintf("%.1f ms", results.peers()),
		ratio: fmt.Sprintf("%.1f x faster", faster),
		met:   faster >= 3,
	}, nil
}

func comparePublishBytes(in input, rounds int) (row, error) {
	ours, peer := oncePublished(in)
	allocated := func(f func() error) (float64, error) {
		if err := f(); err != nil { // fill pools, as in a server that runs
			return 0, err
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range rounds {
			if err := f(); err != nil {
				return 0, err
			}
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / float64(rounds), nil
	}
	x, err := allocated(ours)
	if err != nil {
		return row{}, err
	}
	y, err := allocated(peer)
	if err != nil {
		return row{}, err
	}
	return bytesRow(x, y, 0.5), nil
}

func bytesRow(ours, peer, atMost float64) row {
	return row{
		ours:  fmt.Sprintf("%.2f MB", ours/1e6),
		peer:  fmt.Sprintf("%.2f MB", peer/1e6),
		ratio: fmt.Sprintf("%.2f", ours/peer),
		met:   ours/peer <= atMost,
	}
}

// copies is how many documents of one input share a measurement of the heap.
const copies = 8

func compareHeap(in input, _ int) (row, error)     { return heapRow(in, bothTypes) }
func compareHeapGzip(in input, _ int) (row, error) { return heapRow(in, nil) }

func compareHeapTwice(in input, _ int) (row, error) {
	r, err := heapRow(in, append(bothTypes, bothTypes...))
	r.met = true // nothing is promised for it
	return r, err
}

// heapRow measures what a document holds once ours was asked for plain forms of
// the given types, or for gzipped JSON where there is none; the peer's always for
// JSON and protobuf.
func heapRow(in input, types []string) (row, error) {
	ours, err := heapHeld(func() (any, error) {
		s, err := store.New(store.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return nil, err
		}
		h := handler.New(s, handler.Options{})
		for i := range copies {
			path := copyPath(in, i)
			if err := publishOurs(s, path, in.text); err != nil {
				return nil, err
			}
			if err := ask(h, path, "application/json", "Accept-Encoding", "gzip"); err != nil {
				return nil, err
			}
			for _, accept := range types {
				if err := ask(h, path, accept); err != nil {
					return nil, err
				}
			}
		}
		return s, nil
	})
	if err != nil {
		return row{}, err
	}
	peer, err := heapHeld(func() (any, error) {
		s := handler3.NewOpenAPIService()
		for i := range copies {
			path := copyPath(in, i)
			if err := publishPeer(s, path, in.text); err != nil {
				return nil, err
			}
			for _, accept := range bothTypes {
				if err := ask(http.HandlerFunc(s.HandleGroupVersion), path, accept); err != nil {
					return nil, err
				}
			}
		}
		return s, nil
	})
	if err != nil {
		return row{}, err
	}
	return bytesRow(ours, peer, 1.0/3), nil
}

var bothTypes = []string{"application/json", "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"}

func copyPath(in input, i int) string { return fmt.Sprintf("%s-%d", in.path, i) }

// heapHeld returns what the result of build holds per document, after collection.
func heapHeld(build func() (any, error)) (float64, error) {
	before := heapInUse()
	kept, err := build()
	if err != nil {
		return 0, err
	}
	after := heapInUse()
	runtime.KeepAlive(kept)
	return (after - before) / copies, nil
}

func heapInUse() float64 {
	// Twice, so that what pools hold goes, too.
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// compareAllocations counts what one request for an existing form allocates in our
// handler: routes, metrics, negotiation, headers. The peer is a bare handler.
func compareAllocations(in input, _ int) (row, error) {
	ours, err := ourServer(in)
	if err != nil {
		return row{}, err
	}
	bare, err := bareCopy(ours, in, "Accept-Encoding", "gzip")
	if err != nil {
		return row{}, err
	}
	count := func(h http.Handler) float64 {
		r := httptest.NewRequest(http.MethodGet, in.url()+"?etag=x&redirected=1&timeout=32s", nil)
		r.Header.Set("Accept", "application/json, */*;q=0.1")
		r.Header.Set("Accept-Encoding", "gzip, deflate;q=0.5")
		w := &discard{header: http.Header{}}
		return testing.AllocsPerRun(200, func() {
			clear(w.header)
			h.ServeHTTP(w, r)
		})
	}
	x, y := count(ours), count(bare)
	return row{ours: fmt.Sprint(x), peer: fmt.Sprint(y), ratio: fmt.Sprintf("%+.0f", x-y), met: x <= 25}, nil
}
