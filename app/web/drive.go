package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// A pageCall is a call that the page started. The page gets it in events of kind
// "call": running with progress, then done or failed.
type pageCall struct {
	ID        string              `json:"id"`
	Server    string              `json:"server"`
	Tool      string              `json:"tool"`
	N         int                 `json:"n"` // counts the runs of the tool
	Arguments json.RawMessage     `json:"arguments,omitzero"`
	Phase     string              `json:"phase"` // running, done, failed, cancelled, denied
	Progress  *mcp.ProgressParams `json:"progress,omitzero"`
	Result    json.RawMessage     `json:"result,omitzero"`     // as the server sent it
	Problem   string              `json:"problem,omitzero"`    // what is wrong with the result
	Meta      mcp.Meta            `json:"resultMeta,omitzero"` // of the result, for its view
	Error     string              `json:"error,omitzero"`
	Code      int                 `json:"code,omitzero"`
	Data      json.RawMessage     `json:"data,omitzero"` // of the error
	At        int64               `json:"at"`            // microseconds since 1970
	Ms        float64             `json:"ms,omitzero"`

	// Its messages are between After and Until; Messages are its requests.
	After    uint64   `json:"after"`
	Until    uint64   `json:"until,omitzero"`
	Messages []uint64 `json:"messages,omitzero"`
}

// begin registers an operation that can be cancelled by its id.
func (s *Server) begin(kind string) (id string, ctx context.Context, end func()) {
	ctx, cancel := context.WithCancel(s.ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	id = fmt.Sprintf("%s-%d", kind, s.next)
	s.calls[id] = cancel
	return id, ctx, func() {
		cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.calls, id)
	}
}

func (s *Server) cancel(r *http.Request) (any, error) {
	s.mu.Lock()
	cancel := s.calls[r.PathValue("id")]
	s.mu.Unlock()
	if cancel == nil {
		return nil, missing("the call has already ended")
	}
	cancel()
	return struct{}{}, nil
}

// call calls a tool because the user pressed a button, which is the approval if a
// rule would ask. It returns at once with the id of the events.
func (s *Server) call(r *http.Request) (any, error) {
	var q struct {
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
	}
	one, err := s.asked(r, &q)
	if err != nil {
		return nil, err
	}
	if q.Tool == "" {
		return nil, bad("required: {\"tool\": …, \"arguments\": {…}}")
	}
	id, ctx, end := s.begin("call")
	began := time.Now()
	begun := pageCall{ID: id, Server: one.Name(), Tool: q.Tool, N: s.kept.number(one.Name(), q.Tool), Arguments: q.Arguments, Phase: "running", At: began.UnixMicro(), After: s.work.Log.Last()}
	s.putCall(begun)
	s.running.Go(func() {
		defer end()
		now := begun
		err := s.direct(ctx, one.Name(), mcp.MethodToolsCall, mcp.CallToolParams{Name: q.Tool, Arguments: q.Arguments}, func() (o host.DirectOutcome, err error) {
			began = time.Now() // without the rules and the audit log
			result, err := one.Client().Do(ctx, mcp.MethodToolsCall, mcp.CallToolParams{Name: q.Tool, Arguments: q.Arguments}, &client.CallOptions{Progress: func(p mcp.ProgressParams) {
				moment := begun
				moment.Progress = &p
				s.putCall(moment)
			}})
			now.Ms = float64(time.Since(began).Microseconds()) / 1000
			if err == nil {
				now.Result, now.Meta, now.Problem = result.Body, result.Meta, unusable(result.Body)
				o = host.DirectOutcome{IsError: isToolError(result.Body), Bytes: len(result.Body)}
			}
			return o, err
		})
		now.Phase = "done"
		denied, isDenied := errors.AsType[*host.DeniedError](err)
		switch {
		case ctx.Err() != nil:
			now.Phase, now.Error = "cancelled", "cancelled"
		case isDenied:
			now.Phase, now.Error = "denied", denied.Error()
		case err != nil:
			now.Phase = "failed"
			now.Error, now.Code, now.Data = described(err)
		}
		now.Until = s.work.Log.Last()
		now.Messages = s.requestsOf(now)
		s.putCall(now)
	})
	return s.clean(begun), nil
}

// described returns the parts of an error. The text of a JSON-RPC error has no
// code in it: the page shows the code by itself.
func described(err error) (text string, code int, data json.RawMessage) {
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok {
		return err.Error(), 0, nil
	}
	if e.Local {
		return e.Message, 0, e.Data
	}
	return e.Message, int(e.Code), e.Data
}

