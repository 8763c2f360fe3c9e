package store

import (
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
)

// DefaultVariantBytes is the default of [Options.VariantBytes].
const DefaultVariantBytes = 64 << 20

// Options configures a [Store]. The zero value is ready for use.
type Options struct {
	// Logger is told who shadows and contradicts whom. Default: no logs.
	Logger *slog.Logger
	// Registerer is given the store's metrics. Default: none are registered.
	Registerer prometheus.Registerer
	// VariantBytes is the memory for forms of documents other than gzipped JSON,
	// in bytes. Default: [DefaultVariantBytes].
	VariantBytes int64
}

// Store holds contributions and publishes snapshots of them. Make one with [New].
type Store struct {
	log      *slog.Logger
	metrics  *metrics
	variants *variantCache
	current  atomic.Pointer[Snapshot]
	// decide is what builds a path; a field so that a test can hold a build up.
	decide func([]held) (outcome, error)

	// mu guards the maps below. It is never held while something is built.
	mu       sync.Mutex
	slots    map[string]*slot
	bySource map[string]map[string]bool // source → paths

	// publishing makes one snapshot follow the other. It is held while the root
	// document is built, by writers only.
	publishing  sync.Mutex
	subscribers map[chan *Snapshot]bool
}

// slot holds the contributions to one path.
type slot struct {
	path string
	// building is held from before the contributions are changed until the
	// result is published, so that a late build never overwrites a newer one. It
	// guards the fields below.
	building      sync.Mutex
	contributions []held
	reported      report
	// gone is true once the slot has left the store's map.
	gone bool
}

// New returns an empty store: its snapshot has a root document without paths. The
// error is that of encoding it, and not to be expected.
func New(o Options) (*Store, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.VariantBytes == 0 {
		o.VariantBytes = DefaultVariantBytes
	}
	m := newMetrics(o.Registerer)
	s := &Store{
		log:         o.Logger,
		metrics:     m,
		variants:    newVariantCache(o.VariantBytes, m),
		decide:      decide,
		slots:       map[string]*slot{},
		bySource:    map[string]map[string]bool{},
		subscribers: map[chan *Snapshot]bool{},
	}
	empty := &Snapshot{byPath: map[string]*Document{}}
	first, err := empty.with(nil, nil)
	if err != nil {
		return nil, err
	}
	s.current.Store(first)
	return s, nil
}

// Snapshot returns what is published now. It takes no lock.
func (s *Store) Snapshot() *Snapshot { return s.current.Load() }

// Set adds contributions, or replaces those of the same source and path, and
// publishes them together. When it returns without error they are in
// [Store.Snapshot]. An error names a contribution that is malformed; nothing is
// changed then.
func (s *Store) Set(contributions ...Contribution) error {
	changes := map[string][]change{}
	for i := range contributions {
		c := &contributions[i]
		if err := c.check(); err != nil {
			return err
		}
		changes[c.Path] = append(changes[c.Path], change{source: c.Source, set: c})
	}
	return s.apply(changes)
}

// Delete takes back what a source contributed to some paths, or to all paths
// where none is named. Paths that it did not contribute to are ignored.
func (s *Store) Delete(source string, paths ...string) error {
	if len(paths) == 0 {
		paths = s.pathsOf(source)
	}
	changes := map[string][]change{}
	for _, path := range paths {
		changes[path] = []change{{source: source}}
	}
	return s.apply(changes)
}

// SetStale changes whether a source's contributions are [Contribution.Stale].
func (s *Store) SetStale(source string, stale bool) error {
	changes := map[string][]change{}
	for _, path := range s.pathsOf(source) {
		changes[path] = []change{{source: source, mark: true, stale: stale}}
	}
	return s.apply(changes)
}

// Apply makes each update all that its source contributes, and publishes all of
// them together. Errors are those of [Store.Set].
func (s *Store) Apply(updates ...Update) error {
	changes := map[string][]change{}
	for _, u := range updates {
		left := map[string]bool{}
		for _, path := range s.pathsOf(u.Source) {
			left[path] = true
		}
		for i := range u.Contributions {
			c := &u.Contributions[i]
			c.Source = u.Source
			if err := c.check(); err != nil {
				return err
			}
			delete(left, c.Path)
			changes[c.Path] = append(changes[c.Path], change{source: u.Source, set: c})
		}
		for path := range left {
			changes[path] = append(changes[path], change{source: u.Source})
		}
	}
	return s.apply(changes)
}

// change is what happens to the contribution of one source to a path: it is set,
// marked, or else removed.
type change struct {
	source string
	set    *Contribution
	mark   bool
	stale  bool
}

func (s *Store) pathsOf(source string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.bySource[source]))
}

