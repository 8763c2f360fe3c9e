package store

import (
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-0662880d/openapi-server/pkg/spec3"
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
	pieces   spec3.Pieces
	current  atomic.Pointer[Snapshot]
	// decide is what builds a path; a field so that a test can hold a build up.
	decide func([]held) (outcome, error)

	// mu guards the contributions. It is never held while something is built.
	mu    sync.Mutex
	slots map[string]*slot
	// bySource holds the paths that each source contributes to.
	bySource map[string]map[string]bool

	// publishing makes one snapshot follow the other. It guards the fields below and
	// what a slot says of the past. It is held while the root document is built, by
	// writers only; mu may be taken while it is held, not the other way round.
	publishing  sync.Mutex
	subscribers map[chan *Snapshot]bool
}

// slot holds the contributions to one path.
type slot struct {
	path string
	// contributions are in the order of precedence. The slice is never changed, but
	// replaced; generation counts how often. Both are guarded by Store.mu.
	contributions []held
	generation    int64
	// published is the generation that is published, or was found to be no different.
	// A build of an older one comes too late. It is written under Store.publishing
	// and Store.mu, so that either is enough to read it.
	published int64
	reported  report // guarded by Store.publishing
}

// New returns an empty store: its snapshot has a root document without paths. The
// error is that of registering its metrics: two stores cannot share a Registerer.
func New(o Options) (*Store, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.VariantBytes == 0 {
		o.VariantBytes = DefaultVariantBytes
	}
	m, err := newMetrics(o.Registerer)
	if err != nil {
		return nil, err
	}
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
// [Store.Snapshot], unless they have been replaced already. An error names a
// contribution that is malformed, and nothing is changed then; or it says why a
// document could not be built: what was published stays, and the next change tries
// again.
func (s *Store) Set(contributions ...Contribution) error {
	changes := make([]change, 0, len(contributions))
	for _, c := range contributions {
		changes = append(changes, change{source: c.Source, set: []Contribution{c}})
	}
	return s.apply(changes)
}

// Delete takes back what a source contributed to some paths, or to all paths
// where none is named. Paths that it did not contribute to are ignored.
func (s *Store) Delete(source string, paths ...string) error {
	return s.apply([]change{{source: source, remove: paths, removeOthers: len(paths) == 0}})
}

// Apply makes each update all that its source contributes, and publishes all of
// them together. Errors are those of [Store.Set].
func (s *Store) Apply(updates ...Update) error {
	changes := make([]change, 0, len(updates))
	for _, u := range updates {
		c := change{source: u.Source, set: slices.Clone(u.Contributions), removeOthers: true}
		for i := range c.set {
			c.set[i].Source = u.Source
		}
		changes = append(changes, c)
	}
	return s.apply(changes)
}

// SetStale changes whether the contributions of sources are [Contribution.Stale].
func (s *Store) SetStale(stale bool, sources ...string) error {
	changes := make([]change, 0, len(sources))
	for _, source := range sources {
		changes = append(changes, change{source: source, mark: true, stale: stale})
	}
	return s.apply(changes)
}
