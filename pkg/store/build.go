package store

import (
	"errors"
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
	distinct := slices.Clone(top)
	distinct = slices.CompactFunc(distinct, func(a, b held) bool { return a.packed.tag == b.packed.tag })
	if len(distinct) == 1 {
		o.packed = top[0].packed
		for _, c := range top {
			o.sources = append(o.sources, c.source)
		}
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
	for {
		merged, err := spec3.Merge(parts...)
		if conflict, ok := errors.AsType[*spec3.ConflictError](err); ok {
			o.conflicts = append(o.conflicts, conflict)
			parts = slices.Delete(parts, conflict.Index, conflict.Index+1)
			continue
		}
		if err != nil {
			return outcome{}, err
		}
		for _, p := range parts {
			o.sources = append(o.sources, p.Source)
		}
		if len(parts) == 1 {
			i := slices.IndexFunc(top, func(c held) bool { return c.source == parts[0].Source })
			o.packed = top[i].packed
			return o, nil
		}
		o.packed, err = pack(merged)
		return o, err
	}
}