// apply builds the changed paths side by side and publishes them together.
func (s *Store) apply(changes map[string][]change) error {
	if len(changes) == 0 {
		return nil
	}
	// Slots are always locked in the order of their paths, so writers of
	// overlapping sets cannot wait for each other in a circle.
	paths := slices.Sorted(maps.Keys(changes))
	builds := make([]*build, 0, len(paths))
	defer func() {
		for _, b := range builds {
			s.release(b.slot)
		}
	}()
	for _, path := range paths {
		builds = append(builds, &build{slot: s.lockSlot(path), changes: changes[path]})
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

// lockSlot returns the slot of a path, locked.
func (s *Store) lockSlot(path string) *slot {
	for {
		s.mu.Lock()
		sl := s.slots[path]
		if sl == nil {
			sl = &slot{path: path}
			s.slots[path] = sl
		}
		s.mu.Unlock()
		sl.building.Lock()
		if !sl.gone {
			return sl
		}
		sl.building.Unlock()
	}
}

// release unlocks a slot, and takes it out of the map when nothing is left in it.
func (s *Store) release(sl *slot) {
	if len(sl.contributions) == 0 {
		sl.gone = true
		s.mu.Lock()
		delete(s.slots, sl.path)
		s.mu.Unlock()
	}
	sl.building.Unlock()
}

// build is the work on one path.
type build struct {
	slot    *slot
	changes []change
	// next are the contributions after the changes; changed tells whether they
	// differ from those before.
	next    []held
	changed bool
	outcome outcome
	took    time.Duration
}

// run does a build without touching what is published.
func (s *Store) run(b *build) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("building %s panicked: %v", b.slot.path, p)
		}
	}()
	start := time.Now()
	b.next = slices.Clone(b.slot.contributions)
	for _, c := range b.changes {
		if err := b.apply(c); err != nil {
			return fmt.Errorf("%s: %s: %w", c.source, b.slot.path, err)
		}
	}
	if !b.changed || len(b.next) == 0 {
		return nil
	}
	sortHeld(b.next)
	if b.outcome, err = s.decide(b.next); err != nil {
		return fmt.Errorf("%s: %w", b.slot.path, err)
	}
	b.took = time.Since(start)
	return nil
}

// apply makes one change to the contributions, and packs a document that is new.
func (b *build) apply(c change) error {
	i := slices.IndexFunc(b.next, func(h held) bool { return h.source == c.source })
	switch {
	case c.set == nil && i < 0:
		return nil
	case c.mark:
		b.changed = b.changed || b.next[i].stale != c.stale
		b.next[i].stale = c.stale
		return nil
	case c.set == nil:
		b.next = slices.Delete(b.next, i, i+1)
		b.changed = true
		return nil
	}
	h := held{source: c.source, priority: c.set.Priority, stale: c.set.Stale}
	if i >= 0 && b.next[i].packed.tag == c.set.Document.Tag() {
		h.packed = b.next[i].packed
		b.changed = b.changed || h.priority != b.next[i].priority || h.stale != b.next[i].stale
		b.next[i] = h
		return nil
	}
	var err error
	if h.packed, err = pack(c.set.Document); err != nil {
		return err
	}
	b.changed = true
	if i >= 0 {
		b.next[i] = h
	} else {
		b.next = append(b.next, h)
	}
	return nil
}

// commit publishes finished builds and makes them the state of the store. Its
// caller holds their slots.
func (s *Store) commit(builds []*build) error {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	old := s.current.Load()
	var changed, replaced []*Document
	var removed []string
	for _, b := range builds {
		if !b.changed {
			continue
		}
		before := old.Document(b.slot.path)
		if len(b.next) == 0 {
			removed = append(removed, b.slot.path)
			replaced = append(replaced, before)
			continue
		}
		if before != nil && before.packed.tag == b.outcome.packed.tag && slices.Equal(before.sources, b.outcome.sources) {
			continue
		}
		changed = append(changed, newDocument(b.slot.path, b.outcome, s.variants))
		if before != nil {
			replaced = append(replaced, before)
		}
	}
	if len(changed) > 0 || len(removed) > 0 {
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
		for _, d := range replaced {
			s.variants.drop(d)
		}
		for subscriber := range s.subscribers {
			notify(subscriber, next)
		}
	}
	for _, b := range builds {
		if b.changed {
			s.metrics.built("document", b.took)
			s.report(b)
		}
		b.slot.contributions = b.next
	}
	s.remember(builds)
	return nil
}

// remember notes which paths each source contributes to.
func (s *Store) remember(builds []*build) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range builds {
		for _, c := range b.changes {
			paths := s.bySource[c.source]
			if c.mark {
				continue
			}
			if c.set == nil {
				delete(paths, b.slot.path)
				if len(paths) == 0 {
					delete(s.bySource, c.source)
				}
				continue
			}
			if paths == nil {
				paths = map[string]bool{}
				s.bySource[c.source] = paths
			}
			paths[b.slot.path] = true
		}
	}
}
