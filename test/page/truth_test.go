package page

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A peculiar server returns what an inspector must show as it is: each tool has the
// result or the error that its name stands for.
type peculiar struct{}

func (peculiar) Close() error { return nil }

var oddResults = map[string]string{
	"log":     `{"content":[{"type":"text","text":"[INFO] 12 rows imported"}]}`,
	"brace":   `{"content":[{"type":"text","text":"{not json either"}]}`,
	"digits":  `{"content":[],"structuredContent":{"id":9007199254740993,"price":1.0,"tiny":1e-7}}`,
	"failed":  `{"content":[{"type":"text","text":"no such city"}],"isError":true}`,
	"block":   `{"content":[{"type":"text","text":"a good block"},{"type":"text","text":5},{"type":"hologram","beam":5},{"type":"text","text":"another good block"}]}`,
	"wrong":   `{"content":"no list"}`,
	"colours": `{"content":[{"type":"text","text":"\u001b[31mred\u001b[0m and \u001b[1mbold\u001b[0m"}]}`,
}

func (peculiar) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	switch c.Method {
	case mcp.MethodSubscriptionsListen:
		<-ctx.Done()
		return mcp.Result{}, ctx.Err()
	case mcp.MethodDiscover:
		return mcp.Result{Body: text(map[string]any{"capabilities": map[string]any{"tools": map[string]any{}, "logging": map[string]any{}}}), Server: &mcp.Implementation{Name: "odd", Version: "1"}}, nil
	case mcp.MethodToolsList:
		tools := []map[string]any{}
		for _, name := range []string{"log", "brace", "digits", "failed", "block", "wrong", "colours", "error", "wait", "defaults"} {
			tools = append(tools, map[string]any{"name": name, "inputSchema": json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer","default":9007199254740993},"factor":{"type":"number","default":1.0}}}`)})
		}
		return mcp.Result{Body: text(map[string]any{"tools": tools})}, nil
	case mcp.MethodToolsCall:
		return oddCall(ctx, c)
	}
	return mcp.Result{}, &mcp.Error{Code: -32601, Message: "unknown method"}
}

func oddCall(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	var p struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(c.Params, &p); err != nil {
		return mcp.Result{}, err
	}
	if strings.HasPrefix(p.Name, "ask-") && c.InputResponses["q"] == nil {
		return mcp.Result{}, &mcp.InputRequired{Requests: map[string]mcp.InputRequest{"q": {Method: mcp.MethodElicit, Params: text(map[string]any{"message": p.Name, "requestedSchema": map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string"}}}})}}}
	}
	switch p.Name {
	case "error":
		return mcp.Result{}, &mcp.Error{Code: -32602, Message: "the city is missing", Data: json.RawMessage(`{"field":"city","ids":[9007199254740993]}`)}
	case "wait":
		<-ctx.Done()
		return mcp.Result{}, ctx.Err()
	case "defaults":
		return mcp.Result{Body: text(map[string]any{"content": []any{map[string]any{"type": "text", "text": "got " + string(p.Arguments)}}})}, nil
	}
	return mcp.Result{Body: json.RawMessage(oddResults[p.Name])}, nil
}

// oddFixture is a fixture with the odd server and calc.
func oddFixture(t *testing.T) *fixture {
	t.Helper()
	h := newFixture(t, setup{
		servers: []config.Server{builtinServer("odd", "odd", nil), builtinServer("calc", "calc", nil)},
		builtin: func(name string, q url.Values) (connect.Builtin, error) {
			if name == "odd" {
				return peculiar{}, nil
			}
			return builtins(name, q)
		},
	})
	h.ready(t, "odd", "calc")
	return h
}

// run runs a tool of a server in the page.
func (p *tab) run(server, tool string) {
	p.t.Helper()
	eval[string](p, fmt.Sprintf(`location.hash = '#/drive/%s/tools/%s'`, server, tool))
	p.until(`document.querySelector('.tool code')?.innerText === ` + quote(tool))
	p.clickText("Run")
}

// Text that begins like JSON and is none is shown as text (P1).
func TestTextThatLooksLikeJSON(t *testing.T) {
	t.Parallel()
	p := open(t, oddFixture(t).address(), desk)
	p.run("odd", "log")
	p.until(`document.querySelector('.outcome pre')?.innerText === '[INFO] 12 rows imported'`)
	p.run("odd", "brace")
	p.until(`document.querySelector('.outcome pre')?.innerText === '{not json either'`)
}

// A result that breaks the protocol is not "ok", in its run and in Wire.
func TestInvalidResultIsNotOK(t *testing.T) {
	t.Parallel()
	p := open(t, oddFixture(t).address(), desk)
	p.run("odd", "wrong")
	p.sees("#1 invalid result")
	eval[string](p, `location.hash = "#/wire"`)
	p.until(`location.hash.startsWith('#/wire') && !document.querySelector('.outcome') && document.body.innerText.includes('invalid result')`)
}

// Numbers are shown with the digits that came, in results, in messages and in the
// defaults of a form, which are sent so (P4).
func TestDigits(t *testing.T) {
	t.Parallel()
	p := open(t, oddFixture(t).address(), desk)
	p.run("odd", "digits")
	p.until(`[...document.querySelectorAll('.outcome .pairs dd')].map((e) => e.innerText).join() === '9007199254740993,1.0,1e-7'`)
	p.clickOn(`[...document.querySelectorAll('.outcome .tools button')].find((b) => b.innerText === 'JSON')`, "JSON")
	p.until(`document.querySelector('.outcome .json').innerText.includes('"price": 1.0')`)
	seq := eval[int](p, `(async () => (await (await fetch('/api/v1/wire?method=tools/call&kind=response')).json()).messages[0].seq)()`)
	eval[string](p, fmt.Sprintf(`location.hash = '#/wire/%d'`, seq))
	p.until(`['"id": 9007199254740993', '"price": 1.0', '"tiny": 1e-7'].every((x) => document.querySelector('.message .json').innerText.includes(x))`)
	p.run("odd", "error")
	p.until(`document.querySelector('.outcome .failure .json')?.innerText.includes('9007199254740993')`)
	p.run("odd", "defaults")
	p.until(`document.querySelector('.outcome').innerText.includes('got {"id":9007199254740993,"factor":1.0}')`)
	got := eval[string](p, `(async () => { const n = await import(document.querySelector('link[rel=modulepreload]').href).then((m) => m.numbers); const v = n.parse('{"a":9007199254740993,"b":[1.0,-0,1e3,0.1,12],"c":"4e1"}'); return n.stringify(v) + n.isNumber(v.a) + (v.b[4] === 12) + String(n.number('1.50')) + n.number('x'); })()`)
	if want := `{"a":9007199254740993,"b":[1.0,-0,1e3,0.1,12],"c":"4e1"}truetrue1.50undefined`; got != want {
		t.Errorf("numbers.js keeps %s, want %s", got, want)
	}
}

// One block that cannot be used does not hide the others; an error is shown once,
// with its code and its data (P8).
func TestPartsOfAResult(t *testing.T) {
	t.Parallel()
	p := open(t, oddFixture(t).address(), desk)
	p.run("odd", "block")
	for _, want := range []string{"a good block", "another good block", "a block of type text needs text", "does not know blocks of type hologram", "This result breaks the protocol"} {
		p.until(`document.querySelector('.outcome').innerText.includes(` + quote(want) + `)`)
	}
	p.run("odd", "error")
	p.until(`document.querySelector('.outcome .failure')?.innerText.includes('"field"') || [...document.querySelectorAll('.outcome .pairs dt, .outcome .k')].some((e) => e.innerText.includes('field'))`)
	p.until(`document.querySelector('.run-meta').innerText.includes('error −32602')`)
	if eval[bool](p, `document.querySelector('.outcome').innerText.includes('32602')`) {
		t.Error("the code of the error is shown twice")
	}
}

// No view scrolls into a void: the page itself never scrolls, and has one
// scrollbar at most for each column (P5).
func TestNoVoid(t *testing.T) {
	t.Parallel()
	h := oddFixture(t)
	wire := h.work.Log.Wire("odd")
	for i := range 300 {
		wire.Stderr(fmt.Sprintf("line %d", i))
	}
	p := open(t, h.address(), desk)
	for _, l := range []screen{{width: 1440, height: 900}, {width: 1024, height: 700}, {width: 390, height: 800}} {
		p.resize(l)
		for _, hash := range []string{"#/", "#/server/calc", "#/drive/calc/tools/add", "#/drive/odd/logs", "#/wire", "#/wire/1", "#/chat"} {
			eval[string](p, "location.hash = "+quote(hash))
			p.until(`document.querySelector('main').innerText.length > 20 && !document.querySelector('.loading')`)
			if left := p.settles(`(() => { const d = document.scrollingElement; d.scrollTo(0, 9999); return d.scrollHeight > d.clientHeight || d.scrollTop > 0 || d.scrollWidth > d.clientWidth ? d.scrollHeight + ' of ' + d.clientHeight + ', width ' + d.scrollWidth + ' of ' + d.clientWidth : ''; })()`); left != "" {
				t.Errorf("%s at %d pixels scrolls into a void: %s", hash, l.width, left)
			}
			if wide := eval[string](p, `[...document.querySelectorAll('main, main > *')].filter((e) => e.scrollWidth > innerWidth).map((e) => e.className + ' ' + e.scrollWidth).join()`); wide != "" {
				t.Errorf("%s at %d pixels is too wide: %s", hash, l.width, wide)
			}
		}
	}
}

// The log opens at its newest line, is searched, filtered by level and saved, and
// the colours of terminals are colours (P15).
func TestLogLines(t *testing.T) {
	t.Parallel()
	h := oddFixture(t)
	wire := h.work.Log.Wire("odd")
	for i := range 300 {
		wire.Stderr(fmt.Sprintf("line %d", i))
	}
	for _, level := range []string{"debug", "warning", "error"} {
		wire.Frame(jsonrpc.In, []byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"`+level+`","logger":"db","data":"a `+level+` line"}}`))
	}
	wire.Stderr("\x1b[31mred\x1b[0m \x1b[38;5;34mgreen\x1b[0m \x1b]0;title\x07\x1b[2Jplain <b>no markup</b>")
	p := open(t, h.address(), desk)
	eval[string](p, `location.hash = '#/drive/odd/logs'`)
	p.until(`document.querySelectorAll('.logs .log').length === 304`)
	p.until(`(() => { const box = document.querySelector('.logs').getBoundingClientRect(), last = [...document.querySelectorAll('.log')].at(-1).getBoundingClientRect(); return last.top < box.bottom && last.bottom <= innerHeight; })()`)
	p.until(`document.querySelector('.logs .a-red')?.innerText === 'red' && document.querySelector('.logs .a-green')?.innerText === 'green'`)
	if got := eval[string](p, `[...document.querySelectorAll('.log')].at(-1).querySelector('.wrap').innerText`); got != "red green plain <b>no markup</b>" {
		t.Errorf("the line with colours is shown as %q", got)
	}
	p.click(".logbox input[type=search]")
	p.press(strings.Split("DB", "")...)
	p.until(`document.querySelectorAll('.logs .log').length === 3`)
	eval[bool](p, `(() => { const s = document.querySelector('.logbox select'); s.value = 'warning'; s.dispatchEvent(new Event('change')); return true; })()`)
	p.until(`[...document.querySelectorAll('.logs .log .level')].map((e) => e.innerText).join() === 'warning,error'`)
	p.run("odd", "colours")
	p.until(`document.querySelector('.outcome .a-red')?.innerText === 'red'`)
}
