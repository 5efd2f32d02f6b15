package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

// memoryLog is an AuditLog whose errors the test decides.
type memoryLog struct {
	mu      sync.Mutex
	records []string
	err     error
}

func (l *memoryLog) Append(record any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	raw, err := json.Marshal(record)
	l.records = append(l.records, string(raw))
	return err
}

func (l *memoryLog) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

func (l *memoryLog) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.records) == 0 {
		return ""
	}
	return l.records[len(l.records)-1]
}

// TestAuditRecords looks at the record of each kind of call and outcome.
func TestAuditRecords(t *testing.T) {
	var res mcp.Result
	var err error
	log := &memoryLog{}
	next := mcp.HandlerFunc(func(context.Context, *mcp.Call) (mcp.Result, error) { return res, err })
	h := mcp.Chain(next, Audit(log, OneServer("notes"), nil), Policy([]Rule{
		{Match: Match{Tool: "*"}}, {Match: Match{Tool: "del*"}, Deny: true}, {Match: Match{Tool: "read", Args: map[string]string{"path": "/no*"}}, Deny: true}, {Match: Match{Resource: "*"}},
	}, OneServer("notes"), nil))
	for _, c := range []struct {
		method, params string
		res            mcp.Result
		err            error
		want           string // empty means that nothing is recorded
	}{
		{mcp.MethodToolsCall, `{"name":"read","arguments":{"x":1}}`, mcp.Result{}, nil, `"server":"notes","kind":"tool","name":"read","effect":"allow","rule":{"effect":"allow","tool":"*"},"args":"sha256:` + strings.Repeat("?", 64) + `","outcome":"ok"`},
		{mcp.MethodToolsCall, `{"name":"read"}`, mcp.Result{Body: json.RawMessage(`{"content":[],"isError":true}`)}, nil, `"effect":"allow","rule":{"effect":"allow","tool":"*"},"outcome":"tool_error"`},
		{mcp.MethodToolsCall, `{"name":"read"}`, mcp.Result{}, mcp.InvalidParams("x"), `"effect":"allow","rule":{"effect":"allow","tool":"*"},"outcome":"error","code":-32602`},
		{mcp.MethodToolsCall, `{"name":"read"}`, mcp.Result{}, &mcp.InputRequired{}, `"effect":"allow","rule":{"effect":"allow","tool":"*"},"outcome":"input_required"`},
		{mcp.MethodToolsCall, `{"name":"delete"}`, mcp.Result{}, nil, `"name":"delete","effect":"deny","rule":{"effect":"deny","tool":"del*"},"outcome":"denied"`},
		{mcp.MethodToolsCall, `{"name":"read","arguments":{"path":"/no/x"}}`, mcp.Result{}, nil, `"effect":"deny","rule":{"effect":"deny","tool":"read","args":{"path":"/no*"}},"args":"sha256:` + strings.Repeat("?", 64) + `","outcome":"denied"`},
		{mcp.MethodPromptsGet, `{"name":"hello"}`, mcp.Result{}, nil, `"kind":"prompt","name":"hello","effect":"deny","outcome":"denied"`},
		{mcp.MethodResourcesRead, `{"uri":"https://x/?api_key=hunter2hunter2"}`, mcp.Result{}, nil, `"kind":"uri","name":"https://x/?api_key=`},
		{mcp.MethodSubscriptionsListen, `{"notifications":{}}`, mcp.Result{}, nil, `"method":"subscriptions/listen"`},
		{mcp.MethodToolsList, ``, mcp.Result{}, nil, ``},
		{mcp.MethodPing, ``, mcp.Result{}, nil, ``},
	} {
		res, err = c.res, c.err
		log.records = nil
		call := &mcp.Call{Method: c.method, Params: json.RawMessage(c.params), Meta: mcp.Meta{mcp.MetaTraceparent: json.RawMessage(`"00-abc"`)}, Caller: mcp.Caller{Principal: user("u"), Client: &mcp.Implementation{Name: "cli", Version: "2"}, Revision: "2026-07-28"}}
		h.Serve(context.Background(), call)
		got := log.last()
		if c.want == "" {
			if got != "" {
				t.Errorf("%s: %s", c.method, got)
			}
			continue
		}
		if !like(got, c.want) || !like(got, `"principal":"user:u","issuer":"https://id.example","client":"cli 2","revision":"2026-07-28"`) || !strings.HasSuffix(got, `"trace":"00-abc"}`) || strings.Contains(got, "hunter2") || !json.Valid([]byte(got)) {
			t.Errorf("%s %s:\n%s\nwant %s", c.method, c.params, got, c.want)
		}
	}
}

