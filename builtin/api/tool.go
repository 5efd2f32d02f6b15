package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/auth/fetch"
	"github.com/tenon-mcp/tenon/builtin/api/expr"
	"github.com/tenon-mcp/tenon/builtin/api/spec"
	"github.com/tenon-mcp/tenon/builtin/api/upstream"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/schema"
)

// A tool is a compiled tool.
type tool struct {
	spec     mcp.Tool
	name     string
	readOnly bool
	defaults map[string]any // of its parameters
	lookup   *lookup
	confirm  *confirm
	key      *keyRule
	main     *step
	then     []followUp
	batch    *spec.Batch
	files    []fileRule
	task     *poll
	output   *output
	results  *schema.Validator // of the structured content; nil if there is no schema
}

// A lookup is a compiled read before a request.
type lookup struct {
	*step
	when *expr.Query
	jq   *expr.Query
}

var toolNames = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// tool compiles a tool.
func (c *compiler) tool(path, name string, s *spec.Tool) {
	if !toolNames.MatchString(name) {
		c.fail(path, "a name has 1 to 64 letters, digits, - and _, which every client accepts")
	}
	t := &tool{name: name, batch: s.Batch}
	before := len(c.found)
	params := c.file.Names(path + ".params")
	c.parameters(path, "params", params)
	if c.known != nil {
		c.known = append(c.known, "cursor", "limit")
	}
	if s.Batch != nil {
		c.knows(path+".batch.over", s.Batch.Over)
		if c.known != nil {
			c.known = append(c.known, s.Batch.As)
		}
	}
	c.combinations(path, s)
	c.filesAt = path + ".files"
	t.files = c.uploads(c.filesAt, s.Files)
	defer func() { c.known, c.fileNames, c.filesAt, c.contentUses = nil, nil, "", nil }()
	reads := s.ReadOnly != nil && *s.ReadOnly
	t.main = c.step(path, &s.Request, s.Paginate, s.Error, s.Retry, s.Cache, reads)
	t.main.timeout, t.main.reports = s.Timeout, true
	if s.Lookup != nil {
		t.lookup = c.lookup(path+".lookup", s.Lookup)
	}
	t.confirm, t.key = c.confirm(path, s.Confirm), c.key(path, s.Idempotency)
	t.main.once = t.key != nil && !t.key.args && t.key.template == nil
	if t.key != nil && t.key.header != "" && (s.Retry == nil || s.Retry.Safe == nil) {
		t.main.retry.Safe = true
	}
	for i := range s.Then {
		t.then = append(t.then, c.followUp(fmt.Sprintf("%s.then[%d]", path, i), &s.Then[i], reads))
	}
	if then, err := json.Marshal(s.Then); err == nil && (bytes.Contains(then, []byte("$prev.")) || bytes.Contains(then, []byte("$steps["))) {
		t.main.json = true
	}
	t.readOnly = reads || s.ReadOnly == nil && !t.writes(len(t.then))
	if s.Paginate != nil && !t.readOnly {
		c.fail(path+".paginate", "each page sends the request again, so that the tool must only read: say readonly: true if a %s only reads here", t.main.request.method)
	}
	t.task = c.poll(path+".task", s.Task)
	t.output = c.output(path+".output", s.Output)
	last := t.main // whose response is the result
	if n := len(t.then); n > 0 {
		last = t.then[n-1].step
	}
	last.json = last.json || t.output.jq != nil
	if t.task != nil {
		t.task.as = t.output.as
	}
	if t.task == nil || t.task.result == nil {
		last.as = t.output.as
	}
	c.declare(path, t, s, params)
	c.unusedFiles(path, t, before)
	c.unused(path, s, params, before)
	c.tools[name] = t
}

// combinations reports members that have no effect together.
func (c *compiler) combinations(path string, s *spec.Tool) {
	out := cmp.Or(s.Output, &spec.Output{})
	for _, one := range []struct {
		both         bool
		member, with string
	}{
		{s.Paginate != nil && s.Batch != nil, "batch", "paginate"},
		{s.Task != nil && s.Batch != nil, "batch", "task"},
		{s.Paginate != nil && len(s.Then) > 0, "then", "paginate"},
		{s.Paginate != nil && s.Task != nil, "task", "paginate"},
		{s.Paginate != nil && s.Idempotency != nil, "idempotency", "paginate"},
		{s.Paginate != nil && out.As == "file", "output.as", "paginate"},
		{s.Paginate != nil && len(s.Files) > 0, "files", "paginate"},
		{s.Batch != nil && out.Text != "", "output.text", "batch"},
		{s.Batch != nil && out.As == "file", "output.as", "batch"},
		{s.Batch != nil && out.Name != "", "output.name", "batch"},
	} {
		if one.both {
			c.fail(path+"."+one.member, "cannot be combined with %s", one.with)
		}
	}
}

