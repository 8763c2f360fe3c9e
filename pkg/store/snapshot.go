package store

import (
	"maps"
	"slices"
	"strings"
)

// Snapshot is everything that is published at one moment. It is immutable, apart
// from forms of documents that are made on demand.
type Snapshot struct {
	documents []*Document // sorted by path
	byPath    map[string]*Document
	root      *Root
}

// Document returns the document of a path, or nil where nothing is published.
func (s *Snapshot) Document(path string) *Document { return s.byPath[path] }

// Documents returns all documents in the order of their paths. The slice must not
// be changed.
func (s *Snapshot) Documents() []*Document { return s.documents }

// Root returns the root document, which lists all others.
func (s *Snapshot) Root() *Root { return s.root }

// ChangedSince returns the paths, sorted, whose documents differ between an older
// snapshot of the same store and this one: added, changed or removed.
func (s *Snapshot) ChangedSince(old *Snapshot) []string {
	var changed []string
	for _, d := range s.documents {
		if before := old.byPath[d.path]; before == nil || before.packed.tag != d.packed.tag {
			changed = append(changed, d.path)
		}
	}
	for _, d := range old.documents {
		if s.byPath[d.path] == nil {
			changed = append(changed, d.path)
		}
	}
	slices.Sort(changed)
	return changed
}

// with returns the snapshot that follows s.
func (s *Snapshot) with(changed []*Document, removed []string) (*Snapshot, error) {
	next := &Snapshot{byPath: maps.Clone(s.byPath), documents: slices.Clone(s.documents)}
	for _, path := range removed {
		delete(next.byPath, path)
	}
	if len(removed) > 0 {
		next.documents = slices.DeleteFunc(next.documents, func(d *Document) bool { return next.byPath[d.path] == nil })
	}
	sameTags := s.root != nil && len(removed) == 0
	added := false
	for _, d := range changed {
		before := next.byPath[d.path]
		sameTags = sameTags && before != nil && before.packed.tag == d.packed.tag
		next.byPath[d.path] = d
		if before == nil {
			next.documents = append(next.documents, d)
			added = true
		}
	}
	byPath := func(a, b *Document) int { return strings.Compare(a.path, b.path) }
	if added {
		slices.SortFunc(next.documents, byPath)
	}
	for _, d := range changed {
		if i, ok := slices.BinarySearchFunc(next.documents, d, byPath); ok {
			next.documents[i] = d
		}
	}
	if sameTags {
		next.root = s.root
		return next, nil
	}
	var err error
	next.root, err = newRoot(next.documents, s.root)
	return next, err
}
