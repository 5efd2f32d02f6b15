package page

import (
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// show makes the page believe that its tab is shown, or hidden behind another.
func (p *tab) show(shown bool) {
	p.t.Helper()
	state := "hidden"
	if shown {
		state = "visible"
	}
	eval[bool](p, `(() => { Object.defineProperty(document, 'hidden', {value: `+quote(state)+` === 'hidden', configurable: true}); Object.defineProperty(document, 'visibilityState', {value: `+quote(state)+`, configurable: true}); document.dispatchEvent(new Event('visibilitychange')); return true; })()`)
}

// A browser has six connections to a host, for all of its tabs: more tabs than that
// are no problem, because one that is hidden does not keep any. When it is shown
// again it has what passed meanwhile.
func TestManyTabs(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)[:1]})
	h.ready(t, "calc")
	first := open(t, h.address(), desk)
	first.at("#/wire", `document.querySelector('.wiretable')`)
	first.until(live)
	first.show(false)
	last := first
	for range 8 {
		last.show(false)
		last = newTab(t, browser, desk)
		last.navigate(h.url + "/#/drive/calc/tools/add")
		last.until(live)
	}
	last.click(`.fields .row:nth-child(1) input`)
	last.press("2", "0")
	last.click(`.fields .row:nth-child(2) input`)
	last.press("2", "2")
	last.clickText("Run")
	last.until(`document.querySelector('.outcome .pairs dd')?.innerText === '42'`)
	const row = `[...document.querySelectorAll('.wiretable .wrow')].some((r) => r.innerText.includes('tools/call'))`
	if eval[bool](first, row) {
		t.Error("a hidden tab receives messages")
	}
	first.show(true)
	first.until(row)
	first.until(live)
}

// A tab that was opened behind others connects when it is shown.
func TestTabOpenedBehindOthers(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)[:1]})
	h.ready(t, "calc")
	open(t, h.address(), desk).until(live)
	p := newTab(t, browser, desk)
	_, err := chromedp.Call(p.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `Object.defineProperty(document, 'hidden', {value: true, configurable: true});`})
	p.must(err)
	p.navigate(h.url + "/#/servers")
	p.until(`document.querySelector('.server-row')`)
	if eval[bool](p, live) {
		t.Error("a hidden tab is connected")
	}
	p.show(true)
	p.until(live)
}

// A connection that stays silent is replaced, although it looks open.
func TestSilentConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)[:1]})
	p := newTab(t, browser, desk)
	// The first event stream is open and has nothing to say, as one whose network is gone.
	_, err := chromedp.Call(p.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
		const Real = EventSource;
		let n = 0;
		window.EventSource = function (u) { if (n++) return new Real(u); const silent = new EventTarget(); silent.readyState = Real.OPEN; silent.close = () => {}; return silent; };
		Object.assign(window.EventSource, {CONNECTING: 0, OPEN: 1, CLOSED: 2});`})
	p.must(err)
	p.navigate(h.address())
	p.sees("Not connected")
	p.until(live)
}

const live = `document.querySelector('.pill.line.ok') !== null`

// A page whose login has ended says so, and no longer that it is reconnecting.
func TestClosedPageDoesNotReconnect(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)[:1]})
	p := open(t, h.address(), desk)
	p.until(live)
	eval[bool](p, `import(document.querySelector('link[rel=modulepreload]').href).then(({store}) => { Object.defineProperty(store.state, 'online', {get: () => false, set() {}}); store.emit('online', false); window.out = () => store.emit('out', 'no'); return true; })`)
	p.sees("Reconnecting")
	eval[bool](p, `window.out() ?? true`)
	p.sees("Tenon was started again, or the login of this page has ended.")
	p.until(`!document.body.innerText.includes('Reconnecting')`)
}
