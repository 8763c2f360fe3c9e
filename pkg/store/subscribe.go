package store

import "sync"

// Subscribe returns a channel that receives a snapshot after it was published. A
// receiver that is slow finds the newest snapshot and never an older one: those
// in between are dropped, and [Snapshot.ChangedSince] tells what happened. It
// never holds up a writer. The channel is closed by cancel, which may be called
// more than once.
func (s *Store) Subscribe() (snapshots <-chan *Snapshot, cancel func()) {
	ch := make(chan *Snapshot, 1)
	s.publishing.Lock()
	defer s.publishing.Unlock()
	s.subscribers[ch] = true
	return ch, sync.OnceFunc(func() {
		s.publishing.Lock()
		defer s.publishing.Unlock()
		delete(s.subscribers, ch)
		close(ch)
	})
}

// notify replaces what is in the channel. Its only caller holds publishing, so
// nothing else sends.
func notify(ch chan *Snapshot, next *Snapshot) {
	select {
	case <-ch:
	default:
	}
	ch <- next
}