// like reports whether text contains a part, in which ? is any character.
func like(text, part string) bool {
	for i := range len(text) - len(part) + 1 {
		same := true
		for j := range len(part) {
			same = same && (part[j] == '?' || part[j] == text[i+j])
		}
		if same {
			return true
		}
	}
	return false
}

// TestAuditArguments records arguments without secrets, or not at all.
func TestAuditArguments(t *testing.T) {
	for mode, want := range map[AuditArguments]string{AuditRedacted: `"path":"/x"`, AuditNone: `"name":"read","outcome"`} {
		log := &memoryLog{}
		h := mcp.Chain(served, Audit(log, nil, &AuditOptions{Arguments: mode}))
		as(nil, h, mcp.MethodToolsCall, `{"name":"read","arguments":{"path":"/x", "password":"hunter2"}}`)
		if got := log.last(); !strings.Contains(got, want) || strings.Contains(got, "hunter2") {
			t.Errorf("%s: %s", mode, got)
		}
	}
}

// A statedLog is a log that says whether it can be written.
type statedLog struct {
	*memoryLog
	state error
}

func (l *statedLog) Err() error { return l.state }

// TestAuditRefusesBeforeServing serves nothing while the log says that it cannot be
// written.
func TestAuditRefusesBeforeServing(t *testing.T) {
	reached := 0
	next := mcp.HandlerFunc(func(context.Context, *mcp.Call) (mcp.Result, error) { reached++; return mcp.Result{}, nil })
	log := &statedLog{&memoryLog{}, errors.New("the disk is full")}
	h, optional := Audit(log, nil, &AuditOptions{Log: quiet})(next), Audit(log, nil, &AuditOptions{Log: quiet, Optional: true})(next)
	if got := endOf(nil, h, "x"); got[:3] != "503" || reached != 0 {
		t.Errorf("%s, and %d calls reach the server", got, reached)
	}
	if got := endOf(nil, optional, "x"); got != "ok" || reached != 1 {
		t.Errorf("optional: %s, and %d calls reach the server", got, reached)
	}
	log.state = nil
	if got := endOf(nil, h, "x"); got != "ok" || reached != 2 || len(log.records) != 3 {
		t.Errorf("afterwards: %s, %d calls, %q", got, reached, log.records)
	}
}

// TestAuditRefusesWithoutALog serves nothing while records cannot be written,
// unless the log is optional, and goes on afterwards.
func TestAuditRefusesWithoutALog(t *testing.T) {
	reached, abandoned := 0, false
	log := &memoryLog{}
	next := mcp.HandlerFunc(func(context.Context, *mcp.Call) (mcp.Result, error) {
		reached++
		return mcp.Result{}, &mcp.InputRequired{Abandon: func() { abandoned = true }}
	})
	h := mcp.Chain(next, Audit(log, nil, &AuditOptions{Log: quiet}))
	log.fail(errors.New("the disk is full"))
	for range 3 {
		if got := endOf(nil, h, "x"); got != `503 after 5s with {"retryAfter":5}` {
			t.Errorf("without the log: %s", got)
		}
	}
	if reached != 1 || !abandoned {
		t.Errorf("%d calls reached the server, abandoned %v", reached, abandoned)
	}
	log.fail(nil)
	endOf(nil, h, "x")
	if reached != 2 || len(log.records) != 2 || !strings.Contains(log.records[0], "can be written again") {
		t.Errorf("afterwards: %d calls, %q", reached, log.records)
	}
	log.fail(errors.New("the disk is full"))
	if got := endOf(nil, mcp.Chain(served, Audit(log, nil, &AuditOptions{Optional: true, Log: quiet})), "x"); got != "ok" {
		t.Errorf("optional: %s", got)
	}
}

func BenchmarkAudit(b *testing.B) {
	log := discardLog{}
	h := mcp.Chain(served, Audit(log, OneServer("notes"), nil), Policy([]Rule{{Match: Match{Server: "notes"}}}, OneServer("notes"), nil))
	c := &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"read","arguments":{"path":"/a/b/c","limit":10}}`), Caller: mcp.Caller{Principal: user("u", "dev")}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.Serve(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}

type discardLog struct{}

func (discardLog) Append(any) error { return nil }
