package store

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-0662880d/openapi-server/pkg/spec3"
)

// Priority decides between sources that contribute to one path; the highest is
// published. The order is that of the discovery sources of k8s.io/apiserver
// (pkg/endpoints/discovery/aggregated: aggregated, built-in, CRD).
type Priority int

// The priorities of the sources there are.
const (
	PriorityCRD      Priority = 100
	PriorityDocument Priority = 200
	PriorityUpstream Priority = 300
)

// Contribution is what one source says of one path.
type Contribution struct {
	// Source names who says it, for people: "/etc/openapi/apps.json".
	Source string
	// Path is where the document is published: "apis/apps/v1". See
	// [spec3.CheckPath] for what it may hold.
	Path string
	// Priority decides between sources.
	Priority Priority
	// Stale says that the source can no longer confirm the document. It is
	// published all the same, but yields to contributions that are confirmed
	// where the two contradict each other.
	Stale bool
	// Part says that the document is one of many parts of its path, such as a CRD. It
	// is held so that a change of one part costs what that part costs, at the price of
	// a less dense compression.
	Part bool
	// Document is what is to be published. The store does not keep it.
	Document *spec3.Document
}

func (c *Contribution) check() error {
	if c.Source == "" {
		return errors.New("a contribution without a source")
	}
	if c.Document == nil {
		return fmt.Errorf("%s contributes no document to %q", c.Source, c.Path)
	}
	if err := spec3.CheckPath(c.Path); err != nil {
		return fmt.Errorf("%s: %w", c.Source, err)
	}
	return nil
}

// Update is all that a source contributes from now on.
type Update struct {
	Source        string
	Contributions []Contribution
}

// held is a contribution as the store keeps it.
type held struct {
	source   string
	priority Priority
	stale    bool
	packed   packed
}

// equal reports whether two contributions of one source to one path are the same.
func (h held) equal(other *held) bool {
	return h.packed.tag == other.packed.tag && h.priority == other.priority && h.stale == other.stale
}

// packed is a document in the form in which it is kept: gzipped as a whole, or as a
// fragment.
type packed struct {
	tag      string
	size     int // bytes of the canonical JSON
	gzip     []byte
	fragment *spec3.Fragment
}

func pack(d *spec3.Document) (packed, error) {
	gz, err := spec3.Gzip(d.JSON())
	if err != nil {
		return packed{}, err
	}
	return packed{tag: d.Tag(), size: len(d.JSON()), gzip: gz}, nil
}

func packPart(d *spec3.Document, shared *spec3.Pieces) (packed, error) {
	f, err := spec3.NewFragment(d, shared)
	if err != nil {
		return packed{}, err
	}
	return packed{tag: d.Tag(), size: len(d.JSON()), fragment: f}, nil
}

// whole returns the document gzipped as a whole.
func (p packed) whole() packed {
	if p.gzip != nil {
		return p
	}
	return composed(spec3.Compose(spec3.FragmentPart{Fragment: p.fragment}))
}

func composed(c spec3.Composition, _ []*spec3.ConflictError) packed {
	return packed{tag: c.Tag, size: c.Size, gzip: c.Gzip}
}

func (p packed) unpack() (*spec3.Document, error) {
	whole := p.whole()
	canonical, err := spec3.Gunzip(whole.gzip, whole.size)
	if err != nil {
		return nil, err
	}
	return spec3.FromCanonical(canonical)
}

// sortHeld puts contributions into the order of precedence.
func sortHeld(all []held) {
	slices.SortFunc(all, func(a, b held) int {
		return cmp.Or(
			cmp.Compare(b.priority, a.priority),
			compareBool(a.stale, b.stale),
			strings.Compare(a.source, b.source),
		)
	})
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
