package web

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/audit"
	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/permit"
	"github.com/tenon-mcp/tenon/app/workspace"
	"github.com/tenon-mcp/tenon/builtin/calc"
	"github.com/tenon-mcp/tenon/mcp"
)

// press calls a tool as a button does and returns the event of its end.
func (s *site) press(tool, arguments string) pageCall {
	s.t.Helper()
	from := s.web.feed.last()
	var begun pageCall
	s.post("/api/v1/servers/calc/call", `{"tool":"`+tool+`","arguments":`+arguments+`}`, &begun)
	for e := range s.stream("?feed=" + mustJSON(s.t, from) + "&wire=0") {
		var now pageCall
		if e.kind == "call" && json.Unmarshal([]byte(e.data), &now) == nil && now.ID == begun.ID && now.Phase != "running" {
			return now
		}
	}
	s.t.Fatal("the stream ended before the call")
	return pageCall{}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// records reads the audit log and checks that it is whole.
func (s *site) records() (all []host.AuditRecord) {
	s.t.Helper()
	file := workspace.AuditFile(s.dir)
	if _, err := audit.Verify(file, nil); err != nil {
		s.t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		var l struct{ Record host.AuditRecord }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			s.t.Fatal(err)
		}
		all = append(all, l.Record)
	}
	return all
}

// H16: a button passes the same rules as the model and is in the audit log; where
// a rule asks, the person has answered by pressing it.
func TestButtonsPassTheRules(t *testing.T) {
	eras := &Options{Eras: func(context.Context, string, mcp.Revision, func(bool, []byte)) (mcp.Handler, func() error, error) {
		s, err := calc.New(calc.Config{})
		return s, func() error { return nil }, err
	}}
	s := newSiteIn(t, t.TempDir(), eras, config.Settings{Rules: []config.Rule{
		{Effect: config.Deny, Server: "calc", Tool: "divide"},
		{Effect: config.Deny, Server: "calc", Tool: "add", Args: map[string]string{"a": "13"}},
		{Effect: config.Ask, Server: "calc", Tool: "*"},
	}}).enter()
	if err := s.work.Book.Answer("calc", &mcp.Tool{Name: "multiply"}, "", permit.Never); err != nil {
		t.Fatal(err)
	}
	if now := s.press("divide", `{"a":1,"b":2}`); now.Phase != "denied" || now.Result != nil || now.Error != `calc/divide was not called. Denied by the rule "deny" for calc/divide.` {
		t.Errorf("denied by a rule: %+v", now)
	}
	if now := s.press("add", `{"a":13,"b":2}`); now.Phase != "denied" {
		t.Errorf("denied for its argument: %+v", now)
	}
	if now := s.press("multiply", `{"a":1,"b":2}`); now.Phase != "denied" || !strings.Contains(now.Error, "You always deny this tool") {
		t.Errorf("denied by the person: %+v", now)
	}
	if now := s.press("add", `{"a":20,"b":22}`); now.Phase != "done" || now.Result == nil || len(s.work.Host.Asks()) != 0 {
		t.Errorf("asked about: %+v", now)
	}
	divide := `"method":"tools/call","params":{"name":"divide","arguments":{"a":1,"b":2}}`
	if r := s.do(request{method: "POST", path: "/api/v1/servers/calc/raw", body: "{" + divide + "}"}); r.status != http.StatusForbidden || !strings.Contains(r.body, "Denied by the rule") {
		t.Errorf("raw: %d %s", r.status, r.body)
	}
	var got struct{ Runs []eraRun }
	s.post("/api/v1/servers/calc/eras", "{"+divide+`,"revisions":["2025-11-25"]}`, &got)
	if len(got.Runs) != 1 || got.Runs[0].Result != nil || !strings.Contains(got.Runs[0].Error, "Denied by the rule") {
		t.Errorf("in another era: %+v", got.Runs)
	}
	s.post("/api/v1/servers/calc/raw", `{"method":"tools/call","params":{"name":"divide_"}}`, nil) // fails, and is written down
	s.post("/api/v1/servers/calc/read", `{"uri":"welcome://ada"}`, nil)

	var lines []string
	for _, r := range s.records() {
		if !strings.Contains(r.Why, "Called by the person from the page") || r.Call == "" || r.Server != "calc" {
			t.Errorf("the audit log has %+v", r)
		}
		lines = append(lines, strings.TrimSpace(strings.Join([]string{r.What, r.Tool, string(r.Arguments), r.Outcome}, " ")))
	}
	want := `denied divide {"a":1,"b":2}
denied add {"a":13,"b":2}
denied multiply {"a":1,"b":2}
call add {"a":20,"b":22}
result add  ok
denied divide {"a":1,"b":2}
denied divide {"a":1,"b":2}
call divide_ {}
result divide_  failed
read resources/read {"uri":"welcome://ada"}`
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("the audit log has\n%s\nnot\n%s", got, want)
	}
}

