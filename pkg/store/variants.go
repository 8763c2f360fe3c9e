package store

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/singleflight"
)

// variantCache makes the rarer forms of documents and keeps those used last,
// within a budget. Plain JSON only has to be unpacked, a twentieth of the work of
// protobuf, so it is kept from its second use on: who reads every document once
// leaves nothing behind. A hit takes no lock: the form hangs on its document.
type variantCache struct {
	limit   int64
	metrics *metrics
	flight  singleflight.Group
	// building bounds how many protobuf forms are made at a time: each takes memory
	// many times the size of its document. Plain JSON never waits for them.
	building chan struct{}
	// clock counts forms made; it dates their use.
	clock atomic.Int64

	// mu guards the fields below. It is never held while a form is made.
	mu   sync.Mutex
	size int64
	kept map[*variant]bool
}

// variant is a form that was made, or why it could not be.
type variant struct {
	body []byte
	err  error
	used atomic.Int64
	home *atomic.Pointer[variant]
}

// variantOverhead is what a variant costs beside its body, in bytes, so that
// those that hold only an error count too.
const variantOverhead = 256

func (v *variant) cost() int64 { return int64(len(v.body)) + variantOverhead }

func newVariantCache(limit int64, m *metrics) *variantCache {
	return &variantCache{
		limit:    limit,
		metrics:  m,
		building: make(chan struct{}, runtime.GOMAXPROCS(0)),
		kept:     map[*variant]bool{},
	}
}

func (c *variantCache) get(ctx context.Context, d *Document, f Format) ([]byte, error) {
	if v := d.variants[f].Load(); v != nil {
		// Later than all that was made so far; most hits find that written already.
		if now := c.clock.Load() + 1; v.used.Load() != now {
			v.used.Store(now)
		}
		return v.body, v.err
	}
	result := c.flight.DoChan(d.path+"?"+d.etags[f], func() (any, error) {
		if f != JSON {
			c.building <- struct{}{}
			defer func() { <-c.building }()
		}
		return c.make(d, f), nil
	})
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the %s of %s: %w", f, d.path, context.Cause(ctx))
	case r := <-result:
		v, ok := r.Val.(*variant)
		if !ok {
			return nil, fmt.Errorf("making the %s of %s: %w", f, d.path, r.Err)
		}
		return v.body, v.err
	}
}

// make makes a form and keeps it.
func (c *variantCache) make(d *Document, f Format) *variant {
	if v := d.variants[f].Load(); v != nil {
		return v
	}
	v := &variant{home: &d.variants[f]}
	v.body, v.err = d.encode(f)
	c.metrics.variantBuilds.WithLabelValues(f.String()).Inc()

	c.mu.Lock()
	defer c.mu.Unlock()
	v.used.Store(c.clock.Add(1))
	if v.cost() > c.limit || f == JSON && !d.unpacked.Swap(true) {
		return v
	}
	c.kept[v] = true
	c.size += v.cost()
	v.home.Store(v)
	for c.size > c.limit {
		c.evictOldestLocked()
	}
	c.metrics.variantBytes.Set(float64(c.size))
	return v
}

func (c *variantCache) evictOldestLocked() {
	var oldest *variant
	for v := range c.kept {
		if oldest == nil || v.used.Load() < oldest.used.Load() {
			oldest = v
		}
	}
	c.removeLocked(oldest)
	c.metrics.variantEvictions.Inc()
}

func (c *variantCache) removeLocked(v *variant) {
	if v == nil || !c.kept[v] {
		return
	}
	v.home.CompareAndSwap(v, nil)
	delete(c.kept, v)
	c.size -= v.cost()
}

// drop forgets the forms of a document that is no longer published. A reader of
// an older snapshot may have one made again; it then leaves by age.
func (c *variantCache) drop(d *Document) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for f := range d.variants {
		c.removeLocked(d.variants[f].Load())
	}
	c.metrics.variantBytes.Set(float64(c.size))
}
