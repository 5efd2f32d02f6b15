package page

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// odd is a server with definitions that cannot be used, beside one that can.
type odd struct{}

func (odd) Close() error { return nil }

func (odd) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	if c.Method == mcp.MethodSubscriptionsListen {
		<-ctx.Done()
		return mcp.Result{}, ctx.Err()
	}
	type m = map[string]any
	object := m{"type": "object"}
	doubtful := m{"type": "object", "properties": m{"a": m{"type": "strnig"}, "b": m{"$ref": "#/$defs/gone"}, "c": m{"type": "string", "pattern": "["}}, "required": []string{"d"}}
	body, ok := map[string]any{
		mcp.MethodDiscover: m{"supportedVersions": mcp.Revisions(), "capabilities": m{"tools": m{}, "resources": m{}, "prompts": m{}}, "serverInfo": m{"name": "odd", "version": "1"}},
		mcp.MethodToolsList: m{"tools": []any{
			m{"name": "fine", "inputSchema": object}, m{"name": "wrong_type_schema", "inputSchema": "object"}, m{"name": "no_schema"}, m{"name": "fine", "description": "again", "inputSchema": object},
			m{"description": "nameless", "inputSchema": object}, m{"name": "doubtful", "inputSchema": doubtful},
		}},
		mcp.MethodResourcesList:         m{"resources": []any{m{"uri": "odd://ok", "name": "ok"}, m{"uri": 7, "name": "numbered"}}},
		mcp.MethodResourceTemplatesList: m{"resourceTemplates": []any{}},
		mcp.MethodPromptsList:           m{"prompts": []any{m{"name": "p"}, m{"name": "q", "arguments": "none"}}},
		mcp.MethodToolsCall:             m{"content": []any{m{"type": "text", "text": "done"}}},
	}[c.Method]
	if !ok {
		return mcp.Result{}, &mcp.Error{Code: mcp.CodeMethodNotFound, Message: "unknown"}
	}
	return mcp.Result{Body: text(body)}, nil
}

// oneServer is a fixture with one server under its own name.
func oneServer(t *testing.T, name string, s connect.Builtin) *fixture {
	t.Helper()
	h := newFixture(t, setup{eras: true, servers: []config.Server{builtinServer(name, name, nil)}, builtin: func(string, url.Values) (connect.Builtin, error) { return s, nil }})
	h.ready(t, name)
	return h
}

// at opens the page at an address.
func (p *tab) at(hash, ready string) {
	p.t.Helper()
	eval[string](p, "location.hash = "+quote(hash))
	p.until(ready)
}

// P2: definitions that cannot be used are listed by name, marked, with their
// problem and as the server sent them. The model does not get them.
func TestBrokenDefinitionsAreListed(t *testing.T) {
	t.Parallel()
	h := oneServer(t, "odd", odd{})
	p := open(t, h.address(), desk)
	p.at("#/drive/odd/tools/fine", `document.querySelector('.tool')`)
	names := func() string {
		return eval[string](p, `[...document.querySelectorAll('.list li')].map((e) => (e.firstChild.classList.contains('broken') ? '!' : '') + e.querySelector('strong').innerText.trim()).join()`)
	}
	if got, want := names(), "fine,doubtful,!wrong_type_schema,!no_schema,!fine,!tool without a name (4)"; got != want {
		t.Errorf("listed %s, want %s", got, want)
	}
	p.click(`.list li:nth-child(3) a`)
	p.until(`document.querySelector('.detail h2')?.innerText === 'wrong_type_schema'`)
	p.until(`document.querySelector('.detail .state.bad')?.innerText.includes('inputSchema')`)
	p.until(`document.querySelector('.detail .json')?.innerText.includes('"inputSchema": "object"')`)
	p.at("#/drive/odd/resources", `document.querySelector('.list .broken')?.innerText.includes('numbered')`)
	p.at("#/drive/odd/prompts", `document.querySelector('.list .broken')?.innerText.includes('q')`)
	p.until(`document.querySelector('#tab-tools .n').innerText === '6'`)
	for _, tool := range h.work.Host.Tools(t.Context()) {
		if tool.Tool.Name != "fine" && tool.Tool.Name != "doubtful" {
			t.Errorf("the model gets %s", tool.Tool.Name)
		}
	}
	p.at("#/drive/odd/problems", `document.querySelectorAll('.problems section').length >= 2`)
	p.sees("Definitions that are left out")
	p.until(`Number(document.querySelector('#tab-problems .n').innerText) >= 7`)
	p.clickText("no_schema")
	p.until(`document.querySelector('.detail h2')?.innerText === 'no_schema'`)
}

