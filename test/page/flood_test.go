package page

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/mcp"
)

// Fifty thousand messages of calls arrive while the page shows them: every row has
// its outcome, only those in sight are elements, and no task takes long, also
// when they are filtered, searched, scrolled, and loaded by another page.
func TestFlood(t *testing.T) {
	h := oddFixture(t)
	p := open(t, h.address(), desk)
	p.at("#/wire/all?server=flood", `document.querySelector('.wiretable')`)
	w := h.work.Log.Wire("flood")
	began := time.Now()
	var took time.Duration
	cpu := p.quick("50,000 messages arrive", func() {
		for i := range 25_000 {
			h.frames(w, fmt.Sprintf(`>{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t%d","arguments":{}}}`, i, i), fmt.Sprintf(`<{"jsonrpc":"2.0","id":%d,"result":{"content":[],"isError":%v}}`, i, i%10 == 0))
		}
		p.until(rowCount("25,000 rows"))
		took = time.Since(began)
	})
	figure("%-44s %.1f s (at most %v)", "50,000 messages, until they are shown", took.Seconds(), wholeFlood)
	if cpu > wholeFlood || *bars && took > wholeFlood {
		t.Errorf("50,000 messages take %v, %v of them in the page", took, cpu)
	}
	p.until(calls + `.some((r) => r.startsWith('tools/call t24999: ok')) && ` + calls + `.some((r) => r.startsWith('tools/call t24990: tool failed'))`)
	if n := eval[int](p, `document.querySelectorAll('.wrow').length`); n > 150 {
		t.Errorf("%d rows are elements", n)
	}
	p.quick("filter 50,000 messages", func() {
		p.at("#/wire/all?server=flood&show=failed", rowCount("2,500 rows"))
		p.at("#/wire/all?server=flood&flat=1", rowCount("50,000 rows"))
	})
	p.quick("search in 50,000 messages", func() { p.at("#/wire/all?server=flood&q=t24990", rowCount("1 row")) })
	p.at("#/wire/all?server=flood", rowCount("25,000 rows"))
	p.quick("scroll through 50,000 messages", func() {
		eval[bool](p, `new Promise((done) => { const box = document.querySelector('.rows'); let n = 0; const step = () => { box.scrollTop = box.scrollHeight * (n / 60); if (n++ < 60) requestAnimationFrame(step); else done(true); }; requestAnimationFrame(step); })`)
	})
	p.quick("reload with 50,000 messages", func() {
		p.reload()
		p.until(rowCount("25,000 rows"))
	})
	eval[string](p, `localStorage.clear() ?? ''`)
}

// reload loads the page again.
func (p *tab) reload() {
	p.t.Helper()
	eval[bool](p, `window.before = true`)
	p.later(`location.reload()`)
	p.until(`!window.before && document.querySelector('#top .side > *')`)
}

// rowCount is true when the wire says that it has so many rows.
func rowCount(rows string) string {
	return `document.querySelector('.bar .count')?.textContent.startsWith(` + quote(rows) + `)`
}

// A crowd has a thousand tools that all try to run something, and results of five
// megabytes.
type crowd struct{ peculiar }

const nasty = attack + "\x1b[31mred\x1b[0m"

func (c crowd) Serve(ctx context.Context, q *mcp.Call) (mcp.Result, error) {
	switch q.Method {
	case mcp.MethodToolsList:
		tools := []map[string]any{}
		for i := range 1000 {
			tools = append(tools, map[string]any{"name": fmt.Sprintf("tool-%d", i), "title": nasty, "description": nasty, "inputSchema": json.RawMessage(`{"type":"object"}`)})
		}
		return mcp.Result{Body: text(map[string]any{"tools": tools})}, nil
	case mcp.MethodToolsCall:
		if strings.Contains(string(q.Params), `"tool-0"`) {
			return mcp.Result{Body: text(map[string]any{"content": []any{map[string]any{"type": "text", "text": strings.Repeat(nasty+"\n", 5<<20/len(nasty))}}})}, nil
		}
		rows := []map[string]any{}
		for i := range 20_000 {
			rows = append(rows, map[string]any{"id": i, "name": nasty[:40], "price": json.Number(fmt.Sprintf("%d.50", i)), "note": strings.Repeat("x", 120)})
		}
		return mcp.Result{Body: text(map[string]any{"content": []any{}, "structuredContent": map[string]any{"rows": rows}})}, nil
	}
	return c.peculiar.Serve(ctx, q)
}