// unusable returns what is wrong with the result of a tool, or "". The page shows
// the result nevertheless.
func unusable(body json.RawMessage) string {
	var r mcp.CallToolResult
	if err := mcp.Unmarshal(body, &r); err != nil {
		return err.Error()
	}
	return ""
}

// isToolError reports whether a result says that the tool failed.
func isToolError(body json.RawMessage) bool {
	var said struct {
		IsError bool `json:"isError"`
	}
	_ = mcp.Unmarshal(body, &said) // an invalid one is shown as it is
	return said.IsError
}

// putCall adds a call to the feed and to the runs, without secrets.
func (s *Server) putCall(d pageCall) {
	clean := s.clean(d)
	if raw, ok := clean.(json.RawMessage); ok {
		s.kept.put(d, raw)
	}
	s.feed.put("call", clean)
}

// clean returns a value as JSON without its secrets.
func (s *Server) clean(v any) any {
	raw, err := mcp.Marshal(v)
	if err != nil {
		return v // encoding the response fails in the same way
	}
	return json.RawMessage(s.work.Secrets().JSON(raw))
}

// direct makes a request of the user, subject to the rules and the audit log.
func (s *Server) direct(ctx context.Context, server, method string, params any, send func() (host.DirectOutcome, error)) error {
	raw, err := mcp.Marshal(params)
	if err != nil {
		return err
	}
	return s.work.Host.Direct(ctx, host.DirectRequest{Server: server, Method: method, Params: raw, From: "the page"}, send)
}

func (s *Server) read(r *http.Request) (result any, err error) {
	var q struct {
		URI string `json:"uri"`
	}
	one, err := s.asked(r, &q)
	if err != nil {
		return nil, err
	}
	err = s.direct(r.Context(), one.Name(), mcp.MethodResourcesRead, q, func() (o host.DirectOutcome, err error) {
		result, err = one.Client().ReadResource(r.Context(), q.URI)
		return o, err
	})
	return s.clean(result), err
}

func (s *Server) prompt(r *http.Request) (any, error) {
	var q struct {
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments"`
	}
	one, err := s.asked(r, &q)
	if err != nil {
		return nil, err
	}
	result, err := one.Client().GetPrompt(r.Context(), q.Name, q.Arguments)
	return s.clean(result), err
}

func (s *Server) complete(r *http.Request) (any, error) {
	var q mcp.CompleteParams
	one, err := s.asked(r, &q)
	if err != nil {
		return nil, err
	}
	found, err := one.Client().Complete(r.Context(), q)
	if err != nil {
		return nil, err
	}
	return s.clean(map[string]any{"completion": found}), nil // as in the protocol
}

// watch subscribes to a resource until it is cancelled; changes are events of
// kind "updated".
func (s *Server) watch(r *http.Request) (any, error) {
	var q struct {
		URI string `json:"uri"`
	}
	one, err := s.asked(r, &q)
	if err != nil {
		return nil, err
	}
	if q.URI == "" {
		return nil, bad("required: {\"uri\": …}")
	}
	id, ctx, end := s.begin("watch")
	s.running.Go(func() {
		defer end()
		err := one.Client().Listen(ctx, mcp.SubscriptionFilter{ResourceSubscriptions: []string{q.URI}}, func(n mcp.Notification) {
			s.feed.put("updated", map[string]any{"id": id, "server": one.Name(), "uri": q.URI, "method": n.Method, "at": time.Now()})
		})
		if ctx.Err() == nil {
			s.feed.put("updated", map[string]any{"id": id, "server": one.Name(), "uri": q.URI, "ended": fmt.Sprint(err)})
		}
	})
	return map[string]string{"id": id}, nil
}

// raw makes any request, like tenon raw.
func (s *Server) raw(r *http.Request) (any, error) {
	var q struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	one, err := s.asked(r, &q)
	if err != nil {
		return nil, err
	}
	if q.Method == "" {
		return nil, bad("required: {\"method\": …, \"params\": {…}}")
	}
	before := s.work.Log.Last()
	began := time.Now()
	result, err := s.do(r.Context(), one.Client(), one.Name(), q.Method, q.Params)
	if denied, ok := errors.AsType[*host.DeniedError](err); ok {
		return nil, fault{http.StatusForbidden, denied}
	}
	out := map[string]any{"after": before, "ms": float64(time.Since(began).Microseconds()) / 1000}
	if err != nil {
		text, code, data := described(err)
		out["error"] = text
		if code != 0 {
			out["code"] = code
		}
		if data != nil {
			out["data"] = data
		}
		return s.clean(out), nil
	}
	out["result"] = result.Body
	return s.clean(out), nil
}

