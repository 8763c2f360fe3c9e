package store

import (
	"slices"
)

// report is what was last said about a path, so that it is said once.
type report struct {
	shadowed  []string
	conflicts []string
}

// report logs and counts who is shadowed and who is in conflict on a path, when
// that has changed. Its caller holds publishing.
func (s *Store) report(b *build) {
	now := report{shadowed: b.outcome.shadowed}
	for _, c := range b.outcome.conflicts {
		now.conflicts = append(now.conflicts, c.Error())
	}
	before := b.slot.reported
	b.slot.reported = now
	s.metrics.shadowed.Add(float64(len(now.shadowed) - len(before.shadowed)))
	s.metrics.conflicts.Add(float64(len(now.conflicts) - len(before.conflicts)))
	if len(now.shadowed) > 0 && !slices.Equal(now.shadowed, before.shadowed) {
		s.log.Warn("sources are shadowed by one of a higher priority",
			"path", b.slot.path, "published", b.outcome.sources, "shadowed", now.shadowed)
	}
	for i, c := range b.outcome.conflicts {
		if !slices.Contains(before.conflicts, now.conflicts[i]) {
			s.log.Error("a source is left out: it contradicts another one; make the two agree, or remove one",
				"path", b.slot.path, "published", c.First, "leftOut", c.Second, "at", c.Pointer)
		}
	}
}
