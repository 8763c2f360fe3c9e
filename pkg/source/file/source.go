package file

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/seed-0662880d/openapi-server/pkg/spec3"
	"github.com/seed-0662880d/openapi-server/pkg/store"
)

// Store is where contributions go. [store.Store] is one.
type Store interface {
	Apply(updates ...store.Update) error
	SetStale(source string, stale bool) error
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
	store   Store
	log     *slog.Logger
	metrics *metrics
	limits  spec3.Limits
	resync  time.Duration
	roots   []string
	files   map[string]*state
	// troubles holds what was last logged of a file or folder, while it lasts.
	troubles map[string]string
}

// state is what is known of a file.
type state struct {
	info   os.FileInfo // when it was last read
	readAt time.Time
	sum    [sha256.Size]byte
	paths  []string // published
	gone   bool
	stale  bool
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
		troubles: map[string]string{},
	}
	for _, path := range paths {
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
// cannot be read or published are logged and counted; the error is the store's
// alone.
func (s *Source) Load() error {
	err := s.scan()
	if len(s.files) == 0 {
		s.log.Warn("there are no .json, .yaml or .yml files yet", "in", s.roots)
	}
	return err
}

// scan looks at all files, reads those that have changed, and contributes what
// they hold now.
func (s *Source) scan() error {
	found, listed := s.list()
	var changed []*reading
	for _, path := range slices.Sorted(maps.Keys(found)) {
		if known := s.files[path]; known == nil || known.gone || !known.unchanged(found[path]) {
			changed = append(changed, &reading{path: path, info: found[path]})
		}
	}
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, r := range changed {
		group.Go(func() error {
			r.read(s.limits, s.files[r.path])
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}

	var updates []store.Update
	for _, r := range changed {
		if r.err == nil && !r.same {
			updates = append(updates, store.Update{Source: r.path, Contributions: r.contributions})
		}
	}
	if err := s.store.Apply(updates...); err != nil {
		return err
	}
	for _, r := range changed {
		if err := s.note(r); err != nil {
			return err
		}
	}
	return s.missing(found, listed)
}

// unchanged reports whether a file need not be read again. A file that was changed
// shortly before it was read may have changed once more within the same tick of
// its file system's clock, so its time is not to be trusted.
func (st *state) unchanged(info os.FileInfo) bool {
	const coarsestClock = 2 * time.Second
	return os.SameFile(st.info, info) && st.info.Size() == info.Size() &&
		st.info.ModTime().Equal(info.ModTime()) && st.readAt.Sub(info.ModTime()) > coarsestClock
}

// list returns the files there are, and whether each root could be looked at.
func (s *Source) list() (found map[string]os.FileInfo, listed map[string]bool) {
	found, listed = map[string]os.FileInfo{}, map[string]bool{}
	for _, root := range s.roots {
		info, err := os.Stat(root)
		if err == nil && !info.IsDir() {
			found[root] = info
			listed[root] = true
			continue
		}
		if s.files[root] != nil {
			listed[root] = true // it was a file, and is gone
			continue
		}
		var entries []os.DirEntry
		if err == nil {
			entries, err = os.ReadDir(root)
		}
		if err != nil {
			s.trouble(root, fmt.Errorf("%s: %w", root, reason(err)))
			continue
		}
		listed[root] = true
		s.mended(root)
		for _, e := range entries {
			if !publishable(e.Name()) {
				continue
			}
			path := filepath.Join(root, e.Name())
			// Stat follows the links that a mounted ConfigMap is made of.
			if info, err := os.Stat(path); err == nil && !info.IsDir() {
				found[path] = info
			}
		}
	}
	return found, listed
}

func publishable(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".json", ".yaml", ".yml":
		return !strings.HasPrefix(name, ".")
	}
	return false
}

// reading is what came of reading one file.
type reading struct {
	path          string
	info          os.FileInfo
	readAt        time.Time
	sum           [sha256.Size]byte
	same          bool // the text is the one that was published
	contributions []store.Contribution
	err           error
}

func (r *reading) read(limits spec3.Limits, known *state) {
	r.readAt = time.Now()
	text, err := readFile(r.path, limits)
	if err != nil {
		r.err = fmt.Errorf("%s: %w", r.path, err)
		return
	}
	r.sum = sha256.Sum256(text)
	if known != nil && !known.gone && !known.stale && known.sum == r.sum {
		r.same = true
		return
	}
	if r.contributions, err = Contributions(r.path, text, limits); err != nil {
		separator := ": "
		if e, ok := errors.AsType[*spec3.Error](err); ok && e.Line > 0 {
			separator = ":"
		}
		r.err = fmt.Errorf("%s%s%w", r.path, separator, err)
	}
}

// note records what came of reading a file.
func (s *Source) note(r *reading) error {
	st := s.files[r.path]
	if st == nil {
		st = &state{}
		s.files[r.path] = st
	}
	st.info, st.readAt, st.gone = r.info, r.readAt, false
	if r.err != nil {
		s.trouble(r.path, r.err)
		return s.setStale(r.path, st)
	}
	s.mended(r.path)
	if r.same {
		return nil
	}
	st.sum, st.stale, st.paths = r.sum, false, nil
	for _, c := range r.contributions {
		st.paths = append(st.paths, c.Path)
	}
	s.metrics.reads.WithLabelValues("ok").Inc()
	s.log.Info("file read", "file", r.path, "documents", len(st.paths), "took", time.Since(r.readAt).Round(time.Microsecond))
	return nil
}

// setStale marks what a file published as no longer confirmed.
func (s *Source) setStale(path string, st *state) error {
	if st.stale {
		return nil
	}
	st.stale = true
	return s.store.SetStale(path, true)
}

// missing looks after files that are not there any more.
func (s *Source) missing(found map[string]os.FileInfo, listed map[string]bool) error {
	for path, st := range s.files {
		if _, ok := found[path]; ok {
			continue
		}
		if !listed[path] && !listed[filepath.Dir(path)] {
			continue // its folder could not be listed, and has been reported
		}
		if s.publishedByOthers(path, st) {
			if err := s.store.Apply(store.Update{Source: path}); err != nil {
				return err
			}
			delete(s.files, path)
			s.mended(path)
			s.log.Info("file is gone, and other files publish what it did", "file", path)
			continue
		}
		st.gone = true
		s.trouble(path, fmt.Errorf("%s: the file is gone; what it published stays until the file is back or the server restarts", path))
		if err := s.setStale(path, st); err != nil {
			return err
		}
	}
	return nil
}

// publishedByOthers reports whether files that are there and in order publish all
// paths that a file published.
func (s *Source) publishedByOthers(path string, st *state) bool {
	for _, p := range st.paths {
		published := false
		for other, o := range s.files {
			published = published || other != path && !o.gone && !o.stale && slices.Contains(o.paths, p)
		}
		if !published {
			return false
		}
	}
	return true
}

// trouble reports an error of a file or folder: once, until it changes.
func (s *Source) trouble(path string, err error) {
	if s.troubles[path] == err.Error() {
		return
	}
	s.troubles[path] = err.Error()
	s.metrics.reads.WithLabelValues("error").Inc()
	s.metrics.errors.WithLabelValues(path).Set(1)
	keeps := "nothing of it is published"
	if st := s.files[path]; st != nil && len(st.paths) > 0 {
		keeps = "what it published before stays"
	}
	s.log.Error("file not published", "error", err, "effect", keeps)
}

// mended takes an error back.
func (s *Source) mended(path string) {
	if _, ok := s.troubles[path]; !ok {
		return
	}
	delete(s.troubles, path)
	s.metrics.errors.DeleteLabelValues(path)
	s.log.Info("file is in order again", "file", path)
}

// Run watches the files until ctx is done, and contributes what changes. A change
// is published within a second. Errors of the store are logged, and the change is
// tried again; Run itself does not fail.
func (s *Source) Run(ctx context.Context) {
	w := newWatch(s.roots, s.log)
	defer w.close()
	resync := time.NewTicker(cmp.Or(s.resync, w.resync()))
	defer resync.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.changes():
			w.settle(ctx)
		case err := <-w.failures():
			s.log.Warn("watching files; all of them are looked at", "error", err)
		case <-resync.C:
		}
		if err := s.scan(); err != nil {
			s.log.Error("publishing failed; it is tried again", "error", err)
		}
		w.add()
	}
}
