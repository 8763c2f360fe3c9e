package store

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// change is what happens to the contributions of one source.
type change struct {
	source string
	// set are added, or replace those to the same paths.
	set []Contribution
	// packed are the documents of set, in the same order, and took is how long each
	// took to pack.
	packed []packed
	took   []time.Duration
	// remove are paths whose contributions go; with removeOthers those to all paths
	// go that are not set.
	remove       []string
	removeOthers bool
	// mark makes what there is stale, or not.
	mark, stale bool
}

// build is the work on one path.
type build struct {
	slot          *slot
	generation    int64
	contributions []held
	outcome       outcome
	took          time.Duration // packing included
}

// apply is what every change goes through. Documents are compressed first and paths
// are built last, with nothing locked; in between the contributions are changed, in
// one step. So a build that takes long delays nobody: a writer that comes later
// makes a build of its own, and the one that is late finds out when it is done.
func (s *Store) apply(changes []change) error {
	for i := range changes {
		for j := range changes[i].set {
			if err := changes[i].set[j].check(); err != nil {
				return err
			}
		}
	}
	if err := s.pack(changes); err != nil {
		return err
	}
	builds := s.contribute(changes)
	if len(builds) == 0 {
		return nil
	}
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, b := range builds {
		group.Go(func() error { return s.run(b) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return s.commit(builds)
}

// pack compresses the documents that are not held already.
func (s *Store) pack(changes []change) error {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range changes {
		c := &changes[i]
		c.packed = make([]packed, len(c.set))
		c.took = make([]time.Duration, len(c.set))
		for j := range c.set {
			contribution := &c.set[j]
			if known, ok := s.held(contribution); ok {
				c.packed[j] = known
				continue
			}
			group.Go(func() (err error) {
				defer recovered(&err, contribution.Path)
				start := time.Now()
				if contribution.Part {
					c.packed[j], err = packPart(contribution.Document, &s.pieces)
				} else {
					c.packed[j], err = pack(contribution.Document)
				}
				c.took[j] = time.Since(start)
				return err
			})
		}
	}
	return group.Wait()
}

// held returns the packed document of a contribution, if the source has contributed
// the same one before.
func (s *Store) held(c *Contribution) (packed, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sl := s.slots[c.Path]; sl != nil {
		for _, h := range sl.contributions {
			if h.source == c.Source && h.packed.tag == c.Document.Tag() && (h.packed.fragment != nil) == c.Part {
				return h.packed, true
			}
		}
	}
	return packed{}, false
}

// contribute changes the contributions, and returns the paths that have to be built.
func (s *Store) contribute(changes []change) []*build {
	s.mu.Lock()
	defer s.mu.Unlock()
	touched := map[string]*slot{}
	took := map[string]time.Duration{}
	for i := range changes {
		c := &changes[i]
		set := map[string]bool{}
		for j := range c.set {
			path := c.set[j].Path
			set[path] = true
			took[path] += c.took[j]
			h := held{source: c.source, priority: c.set[j].Priority, stale: c.set[j].Stale, packed: c.packed[j]}
			s.replaceLocked(touched, path, c.source, &h)
		}
		remove := c.remove
		if c.removeOthers {
			for path := range s.bySource[c.source] {
				if !set[path] {
					remove = append(remove, path)
				}
			}
		}
		for _, path := range remove {
			s.replaceLocked(touched, path, c.source, nil)
		}
		if c.mark {
			s.markLocked(touched, c.source, c.stale)
		}
	}
	builds := make([]*build, 0, len(touched))
	for _, sl := range touched {
		builds = append(builds, &build{slot: sl, generation: sl.generation, contributions: sl.contributions, took: took[sl.path]})
	}
	return builds
}

// replaceLocked makes with the contribution of a source to a path, or removes it
// where with is nil.
func (s *Store) replaceLocked(touched map[string]*slot, path, source string, with *held) {
	sl := s.slots[path]
	if sl == nil {
		if with == nil {
			return
		}
		sl = &slot{path: path}
		s.slots[path] = sl
	}
	i := slices.IndexFunc(sl.contributions, func(h held) bool { return h.source == source })
	// A generation that was never published has to be built again, even if nothing
	// changes now: its build failed, or is under way.
	switch {
	case with == nil && i < 0:
		return
	case with != nil && i >= 0 && sl.contributions[i].equal(with) && sl.published == sl.generation:
		return
	}
	next := slices.Clone(sl.contributions)
	if i >= 0 {
		next = slices.Delete(next, i, i+1)
	}
	if with != nil {
		next = append(next, *with)
	}
	s.changeLocked(touched, sl, next)

	if with == nil {
		delete(s.bySource[source], path)
		if len(s.bySource[source]) == 0 {
			delete(s.bySource, source)
		}
		return
	}
	if s.bySource[source] == nil {
		s.bySource[source] = map[string]bool{}
	}
	s.bySource[source][path] = true
}

func (s *Store) markLocked(touched map[string]*slot, source string, stale bool) {
	for path := range s.bySource[source] {
		sl := s.slots[path]
		i := slices.IndexFunc(sl.contributions, func(h held) bool { return h.source == source })
		if sl.contributions[i].stale == stale {
			continue
		}
		next := slices.Clone(sl.contributions)
		next[i].stale = stale
		s.changeLocked(touched, sl, next)
	}
}

func (s *Store) changeLocked(touched map[string]*slot, sl *slot, next []held) {
	sortHeld(next)
	sl.contributions = next
	sl.generation++
	touched[sl.path] = sl
}

// run does a build without touching what is published.
func (s *Store) run(b *build) (err error) {
	defer recovered(&err, b.slot.path)
	if len(b.contributions) == 0 {
		return nil
	}
	start := time.Now()
	if b.outcome, err = s.decide(b.contributions); err != nil {
		return fmt.Errorf("%s: %w", b.slot.path, err)
	}
	b.took += time.Since(start)
	return nil
}

// recovered makes an error of a panic.
func recovered(err *error, path string) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("building %s panicked: %v", path, p)
	}
}

// commit publishes finished builds, without those that come too late.
func (s *Store) commit(builds []*build) error {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	old := s.current.Load()
	var changed []*Document
	var removed []string
	var done []*build
	for _, b := range builds {
		if b.generation <= b.slot.published {
			continue
		}
		done = append(done, b)
		before := old.Document(b.slot.path)
		switch {
		case len(b.contributions) == 0:
			if before != nil {
				removed = append(removed, b.slot.path)
			}
		case before == nil || before.Tag() != b.outcome.packed.tag || !slices.Equal(before.sources, b.outcome.sources):
			changed = append(changed, newDocument(b.slot.path, b.outcome, before, s.variants))
		}
	}
	if len(changed) > 0 || len(removed) > 0 {
		if err := s.publish(old, changed, removed); err != nil {
			return err
		}
	}
	for _, b := range done {
		if len(b.contributions) > 0 {
			s.metrics.built("document", b.took)
		}
		s.report(b)
	}
	s.settle(done)
	return nil
}

// publish makes the next snapshot the current one.
func (s *Store) publish(old *Snapshot, changed []*Document, removed []string) error {
	start := time.Now()
	next, err := old.with(changed, removed)
	if err != nil {
		return err
	}
	if next.root != old.root {
		s.metrics.built("root", time.Since(start))
	}
	s.metrics.published(next)
	s.current.Store(next)
	for _, d := range changed {
		if before := old.Document(d.path); before != nil && before.content != d.content {
			s.variants.drop(before)
		}
	}
	for _, path := range removed {
		s.variants.drop(old.Document(path))
	}
	for subscriber := range s.subscribers {
		notify(subscriber, next)
	}
	return nil
}

// settle notes which generations are published, and forgets paths that nobody
// contributes to any more.
func (s *Store) settle(done []*build) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range done {
		b.slot.published = b.generation
		if len(b.slot.contributions) == 0 && b.slot.generation == b.generation {
			delete(s.slots, b.slot.path)
		}
	}
}
