package file

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Editors and ConfigMaps change a file in several steps. A change is looked at
// when nothing happened for quiet, and after patience in any case: both are well
// within the second in which it has to be published.
const (
	quiet    = 60 * time.Millisecond
	patience = 300 * time.Millisecond
)

// watch tells when something changes in the folders of the roots. Folders are
// watched and never files: a file that is replaced by renaming is a new one.
type watch struct {
	roots   []string
	watcher *fsnotify.Watcher // nil where the system has none to give
	log     *slog.Logger
	warned  bool
}

func newWatch(roots []string, log *slog.Logger) *watch {
	w := &watch{roots: roots, log: log}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		w.warn(err)
		return w
	}
	w.watcher = watcher
	w.add()
	return w
}

func (w *watch) warn(err error) {
	if !w.warned {
		w.warned = true
		w.log.Warn("files cannot be watched; they are looked at again and again instead", "error", err)
	}
}

// add watches the folders of all roots. A folder that was replaced needs a new
// watch; adding one that is watched changes nothing.
func (w *watch) add() {
	if w.watcher == nil {
		return
	}
	for _, root := range w.roots {
		folder := root
		if info, err := os.Stat(root); err != nil || !info.IsDir() {
			folder = filepath.Dir(root)
		}
		if err := w.watcher.Add(folder); err != nil && !os.IsNotExist(err) {
			w.warn(err)
		}
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
