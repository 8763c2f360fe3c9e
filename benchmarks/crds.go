package main

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/seed-0662880d/openapi-server/internal/testdocs"
	"github.com/seed-0662880d/openapi-server/pkg/handler"
	"github.com/seed-0662880d/openapi-server/pkg/store"
)

const (
	manyCRDs   = 1000
	manyGroups = 160
)

func compareManyCRDs(int) (row, error) {
	texts := generatedCRDs(manyCRDs, manyGroups)
	if err := checkGenerated(texts[0]); err != nil {
		return row{}, err
	}
	return compareCRDs(texts)
}

// compareRealCRDs takes the definitions of gateway-api (standard) and cert-manager.
func compareRealCRDs(int) (row, error) {
	definitions, err := testdocs.CustomResourceDefinitions()
	if err != nil {
		return row{}, err
	}
	var texts [][]byte
	for name, text := range definitions {
		if strings.Contains(name, "/experimental/") {
			continue // the same names once more
		}
		encoded, err := yaml.YAMLToJSON(text)
		if err != nil {
			return row{}, fmt.Errorf("%s: %w", name, err)
		}
		texts = append(texts, encoded)
	}
	// What both make once in a process.
	if _, err := compareCRDs(texts[:1]); err != nil {
		return row{}, err
	}
	return compareCRDs(texts)
}

func compareCRDs(texts [][]byte) (row, error) {
	start := time.Now()
	ours, err := oursOf(texts)
	if err != nil {
		return row{}, err
	}
	x := time.Since(start)
	runtime.KeepAlive(ours)
	start = time.Now()
	if _, err := incumbentOf(texts); err != nil {
		return row{}, err
	}
	y := time.Since(start)
	return row{
		ours: x.Round(time.Millisecond).String(), peer: y.Round(time.Millisecond).String(),
		ratio: fmt.Sprintf("%.1f x faster", y.Seconds()/x.Seconds()), met: y >= 5*x,
	}, nil
}

func compareManyCRDsHeap(int) (row, error) {
	texts := generatedCRDs(manyCRDs, manyGroups)
	// What is made once in a process is no matter of the number of definitions.
	if _, err := oursOf(texts[:1]); err != nil {
		return row{}, err
	}
	if _, err := incumbentOf(texts[:1]); err != nil {
		return row{}, err
	}
	before := heapInUse()
	ours, err := oursOf(texts)
	if err != nil {
		return row{}, err
	}
	x := heapInUse() - before
	runtime.KeepAlive(ours) // and no longer: what follows is the peer's alone
	before = heapInUse()
	peer, err := incumbentOf(texts)
	if err != nil {
		return row{}, err
	}
	y := heapInUse() - before
	runtime.KeepAlive(peer)
	runtime.KeepAlive(texts)
	return bytesRow(x, y, 1.0/8), nil
}

// changeOurs returns how long it takes from the text of a changed definition until
// the root and the gzipped document are served.
func changeOurs(s *store.Store, group string, n, rounds int) (float64, error) {
	h := handler.New(s, handler.Options{})
	var times []float64
	for i := range rounds {
		text := generatedCRD(group, n, i+1)
		start := time.Now()
		u, err := readOurs(text)
		if err != nil {
			return 0, err
		}
		if err := s.Apply(u); err != nil {
			return 0, err
		}
		if err := ask(h, "apis/"+group+"/v1", "application/json", "Accept-Encoding", "gzip"); err != nil {
			return 0, err
		}
		times = append(times, time.Since(start).Seconds()*1000)
	}
	return median(times), nil
}

func inOneGroup(n int) [][]byte {
	texts := make([][]byte, n)
	for i := range texts {
		texts[i] = generatedCRD("one.example.com", i, 0)
	}
	return texts
}

func compareCRDChange(rounds int) (row, error) {
	ours, err := oursOf(inOneGroup(100))
	if err != nil {
		return row{}, err
	}
	x, err := changeOurs(ours, "one.example.com", 50, 3*rounds)
	if err != nil {
		return row{}, err
	}
	peer, err := incumbentOf(inOneGroup(100))
	if err != nil {
		return row{}, err
	}
	var times []float64
	for i := range rounds {
		text := generatedCRD("one.example.com", 50, i+1)
		start := time.Now()
		path, err := peer.read(text)
		if err != nil {
			return row{}, err
		}
		if err := peer.merge(path); err != nil {
			return row{}, err
		}
		if err := peer.root(); err != nil {
			return row{}, err
		}
		if err := ask(http.HandlerFunc(peer.service.HandleGroupVersion), path, "application/json"); err != nil {
			return row{}, err
		}
		times = append(times, time.Since(start).Seconds()*1000)
	}
	y := median(times)
	return row{ours: fmt.Sprintf("%.2f ms", x), peer: fmt.Sprintf("%.1f ms", y), ratio: fmt.Sprintf("%.1f x faster", y/x), met: y/x >= 15}, nil
}

// compareCRDChangeByGroup is ours alone: a group-version with 100 definitions against
// one with 10.
func compareCRDChangeByGroup(rounds int) (row, error) {
	hundred, err := oursOf(inOneGroup(100))
	if err != nil {
		return row{}, err
	}
	ten, err := oursOf(inOneGroup(10))
	if err != nil {
		return row{}, err
	}
	return compareChanges(changeIn{hundred, "one.example.com", 5}, changeIn{ten, "one.example.com", 5}, rounds)
}

// changeIn is a definition of a store that is going to change.
type changeIn struct {
	store *store.Store
	group string
	n     int
}

// compareChanges compares what a change costs in two stores of ours.
func compareChanges(a, b changeIn, rounds int) (row, error) {
	var results pairs
	for range rounds {
		x, err := changeOurs(a.store, a.group, a.n, 5)
		if err != nil {
			return row{}, err
		}
		y, err := changeOurs(b.store, b.group, b.n, 5)
		if err != nil {
			return row{}, err
		}
		results.add(x, y)
	}
	return row{
		ours: fmt.Sprintf("%.2f ms", results.ours()), peer: fmt.Sprintf("%.2f ms", results.peers()),
		ratio: fmt.Sprintf("%.2f x", results.ratio()), met: results.ratio() < 1.5,
	}, nil
}

// compareTenThousand is ours alone: 10,000 definitions against 1,000, in as many more
// groups.
func compareTenThousand(int) (row, error) {
	thousand, tenThousand := generatedCRDs(manyCRDs, manyGroups), generatedCRDs(10*manyCRDs, 10*manyGroups)
	start := time.Now()
	if _, err := oursOf(thousand); err != nil {
		return row{}, err
	}
	y := time.Since(start)
	start = time.Now()
	if _, err := oursOf(tenThousand); err != nil {
		return row{}, err
	}
	x := time.Since(start)
	return row{
		ours: x.Round(time.Millisecond).String(), peer: y.Round(time.Millisecond).String(),
		ratio: fmt.Sprintf("%.1f x", x.Seconds()/y.Seconds()), met: x < 12*y,
	}, nil
}

func compareTenThousandChange(rounds int) (row, error) {
	small, err := oursOf(generatedCRDs(manyCRDs, manyGroups))
	if err != nil {
		return row{}, err
	}
	large, err := oursOf(generatedCRDs(10*manyCRDs, 10*manyGroups))
	if err != nil {
		return row{}, err
	}
	return compareChanges(changeIn{large, "group7.example.com", 7}, changeIn{small, "group7.example.com", 7}, rounds)
}
