package page

import (
	"testing"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/web"
)

// apart are the places of the anatomy where a line misses what it leads to by more
// than a pixel.
const apart = `(() => {
	const far = [], near = (what, a, b) => { if (Math.abs(a - b) > 1) far.push(what + ' ' + (a - b).toFixed(1)); };
	const paths = [...document.querySelectorAll('.wires path')].slice(2).map((p) => { const end = p.getPointAtLength(p.getTotalLength()).matrixTransform(p.getScreenCTM()); return end; });
	[...document.querySelectorAll('.connections .connection-row:not(.pending)')].forEach((row, i) => {
		const [c, line, s] = ['.client', '.strand line', '.server'].map((q) => row.querySelector(q).getBoundingClientRect());
		const name = row.getAttribute('aria-label');
		near(name + ' client and line', line.left, c.right);
		near(name + ' line and server', s.left, line.right);
		near(name + ' heights', line.top + line.height / 2, c.top + c.height / 2);
		if (!paths[i]) { far.push(name + ' has no line to the host'); return; }
		near(name + ' host line x', paths[i].x, c.left);
		near(name + ' host line y', paths[i].y, c.top + c.height / 2);
	});
	return far.join('; ');
})()`

// Lines of the anatomy end where their parts are (P16), and the name of a call that
// travels covers neither transport nor latency.
func TestAnatomyLinesMeet(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: append(samples(t), config.Server{Name: "broken", Kind: config.Stdio, Command: "/nonexistent/server"})})
	p := open(t, h.address(), desk)
	p.until(`document.querySelectorAll('.counts').length === 4`)
	for _, l := range []screen{desk, {width: 1440, height: 900}} {
		p.resize(l)
		if far := p.settles(apart); far != "" {
			t.Errorf("at %d pixels: %s", l.width, far)
		}
	}
	p.clickText("Play a tool call")
	p.until(`document.querySelectorAll('.step').length > 3`)
	for _, l := range []screen{desk, {width: 390, height: 844}} {
		p.resize(l)
		p.until(`document.querySelector('.step')`)
		p.clickOn(`[...document.querySelectorAll('.step')].find((e) => e.innerText.includes('Request'))`, "Request")
		if hit := p.settles(`(() => { const a = document.querySelector('.travel')?.getBoundingClientRect(); if (!a) return 'there is no name'; return [...document.querySelectorAll('.busy .over, .busy .under, .busy .counts')].filter((e) => { const b = e.getBoundingClientRect(); return a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1; }).map((e) => e.innerText).join(); })()`); hit != "" {
			t.Errorf("at %d pixels the name covers %s", l.width, hit)
		}
	}
}

// The page says what a client declares, and offers only what works: a model is
// connected, and help is found, on a phone as well.
func TestNothingUntrueOnScreen(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)[:1], add: &web.Proposal{}})
	h.ready(t, "calc")
	p := open(t, h.address(), desk)
	p.at("#/client/calc", `/elicitation \(.*url.*\).*, sampling|sampling.*, elicitation/.test(document.querySelector('.facts')?.innerText)`)
	first := eval[string](p, `(async () => { const d = await (await fetch('/api/v1/servers/calc')).json(); const m = JSON.parse((await (await fetch('/api/v1/wire/' + d.handshake.find((x) => x.sent).seq)).json()).frame); return Object.keys(m.params.capabilities ?? m.params._meta['io.modelcontextprotocol/clientCapabilities']).join(); })()`)
	if shown := eval[string](p, `[...document.querySelectorAll('.facts dt')].find((e) => e.innerText === 'Capabilities').nextSibling.innerText.replace(/ \([^)]*\)/g, '').replaceAll(', ', ',')`); shown != first {
		t.Errorf("the page shows the capabilities %s, and the client declares %s", shown, first)
	}
	p.resize(phone)
	p.at("#/chat", `document.querySelector('.talk-head')`)
	p.clickText("Connect a model")
	p.until(`location.hash === '#/connect'`)
	p.click(`button.help`)
	p.until(`document.querySelector('dialog[open]')?.innerText.includes('Keyboard')`)
	p.clickText("Close")
	if over := eval[string](p, `[...document.querySelectorAll('#top .side > *')].filter((e) => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth).map((e) => e.className).join()`); over != "" {
		t.Errorf("beyond the edge of a phone: %s", over)
	}
	p.resize(desk)
	if off := p.settles(`(() => { const a = document.querySelector('.page-head h1').getBoundingClientRect().left, b = document.querySelector('.connect-box label').getBoundingClientRect().left; return Math.abs(a - b) < 1 ? '' : 'the form is ' + (b - a) + ' pixels beside its heading'; })()`); off != "" {
		t.Error(off)
	}
}
