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
	// MaxBytes is about how much memory the records take before new ones are
	// refused; records that exist may grow beyond it. 0 means 256 MiB.
	MaxBytes int64

	mu      sync.Mutex
	records map[string]*Record
	owners  map[string]map[string]*Record // by owner and id
	runners map[string]time.Time          // until when each is alive
	bytes   int64
	swept   time.Time
	watch   Watchers
}

var _ Store = (*Memory)(nil)

// sweepEvery is how often expired records are removed that nobody asks for.
const sweepEvery = time.Second

// Create implements [Store].
func (m *Memory) Create(ctx context.Context, r *Record, limit int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if now.Sub(m.swept) >= sweepEvery {
		m.swept = now
		m.sweep(m.records, now)
	}
	if len(m.owners[r.Owner]) >= limit {
		m.sweep(m.owners[r.Owner], now)
	}
	switch {
	case len(m.owners[r.Owner]) >= limit:
		return ErrTooMany
	case m.records[r.Task.ID] != nil:
		return ErrConflict
	case m.full(r):
		return ErrFull
	}
	r.Version = 1
	m.put(r.Clone())
	return nil
}

// full reports whether there is no room for another record.
func (m *Memory) full(r *Record) bool {
	most := m.MaxBytes
	if most <= 0 {
		most = 256 << 20
	}
	return m.bytes+r.size() > most
}

// put adds or replaces a record.
func (m *Memory) put(r *Record) {
	if m.records == nil {
		m.records, m.owners = map[string]*Record{}, map[string]map[string]*Record{}
	}
	if m.owners[r.Owner] == nil {
		m.owners[r.Owner] = map[string]*Record{}
	}
	if old := m.records[r.Task.ID]; old != nil {
		m.bytes -= old.size()
	}
	m.bytes += r.size()
	m.records[r.Task.ID], m.owners[r.Owner][r.Task.ID] = r, r
}

// size returns about how many bytes a record takes.
func (r *Record) size() int64 {
	n := 1024 + len(r.Owner) + len(r.Tool) + len(r.Call) + len(r.Task.StatusMessage) + len(r.Task.Result)
	for key, q := range r.Task.InputRequests {
		n += len(key) + len(q.Params)
	}
	for key, response := range r.Responses {
		n += len(key) + len(response)
	}
	if e := r.Task.Error; e != nil {
		n += len(e.Message) + len(e.Data)
	}
	return int64(n)
}

// Get implements [Store].
func (m *Memory) Get(ctx context.Context, id string) (*Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.records[id]
	if r == nil || r.Expired(time.Now()) {
		return nil, ErrNotFound
	}
	return r.Clone(), nil
}

// Left implements [Store].
func (m *Memory) Left(ctx context.Context, id string) (time.Duration, error) {
	r, err := m.Get(ctx, id)
	if err != nil {
		return 0, err
	}
	return r.left(time.Now())
}

// Update implements [Store].
func (m *Memory) Update(ctx context.Context, r *Record) error {
	if err := m.update(ctx, r); err != nil {
		return err
	}
	m.watch.Notify(r.Task.ID)
	return nil
}

func (m *Memory) update(ctx context.Context, r *Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.records[r.Task.ID]
	switch {
	case old == nil || old.Expired(time.Now()):
		return ErrNotFound
	case old.Version != r.Version:
		return ErrConflict
	}
	r.Version++
	m.put(r.Clone())
	return nil
}

// List implements [Store].
func (m *Memory) List(ctx context.Context, owner string, after Cursor, limit int) ([]*Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	var all []*Record
	for _, r := range m.owners[owner] {
		if !r.Expired(now) && (after.ID == "" || r.Cursor().Compare(after) > 0) {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *Record) int { return a.Cursor().Compare(b.Cursor()) })
	out := make([]*Record, min(len(all), limit))
	for i := range out {
		handle := *all[i]
		handle.Task.Result = nil
		out[i] = handle.Clone()
	}
	return out, nil
}

// Watch implements [Store].
func (m *Memory) Watch(id string, changed func()) (stop func()) { return m.watch.Watch(id, changed) }

// Renew implements [Store].
func (m *Memory) Renew(ctx context.Context, runner string, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(m.runners, func(_ string, until time.Time) bool { return !now.Before(until) })
	if m.runners == nil {
		m.runners = map[string]time.Time{}
	}
	m.runners[runner] = now.Add(d)
	return nil
}

// Alive implements [Store].
func (m *Memory) Alive(ctx context.Context, runner string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Now().Before(m.runners[runner]), nil
}

// Interrupted implements [Store].
func (m *Memory) Interrupted(ctx context.Context, limit int) (ids []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	for id, r := range m.records {
		if len(ids) == limit {
			break
		}
		if !r.Task.Status.Final() && !r.Expired(now) && !now.Before(m.runners[r.Runner]) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// sweep removes those of some records that have expired.
func (m *Memory) sweep(some map[string]*Record, now time.Time) {
	for id, r := range some {
		if !r.Expired(now) {
			continue
		}
		m.bytes -= r.size()
		delete(m.records, id)
		if delete(m.owners[r.Owner], id); len(m.owners[r.Owner]) == 0 {
			delete(m.owners, r.Owner)
		}
	}
}
