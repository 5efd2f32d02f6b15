package host

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// audits collects the records of the audit log.
func audits(o *Options) *[]AuditRecord {
	var all []AuditRecord
	o.Audit = func(r AuditRecord) error { all = append(all, r); return nil }
	return &all
}

// The reason of a denial reaches the model byte for byte in its next request, the
// card and the audit log.
func TestReasonOfADenialReachesTheModel(t *testing.T) {
	const reason = "use the staging table, \"orders_2\":\nnot – the live one"
	var log *[]AuditRecord
	b := newBench(t, func(o *Options) { log = audits(o) }, calls("calc__add", `{"a":2,"b":3}`), says("ok"))
	b.attach("calc", calculator())
	b.answers = func(Ask) *Reply {
		var r Reply // as the page sends it
		if err := json.Unmarshal([]byte(`{"action":"deny","reason":"  use the staging table, \"orders_2\":\nnot – the live one\n"}`), &r); err != nil {
			t.Error(err)
		}
		return &r
	}
	if err := b.host.NewSession().Send(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if got, want := b.last(), "The person denied this call and says: \""+reason+"\". Follow that; do not repeat the call."; got != want {
		t.Errorf("the model gets %q, want %q", got, want)
	}
	all := b.all(EventTool)
	if c := all[len(all)-1].Call; c.Phase != CallDenied || c.Rule != "You denied it: "+reason {
		t.Errorf("the card has %q", c.Rule)
	}
	if r := (*log)[0]; r.What != "denied" || r.Why != "You denied it: "+reason {
		t.Errorf("the audit log has %+v", r)
	}
}

// A known secret in a reason is not stored; a reason that is too long or belongs to
// another answer keeps the question open.
func TestReasonsAreCheckedAndRedacted(t *testing.T) {
	var log *[]AuditRecord
	b := newBench(t, func(o *Options) { log = audits(o) }, calls("calc__add", `{"a":2,"b":3}`), says("ok"))
	b.attach("calc", calculator())
	b.host.known.Add("x", "hunter2hunter2")
	b.answers = func(a Ask) *Reply {
		for _, wrong := range []Reply{{Action: "once", Reason: "because"}, {Action: "deny", Reason: strings.Repeat("x", maxReason+1)}} {
			if _, invalid := errors.AsType[*InvalidReplyError](b.host.Reply(a.ID, wrong)); !invalid {
				t.Errorf("%s with %d characters is accepted", wrong.Action, len(wrong.Reason))
			}
		}
		return &Reply{Action: "deny", Reason: "hunter2hunter2 is not for you\x1b[2J"}
	}
	if err := b.host.NewSession().Send(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if why := (*log)[0].Why; strings.Contains(why, "hunter2") || strings.Contains(why, "\x1b") || !strings.Contains(why, "is not for you") {
		t.Errorf("the audit log has %q", why)
	}
	replied := b.all(EventReplied)
	if r := replied[0].Ask.Reply.Reason; strings.Contains(r, "hunter2") {
		t.Errorf("the event has %q", r)
	}
}

// Changed arguments run instead of the model's; the card, the audit log and the
// model have both.
func TestArgumentsAreChangedBeforeTheyRun(t *testing.T) {
	var log *[]AuditRecord
	var next *llm.Request
	b := newBench(t, func(o *Options) { log = audits(o) }, calls("calc__add", `{"a":2,"b":3}`), func(r *llm.Request) (llm.Message, error) {
		next = r
		return says("ok")(r)
	})
	b.attach("calc", calculator())
	b.answers = func(a Ask) *Reply {
		for _, wrong := range []Reply{
			{Action: "once", Arguments: json.RawMessage(`{"a":`)}, {Action: "once", Arguments: json.RawMessage(`[1]`)}, {Action: "once", Arguments: json.RawMessage(`{"a":1,"a":2}`)},
			{Action: "always", Arguments: json.RawMessage(`{}`)}, {Action: "once", Arguments: json.RawMessage(`{"a":"` + strings.Repeat("x", maxArguments) + `"}`)},
		} {
			if _, invalid := errors.AsType[*InvalidReplyError](b.host.Reply(a.ID, wrong)); !invalid {
				t.Errorf("%s with %.20s is accepted", wrong.Action, wrong.Arguments)
			}
		}
		return &Reply{Action: "once", Arguments: json.RawMessage(` {"a":20,"b":3}`)}
	}
	if err := b.host.NewSession().Send(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if got := b.last(); !strings.HasPrefix(got, "Note of the host: the person changed the arguments to {\"a\":20,\"b\":3}.\n") || !strings.Contains(got, "23") {
		t.Errorf("the model gets %q", got)
	}
	for _, m := range next.Messages {
		for _, c := range m.Calls() {
			if string(c.Arguments) != `{"a":2,"b":3}` {
				t.Errorf("the model's own message has %s", c.Arguments)
			}
		}
	}
	all := b.all(EventTool)
	if c := all[len(all)-1].Call; string(c.Arguments) != `{"a":20,"b":3}` || string(c.Proposed) != `{"a":2,"b":3}` || c.Rule != "Allowed once, with arguments that you changed" {
		t.Errorf("the card has %s for %s: %s", c.Arguments, c.Proposed, c.Rule)
	}
	if r := (*log)[0]; r.What != "call" || string(r.Arguments) != `{"a":20,"b":3}` || string(r.Proposed) != `{"a":2,"b":3}` {
		t.Errorf("the audit log has %+v", r)
	}
	if r := b.all(EventReplied)[0].Ask.Reply; r.Arguments != nil {
		t.Errorf("the event has the arguments %s", r.Arguments)
	}
}

// Changed arguments that a rule denies do not run: the person is told, and the
// question stays open.
func TestChangedArgumentsAreJudgedAgain(t *testing.T) {
	rules := config.Settings{Rules: []config.Rule{{Effect: config.Deny, Server: "calc", Tool: "add", Args: map[string]string{"a": "13"}}}}
	b := newBench(t, func(o *Options) { o.Book = book(t, rules) }, calls("calc__add", `{"a":2,"b":3}`), says("ok"))
	b.attach("calc", calculator())
	b.answers = func(a Ask) *Reply {
		err := b.host.Reply(a.ID, Reply{Action: "once", Arguments: json.RawMessage(`{"a":13,"b":3}`)})
		if _, invalid := errors.AsType[*InvalidReplyError](err); !invalid || !strings.Contains(err.Error(), "Denied by the rule") {
			t.Errorf("a denied change: %v", err)
		}
		return &Reply{Action: "once", Arguments: json.RawMessage(`{"b":3,"a":2}`)} // no change
	}
	if err := b.host.NewSession().Send(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if got := b.last(); strings.Contains(got, "changed") || !strings.Contains(got, "5") {
		t.Errorf("the model gets %q", got)
	}
	// A rule that comes while the question is open counts as well.
	call := &ToolCall{Arguments: json.RawMessage(`{"a":2}`)}
	e := b.host.server("calc").tools[0]
	if b.host.decided("s", e, call, b.host.opts.Book.Judge("calc", e.tool, call.Arguments, "s"), Reply{Action: "once", By: person, Arguments: json.RawMessage(`{"a":13}`)}, nil) {
		t.Error("the call is allowed")
	}
	if !strings.HasPrefix(call.Rule, "Denied by the rule") {
		t.Errorf("the card has %q", call.Rule)
	}
}

// Nothing is asked twice in one turn: an identical call is denied again with the
// same reason, and one of a tool that only reads runs again. A call that may change
// something is asked about again, and the question says so. The next turn asks
// again.
func TestNothingIsAskedTwiceInATurn(t *testing.T) {
	for _, c := range []struct {
		name   string
		reads  bool
		reply  Reply
		asked  int // in the first turn
		repeat int // of the second question
		want   string
	}{
		{"denied", false, Reply{Action: "deny", Reason: "not now"}, 1, 0, "The person already denied this call in this turn and says: \"not now\". Follow that; do not repeat the call."},
		{"reads", true, Reply{Action: "once"}, 1, 0, "done"},
		{"writes", false, Reply{Action: "once"}, 2, 1, "done"},
		{"changed", true, Reply{Action: "once", Arguments: json.RawMessage(`{"x":"9"}`)}, 2, 1, "done"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := server.New(mcp.Implementation{Name: "x", Version: "1"}, nil)
			server.AddTool(s, "do", "Do it", func(context.Context, *mcp.Call, struct {
				X string `json:"x"`
			}) (string, error) {
				return "done", nil
			}, &server.ToolOptions{Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(c.reads)}})
			b := newBench(t, nil, calls("x__do", `{"x":"1"}`), calls("x__do", `{ "x" : "1" }`), says("ok"), calls("x__do", `{"x":"1"}`), says("ok"))
			b.attach("x", s)
			b.answers = func(Ask) *Reply { return &c.reply }
			one := b.host.NewSession()
			if err := one.Send(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			asked := b.all(EventAsk)
			if len(asked) != c.asked || len(asked) > 1 && asked[1].Ask.Repeat != c.repeat {
				t.Errorf("asked %d times: %+v", len(asked), asked)
			}
			if got := b.last(); !strings.Contains(got, c.want) {
				t.Errorf("the model gets %q", got)
			}
			if err := one.Send(t.Context(), "again"); err != nil {
				t.Fatal(err)
			}
			if n := len(b.all(EventAsk)); n != c.asked+1 {
				t.Errorf("the next turn asks %d times", n-c.asked)
			}
		})
	}
}

// A form that the user declined is not shown again in the same call.
func TestDeclinedFormIsNotAskedAgainInTheCall(t *testing.T) {
	form := &client.Elicitation{Message: "?", Schema: json.RawMessage(`{"type":"object","properties":{}}`), Form: &mcp.Form{}}
	b := newBench(t, nil)
	b.answers = func(Ask) *Reply { return &Reply{Action: "decline"} }
	turn := withTurnAnswers(t.Context())
	for i, c := range []struct {
		call  string
		asked int
	}{{"c1", 1}, {"c1", 1}, {"c2", 2}} {
		r, err := b.host.form(withSession(turn, "s", c.call), "x", form)
		if err != nil || r.Action != mcp.ActionDecline {
			t.Fatal(r, err)
		}
		if n := len(b.all(EventAsk)); n != c.asked {
			t.Errorf("after question %d the person was asked %d times", i+1, n)
		}
	}
}
