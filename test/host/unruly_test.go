package host

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/workspace"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// both runs a test with a server of our making in both eras.
func both(t *testing.T, mode string, test func(t *testing.T, server config.Server, era func(*workspace.Options))) {
	for _, revision := range eras() {
		t.Run(string(revision), func(t *testing.T) {
			test(t, played(t, mode), func(o *workspace.Options) { o.Revision = revision })
		})
	}
}

// everywhere runs a test with a server of our making over stdio and HTTP, in both
// eras.
func everywhere(t *testing.T, test func(t *testing.T, server config.Server, era func(*workspace.Options))) {
	t.Run("stdio", func(t *testing.T) { both(t, "tools", test) })
	for _, revision := range eras() {
		t.Run("HTTP/"+string(revision), func(t *testing.T) {
			h, err := streamable.NewHandler(tools(), nil)
			if err != nil {
				t.Fatal(err)
			}
			web := httptest.NewServer(h)
			t.Cleanup(func() {
				h.Shutdown()
				web.CloseClientConnections()
				web.Close()
			})
			test(t, config.Server{Name: "tools", Kind: config.HTTP, URL: web.URL + streamable.Path}, func(o *workspace.Options) { o.Revision = revision })
		})
	}
}

// C54: a server that is killed in a call costs that call; the other call of the
// same answer is made, the model is told why, and the server comes back.
func TestKilledInACall(t *testing.T) {
	both(t, "tools", func(t *testing.T, s config.Server, era func(*workspace.Options)) {
		w := open(t, lines(
			expect("go"), call("tools__die", m{}), call("calc__add", m{"a": 1, "b": 1}),
			expect("goodbye, cruel world"), m{"text": "It died."},
			expect("again"), call("tools__hello", m{}),
			expect("hello there"), m{"text": "It is back."},
		), []config.Server{s, inMemory.own(t, "calc", nil)}, era)
		w.ready("tools", "calc")
		session := w.send("go")
		eventually(t, "it is back", func() bool { st := w.Fleet.Get("tools").State(); return st.Phase == connect.Ready && st.Starts == 2 })
		w.sendTo(session, "again")
		calls := w.calls()
		if calls[0].Phase != host.CallFailed || calls[1].Phase != host.CallDone || calls[2].Phase != host.CallDone {
			t.Errorf("the calls went\n%s", w.story())
		}
		if c := calls[0]; !strings.HasPrefix(c.Problem, "tools exited with code 7; last lines of its stderr:") || !strings.Contains(c.ForModel, "Whether it has done something is not known") {
			t.Errorf("the person is told %q, and the model %q", c.Problem, c.ForModel)
		}
	})
}

// A server that is killed from outside in the middle of a call fails that call
// at once.
func TestProcessKilled(t *testing.T) {
	w := open(t, lines(expect("go"), call("tools__hang", m{}), expect("did not come to a result"), m{"text": "ok"}), []config.Server{played(t, "tools")}, nil)
	w.ready("tools")
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The call has arrived: one that has not is made again with the next process.
		eventually(t, "the call runs", func() bool { return strings.Contains(w.Fleet.Get("tools").Stderr(), "hanging") })
		kill(t, w.Fleet.Get("tools").State().Pid)
	}()
	w.send("go")
	<-done
}

// A server that never answers is left out, and holds up neither the first turn
// nor the others; a call that never comes back ends in time.
func TestNeverAnswers(t *testing.T) {
	both(t, "tools", func(t *testing.T, s config.Server, era func(*workspace.Options)) {
		t.Parallel() // most of it is waiting
		w := open(t, lines(
			m{"expect": m{"has": "go", "tools": []string{"tools__hello"}, "absent": []string{"mute__hello"}}}, call("tools__hang", m{}), call("tools__hello", m{}),
			expect("Whether it has done something is not known"), m{"text": "ok"},
		), []config.Server{s, played(t, "mute")}, func(o *workspace.Options) {
			era(o)
			o.Host.CallIdle = 5 * time.Second // too short for hang, and enough for hello on a busy machine
		})
		w.ready("tools")
		w.send("go")
		if calls := w.calls(); calls[0].Phase != host.CallFailed || calls[1].Phase != host.CallDone {
			t.Errorf("the calls went\n%s", w.story())
		}
	})
}

// Noise on standard output and a flood on standard error cost nothing.
func TestNoiseAndFlood(t *testing.T) {
	for _, mode := range []string{"noise", "flood"} {
		both(t, mode, func(t *testing.T, s config.Server, era func(*workspace.Options)) {
			script := []any{expect("go")}
			for range 20 {
				script = append(script, call(mode+"__hello", m{}))
			}
			script = append(script, expect("hello there"), m{"text": "ok"})
			w := open(t, lines(script...), []config.Server{s}, era)
			w.ready(mode)
			w.send("go")
			for _, c := range w.calls() {
				if c.Phase != host.CallDone {
					t.Errorf("%s", w.story())
				}
			}
			if st := w.Fleet.Get(mode).State(); st.Starts != 1 || st.Phase != connect.Ready {
				t.Errorf("the server is %+v", st)
			}
		})
	}
}

