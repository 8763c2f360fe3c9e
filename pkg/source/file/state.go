package file

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/seed-0662880d/openapi-server/pkg/spec3"
	"github.com/seed-0662880d/openapi-server/pkg/store"
)

// state is what is known of a file.
type state struct {
	info   os.FileInfo // when it was last read; nil before
	readAt time.Time
	sum    [sha256.Size]byte
	// unread is true while its text cannot be had: it is tried again and again.
	unread bool
	// broken is true while not everything of it can be published.
	broken bool
	gone   bool
	// waiting is since when the file has been seen to be written.
	waiting time.Time
	// parts are its contributions by their sources.
	parts map[string]*part
}

// part is what one source of a file has contributed: tags by path.
type part struct {
	tags     map[string]string
	findings int
	stale    bool
}

// unchanged reports whether a file need not be read again. A file that was changed
// shortly before it was read may have changed once more within the same tick of
// its file system's clock, so its time is not to be trusted.
func (st *state) unchanged(info os.FileInfo) bool {
	const coarsestClock = 2 * time.Second
	return st.info != nil && !st.unread && os.SameFile(st.info, info) && st.info.Size() == info.Size() &&
		st.info.ModTime().Equal(info.ModTime()) && st.readAt.Sub(info.ModTime()) > coarsestClock
}

func (st *state) publishes() bool {
	for _, p := range st.parts {
		if len(p.tags) > 0 {
			return true
		}
	}
	return false
}

// reading is what came of reading one file.
type reading struct {
	path   string
	info   os.FileInfo
	readAt time.Time
	took   time.Duration
	sum    [sha256.Size]byte
	same   bool // the text is the one that was read before
	later  bool // it is to be read again, and nothing is done yet
	parts  []Part
	errs   []error
}

// withdrawAfter is for how long a file has to hold no document before what it
// published is taken back: a file that is written slowly may begin with a comment.
const withdrawAfter = 2 * time.Second

func (r *reading) read(limits spec3.Limits, known *state) {
	r.readAt = time.Now()
	defer func() { r.took = time.Since(r.readAt) }()
	text, err := readFile(r.path, limits)
	if err != nil {
		r.errs = []error{At(r.path, err)}
		return
	}
	r.sum = sha256.Sum256(text)
	if known != nil && known.info != nil && !known.gone && !known.unread && known.sum == r.sum {
		r.same = true
		return
	}
	parts, errs := Parts(r.path, text, limits)
	if len(parts) == 0 && len(errs) == 0 && known != nil && known.publishes() && time.Since(r.info.ModTime()) < withdrawAfter {
		r.later = true
		return
	}
	r.parts = parts
	for _, err := range errs {
		r.errs = append(r.errs, At(r.path, err))
	}
}

// changes returns what the store has to be told: what was read, and, if all of the
// file could be read, that the sources are gone that it has no more.
func (r *reading) changes(known *state) []store.Update {
	if r.same || r.later {
		return nil
	}
	updates := make([]store.Update, 0, len(r.parts))
	for _, p := range r.parts {
		updates = append(updates, p.Update)
	}
	if known == nil || len(r.errs) > 0 {
		return updates
	}
	for _, source := range slices.Sorted(maps.Keys(known.parts)) {
		if !r.has(source) {
			updates = append(updates, store.Update{Source: source})
		}
	}
	return updates
}

func (r *reading) has(source string) bool {
	return slices.ContainsFunc(r.parts, func(p Part) bool { return p.Source == source })
}

// note records what came of reading a file.
func (s *Source) note(r *reading) error {
	if r.later {
		return nil
	}
	st := s.files[r.path]
	if st == nil {
		st = &state{parts: map[string]*part{}}
		s.files[r.path] = st
	}
	st.info, st.readAt, st.gone, st.waiting = r.info, r.readAt, false, time.Time{}
	if r.same {
		if !st.broken {
			s.troubles.mended(r.path)
		}
		return nil
	}
	st.unread = slices.ContainsFunc(r.errs, func(err error) bool { return errors.Is(err, errUnread) })
	st.broken = len(r.errs) > 0
	if !st.unread {
		st.sum = r.sum
	}
	documents := s.noteParts(r, st)
	if len(r.errs) > 0 {
		s.troubles.report(r.path, summary(r.errs), effect(st, documents))
		return s.setStale(st, func(source string) bool {
			return !r.has(source)
		})
	}
	s.troubles.mended(r.path)
	s.metrics.reads.WithLabelValues("ok").Inc()
	s.log.Info("file read", "file", r.path, "documents", documents, "took", r.took.Round(time.Microsecond))
	return nil
}