// A thousand tools and results of five megabytes are shown piece by piece, with
// the digits that came, and nothing in them runs.
func TestCrowd(t *testing.T) {
	h := newFixture(t, setup{
		servers: []config.Server{builtinServer("crowd", "crowd", nil)},
		builtin: func(string, url.Values) (connect.Builtin, error) { return crowd{}, nil },
		model:   &caller{server: "crowd"}, rules: []config.Rule{{Effect: config.Allow, Server: "crowd", Tool: "*"}},
	})
	h.ready(t, "crowd")
	p := open(t, h.address(), desk)
	p.until(`document.querySelectorAll('.counts').length === 1`)
	p.quick("Learn and Servers with a thousand tools", func() {
		p.reload()
		p.at("#/learn/primitives", `document.body.textContent.includes('1000 tools on 1 server')`)
		p.at("#/servers", `document.querySelector('.server-row .offer.tools')`)
	})
	p.quick("a thousand tools", func() {
		p.at("#/drive/crowd/tools/tool-0", `document.querySelector('.tool code')?.textContent === 'tool-0'`)
	})
	p.quick("a text of 5 MB", func() {
		p.later(`document.querySelector('.runbar .primary').click()`)
		p.until(`document.querySelector('.outcome pre')?.textContent.includes('red')`)
		p.until(`document.querySelector('.outcome').textContent.includes('Show more')`)
	})
	judge(t, p, h.url, "a result of 5 MB")
	p.quick("more of the text", func() {
		p.later(`[...document.querySelectorAll('.outcome button')].find((b) => b.textContent === 'Show more').click()`)
		p.until(`document.querySelector('.outcome pre').textContent.length > 20_000`)
	})
	p.quick("its message", func() {
		p.openMessage("method=tools/call&kind=response")
		p.until(`document.querySelector('.message .json')?.textContent.includes('"content"')`)
	})
	p.quick("rows of 5 MB", func() {
		p.at("#/drive/crowd/tools/tool-1", `document.querySelector('.tool code')?.textContent === 'tool-1'`)
		p.later(`document.querySelector('.runbar .primary').click()`)
		p.until(`[...document.querySelectorAll('.outcome td')].some((e) => e.textContent === '99.50')`)
	})
	if n := eval[int](p, `document.querySelectorAll('.outcome tr').length`); n > 300 {
		t.Errorf("%d rows are drawn at once", n)
	}
	p.quick("more of the rows", func() {
		p.later(`[...document.querySelectorAll('.outcome button')].find((b) => b.textContent === 'Show more').click()`)
		p.until(`[...document.querySelectorAll('.outcome td')].some((e) => e.textContent === '199.50')`)
	})
	judge(t, p, h.url, "rows of 5 MB")
	p.quick("a message of 5 MB", func() {
		p.openMessage("method=tools/call&kind=response")
		p.until(`document.querySelector('.message .json')?.textContent.includes('"price": 0.50')`)
	})
	p.click(`.finder input`)
	p.quick("find in a message of 5 MB", func() {
		p.press(strings.Split("19999.50", "")...)
		p.until(`document.querySelector('.message .found')?.textContent.includes('19999.50')`)
	})
	judge(t, p, h.url, "a message of 5 MB")
	p.quick("a page with two results of 5 MB", func() {
		p.reload()
		p.at("#/drive/crowd/tools/tool-0", `document.querySelector('.outcome pre')?.textContent.includes('red')`)
		p.at("#/drive/crowd/tools/tool-1", `[...document.querySelectorAll('.outcome td')].some((e) => e.textContent === '99.50')`)
	})
	for i, name := range []string{"a text", "rows"} {
		p.at("#/chat", `document.querySelector('.composer textarea')`)
		p.quick(name+" of 5 MB in the chat", func() {
			p.say(fmt.Sprintf("call tool-%d", i))
			p.until(`document.querySelectorAll('.chat-log .card').length > 0 && document.querySelector('.chat-log').textContent.includes('done')`)
		})
	}
	judge(t, p, h.url, "a chat with 5 MB")
}