// declare makes the definition that clients see.
func (c *compiler) declare(path string, t *tool, s *spec.Tool, params []string) {
	before := len(c.found)
	in := c.inputSchema(path, t, s, params)
	t.spec = mcp.Tool{Name: t.name, Title: s.Title, Description: s.Description, InputSchema: in, Annotations: annotations(t, s)}
	if t.output.schema != nil {
		var err error
		if t.spec.OutputSchema, err = t.resultSchema(); err == nil {
			t.results, err = schema.NewValidator(t.spec.OutputSchema, nil)
		}
		if err != nil {
			c.fail(path+".output.schema", "%v", err)
		}
	}
	c.headers(path, in, params, s, before)
	if err := t.spec.Check(); err != nil && len(c.found) == before && toolNames.MatchString(t.name) {
		c.fail(path, "%v", err)
	}
}

// annotations returns the hints of a tool, by default from its method.
func annotations(t *tool, s *spec.Tool) *mcp.ToolAnnotations {
	own := s.Annotations
	yes, no := true, false
	a := &mcp.ToolAnnotations{ReadOnlyHint: &t.readOnly, OpenWorldHint: &yes}
	if t.readOnly {
		a.DestructiveHint = &no
	}
	once := s.Retry != nil && s.Retry.Safe != nil && !*s.Retry.Safe
	idempotent := t.readOnly || !once && t.main.request.idempotent() && !slices.ContainsFunc(t.then, func(f followUp) bool { return !f.request.idempotent() })
	a.IdempotentHint = &idempotent
	if own != nil {
		a.ReadOnlyHint = cmp.Or(own.ReadOnlyHint, a.ReadOnlyHint)
		a.DestructiveHint = cmp.Or(own.DestructiveHint, a.DestructiveHint)
		a.IdempotentHint = cmp.Or(own.IdempotentHint, a.IdempotentHint)
		a.OpenWorldHint = cmp.Or(own.OpenWorldHint, a.OpenWorldHint)
	}
	return a
}

func (c *compiler) lookup(path string, s *spec.Lookup) *lookup {
	l := &lookup{step: c.step(path, &s.Request, s.Paginate, s.Error, nil, s.Cache, s.ReadOnly), when: c.query(path+".when", s.When), jq: c.query(path+".jq", s.JQ)}
	l.json = l.json || l.jq != nil
	if !l.request.reads() && !s.ReadOnly {
		c.fail(path+".request", "a lookup runs before the user has confirmed, so it must only read: use GET, or say readonly: true")
	}
	return l
}

// arguments decodes the arguments of a call and adds the defaults.
func (t *tool) arguments(raw json.RawMessage) (map[string]any, error) {
	v, err := expr.Decode(raw)
	args, ok := v.(map[string]any)
	if err != nil || !ok {
		return nil, errors.New("the arguments are not an object")
	}
	for name, def := range t.defaults {
		if _, set := args[name]; !set {
			args[name] = def
		}
	}
	return args, nil
}

// call runs a tool. After an input request it runs again from the top: everything
// before the request only reads.
func (e *engine) call(ctx context.Context, c *mcp.Call, v *service, t *tool, raw json.RawMessage) (*mcp.CallToolResult, error) {
	args, err := t.arguments(raw)
	if err != nil {
		return nil, err
	}
	sc := newScope(args)
	if err := e.takeFiles(ctx, c, v, t, sc); err != nil {
		return nil, err
	}
	if t.lookup != nil {
		if sc.vars.Lookup, err = v.lookOnce(ctx, c, t, sc); err != nil {
			return nil, err
		}
	}
	once, err := e.prepare(ctx, c, v, t, sc)
	if err != nil {
		return nil, err
	}
	if t.task != nil {
		if err := tasks.Begin(ctx); err != nil {
			return nil, err
		}
	}
	return once(func() (*mcp.CallToolResult, error) {
		switch {
		case t.batch != nil:
			return e.callBatch(ctx, c, v, t, sc)
		case t.main.page != nil:
			return e.callPages(ctx, c, v, t, sc)
		}
		return e.callOnce(ctx, c, v, t, sc)
	})
}

// callOnce sends the request of a tool and its follow-ups.
func (e *engine) callOnce(ctx context.Context, c *mcp.Call, v *service, t *tool, sc *scope) (*mcp.CallToolResult, error) {
	a, err := v.run(ctx, c, t, sc)
	if err != nil {
		return nil, err
	}
	res, err := e.result(ctx, c, v, t, sc, a)
	if err == nil {
		err = t.fits(v, res)
	}
	if err != nil {
		return nil, t.acted(err)
	}
	return res, nil
}

