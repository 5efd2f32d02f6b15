package web

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/lesson"
	"github.com/tenon-mcp/tenon/app/recording"
	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/mcp"
)

// A learnRequest chooses an example. The two numbers are all that a page can pass
// to it.
type learnRequest struct {
	Example  string       `json:"example"`
	A        float64      `json:"a"`
	B        float64      `json:"b"`
	Revision mcp.Revision `json:"revision"` // empty: detected
}

func (q *learnRequest) numbers() lesson.Numbers { return lesson.Numbers{A: q.A, B: q.B} }

func (q *learnRequest) read(r *http.Request) error {
	if err := body(r, q); err != nil {
		return err
	}
	if max(math.Abs(q.A), math.Abs(q.B)) > 1e15 {
		return bad("the numbers must be at most 1e15")
	}
	if q.Revision != "" && !slices.Contains(mcp.Revisions(), q.Revision) {
		return bad("unknown revision")
	}
	return nil
}

// A learnOutcome is an example that was run, with all of its messages.
type learnOutcome struct {
	Server   string         `json:"server"`
	Revision mcp.Revision   `json:"revision"`
	Ms       float64        `json:"ms"`
	Error    string         `json:"error,omitzero"`
	Messages []learnMessage `json:"messages"`
}

type learnMessage struct {
	summary
	Frame string `json:"frame"`
}

// learnRun runs an example of Learn and returns its messages, which are in the log
// as well. It waits for the user if the example asks something. The rules and the
// audit log apply as to other calls of the page.
func (s *Server) learnRun(r *http.Request) (any, error) {
	var q learnRequest
	if err := q.read(r); err != nil {
		return nil, err
	}
	ctx, stop := s.until(r.Context())
	defer stop()
	lessons := lesson.New(lesson.Options{Log: s.work.Log, Client: s.work.Host.ClientOptions})
	start := func(e lesson.Example) (*lesson.Run, error) { return lessons.Run(ctx, e, q.Revision) }
	e, ok := lesson.Find(q.Example, q.numbers())
	if q.Example == "batch" {
		e, ok = lesson.Find("tool", q.numbers())
		start = func(lesson.Example) (*lesson.Run, error) { return lessons.Batch(ctx, q.numbers()) }
	}
	if !ok {
		return nil, missing("no example has this name")
	}
	var run *lesson.Run
	err := s.direct(ctx, e.Server(), e.Method, e.Params, func() (o host.DirectOutcome, err error) {
		if run, err = start(e); err == nil {
			err = run.Err
		}
		return o, err
	})
	if denied, ok := errors.AsType[*host.DeniedError](err); ok {
		return nil, fault{http.StatusForbidden, denied}
	}
	if run == nil {
		return nil, err
	}
	out := learnOutcome{Server: run.Server, Revision: run.Revision, Ms: float64(run.Took.Microseconds()) / 1000, Messages: s.conversation(run.Conn)}
	if run.Err != nil {
		out.Error = run.Err.Error()
	}
	return out, nil
}

// until returns a context that ends with the page's request or with the server.
func (s *Server) until(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// conversation returns the messages of a connection, the oldest first.
func (s *Server) conversation(conn uint64) []learnMessage {
	list, _ := s.work.Log.Filter(wirelog.Query{Conn: conn}, 0, 200)
	slices.Reverse(list)
	all := []learnMessage{}
	for i, one := range summaries(list) {
		all = append(all, learnMessage{one, string(list[i].Frame)})
	}
	return all
}

// learnTransports makes the same call over three transports and returns the bytes.
func (s *Server) learnTransports(r *http.Request) (any, error) {
	var q learnRequest
	if err := q.read(r); err != nil {
		return nil, err
	}
	ctx, stop := s.until(r.Context())
	defer stop()
	e, _ := lesson.Find("tool", q.numbers())
	if q.Revision == "" {
		q.Revision = mcp.Revisions()[0]
	}
	var runs []*lesson.Carried
	err := s.direct(ctx, e.Server(), e.Method, e.Params, func() (o host.DirectOutcome, err error) {
		runs, err = lesson.Carry(ctx, q.numbers(), q.Revision)
		return o, err
	})
	if denied, ok := errors.AsType[*host.DeniedError](err); ok {
		return nil, fault{http.StatusForbidden, denied}
	}
	return map[string]any{"runs": runs}, err
}

// A tappedHost is another host on this machine that runs a server through tenon
// tap, which tells this one.
type tappedHost struct {
	Conn     uint64              `json:"conn"`
	Server   string              `json:"server"` // in the log
	Host     *mcp.Implementation `json:"host,omitzero"`
	Info     *mcp.Implementation `json:"info,omitzero"` // of the server
	Revision mcp.Revision        `json:"revision,omitzero"`
	Since    time.Time           `json:"since"`
	Ended    bool                `json:"ended"`
	Calls    int                 `json:"calls"`
	Errors   int                 `json:"errors"` // calls that failed; see speccheck.Outcome.Failed
}

// maxHosts is the number of tapped hosts that a page gets, the latest.
const maxHosts = 20

// hosts lists the tapped hosts that the log still knows, the latest first.
func (s *Server) hosts(*http.Request) (any, error) {
	events := []speccheck.Kind{speccheck.KindEvent}
	begun, _ := s.work.Log.Filter(wirelog.Query{Kinds: events, Text: recording.TapConnected}, 0, maxHosts)
	all := []tappedHost{}
	for _, m := range begun {
		one := tappedHost{Conn: m.Conn, Server: m.Server, Since: m.At}
		list, _ := s.work.Log.Filter(wirelog.Query{Conn: m.Conn}, 0, 5000)
		slices.Reverse(list)
		for i := range list {
			one.learn(&list[i])
		}
		all = append(all, one)
	}
	return map[string]any{"hosts": all}, nil
}

// learn takes from a message what it tells about a host and its server.
func (h *tappedHost) learn(m *speccheck.Message) {
	switch {
	case m.Kind == speccheck.KindEvent && string(m.Frame) == recording.TapEnded:
		h.Ended = true
	case m.Kind == speccheck.KindRequest && m.Method == mcp.MethodToolsCall:
		h.Calls++
		if m.Outcome.Failed() {
			h.Errors++
		}
	}
	if m.Revision != "" {
		h.Revision = m.Revision
	}
	if h.Host != nil && h.Info != nil {
		return
	}
	type identities struct {
		Client *mcp.Implementation `json:"clientInfo"`
		Server *mcp.Implementation `json:"serverInfo"`
		Meta   struct {
			Client *mcp.Implementation `json:"io.modelcontextprotocol/clientInfo"`
			Server *mcp.Implementation `json:"io.modelcontextprotocol/serverInfo"`
		} `json:"_meta"`
	}
	var said struct {
		Params identities `json:"params"`
		Result identities `json:"result"`
	}
	if mcp.Unmarshal(m.Frame, &said) != nil {
		return // some other host's message, which may be anything
	}
	h.Host = cmp.Or(h.Host, said.Params.Client, said.Params.Meta.Client)
	h.Info = cmp.Or(h.Info, said.Result.Server, said.Result.Meta.Server)
}