// noteParts records what the sources of a file contribute now, and returns the number
// of documents.
func (s *Source) noteParts(r *reading, st *state) (documents int) {
	before := maps.Clone(st.parts)
	if !st.broken {
		clear(st.parts)
	}
	for _, read := range r.parts {
		p := &part{tags: map[string]string{}}
		for _, c := range read.Contributions {
			p.tags[c.Path] = c.Document.Tag()
		}
		documents += len(p.tags)
		st.parts[read.Source] = p
		old := before[read.Source]
		switch {
		case read.Definition == nil:
		case old != nil && maps.Equal(old.tags, p.tags):
			p.findings = old.findings
		default:
			s.metrics.aggregation.Observe(read.Took.Seconds())
			// It is published by now; nobody waits for this check.
			found := read.Definition.Findings()
			p.findings = len(found)
			for _, f := range found {
				s.log.Warn("published, but Kubernetes would not", "source", read.Source, "version", f.Version, "reason", f.Text)
			}
		}
	}
	s.metrics.findings.Add(float64(findings(st.parts) - findings(before)))
	return documents
}

func findings(parts map[string]*part) (n int) {
	for _, p := range parts {
		n += p.findings
	}
	return n
}

// summary is the first of the errors, and how many there are.
func summary(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return fmt.Errorf("%w (and %d more like it)", errs[0], len(errs)-1)
}

func effect(st *state, documents int) string {
	switch {
	case documents > 0:
		return "the rest of it is published"
	case st.publishes():
		return "what it published before stays"
	}
	return "nothing of it is published"
}

// setStale marks what some sources of a file published as no longer confirmed.
func (s *Source) setStale(st *state, which func(source string) bool) error {
	var sources []string
	for source, p := range st.parts {
		if !p.stale && which(source) {
			p.stale = true
			sources = append(sources, source)
		}
	}
	return s.store.SetStale(true, sources...)
}

// missing looks after files that are not there any more.
func (s *Source) missing(found map[string]os.FileInfo, listed map[string]bool) error {
	var gone []string
	for _, path := range slices.Sorted(maps.Keys(s.files)) {
		// A folder that could not be listed has been reported.
		if _, ok := found[path]; !ok && (listed[path] || listed[filepath.Dir(path)]) {
			s.files[path].gone = true
			gone = append(gone, path)
		}
	}
	for _, path := range gone {
		st := s.files[path]
		if st.publishes() && !s.publishedByOthers(st) {
			s.troubles.report(path, fmt.Errorf("%s: the file is gone", path), "what it published stays until it is back or the server restarts")
			if err := s.setStale(st, func(string) bool { return true }); err != nil {
				return err
			}
			continue
		}
		var nothing []store.Update
		for source := range st.parts {
			nothing = append(nothing, store.Update{Source: source})
		}
		if err := s.store.Apply(nothing...); err != nil {
			return err
		}
		s.metrics.findings.Sub(float64(findings(st.parts)))
		delete(s.files, path)
		s.troubles.forget(path)
		effect := "none: it published nothing"
		if st.publishes() {
			effect = "none: other files publish what it did"
		}
		s.log.Info("file is gone", "file", path, "effect", effect)
	}
	return nil
}

// publishedByOthers reports whether files that are there and in order publish the
// same documents, as after a file was renamed.
func (s *Source) publishedByOthers(gone *state) bool {
	for _, p := range gone.parts {
		for path, tag := range p.tags {
			if !s.publishes(path, tag) {
				return false
			}
		}
	}
	return true
}

func (s *Source) publishes(path, tag string) bool {
	for _, st := range s.files {
		if st.gone {
			continue
		}
		for _, p := range st.parts {
			if !p.stale && p.tags[path] == tag {
				return true
			}
		}
	}
	return false
}
