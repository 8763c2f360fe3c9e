package file

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// list returns the files there are, and the roots that could be looked at.
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
			s.troubles.report(root, fmt.Errorf("%s: %w", root, reason(err)), "what its files published before stays")
			continue
		}
		listed[root] = true
		s.troubles.mended(root)
		s.listFolder(root, entries, found)
	}
	return found, listed
}

func (s *Source) listFolder(root string, entries []os.DirEntry, found map[string]os.FileInfo) {
	for _, e := range entries {
		if !publishable(e.Name()) {
			continue
		}
		path := filepath.Join(root, e.Name())
		// Stat follows the links that a mounted ConfigMap is made of.
		info, err := os.Stat(path)
		switch {
		case err == nil && !info.IsDir():
			found[path] = info
		case err != nil && s.files[path] == nil && !os.IsNotExist(err):
			s.troubles.report(path, fmt.Errorf("%s: %w", path, reason(err)), "nothing of it is published")
		case err != nil && s.files[path] == nil && e.Type()&os.ModeSymlink != 0:
			s.troubles.report(path, fmt.Errorf("%s: the link leads nowhere", path), "nothing of it is published")
		}
	}
}

func publishable(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".json", ".yaml", ".yml":
		return !strings.HasPrefix(name, ".")
	}
	return false
}
