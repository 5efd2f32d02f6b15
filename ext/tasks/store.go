package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// A Store keeps tasks. Implementations are safe for concurrent use, return
// records that the caller may modify, and pass the tests of package
// ext/tasks/storetest.
//
// A store that several processes share makes a change visible to all of them
// before the method that made it returns.
type Store interface {
	// Create stores a new record and sets its Version to 1. If the owner has
	// max or more records already, it stores nothing and returns ErrTooMany.
	Create(ctx context.Context, r *Record, max int) error

	// Get returns a record, or ErrNotFound. A record that has expired is not
	// found.
	Get(ctx context.Context, id string) (*Record, error)

	// Update replaces a record if its version is still r.Version, and
	// increments r.Version. Otherwise it changes nothing and returns
	// ErrConflict, or ErrNotFound.
	Update(ctx context.Context, r *Record) error

	// List returns at most limit records of an owner in the order of their
	// creation, beginning after the record with the id after; "" means with
	// the first.
	List(ctx context.Context, owner, after string, limit int) ([]*Record, error)

	// Watch calls changed after each change of a record by any process, until
	// stop is called. Several changes may cause one call. changed must not
	// block and must not call the store.
	Watch(id string, changed func()) (stop func())
}

// The errors of a Store.
var (
	ErrNotFound = errors.New("task not found")
	ErrConflict = errors.New("task was changed meanwhile")
	ErrTooMany  = errors.New("too many tasks")
)

// A Record is a task as a Store keeps it.
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
	// Lease is until when the process that runs the task is known to be alive.
	Lease time.Time `json:"lease,omitzero"`
	// Responses holds the responses to input requests that the running tool
	// has not received yet, by key.
	Responses map[string]json.RawMessage `json:"responses,omitzero"`
}

// Clone returns a copy that shares no map with r.
func (r *Record) Clone() *Record {
	c := *r
	c.Task.InputRequests = maps.Clone(r.Task.InputRequests)
	c.Responses = maps.Clone(r.Responses)
	c.Task.Result = slices.Clone(r.Task.Result)
	if r.Task.Error != nil {
		e := *r.Task.Error
		c.Task.Error = &e
	}
	return &c
}

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

// finish ends a task unless it has ended.
func (r *Record) finish(status Status, message string, result json.RawMessage, err *mcp.Error) bool {
	if r.Task.Status.Final() {
		return false
	}
	t := &r.Task
	t.Status, t.StatusMessage, t.Result, t.Error = status, message, result, err
	t.InputRequests, r.Responses, r.Lease = nil, nil, time.Time{}
	return true
}
