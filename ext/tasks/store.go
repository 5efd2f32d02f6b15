package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// A Store keeps tasks. Implementations are safe for concurrent use, return
// records that the caller may modify, end a method when its context ends, and
// pass the tests of package ext/tasks/storetest.
//
// A store that several processes share makes a change visible to all of them
// before the method that made it returns, and a store that survives a restart
// makes it durable. After an error other than those of this package the change
// may have been made or not.
type Store interface {
	// Create stores a new record and sets its Version to 1. If the owner has
	// max or more records already, it stores nothing and returns ErrTooMany;
	// records that have expired do not count. If the store has no room, it
	// returns ErrFull; if the id exists, ErrConflict.
	Create(ctx context.Context, r *Record, max int) error

	// Get returns a record, or ErrNotFound. A record that has expired is not
	// found.
	Get(ctx context.Context, id string) (*Record, error)

	// Left returns how long a record is still kept, by the clock of the store,
	// or ErrNotFound; 0 means without limit. The clock of the process that
	// created the record, by which Expires was set, may be wrong.
	Left(ctx context.Context, id string) (time.Duration, error)

	// Update replaces a record if its version is still r.Version, and
	// increments r.Version. Otherwise it changes nothing and returns
	// ErrConflict, or ErrNotFound. The owner, the tool and the time of creation
	// of a record never change.
	Update(ctx context.Context, r *Record) error

	// List returns at most limit records of an owner in the order of their
	// cursors, beginning after the given one, whose record may be gone; the
	// zero Cursor comes before all. The records have no Task.Result.
	List(ctx context.Context, owner string, after Cursor, limit int) ([]*Record, error)

	// Watch calls changed after each change of a record by any process, until
	// stop is called. Several changes may cause one call, and there may be
	// calls without a change, but after the last change there is a call.
	// changed must not block and must not call the store.
	Watch(id string, changed func()) (stop func())

	// Renew declares that a runner, a process that runs tasks, is alive: Alive
	// reports true for it until d has passed by the clock of the store. A d of
	// 0 declares that the runner has stopped.
	Renew(ctx context.Context, runner string, d time.Duration) error

	// Alive reports whether a runner is alive. A store that can tell whether
	// the process exists reports that instead of the time since Renew.
	Alive(ctx context.Context, runner string) (bool, error)

	// Interrupted returns the ids of at most limit records whose tasks have not
	// ended and whose runners are not alive any more. A record whose runner was
	// never declared alive may be left out.
	Interrupted(ctx context.Context, limit int) ([]string, error)
}

// The errors of a Store.
var (
	ErrNotFound = errors.New("task not found")
	ErrConflict = errors.New("task was changed meanwhile")
	ErrTooMany  = errors.New("too many tasks")
	ErrFull     = errors.New("the task store is full")
)

// A Record is a task as a Store keeps it. Its times have a resolution of one
// millisecond.
type Record struct {
	Task Task `json:"task"`

	// Version counts the changes of the record.
	Version int64 `json:"version"`
	// Owner is the key of the principal that created the task, see
	// [mcp.Principal.Key]; "" if nobody was authenticated.
	Owner string `json:"owner,omitzero"`
	// Tool is the name of the tool.
	Tool string `json:"tool,omitzero"`
	// Expires is when the store removes the record; the zero time means never.
	Expires time.Time `json:"expires,omitzero"`
	// Runner identifies the Manager that runs the task. If it is not alive, a
	// task that has not ended was interrupted.
	Runner string `json:"runner,omitzero"`
	// Attempts counts the Managers that have begun to run the task.
	Attempts int `json:"attempts,omitzero"`
	// Call is what another Manager needs to take over the task; nil if none may.
	Call json.RawMessage `json:"call,omitzero"`
	// Responses holds the responses to input requests of the current round, by
	// key.
	Responses map[string]json.RawMessage `json:"responses,omitzero"`
	// Asking says by whom a client of an older revision is being asked for
	// input, by the key of the request.
	Asking map[string]string `json:"asking,omitzero"`
}

