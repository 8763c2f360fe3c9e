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

// edit is a change of the contributions to one path that is being made.
type edit struct {
	slot    *slot
	next    []held
	changed bool
	took    time.Duration
}

// contribute changes the contributions, and returns the paths that have to be built.
func (s *Store) contribute(changes []change) []*build {
	s.mu.Lock()
	defer s.mu.Unlock()
	edits := map[string]*edit{}
	for i := range changes {
		c := &changes[i]
		set := map[string]bool{}
		for j := range c.set {
			path := c.set[j].Path
			set[path] = true
			h := held{source: c.source, priority: c.set[j].Priority, stale: c.set[j].Stale, packed: c.packed[j]}
			e := s.editLocked(edits, path)
			e.took += c.took[j]
			e.replace(c.source, &h)
			s.rememberLocked(c.source, path)
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
			s.editLocked(edits, path).replace(c.source, nil)
			s.forgetLocked(c.source, path)
		}
		if c.mark {
			for path := range s.bySource[c.source] {
				s.editLocked(edits, path).mark(c.source, c.stale)
			}
		}
	}
	var builds []*build
	for path, e := range edits {
		sl := e.slot
		if e.changed {
			sortHeld(e.next)
			sl.contributions = e.next
			sl.generation++
		}
		// A generation that was never published has to be built again, even if nothing
		// has changed: its build failed, or is under way.
		if sl.generation > sl.published {
			builds = append(builds, &build{slot: sl, generation: sl.generation, contributions: sl.contributions, took: e.took})
		} else if len(sl.contributions) == 0 {
			delete(s.slots, path)
		}
	}
	return builds
}

// editLocked returns the edit of a path, which begins with what there is.
func (s *Store) editLocked(edits map[string]*edit, path string) *edit {
	if e := edits[path]; e != nil {
		return e
	}
	sl := s.slots[path]
	if sl == nil {
		sl = &slot{path: path}
		s.slots[path] = sl
	}
	e := &edit{slot: sl, next: slices.Clone(sl.contributions)}
	edits[path] = e
	return e
}

// replace makes with the contribution of a source, or removes it where with is nil.
func (e *edit) replace(source string, with *held) {
	i := slices.IndexFunc(e.next, func(h held) bool { return h.source == source })
	switch {
	case with == nil && i < 0, with != nil && i >= 0 && e.next[i].equal(with):
		return
	case with == nil:
		e.next = slices.Delete(e.next, i, i+1)
	case i < 0:
		e.next = append(e.next, *with)
	default:
		e.next[i] = *with
	}
	e.changed = true
}

func (e *edit) mark(source string, stale bool) {
	i := slices.IndexFunc(e.next, func(h held) bool { return h.source == source })
	if i >= 0 && e.next[i].stale != stale {
		e.next[i].stale = stale
		e.changed = true
	}
}

// rememberLocked and forgetLocked keep the paths of each source.
func (s *Store) rememberLocked(source, path string) {
	if s.bySource[source] == nil {
		s.bySource[source] = map[string]bool{}
	}
	s.bySource[source][path] = true
}

func (s *Store) forgetLocked(source, path string) {
	delete(s.bySource[source], path)
	if len(s.bySource[source]) == 0 {
		delete(s.bySource, source)
	}
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
