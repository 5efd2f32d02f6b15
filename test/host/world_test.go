package host

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/llm/script"
	"github.com/tenon-mcp/tenon/app/workspace"
	"github.com/tenon-mcp/tenon/builtin"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// long bounds every wait for a process or a turn.
const long = time.Minute

// A world is a workspace in a test, with everything that it told.
type world struct {
	*workspace.Workspace
	t      *testing.T
	script *script.Player

	mu      sync.Mutex
	events  []host.Event
	states  []connect.State
	answers func(host.Ask) *host.Reply // nil leaves a question open
}

// allowed lets every call pass.
var allowed = config.Settings{Rules: []config.Rule{{Effect: config.Allow, Server: "*", Tool: "*"}}}

// open makes a world whose model says the lines of a script.
func open(t *testing.T, lines string, servers []config.Server, change func(*workspace.Options)) *world {
	t.Helper()
	w := &world{t: t}
	file := filepath.Join(t.TempDir(), "script.jsonl")
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if w.script, err = script.Open(file, nil); err != nil {
		t.Fatal(err)
	}
	o := workspace.Options{Dir: t.TempDir(), Servers: servers, Model: w.script, Builtin: openBuiltin, Event: w.event, Settings: allowed,
		State: func(s connect.State) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.states = append(w.states, s)
		}}
	if change != nil {
		change(&o)
	}
	if w.Workspace, err = workspace.Open(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return w
}

func openBuiltin(name string, q url.Values) (connect.Builtin, error) {
	s, err := builtin.Open(name, q)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// answering says how questions are answered from now on.
func (w *world) answering(how func(host.Ask) *host.Reply) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers = how
}

func (w *world) event(e host.Event) {
	w.mu.Lock()
	w.events = append(w.events, e)
	answer := w.answers
	w.mu.Unlock()
	if e.Kind == host.EventAsk && answer != nil {
		if a := answer(*e.Ask); a != nil {
			go w.Host.Reply(e.Ask.ID, *a)
		}
	}
}

// told is all that was told so far.
func (w *world) told() []host.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.events)
}

// ready waits until servers were met and have said what tools they have: a turn
// gives them only a moment for that, which may be too short where many processes
// have just started.
func (w *world) ready(names ...string) {
	w.t.Helper()
	ctx, stop := context.WithTimeout(w.t.Context(), long)
	defer stop()
	if err := w.Ready(ctx, names...); err != nil {
		w.t.Fatal(err)
	}
	eventually(w.t, "they have said what they have", func() bool {
		tools := w.Host.Tools(ctx)
		return !slices.ContainsFunc(names, func(name string) bool {
			return !slices.ContainsFunc(tools, func(t host.Tool) bool { return t.Server == name })
		})
	})
}

// send takes one turn, and fails the test if the script does not fit.
func (w *world) send(text string) *host.Session {
	w.t.Helper()
	s := w.Host.NewSession()
	w.sendTo(s, text)
	return s
}

func (w *world) sendTo(s *host.Session, text string) {
	w.t.Helper()
	ctx, stop := context.WithTimeout(w.t.Context(), long)
	defer stop()
	if err := s.Send(ctx, text); err != nil {
		w.t.Fatalf("%s: %v\n%s", text, err, w.story())
	}
}

// story tells how the calls went, for those who read a failure.
func (w *world) story() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out strings.Builder
	for _, e := range w.events {
		switch e.Kind {
		case host.EventTool:
			if c := e.Call; c.Phase == host.CallDone || c.Phase == host.CallFailed || c.Phase == host.CallDenied {
				out.WriteString(c.Name + " " + string(c.Arguments) + " " + string(c.Phase) + ": " + c.ForModel + "\n")
			}
		case host.EventNotice, host.EventError:
			out.WriteString(string(e.Kind) + ": " + e.Text + "\n")
		}
	}
	return out.String()
}

// calls are the calls as they ended, by their order of proposal.
func (w *world) calls() []*host.ToolCall {
	w.mu.Lock()
	defer w.mu.Unlock()
	var order []string
	last := map[string]*host.ToolCall{}
	for _, e := range w.events {
		if e.Kind == host.EventTool {
			id := e.Session + e.Call.ID
			if last[id] == nil {
				order = append(order, id)
			}
			last[id] = e.Call
		}
	}
	var all []*host.ToolCall
	for _, id := range order {
		all = append(all, last[id])
	}
	return all
}

// asked are the questions of a kind.
func (w *world) asked(kind host.AskKind) []host.Ask {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []host.Ask
	for _, e := range w.events {
		if e.Kind == host.EventAsk && e.Ask.Kind == kind {
			all = append(all, *e.Ask)
		}
	}
	return all
}

// eventually polls until ok, or fails the test.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(long); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// lines writes a script: each argument that is a string is a line as it is, and
// every other value is written as JSON.
func lines(parts ...any) string {
	var out strings.Builder
	for _, p := range parts {
		if s, ok := p.(string); ok {
			out.WriteString(s + "\n")
			continue
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(p); err != nil {
			panic(err)
		}
		out.Write(b.Bytes())
	}
	return out.String()
}

type m = map[string]any

// call is a line that calls a tool.
func call(name string, args m) m { return m{"call": m{"name": name, "arguments": args}} }

// expect is a line that begins a turn: what the last message must have.
func expect(has string) m { return m{"expect": m{"has": has}} }

// A way is how our own servers are reached.
type way string

const (
	inMemory  way = "memory"
	overStdio way = "stdio"
	overHTTP  way = "HTTP"
)

// own is an entry for a builtin server, reached in a way.
func (by way) own(t *testing.T, name string, q url.Values) config.Server {
	t.Helper()
	switch by {
	case overStdio:
		e := played(t, "builtin")
		e.Name = name
		e.Env["BUILTIN"] = name + "?" + q.Encode()
		return e
	case overHTTP:
		s, err := builtin.Open(name, q)
		if err != nil {
			t.Fatal(err)
		}
		h, err := streamable.NewHandler(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		web := httptest.NewServer(h)
		t.Cleanup(func() {
			h.Shutdown()
			web.CloseClientConnections()
			web.Close()
			s.Close()
		})
		return config.Server{Name: name, Kind: config.HTTP, URL: web.URL + streamable.Path}
	}
	return config.Server{Name: name, Kind: config.Builtin, Builtin: name, Query: q}
}

// eras are the newest revision and the newest one with a handshake.
func eras() []mcp.Revision {
	all := mcp.Revisions()
	slices.Sort(all)
	return all[len(all)-2:]
}