// A server that gets another tool in the middle of a conversation has it in the
// next request to the model.
func TestGrowsMidConversation(t *testing.T) {
	everywhere(t, func(t *testing.T, s config.Server, era func(*workspace.Options)) {
		w := open(t, lines(
			m{"expect": m{"has": "go", "absent": []string{"tools__grown"}}}, call("tools__grow", m{}),
			expect("grown"), m{"text": "Wait for the news."},
			m{"expect": m{"has": "now", "tools": []string{"tools__grown"}}}, call("tools__grown", m{}),
			expect("I am new"), m{"text": "ok"},
		), []config.Server{s}, era)
		w.ready("tools")
		session := w.send("go")
		eventually(t, "the news has come", func() bool {
			return slices.ContainsFunc(w.Host.Tools(t.Context()), func(tool host.Tool) bool { return tool.Tool.Name == "grown" })
		})
		w.sendTo(session, "now")
	})
}

// A server that changes an approved tool loses the approval, and the person sees
// what changed.
func TestChangesItsTools(t *testing.T) {
	everywhere(t, func(t *testing.T, s config.Server, era func(*workspace.Options)) {
		w := open(t, lines(
			expect("go"), call("tools__hello", m{}), expect("hello there"), call("tools__turn", m{}), expect("turned"), m{"text": "Wait."},
			expect("now"), call("tools__hello", m{}), expect("The person denied this call"), m{"text": "ok"},
		), []config.Server{s}, func(o *workspace.Options) {
			era(o)
			o.Settings = config.Settings{}
		})
		w.answering(func(a host.Ask) *host.Reply {
			if len(a.Changes) > 0 {
				return &host.Reply{Action: "deny"}
			}
			return &host.Reply{Action: "always"}
		})
		w.ready("tools")
		session := w.send("go")
		eventually(t, "the news has come", func() bool {
			return slices.ContainsFunc(w.Host.Tools(t.Context()), func(tool host.Tool) bool { return strings.Contains(tool.Tool.Description, "IMPORTANT") })
		})
		w.sendTo(session, "now")
		asks := w.asked(host.AskApproval)
		last := asks[len(asks)-1]
		if len(asks) != 3 || len(last.Changes) != 1 || last.Changes[0].What != "description" || len(last.Warnings) == 0 {
			t.Errorf("asked %+v", asks)
		}
	})
}

// Forms, pages and sampling, in both eras: the server asks, the person answers,
// the call goes on. What the model writes for a server is seen before it leaves.
func TestServerAsks(t *testing.T) {
	everywhere(t, func(t *testing.T, s config.Server, era func(*workspace.Options)) {
		w := open(t, lines(
			m{"when": m{"text": "write a rhyme"}}, m{"text": "roses are red"},
			expect("go"), call("tools__form", m{}), expect("hello Ada"), call("tools__page", m{}), expect("paid"), call("tools__write", m{}),
			expect("it wrote: roses are red"), m{"text": "ok"},
		), []config.Server{s}, era)
		w.answering(func(a host.Ask) *host.Reply {
			switch a.Kind {
			case host.AskForm:
				return &host.Reply{Action: "accept", Content: json.RawMessage(`{"name":"Ada"}`)}
			case host.AskURL, host.AskSampling:
				return &host.Reply{Action: "accept"}
			}
			return &host.Reply{Action: "deny"}
		})
		w.ready("tools")
		session := w.send("go")
		if n := len(w.asked(host.AskForm)); n != 1 {
			t.Errorf("%d forms", n)
		}
		if p := w.asked(host.AskURL); len(p) != 1 || p[0].URL != "https://example.com/pay" {
			t.Errorf("pages: %+v", p)
		}
		drafts := w.asked(host.AskSampling)
		if len(drafts) != 2 || drafts[0].Draft != nil || drafts[1].Draft == nil {
			t.Errorf("sampling: %+v", drafts)
		}
		for _, kind := range []host.AskKind{host.AskForm, host.AskURL, host.AskSampling} {
			for _, a := range w.asked(kind) {
				if a.Session != session.ID || a.Server != "tools" {
					t.Errorf("%s: asked in the name of %q, in session %q", kind, a.Server, a.Session)
				}
			}
		}
	})
}

// Stop reaches a server in another process.
func TestStop(t *testing.T) {
	everywhere(t, func(t *testing.T, s config.Server, era func(*workspace.Options)) {
		w := open(t, lines(expect("go"), call("tools__hang", m{}), expect("and now"), call("tools__hello", m{}), expect("hello there"), m{"text": "ok"}), []config.Server{s}, era)
		w.ready("tools")
		session := w.Host.NewSession()
		done := make(chan error)
		go func() { done <- session.Send(t.Context(), "go") }()
		eventually(t, "the call runs", func() bool { c := w.calls(); return len(c) == 1 && c[0].Phase == host.CallRunning })
		session.Stop()
		if err := <-done; err != context.Canceled {
			t.Errorf("the turn ended with %v", err)
		}
		w.sendTo(session, "and now")
		if st := w.Fleet.Get("tools").State(); st.Starts != 1 {
			t.Errorf("the server was started %d times", st.Starts)
		}
	})
}

// Ten servers of which one hangs and one is dead: the nine are there.
func TestOneOfTenHangs(t *testing.T) {
	servers := []config.Server{played(t, "mute")}
	dead := played(t, "mute")
	dead.Name, dead.Command = "dead", "/no/such/program"
	servers = append(servers, dead)
	var names []string
	for i := range 8 {
		s := played(t, "tools")
		s.Name = fmt.Sprint("s", i)
		servers = append(servers, s)
		names = append(names, s.Name)
	}
	w := open(t, lines(expect("go"), call("s0__hello", m{}), call("s7__hello", m{}), expect("hello there"), m{"text": "ok"}), servers, nil)
	w.ready(names...)
	w.send("go")
	eventually(t, "the dead one says why", func() bool { // between two tries
		return strings.Contains(w.Fleet.Get("dead").State().Why, "no/such/program")
	})
}
