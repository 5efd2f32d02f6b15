package tasks

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// A session of revision 2025-11-25 may be served by several processes, in each
// of them by a legacyClient. What these must agree on is in the store of the
// Manager, which serves two methods for them:
//
//   - methodKeep makes a task of a result, since the client expects one.
//   - methodAsk decides who asks the client for the input of a task: it is asked
//     once.
//
// They are called within a process only, see within. Results are in the memory of
// the session if no other process can use the store.
const (
	methodKeep = "tenon/tasks/keep"
	methodAsk  = "tenon/tasks/ask"
)

// keepParams is the parameters of methodKeep.
type keepParams struct {
	Result json.RawMessage `json:"result"`
	TTLMs  int64           `json:"ttlMs"`
}

// askParams is the parameters of methodAsk, and its result. With Done, the
// client is not being asked any more.
type askParams struct {
	ID   string   `json:"taskId"`
	Keys []string `json:"keys"`
	Done bool     `json:"done,omitzero"`
}

type insideKey struct{}

// within returns a context for the calls of methods that clients cannot call.
func within(ctx context.Context) context.Context { return context.WithValue(ctx, insideKey{}, true) }

// forSessions returns f for calls with such a context.
func (m *Manager) forSessions(f mcp.HandlerFunc) mcp.HandlerFunc {
	return bounded(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		if ctx.Value(insideKey{}) == nil {
			return mcp.Result{}, mcp.MethodNotFound(c.Method)
		}
		return f(ctx, c)
	})
}

// keep serves methodKeep.
func (m *Manager) keep(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	if !m.shared {
		return mcp.Result{}, mcp.MethodNotFound(c.Method)
	}
	var in keepParams
	if err := c.Decode(&in); err != nil {
		return mcp.Result{}, err
	}
	now := time.Now().Truncate(time.Millisecond)
	ttl := min(m.opts.TTL, duration(&in.TTLMs))
	r := &Record{
		Task:  Task{ID: rand.Text(), Status: Working, CreatedAt: now, LastUpdatedAt: now, TTL: ttl, PollInterval: m.opts.PollInterval},
		Owner: ownerOf(&c.Caller), Expires: now.Add(ttl),
	}
	created := r.Task
	if n := len(in.Result); n > m.opts.MaxResult {
		r.finish(failure(m.tooLarge("result", n)))
	} else {
		r.finish(outcome{status: Completed, result: in.Result})
	}
	if err := m.store.Create(ctx, r, m.opts.MaxTasks); err != nil {
		return mcp.Result{}, m.refused(err)
	}
	return resultOf(created)
}

// ask serves methodAsk: it returns the keys of those open input requests that
// nobody else asks the client. A claim ends with its process, with the response,
// or when Done is set.
func (m *Manager) ask(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	var in askParams
	if err := c.Decode(&in); err != nil {
		return mcp.Result{}, err
	}
	r, err := m.find(ctx, &c.Caller, in.ID)
	if err != nil {
		return mcp.Result{}, err
	}
	if !in.Done {
		err = m.join(ctx) // a claim lasts as long as the lease
	}
	if err != nil {
		return mcp.Result{}, m.failed("ask for input", err)
	}
	me := m.runner + " " + c.Caller.Session.ID()
	for {
		var keys []string
		if in.Done {
			keys = r.stopAsking(me, in.Keys)
		} else if keys, err = m.claim(ctx, r, me, in.Keys); err != nil {
			return mcp.Result{}, m.failed("ask for input", err)
		}
		if len(keys) > 0 {
			err = m.store.Update(ctx, r) // the state that clients see is the same
		}
		if err == nil {
			return resultOf(askParams{ID: in.ID, Keys: keys})
		}
		if !errors.Is(err, ErrConflict) || ctx.Err() != nil {
			return mcp.Result{}, m.explain("ask for input", in.ID, err)
		}
		if r, err = m.store.Get(ctx, in.ID); err != nil {
			return mcp.Result{}, m.explain("ask for input", in.ID, err)
		}
	}
}

// claim notes in a record who asks the client, and returns the keys of the
// requests that nobody else asks.
func (m *Manager) claim(ctx context.Context, r *Record, me string, keys []string) (claimed []string, err error) {
	for _, key := range keys {
		if _, open := r.Task.InputRequests[key]; !open {
			continue
		}
		if other := r.Asking[key]; other != "" && other != me {
			alive, err := m.store.Alive(ctx, runnerOf(other))
			if err != nil {
				return nil, err
			}
			if alive {
				continue
			}
		}
		if r.Asking == nil {
			r.Asking = map[string]string{}
		}
		r.Asking[key] = me
		claimed = append(claimed, key)
	}
	return claimed, nil
}

// stopAsking reverses claim.
func (r *Record) stopAsking(me string, keys []string) []string {
	keys = slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return r.Asking[key] != me })
	for _, key := range keys {
		delete(r.Asking, key)
	}
	return keys
}

// runnerOf returns the Manager in the name of one who asks.
func runnerOf(asks string) string {
	runner, _, _ := strings.Cut(asks, " ")
	return runner
}
