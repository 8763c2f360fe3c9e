// Command benchmarks compares openapi-server with its peers: both run in this one
// process, on the same input, taking turns, and what is printed is their ratio.
//
//	go run ./benchmarks            everything
//	go run ./benchmarks -run 304   what matches a regular expression
//
// Times on a shared machine are noisy, so nothing here is a test. The ratio is the
// median of the ratios of single rounds, in which both sides ran one after the
// other.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"text/tabwriter"
)

func main() {
	pattern := flag.String("run", "", "run the comparisons whose name matches this `regexp`")
	rounds := flag.Int("rounds", 9, "how many rounds both sides run")
	flag.Parse()
	if err := run(os.Stdout, *pattern, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "benchmarks:", err)
		os.Exit(1)
	}
}

// comparison is one line of the table for each input.
type comparison struct {
	name string
	// target is the ratio to be reached, in words.
	target string
	run    func(input input, rounds int) (row, error)
}

// row is what came of a comparison.
type row struct {
	ours, peer, ratio string
	met               bool
}

func run(w io.Writer, pattern string, rounds int) error {
	match, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	inputs, err := loadInputs()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s %s/%s, GOMAXPROCS %d, %d rounds\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), rounds)
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			switch d.Path {
			case "k8s.io/kube-openapi", "k8s.io/client-go":
				fmt.Fprintln(w, d.Path, d.Version)
			}
		}
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nwhat\tinput\tours\tpeer\tratio\tat least\tmet")
	for _, c := range comparisons() {
		if !match.MatchString(c.name) {
			continue
		}
		for _, in := range inputs {
			r, err := c.run(in, rounds)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", c.name, in.path, err)
			}
			r.print(table, c.name, in.path, c.target)
		}
	}
	for _, c := range crdComparisons() {
		if !match.MatchString(c.name) {
			continue
		}
		r, err := c.run(rounds)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		r.print(table, c.name, c.input, c.target)
	}
	return table.Flush()
}

func (r row) print(w io.Writer, name, input, target string) {
	met := "yes"
	if !r.met {
		met = "NO"
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, input, r.ours, r.peer, r.ratio, target, met)
}

// crdComparison is one line of the table; its input is generated.
type crdComparison struct {
	name, input, target string
	run                 func(rounds int) (row, error)
}

func crdComparisons() []crdComparison {
	return []crdComparison{
		{"CRDs to published, time, peer: apiextensions builder and handler3", "1,000 in 160 groups", "5 x faster", compareManyCRDs},
		{"CRDs to published, time, peer: the same", "gateway-api and cert-manager", "-", reported(compareRealCRDs)},
		{"CRDs to published, heap held, peer: the same", "1,000 in 160 groups", "an eighth", compareManyCRDsHeap},
		{"one CRD changes, until served, peer: the same", "100 in one group-version", "15 x faster", compareCRDChange},
		{"one CRD changes, peer: ours with 10 in the group-version", "100 in one group-version", "under 1.5 x", compareCRDChangeByGroup},
		{"CRDs to published, time, peer: ours with 1,000", "10,000 in 1,600 groups", "under 12 x", compareTenThousand},
		{"one CRD changes, peer: ours with 1,000", "10,000 in 1,600 groups", "the same", compareTenThousandChange},
	}
}

func comparisons() []comparison {
	return []comparison{
		{"gzipped document, requests/s, peer: bare net/http", "0.85 x", compareGzip},
		{"gzipped document, requests/s, peer: handler3", "4 x", compareHandler3},
		{"304, requests/s, peer: bare net/http", "0.85 x", compareNotModified},
		{"bytes to published, time, peer: handler3", "3 x faster", comparePublishTime},
		{"bytes to published, bytes allocated, peer: handler3", "half", comparePublishBytes},
		{"heap held, after JSON and protobuf were asked for, peer: handler3", "a third", compareHeap},
		{"heap held, after each was asked for twice, peer: handler3", "-", compareHeapTwice},
		{"heap held, after gzipped JSON was asked for, peer: handler3 as above", "a third", compareHeapGzip},
		{"allocations of a request, peer: bare net/http", "at most 25", compareAllocations},
	}
}

// reported is a comparison for which nothing was promised.
func reported(run func(int) (row, error)) func(int) (row, error) {
	return func(rounds int) (row, error) {
		r, err := run(rounds)
		r.met = true
		return r, err
	}
}