// P16: schemas that are likely wrong get warnings.
func TestSchemaWarnings(t *testing.T) {
	t.Parallel()
	h := oneServer(t, "odd", odd{})
	p := open(t, h.address(), desk)
	p.at("#/drive/odd/tools/doubtful", `document.querySelector('.schema-warnings')`)
	p.clickText("4 warnings about the schemas")
	for _, want := range []string{`unknown type "strnig"; did you mean "string"?`, `"#/$defs/gone" leads to nothing`, `the pattern "[" is not a regular expression`, `"d" is required, but not among the properties`} {
		p.sees(want)
	}
	p.until(`document.querySelector('.list li:nth-child(2) .state.wait')`)
	p.at("#/drive/odd/tools/fine", `document.querySelector('.detail h2')?.innerText === 'fine' && !document.querySelector('.schema-warnings')`)
}

// P6: a result is in sight, and leaving a tool, the view or the page loses
// neither a running call nor a result.
func TestRunsSurviveLeaving(t *testing.T) {
	t.Parallel()
	var version atomic.Int32
	var later atomic.Pointer[server.Server]
	h := kitFixture(t, &version, &later)
	h.ready(t, "kit")
	for i, l := range []screen{desk, {width: 1024, height: 700}, phone} {
		p := open(t, h.address(), l)
		p.at("#/drive/kit/tools/slow", `document.querySelector('.runbar')`)
		p.clickText("Run")
		p.sees("three of ten")
		p.until(`(() => { const r = document.querySelector('.outcome').getBoundingClientRect(); return r.top >= 0 && r.top < innerHeight; })()`)
		p.at("#/drive/kit/tools/echo", `document.querySelector('.detail h2')?.innerText === 'echo'`)
		p.at("#/wire", `document.querySelector('.wiretable')`)
		p.at("#/drive/kit/tools/slow", `document.querySelector('.run-chip.wait')`)
		p.sees("three of ten")
		p.must(chromedp.Do(p.ctx, chromedp.Reload()))
		p.until(`document.querySelector('.run-chip.wait')`)
		p.clickText("Cancel")
		cancelled := fmt.Sprintf(`document.querySelector('.run-meta .state')?.innerText.trim() === '#%d cancelled'`, i+1)
		p.until(cancelled)
		p.must(chromedp.Do(p.ctx, chromedp.Reload()))
		p.until(cancelled) // the latest run is shown
	}
}