// do makes any request of the user.
func (s *Server) do(ctx context.Context, c *client.Client, server, method string, params json.RawMessage) (result mcp.Result, err error) {
	err = s.direct(ctx, server, method, params, func() (o host.DirectOutcome, err error) {
		if result, err = c.Do(ctx, method, params, nil); err == nil && method == mcp.MethodToolsCall {
			o = host.DirectOutcome{IsError: isToolError(result.Body), Bytes: len(result.Body)}
		}
		return o, err
	})
	return result, err
}

// An eraRun is a call in one revision, with its frames.
type eraRun struct {
	Revision mcp.Revision    `json:"revision"`       // that was asked for
	Spoke    mcp.Revision    `json:"spoke,omitzero"` // that the call was made in
	Frames   []eraFrame      `json:"frames"`
	Result   json.RawMessage `json:"result,omitzero"`
	Error    string          `json:"error,omitzero"`
	Ms       float64         `json:"ms"`
}

type eraFrame struct {
	Sent  bool   `json:"sent"`
	Frame string `json:"frame"`
}

// eras makes the same call in several revisions, each over its own connection, to
// compare their messages.
func (s *Server) eras(r *http.Request) (any, error) {
	var q struct {
		Method    string          `json:"method"`
		Params    json.RawMessage `json:"params"`
		Revisions []mcp.Revision  `json:"revisions"`
	}
	one, err := s.asked(r, &q)
	if err != nil {
		return nil, err
	}
	if s.opts.Eras == nil {
		return nil, missing("comparing protocol versions is not available here")
	}
	if q.Method == "" || len(q.Revisions) == 0 || len(q.Revisions) > 5 {
		return nil, bad("required: a method and one to five revisions")
	}
	runs := []eraRun{}
	for _, rev := range q.Revisions {
		runs = append(runs, s.oneEra(r.Context(), one.Name(), rev, q.Method, q.Params))
	}
	return s.clean(map[string]any{"runs": runs}), nil
}

func (s *Server) oneEra(ctx context.Context, server string, rev mcp.Revision, method string, params json.RawMessage) eraRun {
	ctx, stop := context.WithTimeout(ctx, 30*time.Second)
	defer stop()
	run := eraRun{Revision: rev, Frames: []eraFrame{}}
	frames := &frameList{}
	began := time.Now()
	h, end, err := s.opts.Eras(ctx, server, rev, frames.see)
	if err == nil {
		var result mcp.Result
		o := s.work.Host.ClientOptions(server)
		result, err = s.do(ctx, client.New(h, &o), server, method, params)
		run.Result = result.Body
		end()
	}
	run.Ms = float64(time.Since(began).Microseconds()) / 1000
	run.Frames = frames.all()
	run.Spoke = spoken(run.Frames, method)
	if err != nil {
		run.Error = err.Error()
	}
	return run
}

// spoken returns the revision in which a method was called, or "" if it was not.
func spoken(frames []eraFrame, method string) (r mcp.Revision) {
	ms := make([]speccheck.Message, len(frames))
	for i, f := range frames {
		ms[i] = speccheck.Message{Dir: speccheck.FromServer, Frame: []byte(f.Frame)}
		if f.Sent {
			ms[i].Dir = speccheck.ToServer
		}
	}
	for _, m := range speccheck.Check(ms) {
		if m.Dir == speccheck.ToServer && m.Method == method {
			r = m.Revision
		}
	}
	return r
}

// webAddress returns s if it may be opened as a link: https, and http on this
// machine; else "".
func webAddress(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil {
		return ""
	}
	addr, _ := netip.ParseAddr(u.Hostname())
	if u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || addr.IsLoopback()) {
		return s
	}
	return ""
}

// A frameList collects the frames of one connection.
type frameList struct {
	mu     sync.Mutex
	frames []eraFrame
}

func (l *frameList) see(sent bool, frame []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.frames) < 200 {
		l.frames = append(l.frames, eraFrame{sent, string(frame)})
	}
}

func (l *frameList) all() []eraFrame {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]eraFrame{}, l.frames...)
}
