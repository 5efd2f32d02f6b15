package tasks

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Memory is a Store in the memory of the process. The zero value is ready to
// use.
type Memory struct {
	mu      sync.Mutex
	records map[string]*Record
	order   []string // ids in the order of creation
	watch   watchers
	swept   time.Time
}

var _ Store = (*Memory)(nil)

// sweepEvery is how often expired records are removed that nobody asks for.
const sweepEvery = time.Second

// Create implements [Store].
func (m *Memory) Create(_ context.Context, r *Record, limit int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep(time.Now())
	n := 0
	for _, other := range m.records {
		if other.Owner == r.Owner {
			n++
		}
	}
	if n >= limit {
		return ErrTooMany
	}
	if m.records == nil {
		m.records = map[string]*Record{}
	}
	if m.records[r.Task.ID] != nil {
		return ErrConflict
	}
	r.Version = 1
	m.records[r.Task.ID] = r.Clone()
	m.order = append(m.order, r.Task.ID)
	return nil
}

// Get implements [Store].
func (m *Memory) Get(_ context.Context, id string) (*Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.records[id]
	if r == nil || r.expired(time.Now()) {
		return nil, ErrNotFound
	}
	return r.Clone(), nil
}

// Update implements [Store].
func (m *Memory) Update(_ context.Context, r *Record) error {
	if err := m.update(r); err != nil {
		return err
	}
	m.watch.notify(r.Task.ID)
	return nil
}

func (m *Memory) update(r *Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.records[r.Task.ID]
	switch {
	case old == nil || old.expired(time.Now()):
		return ErrNotFound
	case old.Version != r.Version:
		return ErrConflict
	}
	r.Version++
	m.records[r.Task.ID] = r.Clone()
	return nil
}

// List implements [Store].
func (m *Memory) List(_ context.Context, owner, after string, limit int) ([]*Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep(time.Now())
	start := 0
	if after != "" {
		i := slices.Index(m.order, after)
		if i < 0 {
			return nil, ErrNotFound
		}
		start = i + 1
	}
	var out []*Record
	for _, id := range m.order[start:] {
		if r := m.records[id]; r.Owner == owner && len(out) < limit {
			out = append(out, r.Clone())
		}
	}
	return out, nil
}

// Watch implements [Store].
func (m *Memory) Watch(id string, changed func()) (stop func()) { return m.watch.add(id, changed) }

// sweep removes expired records.
func (m *Memory) sweep(now time.Time) {
	if now.Sub(m.swept) < sweepEvery {
		return
	}
	m.swept = now
	maps.DeleteFunc(m.records, func(_ string, r *Record) bool { return r.expired(now) })
	m.order = slices.DeleteFunc(m.order, func(id string) bool { return m.records[id] == nil })
}

func (r *Record) expired(now time.Time) bool { return !r.Expires.IsZero() && !now.Before(r.Expires) }

// watchers calls functions when a record changes.
type watchers struct {
	mu   sync.Mutex
	next int
	byID map[string]map[int]func()
}

func (w *watchers) add(id string, changed func()) (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byID == nil {
		w.byID = map[string]map[int]func(){}
	}
	if w.byID[id] == nil {
		w.byID[id] = map[int]func(){}
	}
	n := w.next
	w.next++
	w.byID[id][n] = changed
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.byID[id], n)
		if len(w.byID[id]) == 0 {
			delete(w.byID, id)
		}
	}
}

func (w *watchers) notify(id string) {
	w.mu.Lock()
	fs := slices.Collect(maps.Values(w.byID[id]))
	w.mu.Unlock()
	for _, f := range fs {
		f()
	}
}
