package page

import (
	"context"
	"fmt"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/mcp"
)

var laptop = screen{width: 1024, height: 768}

// cut are the parts of the view, and of the header, that are beyond an edge and
// cannot be scrolled to.
const cut = `(() => {
	const out = [], edge = document.getElementById('main').getBoundingClientRect().right;
	for (const e of document.querySelectorAll('#main .outcome-pane, #main .segments, #main .tabs, #main .step, #main .prim, #main .prim button, #main .carrier, #main .lifebox')) {
		if (!e.checkVisibility() || e.closest('.steps')?.scrollWidth > e.closest('.steps')?.clientWidth) continue;
		if (e.getBoundingClientRect().right > edge + 1 || e.matches('.prim') && e.scrollWidth > e.clientWidth) out.push(e.className || e.innerText);
	}
	for (const e of document.querySelectorAll('#top .side > *')) if (e.checkVisibility() && e.getBoundingClientRect().right > innerWidth) out.push('header: ' + e.className);
	const who = document.querySelector('.drive-who')?.lastChild.getBoundingClientRect(), tab = document.querySelector('#tab-tools')?.getBoundingClientRect();
	if (who?.width && who.right > tab.left && who.bottom > tab.top) out.push('the tabs are on the name of the server');
	return out.join('; ');
})()`

// A question stands beside the view that it is about and takes a part of its width:
// nothing of the view is cut off.
func TestQuestionLeavesViewWhole(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: []config.Server{builtinServer("odd", "odd", nil)}, builtin: func(string, url.Values) (connect.Builtin, error) { return peculiar{}, nil }})
	h.ready(t, "odd")
	p := open(t, h.address(), wideDesk)
	views := []struct{ hash, ready string }{
		{"#/drive/odd/tools/log", `document.querySelector('.outcome-pane .run-chip')`},
		{"#/learn/primitives", `document.querySelectorAll('.prim').length === 6`},
		{"#/learn/messages/lifecycle", `document.querySelector('.lifebox')`},
		{"#/learn/transport", `document.querySelector('.carrier')`},
	}
	p.at("#/drive/odd/tools/log", `document.querySelector('.runbar')`)
	p.clickText("Run")
	p.until(`document.querySelector('.run-meta .state.ok')`)
	eval[bool](p, `fetch('/api/v1/servers/odd/call', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{"tool":"ask-me","arguments":{}}'}).then(() => true)`)
	p.until(`document.querySelector('#tray .ask')`)
	for _, l := range []screen{wideDesk, laptop, pocket} {
		p.resize(l)
		for _, v := range views {
			p.at(v.hash, v.ready)
			if left := p.settles(cut); left != "" {
				t.Errorf("%s at %d pixels: cut off: %s", v.hash, l.width, left)
			}
		}
	}
}

// Who presses Play sees the player, however many servers and however small the
// screen, and the explanation of the parts is not left out.
func TestPlayerInSight(t *testing.T) {
	t.Parallel()
	all := samples(t)
	for i := range 3 {
		all = append(all, builtinServer(fmt.Sprintf("more%d", i), "calc", nil))
	}
	h := newFixture(t, setup{servers: all})
	p := open(t, h.address(), laptop)
	p.until(`document.querySelectorAll('.counts').length === 7`)
	p.sees("Model Context Protocol")
	inSight := `(() => { const r = document.querySelector('.player:not([hidden]) .step[aria-current]')?.getBoundingClientRect(); if (!r) return 'nothing is played'; const x = r.left + r.width / 2, y = r.top + r.height / 2; const on = document.elementFromPoint(x, y)?.closest('.step'); if (!on?.hasAttribute('aria-current')) return 'the step is at ' + Math.round(x) + ', ' + Math.round(y); const e = document.elementFromPoint(x, innerHeight - 2); if (e?.closest('.picture, .shape, .life, .carrier')) return 'below the player is ' + e.className; const at = document.querySelector('.life li.active, .piece.active'); return !at || at.getBoundingClientRect().top < document.querySelector('.player').getBoundingClientRect().top ? '' : 'what is played is below the fold'; })()`
	for _, l := range []screen{laptop, pocket, wideDesk} {
		p.resize(l)
		for _, v := range [][2]string{{"#/", "Play a tool call"}, {"#/learn/messages/kinds", "Play one of each"}, {"#/learn/messages/lifecycle", "Play both"}, {"#/learn/transport", "Play the same call three times"}} {
			eval[string](p, "location.hash = "+quote(v[0]))
			p.clickText(v[1])
			if left := p.settles(inSight); left != "" {
				t.Errorf("%s at %d pixels: %s", v[0], l.width, left)
			}
			eval[bool](p, `[...document.querySelectorAll('.player:not([hidden]) .step')].at(-1).click() ?? true`)
			if left := p.settles(inSight); left != "" {
				t.Errorf("the end of %s at %d pixels: %s", v[0], l.width, left)
			}
		}
		p.at("#/", `document.querySelector('.lesson')?.checkVisibility()`)
	}
}

