package file

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Editors and ConfigMaps change a file in several steps. Changes are looked at when
// nothing happened for quiet, and after patience in any case: both are well within
// the second in which a change has to be published.
const (
	quiet    = 60 * time.Millisecond
	patience = 300 * time.Millisecond
)

// watch tells when something changes in the folders that matter. Folders are
// watched and never files: a file that is replaced by renaming is a new one.
type watch struct {
	roots   []string
	watcher *fsnotify.Watcher // nil where the system has none to give
	folders map[string]os.FileInfo
	log     *slog.Logger
	warned  bool
}

func newWatch(roots []string, log *slog.Logger) *watch {
	w := &watch{roots: roots, folders: map[string]os.FileInfo{}, log: log}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		w.warn(err)
		return w
	}
	w.watcher = watcher
	w.follow(nil)
	return w
}

func (w *watch) warn(err error) {
	if !w.warned {
		w.warned = true
		w.log.Warn("not all files can be watched; they are looked at again and again instead", "error", err)
	}
}

// follow watches the folders that matter now, and no others: those of the roots, and
// where links lead. A folder that was replaced needs a new watch.
func (w *watch) follow(files map[string]*state) {
	if w.watcher == nil {
		return
	}
	wanted := map[string]os.FileInfo{}
	want := func(folder string) {
		// Of a folder that is gone, the next one above tells when it is back.
		for {
			if info, err := os.Stat(folder); err == nil && info.IsDir() {
				wanted[folder] = info
				return
			}
			above := filepath.Dir(folder)
			if above == folder {
				return
			}
			folder = above
		}
	}
	for _, root := range w.roots {
		want(root)
		want(filepath.Dir(root))
		if target, err := filepath.EvalSymlinks(root); err == nil && target != root {
			want(filepath.Dir(target))
		}
	}
	for path := range files {
		if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSymlink == 0 {
			continue
		}
		if target, err := filepath.EvalSymlinks(path); err == nil {
			want(filepath.Dir(target))
		}
	}
	for folder, info := range w.folders {
		if now, ok := wanted[folder]; ok && os.SameFile(info, now) {
			continue
		}
		// It may be gone, and its watch with it.
		if err := w.watcher.Remove(folder); err != nil {
			w.log.Debug("watching less", "folder", folder, "error", err)
		}
		delete(w.folders, folder)
	}
	for _, folder := range slices.Sorted(maps.Keys(wanted)) {
		if w.folders[folder] != nil {
			continue
		}
		if err := w.watcher.Add(folder); err != nil {
			w.warn(err)
			continue
		}
		w.folders[folder] = wanted[folder]
	}
}

// failures delivers errors of the watcher, such as an overflow of its queue. They
// have to be received, or the watcher stands still.
func (w *watch) failures() <-chan error {
	if w.watcher == nil {
		return nil
	}
	return w.watcher.Errors
}

// changes delivers what happens in the folders.
func (w *watch) changes() <-chan fsnotify.Event {
	if w.watcher == nil {
		return nil
	}
	return w.watcher.Events
}

// settle waits until nothing happens any more.
func (w *watch) settle(ctx context.Context) {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	pause := time.NewTimer(quiet)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-deadline.C:
			return
		case <-pause.C:
			return
		case <-w.changes():
			pause.Reset(quiet)
		}
	}
}

// resync is how often everything is looked at without being told.
func (w *watch) resync() time.Duration {
	if w.watcher == nil || w.warned {
		return time.Second
	}
	return 10 * time.Second
}

func (w *watch) close() {
	if w.watcher == nil {
		return
	}
	if err := w.watcher.Close(); err != nil {
		w.log.Debug("closing the watch", "error", err)
	}
}
