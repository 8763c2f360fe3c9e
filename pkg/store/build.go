package store

import (
	"slices"

	"github.com/seed-0662880d/openapi-server/pkg/spec3"
)

// outcome is what becomes of the contributions to one path.
type outcome struct {
	packed    packed
	sources   []string // published, in the order of precedence
	shadowed  []string // sources of a lower priority
	conflicts []*spec3.ConflictError
}

// decide builds what is published of the contributions to one path, which are in
// the order of precedence and not empty.
func decide(contributions []held) (outcome, error) {
	var o outcome
	top := contributions
	for i := range contributions {
		if contributions[i].priority != contributions[0].priority {
			top = contributions[:i]
			for _, c := range contributions[i:] {
				o.shadowed = append(o.shadowed, c.source)
			}
			break
		}
	}
	// Equal documents need no merging, and that is the common case of several.
	if !slices.ContainsFunc(top, func(c held) bool { return c.packed.tag != top[0].packed.tag }) {
		o.packed = top[0].packed.whole()
		for _, c := range top {
			o.sources = append(o.sources, c.source)
		}
		return o, nil
	}

	if !slices.ContainsFunc(top, func(c held) bool { return c.packed.fragment == nil }) {
		o.compose(top)
		return o, nil
	}
	parts := make([]spec3.Part, 0, len(top))
	for _, c := range top {
		d, err := c.packed.unpack()
		if err != nil {
			return outcome{}, err
		}
		parts = append(parts, spec3.Part{Source: c.source, Document: d})
	}
	merged, conflicts := spec3.Merge(parts...)
	o.settle(top, conflicts)
	for _, c := range top {
		if c.packed.tag == merged.Tag() {
			o.packed = c.packed.whole()
			return o, nil
		}
	}
	var err error
	o.packed, err = pack(merged)
	return o, err
}

// compose joins contributions that are all held as fragments.
func (o *outcome) compose(contributions []held) {
	parts := make([]spec3.FragmentPart, 0, len(contributions))
	for _, c := range contributions {
		parts = append(parts, spec3.FragmentPart{Source: c.source, Fragment: c.packed.fragment})
	}
	composition, conflicts := spec3.Compose(parts...)
	o.packed = composed(composition, nil)
	o.settle(contributions, conflicts)
}

// settle notes who is published and who is left out.
func (o *outcome) settle(contributions []held, conflicts []*spec3.ConflictError) {
	o.conflicts = conflicts
	left := map[int]bool{}
	for _, c := range conflicts {
		left[c.Index] = true
	}
	for i, c := range contributions {
		if !left[i] {
			o.sources = append(o.sources, c.source)
		}
	}
}
