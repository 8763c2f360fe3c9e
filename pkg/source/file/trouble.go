package file

import (
	"log/slog"
	"time"
)

// troubles are the files and folders that are not in order, and what was said of
// them. Each is logged once; if its error changes, as while a file is being written,
// the last one is logged after a while.
type troubles struct {
	log     *slog.Logger
	metrics *metrics
	known   map[string]*trouble
}

type trouble struct {
	err    error
	effect string
	logged string
	at     time.Time
}

// repeatAfter is how long a changing error is not logged again.
const repeatAfter = 5 * time.Second

// report notes an error of a file or folder.
func (t *troubles) report(path string, err error, effect string) {
	k := t.known[path]
	if k == nil {
		k = &trouble{}
		t.known[path] = k
		t.metrics.errors.WithLabelValues(path).Set(1)
		t.metrics.reads.WithLabelValues("error").Inc()
	}
	k.err, k.effect = err, effect
	t.say(k)
}

// say logs an error that was not logged yet.
func (t *troubles) say(k *trouble) {
	if k.logged == k.err.Error() || time.Since(k.at) < repeatAfter {
		return
	}
	k.logged, k.at = k.err.Error(), time.Now()
	t.log.Error("file not in order", "error", k.err, "effect", k.effect)
}

// repeat logs errors that have changed since they were logged.
func (t *troubles) repeat() {
	for _, k := range t.known {
		t.say(k)
	}
}

// mended takes an error back.
func (t *troubles) mended(path string) {
	if t.known[path] != nil {
		t.forget(path)
		t.log.Info("file is in order again", "file", path)
	}
}

// forget takes an error back without a word.
func (t *troubles) forget(path string) {
	if t.known[path] != nil {
		delete(t.known, path)
		t.metrics.errors.DeleteLabelValues(path)
	}
}