// A run has its own messages and log lines, and its status is true.
func TestRunHasItsMessagesAndLogs(t *testing.T) {
	t.Parallel()
	s := server.New(mcp.Implementation{Name: "talker", Version: "1"}, nil)
	err := s.AddRawTool(mcp.Tool{Name: "say", InputSchema: json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"}}}`)}, func(_ context.Context, c *mcp.Call, args json.RawMessage) (*mcp.CallToolResult, error) {
		server.Logger(c, "talker").Warn("about to say " + string(args))
		if strings.Contains(string(args), "bad") {
			return &mcp.CallToolResult{IsError: true, Content: mcp.Contents{mcp.Text("no such word")}}, nil
		}
		if strings.Contains(string(args), "worse") {
			return nil, mcp.InvalidParams("word: too bad")
		}
		return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text(string(args))}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	h := oneServer(t, "talker", s)
	p := open(t, h.address(), desk)
	p.at("#/drive/talker/tools/say", `document.querySelector('.raw')`)
	run := func(word, status string) {
		t.Helper()
		eval[bool](p, `(() => { const r = document.querySelector('.raw'); r.value = JSON.stringify({word: `+quote(word)+`}); r.dispatchEvent(new Event('input')); return true; })()`)
		p.clickText("Run")
		p.until(`document.querySelector('.run-meta .state')?.innerText.trim() === ` + quote(status))
	}
	run("hello", "#1 ok")
	run("bad", "#2 tool failed")
	run("worse", "#3 error −32602")
	run("hallo", "#4 ok")
	p.click(`.segments button:nth-child(2)`)
	p.until(`[...document.querySelectorAll('.run-message code')].map((e) => e.innerText).join() === 'tools/call,result'`)
	p.click(`.run-message summary`)
	p.until(`document.querySelector('.run-message .json')?.innerText.includes('"hallo"')`)
	p.click(`.segments button:nth-child(3)`)
	p.until(`document.querySelectorAll('.outcome-pane .log').length === 1 && document.querySelector('.outcome-pane .log').innerText.includes('hallo')`)

	// Two runs are compared: only what differs is marked.
	p.until(`document.querySelectorAll('.run-chip').length === 4`)
	eval[bool](p, `(() => { const s = document.querySelector('.run-chips select'); s.value = [...s.options].find((o) => o.text === '#1').value; s.dispatchEvent(new Event('change')); return true; })()`)
	p.until(`[...document.querySelectorAll('.run-compare mark')].map((e) => e.innerText).join() === 'e,a,e,a'`)
	p.clickText("Close comparison")
	p.click(`.segments button:nth-child(1)`)
	p.click(`.run-chips button:last-of-type`) // the first run
	p.clickText("Run again")
	p.until(`document.querySelector('.run-meta .state')?.innerText.trim() === '#5 ok'`)
	p.until(`document.querySelector('.outcome').innerText.includes('hello')`)
	p.until(`/p50\u00a0.* · 5\u00a0calls,\u00a02\u00a0failed$/.test(document.querySelector('.list .under-name')?.innerText)`)
}

// Any method can be sent from nothing, also in another revision.
func TestRequestFromNothing(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)[:1], eras: true})
	h.ready(t, "calc")
	p := open(t, h.address(), desk)
	p.at("#/drive/calc/request", `document.querySelector('#send-method')`)
	method := func(name string) {
		t.Helper()
		eval[bool](p, `(() => { const m = document.querySelector('#send-method'); m.value = `+quote(name)+`; m.dispatchEvent(new Event('input')); return true; })()`)
	}
	method("tools/call")
	p.until(`JSON.parse(document.querySelector('#send-params').value).name === 'add'`)
	eval[bool](p, `(() => { const m = document.querySelector('#send-params'); m.value = '{"name":"add","arguments":{"a":20,"b":22}}'; m.dispatchEvent(new Event('input')); return true; })()`)
	p.clickText("Send request")
	p.until(`document.querySelector('.send-out .json')?.innerText.includes('42')`)
	p.until(`document.querySelector('.send-out a[href^="#/wire/"]')`)
	eval[bool](p, `(() => { document.querySelector('#send-revision').value = '2025-11-25'; return true; })()`)
	p.clickText("Send request")
	p.until(`[...document.querySelectorAll('.send-out .run-message code')].some((e) => e.innerText === 'initialize')`)
	method("no/such")
	eval[bool](p, `(() => { document.querySelector('#send-revision').value = ''; return true; })()`)
	p.clickText("Send request")
	p.until(`document.querySelector('.send-out .state')?.innerText.includes('error −32601')`)
}

