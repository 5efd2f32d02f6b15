package tasks_test

import (
	"context"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/ext/tasks/storetest"
)

// sharedMemory returns a function that returns the same store within one test.
func sharedMemory() func(t *testing.T) tasks.Store {
	stores := map[string]*tasks.Memory{}
	return func(t *testing.T) tasks.Store {
		if stores[t.Name()] == nil {
			stores[t.Name()] = &tasks.Memory{}
		}
		return stores[t.Name()]
	}
}

func TestMemory(t *testing.T) { storetest.Run(t, sharedMemory()) }

func TestManagersShareMemory(t *testing.T) { storetest.RunManagers(t, sharedMemory()) }

// behind is a store in whose records the times of other processes are two hours
// late, since the clock of this one is that much ahead.
type behind struct{ tasks.Store }

const skew = 2 * time.Hour

func (s behind) Get(ctx context.Context, id string) (*tasks.Record, error) {
	r, err := s.Store.Get(ctx, id)
	if err == nil {
		r.Expires = r.Expires.Add(-skew)
	}
	return r, err
}

func (s behind) Update(ctx context.Context, r *tasks.Record) error {
	c := r.Clone()
	c.Expires = c.Expires.Add(skew)
	err := s.Store.Update(ctx, c)
	r.Version = c.Version
	return err
}

// A task that was taken over has the time that the store says, whatever the clocks
// of the processes say.
func TestManagersWithWrongClocks(t *testing.T) {
	open := sharedMemory()
	storetest.RunManagers(t, func(t *testing.T) tasks.Store { return behind{open(t)} })
}
