package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/builtin/api/expr"
	"github.com/tenon-mcp/tenon/builtin/api/spec"
	"github.com/tenon-mcp/tenon/builtin/api/upstream"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A followUp is a compiled request after the first one.
type followUp struct {
	*step
	when *expr.Query
}

func (c *compiler) followUp(path string, s *spec.Then, reads bool) followUp {
	out := followUp{c.step(path, &s.Request, nil, nil, nil, nil, reads), c.query(path+".when", s.When)}
	out.follows = true
	return out
}

// sendKeyed sends the main request of a tool with its idempotency key.
func (v *service) sendKeyed(ctx context.Context, c *mcp.Call, t *tool, sc *scope) (*answer, error) {
	r, err := v.build(ctx, t.main.request, sc)
	if err != nil {
		return nil, err
	}
	if t.key != nil && t.key.header != "" {
		r.Header.Set(t.key.header, sc.vars.Key)
	}
	return v.exchange(ctx, c, t.main, sc, r)
}

// follow sends a follow-up request; $prev is the body of the answer before it.
func (v *service) follow(ctx context.Context, c *mcp.Call, f followUp, sc *scope, before *answer) (*answer, error) {
	sc.vars.Prev, sc.vars.Steps = before.body, append(sc.vars.Steps, before.body)
	if f.when != nil {
		if yes, err := f.when.True(ctx, sc.args, &sc.vars); err != nil || !yes {
			return before, err
		}
	}
	r, err := v.build(ctx, f.request, sc)
	if err != nil { // of an answer that is not as the file expects
		return nil, fmt.Errorf("the first request succeeded, but the next one cannot be made: %s", valueInError.ReplaceAllString(err.Error(), ""))
	}
	a, err := v.exchange(ctx, c, f.step, sc, r)
	if err != nil {
		return nil, fmt.Errorf("the first request succeeded, but the next one failed: %w", err)
	}
	return a, nil
}

// A poll is compiled polling for the result of long work.
type poll struct {
	when, done, failed   *expr.Query
	url, result, message *expr.Template
	every, timeout       time.Duration
	as                   string         // of the result
	progress             [3]*expr.Query // done, total, message
}

func (c *compiler) poll(path string, s *spec.Task) *poll {
	if s == nil {
		return nil
	}
	p := &poll{
		when: c.query(path+".when", cmp.Or(s.When, "$status == 202")), done: c.query(path+".done", cmp.Or(s.Done, "$status != 202")),
		failed: c.query(path+".failed", s.Failed), url: c.text(path+".url", s.URL, false), result: c.text(path+".result", s.Result, false),
		message: c.text(path+".message", s.Message, false), every: cmp.Or(s.Every, 2*time.Second), timeout: cmp.Or(s.Timeout, 10*time.Minute),
	}
	if s.Progress != nil {
		for i, source := range []string{s.Progress.Done, s.Progress.Total, s.Progress.Message} {
			p.progress[i] = c.query(path+".progress", source)
		}
	}
	return p
}

// wait polls until the work is done and returns the answer with the result.
func (v *service) wait(ctx context.Context, c *mcp.Call, t *tool, sc *scope, a *answer) (*answer, error) {
	p, main := t.task, t.main
	yes, err := p.when.True(ctx, a.body, &sc.vars)
	if err != nil {
		return nil, t.acted(v.unexpected(err))
	}
	if !yes {
		return a, nil
	}
	link := a.header.Get("Location")
	if p.url != nil {
		if link, err = p.url.Text(ctx, a.body, &sc.vars); err != nil {
			return nil, v.unexpected(err)
		}
	}
	if link == "" {
		return nil, v.unexpected(errors.New("it does not say where to ask for the result"))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.timeout, fmt.Errorf("%s: the work was not done within %s; it may still go on", v.title, p.timeout))
	defer cancel()
	get := &step{request: &request{method: http.MethodGet}, faults: main.faults, retry: main.retry, timeout: main.timeout, follows: true}
	get.retry.Safe = true
	if p.result == nil {
		get.as = p.as
	}
	for from := a; ; {
		if err := pause(ctx, p.pause(from)); err != nil {
			return nil, cmp.Or(context.Cause(ctx), err)
		}
		now, err := v.getURL(ctx, c, get, sc, a, link)
		if err != nil {
			return nil, t.started(err)
		}
		ended, err := p.ended(ctx, v, sc, now)
		if err != nil {
			return nil, err
		}
		if ended {
			res, err := v.fetchResult(ctx, c, p, get, sc, now)
			return res, t.started(err)
		}
		p.report(ctx, c, v, sc, now)
		from = now
	}
}