// fits checks the result of a tool that writes against its schema. The server
// checks it as well, but cannot say that the request was done.
func (t *tool) fits(v *service, res *mcp.CallToolResult) error {
	if t.readOnly || t.results == nil {
		return nil
	}
	if res.StructuredContent == nil {
		return v.unexpected(errors.New("it is empty"))
	}
	if err := t.results.Check(res.StructuredContent); err != nil {
		return v.unexpected(err)
	}
	return nil
}

// acted adds to an error after the answer of a request that may have written.
func (t *tool) acted(err error) error {
	if err == nil || t.readOnly || passes(err) {
		return err
	}
	return fmt.Errorf("%w. The request was done: do not repeat it", err)
}

// writes reports whether the request of a tool or one of its first n follow-ups
// does not only read.
func (t *tool) writes(n int) bool {
	return !t.main.request.reads() || slices.ContainsFunc(t.then[:n], func(f followUp) bool { return !f.request.reads() })
}

// done returns the error of a call after the main request and n follow-ups were
// answered. An error that makes the client send the call again, such as a question
// to the user, becomes a plain one if that would write a second time.
func (t *tool) done(err error, n int) error {
	if err == nil || t.readOnly || !t.writes(n) || !passes(err) {
		return err
	}
	if _, asks := errors.AsType[*mcp.InputRequired](err); asks {
		return errors.New("the request was done, but the user has to log in again before the rest of the call: do not repeat it. Call a tool that reads, which asks the user to log in, and check")
	}
	return fmt.Errorf("the request was done, but not the rest of the call: check before you call again: %s", err.Error())
}

// unfinished returns the error of a follow-up after the main request and n follow-ups
// were answered. If one of them wrote, the model must not repeat the whole call.
func (t *tool) unfinished(err error, n int) error {
	if t.readOnly || !t.writes(n) || passes(err) {
		return t.done(err, n)
	}
	return fmt.Errorf("%w. Do not repeat the whole call: what was sent before is done", err)
}

// run sends the requests of a tool and returns the last answer.
func (v *service) run(ctx context.Context, c *mcp.Call, t *tool, sc *scope) (*answer, error) {
	a, err := v.sendKeyed(ctx, c, t, sc)
	if err != nil {
		return nil, err
	}
	for i, f := range t.then {
		if a, err = v.follow(ctx, c, f, sc, a); err != nil {
			return nil, t.unfinished(err, i)
		}
	}
	if t.task != nil {
		a, err = v.wait(ctx, c, t, sc, a)
		return a, t.done(err, len(t.then))
	}
	return a, nil
}

// callPages gathers the items of several pages.
func (e *engine) callPages(ctx context.Context, c *mcp.Call, v *service, t *tool, sc *scope) (*mcp.CallToolResult, error) {
	var from place
	if cursor, _ := sc.args["cursor"].(string); cursor != "" {
		var err error
		if from, err = v.openCursor(t.name, sc.args, cursor); err != nil {
			return nil, err
		}
	}
	limit, _ := sc.args["limit"].(int)
	if n, ok := sc.args["limit"].(float64); ok { // 5.0 is an integer, too
		limit = int(n)
	}
	items, next, last, err := v.gather(ctx, c, t.main, sc, from, max(1, limit))
	failed := err
	if err != nil && (len(items) == 0 || next == nil || passes(err) || ctx.Err() != nil) {
		return nil, err
	}
	cursor := ""
	if next != nil {
		if cursor, err = v.sealCursor(t.name, sc.args, next); err != nil {
			return nil, err
		}
	}
	a := *last
	a.body = items
	res, err := e.pagedResult(ctx, c, v, t, sc, &a, cursor)
	if err == nil && failed != nil {
		note := fmt.Sprintf("Not all items could be read: %s\nCall again with cursor=%q to go on.", failed, cursor)
		res.Content = append(res.Content, mcp.Text(e.hidden(note)))
	}
	return res, err
}

// maxSavedLookup is the maximum size of a lookup that is kept between rounds.
const maxSavedLookup = 64 << 10

// lookOnce returns the result of the lookup of a tool. If the user is asked, it is
// the same in all rounds: what the user has seen is what the request uses.
func (v *service) lookOnce(ctx context.Context, c *mcp.Call, t *tool, sc *scope) (any, error) {
	if raw, ok := c.Saved("api/lookup"); ok && t.confirm != nil {
		return expr.Decode(raw)
	}
	found, err := v.look(ctx, c, t.lookup, sc)
	if err != nil || t.confirm == nil {
		return found, err
	}
	if raw, err := expr.Encode(found); err == nil && len(raw) <= maxSavedLookup {
		c.Save("api/lookup", raw)
	}
	return found, nil
}