// The level of log messages and the roots that a client declares can be changed.
func TestClientSettings(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: []config.Server{builtinServer("rooted", "rooted", nil)}, builtin: func(string, url.Values) (connect.Builtin, error) { return rooted(), nil }})
	h.ready(t, "rooted")
	p := open(t, h.address(), desk)
	p.at("#/drive/rooted/about", `document.querySelector('#roots')`)
	set := func(roots string) {
		t.Helper()
		eval[bool](p, `(() => { document.querySelector('#log-level').value = 'debug'; document.querySelector('#roots').value = `+quote(roots)+`; return true; })()`)
		p.clickText("Apply and reconnect")
		p.until(`![...document.querySelectorAll('.client-settings button')].some((b) => b.disabled)`)
	}
	set("/no/uri")
	p.sees("is not a file:// URI")
	set("file:///work/one\nfile:///work/two")
	p.until(`document.querySelector('.aboutbox .wrong').innerText === '' && document.querySelector('.drive-who .state.ok')`)
	p.at("#/drive/rooted/tools/look", `document.querySelector('.runbar')`)
	p.clickText("Run")
	p.until(`document.querySelector('.outcome')?.innerText.includes('file:///work/one file:///work/two')`)
	p.click(`.segments button:nth-child(3)`)
	p.until(`document.querySelector('.outcome-pane .log')?.innerText.includes('looking around')`)
}

// rooted is a server that tells its roots.
func rooted() *server.Server {
	s := server.New(mcp.Implementation{Name: "rooted", Version: "1"}, nil)
	server.AddTool(s, "look", "Look around", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		server.Logger(c, "rooted").Debug("looking around")
		roots, err := server.Roots(c, "r")
		if err != nil {
			return "", err
		}
		all := "the roots are"
		for _, r := range roots {
			all += " " + r.URI
		}
		return all, nil
	}, nil)
	return s
}

// A call of the chat leads to its messages.
func TestChatCallLeadsToItsMessages(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)[:1]})
	h.ready(t, "calc")
	p := open(t, h.address(), desk)
	talk(p)
	p.clickText("Its messages")
	p.until(`document.querySelector('.message h2')?.innerText.includes('tools/call') && document.querySelector('.message').innerText.includes('22')`)
}

// P16: comma-separated values are a table.
func TestCSVIsATable(t *testing.T) {
	t.Parallel()
	s := server.New(mcp.Implementation{Name: "sheets", Version: "1"}, nil)
	err := s.AddResource(mcp.Resource{URI: "sheet://prices", Name: "prices"}, func(context.Context, *mcp.Call, string, map[string]string) ([]mcp.ResourceContents, error) {
		return server.TextResource("text/csv", "name,price\r\n\"Tea, \"\"green\"\"\",4.50\r\nCup,12\r\n"), nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := oneServer(t, "sheets", s)
	p := open(t, h.address(), desk)
	p.at("#/drive/sheets/resources/sheet%3A%2F%2Fprices", `document.querySelector('.detail table')`)
	if got := eval[string](p, `[...document.querySelectorAll('.detail th, .detail td')].map((e) => e.innerText).join('|')`); got != `name|price|Tea, "green"|4.50|Cup|12` {
		t.Error(got)
	}
}

// P16: the arrow keys move in a list without a click, and Esc leaves the search.
func TestArrowsAndEscape(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)[:1]})
	h.ready(t, "calc")
	p := open(t, h.address(), desk)
	p.at("#/drive/calc/tools/add", `document.querySelector('.tool')`)
	p.click(`[data-search]`)
	p.press("m", "u")
	p.until(`[...document.querySelectorAll('.list li')].filter((e) => e.checkVisibility()).length === 1`)
	p.press(kb.Escape)
	p.until(`!document.activeElement.matches('[data-search]') && [...document.querySelectorAll('.list li')].every((e) => e.checkVisibility())`)
	p.press(kb.ArrowDown)
	p.until(`document.activeElement.innerText?.includes('subtract')`)
	p.press(kb.ArrowDown)
	p.until(`document.activeElement.innerText?.includes('multiply')`)
	p.press("\r")
	p.until(`document.querySelector('.detail h2')?.innerText === 'multiply'`)
	p.at("#/wire", `document.querySelector('.wiretable .empty button')`)
	p.clickOn(`[...document.querySelectorAll('.wiretable .empty button')].find((b) => b.innerText.includes('housekeeping'))`, "housekeeping")
	p.until(`document.querySelectorAll('.spacer .wrow').length > 2`)
	eval[bool](p, `(document.activeElement.blur(), true)`)
	p.press(kb.ArrowUp)
	p.until(`document.querySelector('.wrow.selected')`)
}
