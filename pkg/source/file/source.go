package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/seed-0662880d/openapi-server/pkg/spec3"
	"github.com/seed-0662880d/openapi-server/pkg/store"
)

// Store is where contributions go. [store.Store] is one.
type Store interface {
	Apply(updates ...store.Update) error
	SetStale(stale bool, sources ...string) error
}

var _ Store = (*store.Store)(nil)

// Options configures a [Source]. The zero value is ready for use.
type Options struct {
	// Logger is told what was read and what is wrong. Default: no logs.
	Logger *slog.Logger
	// Registerer is given the source's metrics. Default: none are registered.
	Registerer prometheus.Registerer
	// Limits bounds each file.
	Limits spec3.Limits
	// Resync is how often files are looked at without being told of a change, for
	// file systems that do not tell. Default: 10 s, and 1 s where nothing tells.
	Resync time.Duration
}

// Source reads files and folders. Make one with [New].
type Source struct {
	store    Store
	log      *slog.Logger
	metrics  *metrics
	limits   spec3.Limits
	resync   time.Duration
	roots    []string
	files    map[string]*state
	troubles troubles
	watch    *watch
}

// New returns a source of files and folders. It reads nothing yet; an error names
// a path that does not exist, or is that of registering metrics twice.
func New(paths []string, s Store, o Options) (*Source, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	m, err := newMetrics(o.Registerer)
	if err != nil {
		return nil, err
	}
	src := &Source{
		store:    s,
		log:      o.Logger,
		metrics:  m,
		limits:   o.Limits,
		resync:   o.Resync,
		files:    map[string]*state{},
		troubles: troubles{log: o.Logger, metrics: m, known: map[string]*trouble{}},
	}
	for _, path := range paths {
		if path == "" {
			return nil, errors.New("a source with an empty name")
		}
		path = filepath.Clean(path)
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("%s: %w", path, reason(err))
		}
		if !slices.Contains(src.roots, path) {
			src.roots = append(src.roots, path)
		}
	}
	return src, nil
}

// Load reads all files once and contributes what they hold, together. Files that
// cannot be read or published are logged and counted; the error is the store's, or
// that of ctx.
func (s *Source) Load(ctx context.Context) error {
	// The watch stands before anything is read, so that no change is lost between.
	s.watch = newWatch(s.roots, s.log)
	_, err := s.scan(ctx, false)
	if len(s.files) == 0 && len(s.troubles.known) == 0 {
		s.log.Warn("there are no .json, .yaml or .yml files yet", "in", s.roots)
	}
	return err
}

// Run watches the files until ctx is done, and contributes what changes, within a
// second where the file system tells of it. It is called after [Source.Load]. Errors
// of the store are logged, and the change is tried again; Run itself does not fail.
func (s *Source) Run(ctx context.Context) {
	defer s.watch.close()
	s.watch.follow(s.files)
	resync := time.NewTicker(cmp.Or(s.resync, s.watch.resync()))
	defer resync.Stop()
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.watch.changes():
			s.watch.settle(ctx)
		case err := <-s.watch.failures():
			s.log.Warn("watching files; all of them are looked at", "error", err)
		case <-resync.C:
		case <-again.C:
		}
		// Folders that were replaced are watched before they are looked at.
		s.watch.follow(s.files)
		wait, err := s.scan(ctx, true)
		if err != nil && ctx.Err() == nil {
			s.log.Error("publishing failed; it is tried again", "error", err)
		}
		if wait > 0 {
			again.Reset(wait)
		}
		s.watch.follow(s.files)
	}
}

// small is the size in bytes up to which files are read and published together. One
// that is larger holds nobody else up.
const small = 1 << 20

// batchFiles is how many files are read and published together: enough to share the
// cost of a root document, and few enough to hold in memory.
const batchFiles = 256

// scan looks at all files, reads those that have changed, and contributes what they
// hold now. With patience it leaves files for later that are still being written,
// and returns when to look again.
func (s *Source) scan(ctx context.Context, patience bool) (again time.Duration, err error) {
	found, listed := s.list()
	var light, heavy []*reading
	for _, path := range slices.Sorted(maps.Keys(found)) {
		info, known := found[path], s.files[path]
		if known != nil && !known.gone && known.unchanged(info) {
			continue
		}
		if patience {
			if wait := s.fresh(path, info); wait > 0 {
				again = max(again, wait)
				continue
			}
		}
		r := &reading{path: path, info: info}
		if info.Size() > small && patience {
			heavy = append(heavy, r)
		} else {
			light = append(light, r)
		}
	}
	for batch := range slices.Chunk(light, batchFiles) {
		if err := s.publish(ctx, batch); err != nil {
			return again, err
		}
	}
	for _, r := range heavy {
		if err := s.publish(ctx, []*reading{r}); err != nil {
			return again, err
		}
	}
	if slices.ContainsFunc(append(light, heavy...), func(r *reading) bool { return r.later }) {
		again = max(again, withdrawAfter)
	}
	s.troubles.repeat()
	return again, s.missing(found, listed)
}

// Files are not read while they are being written: not before nothing was written
// for quiet, unless patience is over.
const (
	quietFile    = 80 * time.Millisecond
	filePatience = 500 * time.Millisecond
)

// fresh returns how long to wait for a file that was written a moment ago.
func (s *Source) fresh(path string, info os.FileInfo) time.Duration {
	st := s.files[path]
	if st == nil {
		st = &state{parts: map[string]*part{}}
		s.files[path] = st
	}
	age := time.Since(info.ModTime())
	if age < 0 || age >= quietFile {
		st.waiting = time.Time{}
		return 0
	}
	if st.waiting.IsZero() {
		st.waiting = time.Now()
	}
	if time.Since(st.waiting) > filePatience {
		return 0
	}
	return quietFile - age + time.Millisecond
}

// publish reads files side by side and contributes what they hold, together.
func (s *Source) publish(ctx context.Context, readings []*reading) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, r := range readings {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			r.read(s.limits, s.files[r.path])
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	var updates []store.Update
	for _, r := range readings {
		updates = append(updates, r.changes(s.files[r.path])...)
	}
	if err := s.store.Apply(updates...); err != nil {
		return err
	}
	for _, r := range readings {
		if err := s.note(r); err != nil {
			return err
		}
	}
	return nil
}