// look sends the request of a lookup and returns its result.
func (v *service) look(ctx context.Context, c *mcp.Call, l *lookup, sc *scope) (any, error) {
	if l.when != nil {
		if yes, err := l.when.True(ctx, sc.args, &sc.vars); err != nil || !yes {
			return nil, err
		}
	}
	inner := *sc
	body, err := v.read(ctx, c, l.step, &inner)
	if err != nil || l.jq == nil {
		return body, err
	}
	found, err := l.jq.One(ctx, body, &inner.vars)
	if err != nil {
		return nil, v.unexpected(err)
	}
	return found, nil
}

// read returns the body of a step, or all items up to its limit.
func (v *service) read(ctx context.Context, c *mcp.Call, s *step, sc *scope) (any, error) {
	if s.page != nil {
		items, _, _, err := v.gather(ctx, c, s, sc, place{}, s.page.maxItems)
		return items, err
	}
	a, err := v.send(ctx, c, s, sc)
	if err != nil {
		return nil, err
	}
	return a.body, nil
}

// An answer is a response with its decoded body: JSON, a string, or nil for one
// that is neither.
type answer struct {
	status int
	header http.Header
	raw    []byte
	mime   string
	body   any
	binary bool
	url    *url.URL
}

// send builds and sends the request of a step.
func (v *service) send(ctx context.Context, c *mcp.Call, s *step, sc *scope) (*answer, error) {
	r, err := v.build(ctx, s.request, sc)
	if err != nil {
		return nil, err
	}
	return v.exchange(ctx, c, s, sc, r)
}

// maxDownload is the maximum size of a file.
const maxDownload = 64 << 20

// exchange sends a request and checks the answer.
func (v *service) exchange(ctx context.Context, c *mcp.Call, s *step, sc *scope, r *upstream.Request) (*answer, error) {
	r.Retry, r.Cache, r.Timeout = s.retry, s.cache, s.timeout
	if s.as == "file" {
		r.MaxBody, r.Cache = maxDownload, upstream.Cache{}
	}
	res, err := v.client.Do(ctx, c, r)
	if err != nil {
		return nil, v.unsent(s, err)
	}
	a, err := v.decode(s, res)
	if err != nil {
		return nil, v.unsent(s, err)
	}
	sc.vars.Status = a.status
	if v.usesHeaders {
		sc.vars.Headers = headerValues(a.header)
	}
	return a, v.check(ctx, s, sc, a)
}

// decode decodes the body of a response by its type.
func (v *service) decode(s *step, res *upstream.Response) (*answer, error) {
	a := &answer{status: res.Status, header: res.Header, raw: res.Body, url: res.URL}
	a.mime, _, _ = strings.Cut(res.Header.Get("Content-Type"), ";")
	a.mime = strings.ToLower(strings.TrimSpace(a.mime))
	isJSON := fetch.IsJSON(res.Header) || s.as == "json" || a.mime == "" && len(res.Body) > 0 && (res.Body[0] == '{' || res.Body[0] == '[')
	switch {
	case len(res.Body) == 0 || s.as == "file" && a.status < 400:
		a.binary = s.as == "file"
	case isJSON && s.as != "text":
		body, err := expr.Decode(res.Body)
		if err != nil && a.status < 400 {
			return nil, &upstream.Error{Service: v.title, Sent: true, Text: "the answer is " + err.Error()}
		}
		a.body = body
	case a.mime == "text/html" && s.json && s.as == "" && a.status < 400:
		return nil, &upstream.Error{Service: v.title, Sent: true, Text: "the answer is text/html instead of JSON; perhaps a proxy or a login page is in between"}
	case utf8.Valid(res.Body):
		a.body = string(res.Body)
	default:
		a.binary = true
	}
	return a, nil
}

// headerValues returns the headers of a response for expressions.
func headerValues(h http.Header) map[string]any {
	out := make(map[string]any, len(h))
	for name, values := range h {
		if name != "Set-Cookie" && len(values) > 0 {
			out[strings.ToLower(name)] = strings.ToValidUTF8(values[0], "\ufffd")
		}
	}
	return out
}

// with returns a scope with another argument.
func (s *scope) with(name string, value any) *scope {
	inner := *s
	inner.args = maps.Clone(s.args)
	inner.args[name] = value
	inner.vars.Args, inner.vars.Item = inner.args, value
	return &inner
}

// pause waits, or returns the end of the context.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