// started adds to an error of a request about work that goes on or is done: the model
// must not start it a second time.
func (t *tool) started(err error) error {
	if err == nil || t.readOnly || passes(err) {
		return err
	}
	return fmt.Errorf("the work was started, but asking for its result failed: %w. Do not start it again", err)
}

// pause returns the time until the next request.
func (p *poll) pause(a *answer) time.Duration {
	if told, ok := upstream.Wait(a.header, time.Now()); ok {
		return min(max(told, time.Second), time.Minute)
	}
	return p.every
}

// getURL requests a URL that an answer contains.
func (v *service) getURL(ctx context.Context, c *mcp.Call, s *step, sc *scope, from *answer, link string) (*answer, error) {
	target, err := from.url.Parse(link)
	if err == nil {
		err = v.client.Allowed(target)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: the address of the result is refused: %w", v.title, err)
	}
	return v.exchange(ctx, c, s, sc, &upstream.Request{Method: http.MethodGet, URL: target, Header: v.headers.Clone()})
}

// ended reports whether the work is done; its error says that it has failed.
func (p *poll) ended(ctx context.Context, v *service, sc *scope, a *answer) (bool, error) {
	if p.failed != nil {
		if yes, err := p.failed.True(ctx, a.body, &sc.vars); err == nil && yes {
			text := v.reason(a.body)
			if p.message != nil {
				if said, err := p.message.Text(ctx, a.body, &sc.vars); err == nil {
					text = said
				}
			}
			return false, fmt.Errorf("%s: the work has failed: %s", v.title, text)
		}
	}
	done, err := p.done.True(ctx, a.body, &sc.vars)
	if err != nil {
		return false, v.unexpected(err)
	}
	return done, nil
}

func (v *service) fetchResult(ctx context.Context, c *mcp.Call, p *poll, get *step, sc *scope, a *answer) (*answer, error) {
	if p.result == nil {
		return a, nil
	}
	link, err := p.result.Text(ctx, a.body, &sc.vars)
	if err != nil || link == "" {
		return a, err
	}
	last := *get
	last.as = p.as
	return v.getURL(ctx, c, &last, sc, a, link)
}

// report sends the progress of the work to the client.
func (p *poll) report(ctx context.Context, c *mcp.Call, v *service, sc *scope, a *answer) {
	if p.progress[0] == nil {
		return
	}
	var numbers [2]float64
	for i := range numbers {
		if p.progress[i] == nil {
			continue
		}
		found, err := p.progress[i].One(ctx, a.body, &sc.vars)
		if err != nil {
			return
		}
		switch n := found.(type) {
		case int:
			numbers[i] = float64(n)
		case float64:
			numbers[i] = n
		}
	}
	message := ""
	if p.progress[2] != nil {
		if found, err := p.progress[2].One(ctx, a.body, &sc.vars); err == nil {
			message = expr.Text(found)
		}
	}
	server.Progress(c, numbers[0], numbers[1], v.hidden(message))
}

// callBatch sends one request for each item of a parameter, some at once. An item
// that fails does not end the others.
func (e *engine) callBatch(ctx context.Context, c *mcp.Call, v *service, t *tool, sc *scope) (*mcp.CallToolResult, error) {
	items, ok := sc.args[t.batch.Over].([]any)
	if !ok || len(items) == 0 {
		return nil, fmt.Errorf("argument %q must be an array with at least one item", t.batch.Over)
	}
	if _, err := v.client.Credential.Ready(ctx, c); err != nil { // logs in once, before anything is sent
		return nil, err
	}
	results := make([]any, len(items))
	slots := make(chan struct{}, or(t.batch.Concurrency, 4))
	var wg sync.WaitGroup
	failed := 0
	var done atomic.Int32
	var mu sync.Mutex
	for i, item := range items {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			value, err := e.oneOfBatch(ctx, c, v, t, sc.with(t.batch.As, item), i)
			row := map[string]any{t.batch.As: item, "result": value}
			if err != nil {
				delete(row, "result")
				row["error"] = e.hidden(err.Error())
				mu.Lock()
				failed++
				mu.Unlock()
			}
			results[i] = row
			server.Progress(c, float64(done.Add(1)), float64(len(items)), "")
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return e.finish(ctx, c, v, t, sc, map[string]any{"results": results, "failed": failed}, nil)
}

// oneOfBatch sends the request of one item and shapes its answer.
func (e *engine) oneOfBatch(ctx context.Context, c *mcp.Call, v *service, t *tool, sc *scope, i int) (any, error) {
	if err := t.key.ofItem(ctx, sc, i); err != nil {
		return nil, err
	}
	if err := e.readFiles(ctx, c, v, t, sc); err != nil {
		return nil, err
	}
	a, err := v.run(ctx, c, t, sc)
	if err != nil {
		return nil, err
	}
	value, err := t.output.shape(ctx, v, sc, a.body)
	return value, t.acted(err)
}
