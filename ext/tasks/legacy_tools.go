package tasks

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// listTools says which tools the client may call as tasks. If no tool says
// whether it can be one, each can, since the server decides that.
func (l *legacyClient) listTools(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	res, err := l.server.Serve(ctx, c)
	if err != nil {
		return res, err
	}
	if res.Body, err = projected.of(res.Body, l.core); err != nil {
		return mcp.Result{}, err
	}
	return res, nil
}

// projected has the lists of tools that clients were sent last. Most sessions of a
// server have the same list.
var projected projections

// projections keeps lists of tools as clients see them, the last used first. They
// depend on the bytes of a list alone.
type projections struct {
	mu     sync.Mutex
	recent []projection
}

type projection struct {
	list, seen []byte
	core       bool // seen in the revision that has tasks
}

const (
	maxProjections = 16
	maxListSize    = 1 << 20 // in bytes; longer ones are not kept
)

func (p *projections) of(list json.RawMessage, core bool) (json.RawMessage, error) {
	if seen := p.find(list, core); seen != nil {
		return seen, nil
	}
	seen, err := projectTools(list, core)
	if err != nil || len(list) > maxListSize {
		return seen, err
	}
	seen = slices.Clip(seen) // sessions share it
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recent = slices.Insert(p.recent[:min(len(p.recent), maxProjections-1)], 0, projection{list, seen, core})
	return seen, nil
}

func (p *projections) find(list []byte, core bool) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, one := range p.recent {
		if one.core == core && bytes.Equal(one.list, list) {
			copy(p.recent[1:], p.recent[:i])
			p.recent[0] = one
			return one.seen
		}
	}
	return nil
}

func projectTools(body json.RawMessage, core bool) (json.RawMessage, error) {
	page, err := readMembers(body)
	if err != nil {
		return nil, err
	}
	var tools []map[string]json.RawMessage
	if page["tools"] != nil {
		if err := mcp.Unmarshal(page["tools"], &tools); err != nil {
			return nil, err
		}
	}
	declared := slices.ContainsFunc(tools, func(t map[string]json.RawMessage) bool { return t["execution"] != nil })
	for _, t := range tools {
		switch {
		case !core:
			delete(t, "execution")
		case !declared:
			t["execution"] = json.RawMessage(`{"taskSupport":"optional"}`)
		}
	}
	if page["tools"], err = mcp.Marshal(tools); err != nil {
		return nil, err
	}
	return page.json(), nil
}

// call serves tools/call: as a task if the client says so.
func (l *legacyClient) call(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	params, err := readMembers(c.Params)
	if err != nil {
		return mcp.Result{}, mcp.InvalidParams("%v", err)
	}
	wish, asTask := params["task"]
	copied := *c
	if asTask {
		delete(params, "task")
		copied.Params = params.json()
	}
	if !asTask || !l.core {
		return l.callAndWait(ctx, &copied)
	}
	var in struct {
		TTL *int64 `json:"ttl,omitzero"`
	}
	if err := mcp.Unmarshal(wish, &in); err != nil {
		return mcp.Result{}, mcp.InvalidParams("task: %v", err)
	}
	if err := l.room(); err != nil {
		return mcp.Result{}, err
	}
	call := l.waiting.callers.declare(&copied)
	call.Progress = false // the call ends when the task begins
	res, err := l.server.Serve(ctx, call)
	if err != nil {
		return mcp.Result{}, err
	}
	t := Task{}
	if res.Type != ResultType {
		t, err = l.keep(ctx, call, withMeta(res.Body, res.Meta), duration(in.TTL))
	} else if err = res.Decode(&t); err == nil {
		l.add(t, nil)
	}
	if err != nil {
		return mcp.Result{}, err
	}
	if res.Type == ResultType && !t.Status.Final() {
		go l.follow(call.Caller, t)
	}
	t.Status = Working // as that revision demands, whatever it is by now
	return resultOf(map[string]legacyTask{"task": toLegacy(t)})
}

// callAndWait serves a call whose result the client waits for. A tool that is
// always a task refuses that; the client waits for the task then, unless its
// revision has tasks and the list says that the tool must be called as one.
func (l *legacyClient) callAndWait(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	if _, waits := parseRound(c.State); waits {
		return l.waiting.serve(ctx, c)
	}
	res, err := l.server.Serve(ctx, undeclare(c))
	e, failed := errors.AsType[*mcp.Error](err)
	switch {
	case !failed || e.Code != mcp.CodeMissingCapability || !bytes.Contains(e.Data, []byte(ExtensionID)):
		return res, err
	case l.core && l.requires(ctx, c):
		return mcp.Result{}, mcp.Errorf(mcp.CodeMethodNotFound, "this tool must be called as a task: add the parameter task")
	}
	return l.waiting.serve(ctx, c)
}

// requires reports whether the list says that a tool must be called as a task.
// A server that says nothing in its list may still require it.
func (l *legacyClient) requires(ctx context.Context, c *mcp.Call) bool {
	name, _, err := mcp.DecodeCallToolParams(c.Params)
	if err != nil {
		return false
	}
	support := ""
	_ = eachTool(ctx, l.server, &c.Caller, func(tool, says string) bool {
		if tool == name {
			support = says
		}
		return tool != name
	})
	return support == "required"
}

// undeclare returns a copy of the call of a client that does not support the
// extension: no older revision has it.
func undeclare(c *mcp.Call) *mcp.Call {
	if !declares(&c.Caller) {
		return c
	}
	copied := *c
	can := *c.Caller.Capabilities
	can.Extensions = maps.Clone(can.Extensions)
	delete(can.Extensions, ExtensionID)
	copied.Caller.Capabilities = &can
	return &copied
}

// keep makes the result of a call that was no task one, since the client expects
// that. A task begins with the status working. The server keeps it if other
// processes serve the session, too.
func (l *legacyClient) keep(ctx context.Context, c *mcp.Call, body json.RawMessage, ttl time.Duration) (t Task, err error) {
	if ttl <= 0 || ttl > maxOwnTTL {
		ttl = maxOwnTTL
	}
	res, err := request(within(ctx), l.server, c, methodKeep, keepParams{Result: body, TTLMs: ttl.Milliseconds()})
	if err == nil {
		if err = res.Decode(&t); err == nil {
			l.add(t, nil)
		}
	}
	if !isMethodNotFound(err) {
		return t, err
	}
	now := time.Now()
	t = Task{ID: rand.Text(), Status: Completed, CreatedAt: now, LastUpdatedAt: now, TTL: ttl, PollInterval: time.Second, Result: body}
	own := t
	l.add(t, &own)
	t.Status, t.Result = Working, nil
	return t, nil
}

func isMethodNotFound(err error) bool {
	e, ok := errors.AsType[*mcp.Error](err)
	return ok && e.Code == mcp.CodeMethodNotFound
}
