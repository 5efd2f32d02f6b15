package era_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/internal/eraconn"
	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

const (
	noCapabilities = `"io.modelcontextprotocol/clientCapabilities":{}`
	canElicit      = `"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}`
	version        = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
)

// askable returns a request whose client can be asked.
func askable(frame string) string { return strings.Replace(frame, noCapabilities, canElicit, 1) }

// withMeta returns a request with more in its _meta.
func withMeta(frame, member string) string {
	return strings.Replace(frame, `"_meta":{`, `"_meta":{`+member+`,`, 1)
}

func TestHostileMeta(t *testing.T) {
	uris := strings.TrimSuffix(strings.Repeat(`"test://one",`, 100_000), ",")
	commas := strings.Repeat(",", 50_000)
	runRows(t, []row{
		one("M02 without capabilities", instead(`,`+noCapabilities, ``), "1 -32602 clientCapabilities"),
		one("M02 without version", instead(version+`,`, ``), "1 -32602 protocolVersion"),
		one("M02 without _meta", instead(`,`+meta, ``), "1 -32602"),
		one("M02 _meta empty", instead(meta, `"_meta":{}`), "1 -32602"),
		one("M02 _meta not an object", instead(meta, `"_meta":[]`), "1 -32602"),
		one("M04 version a number", instead(version, `"io.modelcontextprotocol/protocolVersion":5`), "1 -32602"),
		one("M04 capabilities an array", instead(noCapabilities, `"io.modelcontextprotocol/clientCapabilities":[]`), "1 -32602"),
		one("M04 capabilities null", instead(noCapabilities, `"io.modelcontextprotocol/clientCapabilities":null`), "1 -32602"),
		one("M04 client a string", instead(`{"name":"p","version":"1"}`, `"p"`), "1 -32602"),
		one("M04 elicitation a string", instead(noCapabilities, `"io.modelcontextprotocol/clientCapabilities":{"elicitation":"yes"}`), "1 -32602"),
		one("M04 progress token an object", withMeta(echo, `"progressToken":{}`), "1 -32602"),
		one("M06 unknown version", instead(version, `"io.modelcontextprotocol/protocolVersion":"2099-01-01"`), `1 -32022 "supported":["2026-07-28"]`),
		one("M06 discover in an unknown version", strings.Replace(request("1", "server/discover", ""), "2026-07-28", "2099-01-01", 1), `1 -32022 "supported":["2026-07-28"]`),
		one("M06 discover in a legacy version", strings.Replace(request("1", "server/discover", ""), "2026-07-28", "2025-11-25", 1), `1 -32022 or 1 -32601`),
		one("M08 elicitation that was not declared", toolCall("1", "ask", ""), `1 -32021 "requiredCapabilities":{"elicitation":{}}`),
		{id: "M08 declared in legacy without elicitation", legacy: mcp.Rev20251125, steps: []step{
			{send: legacyCall("1", "ask", ""), want: []string{"1 -32600 elicitation"}},
		}},
		one("M10 no log level", toolCall("1", "log", ""), "1 ok logged"),
		one("M10 log level", withMeta(toolCall("1", "log", ""), `"io.modelcontextprotocol/logLevel":"info"`), `- note "data":"loud"`, "1 ok logged"),
		one("M10 a tool that tells regardless", toolCall("1", "shout", ""), "1 ok shouted"),
		one("M10 a tool that tells, of progress only", withMeta(toolCall("1", "shout", ""), `"progressToken":"t"`), `- note "progress":1`, "1 ok shouted"),
		{id: "M10 a tool that tells regardless, legacy", legacy: mcp.Rev20251125, steps: []step{
			{send: legacyCall("1", "shout", ""), want: []string{`- note "data":"fire"`, "1 ok shouted"}},
		}},
		{id: "M12 one progress token twice", steps: []step{
			{send: withMeta(toolCall("1", "sleep", `"ms":1000`), `"progressToken":"t"`), want: []string{`- note "progress":1`}},
			{send: withMeta(toolCall("2", "sleep", `"ms":2000`), `"progressToken":"t"`), want: []string{`- note "progress":1`}},
			{send: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, wait: 1500 * time.Millisecond},
			{wait: time.Second, want: []string{`- note "progress":2`, "2 ok DONE"}},
		}},
		{id: "M14 capabilities are those of the request", steps: []step{
			{send: askable(toolCall("1", "ask", "")), want: []string{"1 asks First name?"}},
			{send: toolCall("2", "ask", ""), want: []string{"2 -32021"}},
		}},
		{id: "M14 a session lends nothing to a modern request", legacy: mcp.Rev20251125, steps: []step{
			{send: toolCall("2", "ask", ""), want: []string{"2 -32021"}},
		}},
		{id: "M16 initialize to a modern server", options: era.ServerOptions{ModernOnly: true}, steps: []step{
			{send: initialize("1", mcp.Rev20251125), want: []string{`1 -32022 "supported":["2026-07-28"]`}},
			{send: legacyCall("2", "echo", ""), want: []string{"2 -32602"}},
		}},
		one("M18 missing resource", request("1", "resources/read", `"uri":"test://missing"`), "1 -32602"),
		one("M18 no URI", request("1", "resources/read", ``), "1 -32602"),
		{id: "M18 missing resource in legacy", legacy: mcp.Rev20251125, steps: []step{
			{send: `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"test://missing"}}`, want: []string{"1 -32002"}},
		}},
		{id: "M20 completing a megabyte", steps: []step{{
			send: request("1", "completion/complete", `"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"`+strings.Repeat("a", 1<<20)+`"}`),
			want: []string{`1 ok "hasMore":true`}, look: hundredValues,
		}}},
		{id: "M22 arguments that do not fit", steps: []step{
			{send: toolCall("1", "strict", `"n":77`), want: []string{"1 failed"}},
			{send: toolCall("1", "strict", `"n":"x"`), want: []string{"1 failed"}},
			{send: toolCall("1", "strict", ``), want: []string{"1 failed"}},
			{do: func(w *wire) {
				if w.fixture.ran.Load() != 0 {
					w.t.Error("the tool ran")
				}
			}},
			{send: toolCall("1", "strict", `"n":7`), want: []string{`1 ok "structuredContent":{"value":7}`}},
		}},
		one("M24 a tool that comes to nil", toolCall("1", "none", ""), "1 -32603"),
		one("M24 a tool that comes to NaN", toolCall("1", "nan", ""), "1 -32603"),
		one("M24 a tool that breaks its own schema", toolCall("1", "liar", ""), "1 -32603"),
		one("M24 a resource that is nil", request("1", "resources/read", `"uri":"test://none"`), "1 -32603"),
		one("M24 a resource that fails", request("1", "resources/read", `"uri":"test://broken"`), "1 -32603"),
		one("M24 a prompt that comes to nil", request("1", "prompts/get", `"name":"none"`), "1 -32603"),
		one("M32 an answer to nothing that was asked", askable(request("1", "tools/call", `"name":"ask","arguments":{},"inputResponses":{"other":{"action":"accept"}}`)), `1 asks First name?`),
		one("M32 an answer to a call that does not ask", askable(instead(`"name":"echo"`, `"name":"echo","inputResponses":{"other":{"action":"accept"}}`)), served),
		one("M32 answers that are no object", askable(instead(`"name":"echo"`, `"name":"echo","inputResponses":[]`)), "1 -32602"),
		one("M34 100 000 URIs", request("1", "subscriptions/listen", `"notifications":{"resourceSubscriptions":[`+uris+`]}`), "1 -32602"),
		{id: "M36 only what was asked for", steps: []step{
			{send: request("1", "subscriptions/listen", `"notifications":{"toolsListChanged":true}`), want: []string{`- note "notifications/subscriptions/acknowledged"`}},
			{do: func(w *wire) { w.fixture.RemovePrompts("none") }, wait: time.Minute},
			{do: func(w *wire) { w.fixture.RemoveTools("big") }, wait: time.Minute, want: []string{`- note "notifications/tools/list_changed"`}},
			{send: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`},
		}},
		one("M36 listen without a filter", request("1", "subscriptions/listen", ``), "1 -32602"),
		one("M38 path template", request("1", "resources/read", `"uri":"file:///x/`+commas+`!"`), "1 ok or 1 -32602"),
		one("M38 path template, many segments", request("1", "resources/read", `"uri":"file:///x`+strings.Repeat("/,", 30_000)+`!"`), "1 ok or 1 -32602"),
		one("M38 a URI beyond any limit", request("1", "resources/read", `"uri":"file:///x`+strings.Repeat("/,", 500_000)+`!"`), "1 -32602"),
		one("M38 query template", request("1", "resources/read", `"uri":"test://tagged?tags=`+commas+`!"`), "1 ok or 1 -32602"),
		one("M38 query template, many values", request("1", "resources/read", `"uri":"test://tagged?`+strings.Repeat("tags=,&", 9_000)+`!"`), "1 ok or 1 -32602"),
		one("M40 tasks/get", request("1", "tasks/get", `"taskId":"t"`), "1 -32601"),
		one("M40 tasks/update", request("1", "tasks/update", `"taskId":"t"`), "1 -32601"),
		one("M40 tasks/cancel", request("1", "tasks/cancel", `"taskId":"t"`), "1 -32601"),
	})
}

func hundredValues(t *testing.T, lines []string) {
	var m struct {
		Result struct {
			Completion struct{ Values []string }
		}
	}
	for _, line := range lines {
		if err := json.Unmarshal([]byte(line), &m); err != nil || len(m.Result.Completion.Values) != protocol.MaxCompletions {
			t.Errorf("%d values, %v", len(m.Result.Completion.Values), err)
		}
	}
}

// askState asks for the first round of a call and returns the requestState that
// it comes to.
func askState(w *wire, id, method, params string) string {
	w.t.Helper()
	w.send(askable(request(id, method, params)) + "\n")
	synctest.Wait()
	lines := w.take()
	if len(lines) != 1 {
		w.t.Fatalf("came %q", lines)
	}
	state, ok := rawjson.String(rawjson.Lookup(rawjson.Lookup([]byte(lines[0]), "result"), "requestState"))
	if !ok {
		w.t.Fatalf("no requestState in %s", lines[0])
	}
	return state
}

// M28 and M30: a requestState counts for one call, one caller, and some time.
func TestHostileState(t *testing.T) {
	const (
		first  = `"name":"ask","arguments":{"msg":"a"},"inputResponses":{"first":{"action":"accept","content":{"name":"Ada"}}}`
		second = `"inputResponses":{"last":{"action":"accept","content":{"name":"Lovelace"}}}`
		call   = `"name":"ask","arguments":{"msg":"a"}`
	)
	again := func(call, state string) step {
		return step{send: askable(request("2", "tools/call", call+`,`+second+`,"requestState":"`+state+`"`))}
	}
	rows := []struct {
		id   string
		turn func(state string) step
		want string
	}{
		{"honest", func(s string) step { return again(call, s) }, "2 ok You are Ada Lovelace"},
		{"M28 other arguments", func(s string) step { return again(`"name":"ask","arguments":{"msg":"b"}`, s) }, "2 -32602"},
		{"M28 other tool", func(s string) step { return again(`"name":"echo","arguments":{"msg":"a"}`, s) }, "2 -32602"},
		{"M28 tampered", func(s string) step { return again(call, flip(s)) }, "2 -32602"},
		{"M28 cut short", func(s string) step { return again(call, s[:len(s)/2]) }, "2 -32602"},
		{"M28 empty", func(string) step { return again(call, "") }, "2 -32602"},
		{"M28 not base64", func(string) step { return again(call, "***") }, "2 -32602"},
		{"M28 huge", func(string) step { return again(call, strings.Repeat("A", 1<<20)) }, "2 -32602"},
	}
	spec := schemas(t)
	for _, r := range rows {
		t.Run(r.id, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := openWire(t, spec, &row{})
				s := r.turn(askState(w, "1", "tools/call", first))
				w.send(s.send + "\n")
				synctest.Wait()
				w.expect("second round", w.take(), []string{r.want})
				w.close()
			})
		})
	}
	t.Run("M30 too late", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			keys, err := era.NewKeys(time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			w := openWire(t, spec, &row{options: era.ServerOptions{Keys: keys}})
			s := again(call, askState(w, "1", "tools/call", first))
			time.Sleep(50 * time.Second)
			w.send(s.send + "\n")
			synctest.Wait()
			w.expect("in time", w.take(), []string{"2 ok You are Ada Lovelace"})
			time.Sleep(time.Minute)
			w.send(s.send + "\n")
			synctest.Wait()
			w.expect("too late", w.take(), []string{"2 -32602"})
			w.close()
		})
	})
}

func flip(s string) string {
	b := []byte(s)
	if b[len(b)/2] == 'A' {
		b[len(b)/2] = 'B'
	} else {
		b[len(b)/2] = 'A'
	}
	return string(b)
}

// M28 with principals, whom stdio does not have: they come from a transport
// that verifies them.
func TestHostileStateOfAnotherPrincipal(t *testing.T) {
	s, err := eraconn.NewServer(newFixture(t).Server, eraconn.ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	serve := func(p *mcp.Principal, frame string) string {
		m, err := jsonrpc.Decode([]byte(frame))
		if err != nil {
			t.Fatal(err)
		}
		return string(s.ServeModern(context.Background(), &m, p, eraconn.ReplyWriter{Notify: func(eraconn.Notification) {}}).Append(nil))
	}
	ada := &mcp.Principal{ID: "ada", Issuer: "https://id.example"}
	answered := askable(request("1", "tools/call", `"name":"ask","arguments":{},"inputResponses":{"first":{"action":"accept","content":{"name":"Ada"}}}`))
	state, ok := rawjson.String(rawjson.Lookup(rawjson.Lookup([]byte(serve(ada, answered)), "result"), "requestState"))
	if !ok {
		t.Fatal("no requestState")
	}
	second := askable(request("2", "tools/call", `"name":"ask","arguments":{},"inputResponses":{"last":{"action":"accept","content":{"name":"L"}}},"requestState":"`+state+`"`))
	for who, p := range map[string]*mcp.Principal{
		"nobody":         nil,
		"another":        {ID: "bob", Issuer: "https://id.example"},
		"another issuer": {ID: "ada", Issuer: "https://evil.example"},
		"a seam":         {ID: "example\x00ada", Issuer: "https://id."},
	} {
		if got := serve(p, second); !matches(got, "2 -32602") {
			t.Errorf("%s used the state of ada: %s", who, got)
		}
	}
	if got := serve(ada, second); !matches(got, "2 ok You are Ada L") {
		t.Errorf("ada cannot go on: %s", got)
	}
}

// A filter by caller hides what is not for it as if it were not there.
func TestHostileUnseenFeatureIsUnknown(t *testing.T) {
	h := server.New(mcp.Implementation{Name: "s", Version: "1"}, &server.Options{
		Allow: func(c *mcp.Caller, f server.Feature) bool { return f.Name != "secret" || c.Principal != nil },
	})
	for _, name := range []string{"open", "secret"} {
		server.AddTool(h, name, "", func(context.Context, *mcp.Call, nothing) (string, error) { return "ran", nil }, nil)
	}
	errorOf := func(name string) string {
		_, err := h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"` + name + `"}`)})
		return strings.ReplaceAll(fmt.Sprint(err), name, "…")
	}
	if hidden, unknown := errorOf("secret"), errorOf("absent"); hidden != unknown {
		t.Errorf("a hidden tool says %q, an unknown one %q", hidden, unknown)
	}
}