// A partial server offers more and more tools, leaves one definition unusable, and
// never manages to list its templates.
type partial struct{ tools *atomic.Int32 }

func (partial) Close() error { return nil }

func (s partial) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	if c.Method == mcp.MethodResourceTemplatesList {
		return mcp.Result{}, &mcp.Error{Code: mcp.CodeInternal, Message: "no templates today"}
	}
	if c.Method == mcp.MethodToolsList {
		tools := []any{map[string]any{"name": "no_schema"}}
		for i := range s.tools.Load() {
			tools = append(tools, map[string]any{"name": fmt.Sprintf("tool%d", i), "inputSchema": map[string]any{"type": "object"}})
		}
		return mcp.Result{Body: text(map[string]any{"tools": tools})}, nil
	}
	return odd{}.Serve(ctx, c)
}

// Definitions that are left out are counted wherever a server is listed, and a list
// that always fails does not keep the changes of others from being shown.
func TestPartialServer(t *testing.T) {
	t.Parallel()
	s := partial{new(atomic.Int32)}
	s.tools.Store(1)
	h := oneServer(t, "odd", s)
	p := open(t, h.address(), desk)
	const want = "4 problems" // a tool, a resource, a prompt, and the list of templates
	p.until(`document.querySelector('[data-part="server/odd"]')?.innerText.includes('` + want + `')`)
	p.at("#/servers", `document.querySelector('.server-row')?.innerText.includes('`+want+`')`)
	p.at("#/drive/odd/tools/tool0", `document.querySelector('.runbar')`)
	s.tools.Store(2)
	p.clickText("Restart")
	p.until(`[...document.querySelectorAll('.list strong')].some((e) => e.innerText === 'tool1')`)
	p.at("#/", `[...document.querySelectorAll('[data-part="server/odd"] .offer')].some((e) => e.innerText.includes('2 tools'))`)
	s.tools.Store(3)
	eval[bool](p, `fetch('/api/v1/servers/odd/restart', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{}'}).then(() => true)`)
	p.until(`[...document.querySelectorAll('[data-part="server/odd"] .offer')].some((e) => e.innerText.includes('3 tools'))`)
}

// The kind of message that was chosen last is shown, also if an earlier one arrives
// after it.
func TestLatestKindIsShown(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)[:1]})
	p := open(t, h.address(), desk)
	p.at("#/learn/messages/kinds", `document.querySelector('.shape-tabs')`)
	p.clickText("Play one of each")
	p.clickOn(`[...document.querySelectorAll('.step')].find((e) => e.innerText.includes('Batch'))`, "Batch")
	p.until(`document.querySelector('.shape .member')`)
	eval[bool](p, `(() => {
		const real = fetch;
		window.held = [];
		window.fetch = async (u, o) => { const r = await real(u, o); if (window.held && String(u).includes('/wire/')) await new Promise((go) => held.push(go)); return r; };
		const step = (name) => [...document.querySelectorAll('.step')].find((e) => e.innerText.includes(name)).click();
		step('Error'); step('Notification');
		return true;
	})()`)
	p.until(`held.length === 2`)
	eval[bool](p, `(() => { const [error, notification] = held; notification(); setTimeout(error, 300); setTimeout(() => { window.done = true; }, 600); return true; })()`)
	p.until(`window.done`)
	if got := eval[string](p, `document.querySelector('.shape-text strong').innerText`); got != "Notification" {
		t.Errorf("Notification was chosen last, shown is %s", got)
	}
}

// What was asked for while a call ran does not replace the messages and log lines
// that were asked for after it, if it arrives later.
func TestLatestMessagesOfARunAreShown(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)[:1]})
	h.ready(t, "calc")
	p := open(t, h.address(), desk)
	p.at("#/drive/calc/tools/average", `document.querySelector('.runbar')`)
	eval[bool](p, `(() => {
		const real = fetch;
		let n = 0;
		window.fetch = async (u, o) => {
			if (!/runs\/.*\/messages/.test(u) || n++) return real(u, o);
			await new Promise((go) => { window.release = go; });
			setTimeout(() => { window.done = true; }, 500);
			return new Response('{"messages":[],"lines":[]}');
		};
		return true;
	})()`)
	p.clickText("Run")
	p.until(`document.querySelector('#tray .ask') && window.release`)
	p.clickText("Decline")
	p.until(`document.querySelector('.run-meta .state') && !document.querySelector('.run-meta .state.wait')`)
	const shown = `document.querySelector('.outcome-pane .segments button:nth-child(2) .n')?.innerText`
	p.until(`Number(` + shown + `) > 2`)
	before := eval[string](p, shown)
	eval[bool](p, `release() ?? true`)
	p.until(`window.done`)
	if got := eval[string](p, shown); got != before {
		t.Errorf("the run has %s messages, and shown are %s", before, got)
	}
}