// Clone returns a copy that shares no map with r.
func (r *Record) Clone() *Record {
	c := *r
	c.Task.InputRequests = maps.Clone(r.Task.InputRequests)
	c.Responses, c.Asking = maps.Clone(r.Responses), maps.Clone(r.Asking)
	c.Task.Result = slices.Clone(r.Task.Result)
	c.Call = slices.Clone(r.Call)
	if r.Task.Error != nil {
		e := *r.Task.Error
		c.Task.Error = &e
	}
	return &c
}

// Expired reports whether the record has expired at a time.
func (r *Record) Expired(at time.Time) bool { return !r.Expires.IsZero() && !at.Before(r.Expires) }

// left returns how long the record is kept after a time.
func (r *Record) left(at time.Time) (time.Duration, error) {
	switch {
	case r.Expires.IsZero():
		return 0, nil
	case r.Expired(at):
		return 0, ErrNotFound
	}
	return r.Expires.Sub(at), nil
}

// Cursor returns the place of the record in a list.
func (r *Record) Cursor() Cursor { return Cursor{Created: r.Task.CreatedAt, ID: r.Task.ID} }

// A Cursor is a place in the list of an owner's records, which is ordered by
// the time of creation in milliseconds and then by id.
type Cursor struct {
	Created time.Time
	ID      string
}

// Compare returns -1, 0 or 1 if c comes before, at or after d.
func (c Cursor) Compare(d Cursor) int {
	return cmp.Or(cmp.Compare(c.millis(), d.millis()), cmp.Compare(c.ID, d.ID))
}

func (c Cursor) millis() int64 { return c.Created.UnixMilli() }

// change applies f to a record until no other change comes between. f returns
// false if there is nothing to change.
func change(ctx context.Context, s Store, id string, f func(r *Record) bool) (*Record, error) {
	for {
		r, err := s.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		if !f(r) {
			return r, nil
		}
		r.Task.LastUpdatedAt = time.Now()
		switch err := s.Update(ctx, r); {
		case err == nil:
			return r, nil
		case !errors.Is(err, ErrConflict):
			return nil, err
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
	}
}

// An outcome is how a task ends.
type outcome struct {
	status  Status
	message string
	result  json.RawMessage
	failure *mcp.Error
}

// failure returns the outcome of a task that ends with an error.
func failure(e *mcp.Error) outcome { return outcome{status: Failed, message: e.Message, failure: e} }

// finish ends a task unless it has ended.
func (r *Record) finish(o outcome) bool {
	if r.Task.Status.Final() {
		return false
	}
	t := &r.Task
	t.Status, t.StatusMessage, t.Result, t.Error = o.status, o.message, o.result, o.failure
	t.InputRequests, r.Responses, r.Asking, r.Call = nil, nil, nil, nil
	return true
}

// Watchers implements the method Watch of a [Store] within one process. The
// zero value is ready to use.
type Watchers struct {
	mu   sync.Mutex
	next int
	byID map[string]map[int]func()
}

// Watch calls changed at each Notify for the id, until stop is called.
func (w *Watchers) Watch(id string, changed func()) (stop func()) {
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

// Notify calls the functions that watch a record.
func (w *Watchers) Notify(id string) {
	w.mu.Lock()
	fs := slices.Collect(maps.Values(w.byID[id]))
	w.mu.Unlock()
	for _, f := range fs {
		f()
	}
}

// NotifyAll calls the functions that watch any record. A store uses it when it
// may have missed changes.
func (w *Watchers) NotifyAll() {
	var fs []func()
	w.mu.Lock()
	for _, watching := range w.byID {
		fs = slices.AppendSeq(fs, maps.Values(watching))
	}
	w.mu.Unlock()
	for _, f := range fs {
		f()
	}
}

// Any reports whether any record is watched.
func (w *Watchers) Any() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.byID) > 0
}