// What the audit log cannot take is not called by a button either.
func TestButtonsNeedTheAuditLog(t *testing.T) {
	s := newSite(t, nil).enter()
	if err := os.Truncate(workspace.AuditFile(s.dir), 0); err != nil {
		t.Fatal(err)
	}
	s.press("add", `{"a":1,"b":1}`)
	if err := os.Truncate(workspace.AuditFile(s.dir), 1); err != nil {
		t.Fatal(err)
	}
	if now := s.press("add", `{"a":1,"b":1}`); now.Phase != "failed" || !strings.Contains(now.Error, "audit log") {
		t.Errorf("%+v", now)
	}
	if r := s.do(request{method: "POST", path: "/api/v1/servers/calc/read", body: `{"uri":"welcome://ada"}`}); r.status != http.StatusBadGateway || !strings.Contains(r.body, "audit log") {
		t.Errorf("reading: %d %s", r.status, r.body)
	}
}

// The events of a call hold no secret, as its messages do not.
func TestEventsOfCallsHoldNoSecrets(t *testing.T) {
	s := newSite(t, nil).enter()
	s.work.Secrets().Set("x", []string{"EXAMPLE-secret-1"})
	if end := s.press("EXAMPLE-secret-1", "{}"); end.Phase != "failed" || strings.Contains(mustJSON(t, end), "secret-1") {
		t.Errorf("%+v", end)
	}
}

// H12: the audit log has what a button passes without secret arguments.
func TestButtonsKeepSecretsOutOfTheAuditLog(t *testing.T) {
	s := newSite(t, nil).enter()
	s.press("add", `{"a":1,"b":2,"password":"hunter2x"}`)
	all := s.records()
	if len(all) == 0 || string(all[0].Arguments) != `{"a":1,"b":2,"password":"[redacted]"}` {
		t.Errorf("the audit log has %+v", all)
	}
}

// Any request of the user, and a comparison of protocol versions, show no secret.
func TestRawRequestsHideSecrets(t *testing.T) {
	const secret = "EXAMPLE-secret-2"
	s := newSite(t, &Options{Eras: func(_ context.Context, _ string, _ mcp.Revision, see func(bool, []byte)) (mcp.Handler, func() error, error) {
		see(true, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":"`+secret+`"}}`))
		h, err := calc.New(calc.Config{})
		return h, func() error { return nil }, err
	}}).enter()
	s.work.Secrets().Set("x", []string{secret, "Add two numbers"})
	var about json.RawMessage
	s.get("/api/v1/servers/calc", &about)
	if !strings.Contains(string(about), `"inputSchema"`) || strings.Contains(string(about), "Add two numbers") {
		t.Errorf("the server: %.3000s", about)
	}
	for path, body := range map[string]string{"raw": `{"method":"tools/list"}`, "eras": `{"method":"tools/list","revisions":["2025-11-25"]}`} {
		var got json.RawMessage
		s.post("/api/v1/servers/calc/"+path, body, &got)
		if !strings.Contains(string(got), `"inputSchema"`) || strings.Contains(string(got), secret) || strings.Contains(string(got), "Add two numbers") {
			t.Errorf("%s: %.3000s", path, got)
		}
	}
}
