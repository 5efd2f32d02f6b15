package page

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/jsonrpc"
)

// calls are the rows in sight: their method with what it is about, and status.
const calls = `[...document.querySelectorAll('.spacer .wrow:not([hidden])')].map((r) => r.querySelector('.method').innerText.replace('▸', '').trim() + ': ' + r.querySelector('.status').innerText)`

// frames adds messages to a wire: those that begin with > are sent.
func (h *fixture) frames(w *wirelog.Wire, lines ...string) {
	for _, l := range lines {
		d := jsonrpc.In
		if strings.HasPrefix(l, ">") {
			d = jsonrpc.Out
		}
		w.Frame(d, []byte(l[1:]))
	}
}

// openMessage opens the latest message that a query finds.
func (p *tab) openMessage(query string) {
	p.t.Helper()
	eval[string](p, fmt.Sprintf(`(async () => location.hash = '#/wire/' + (await (await fetch('/api/v1/wire?%s')).json()).messages[0].seq)()`, query))
}

// Status words are true: ok, tool failed, error −32602, cancelled, waiting, also
// for calls from before the page was opened, and for their messages (P3).
func TestStatusWords(t *testing.T) {
	t.Parallel()
	h := oddFixture(t)
	w := h.work.Log.Wire("tapped")
	h.frames(w,
		`>{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"good"}}`, `<{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`,
		`>{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"bad"}}`, `<{"jsonrpc":"2.0","id":2,"result":{"content":[],"isError":true}}`,
		`>{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"wrong"}}`, `<{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no"}}`,
		`>{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"stopped"}}`, `>{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}`,
		`>{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"open"}}`, `<{"jsonrpc":"2.0","id":99,"result":{}}`)
	p := open(t, h.address(), desk)
	p.run("odd", "failed")
	p.until(`document.querySelector('.outcome .result')`)
	p.run("odd", "error")
	p.until(`document.querySelector('.outcome .failure')`)
	p.run("odd", "wait")
	p.until(`document.querySelector('.segments button:nth-child(2) .n')?.innerText === '1'`) // it was sent
	p.clickText("Cancel")
	p.sees("You cancelled this call.")
	p.clickText("Wire")
	want := []string{"tools/call good: ok", "tools/call bad: tool failed ✕1", "tools/call wrong: error −32602", "tools/call stopped: cancelled", "tools/call open: waiting", "tools/call failed: tool failed", "tools/call error: error −32602", "tools/call wait: cancelled"}
	for _, row := range want {
		p.until(calls + `.some((r) => r.startsWith(` + quote(strings.TrimSuffix(row, " ✕1")) + `))`)
	}
	p.until(calls + `.some((r) => r.endsWith(': unmatched ✕1') || r.endsWith(': unmatched'))`)
	p.until(calls + `.some((r) => /open: waiting [2-9] s/.test(r))`) // it counts
	h.frames(w, `<{"jsonrpc":"2.0","id":5,"result":{"content":[],"isError":true}}`)
	p.until(calls + `.some((r) => r.startsWith('tools/call open: tool failed'))`)
	// An unfolded call shows its messages with the same words.
	p.clickOn(`[...document.querySelectorAll('.spacer .wrow')].find((r) => r.innerText.includes('stopped')).querySelector('.fold')`, "unfold")
	p.until(calls + `.some((r) => r.startsWith('notifications/cancelled'))`)
}

// One row stands for a call; housekeeping is hidden, counted and shown on demand,
// and reloading the page adds nothing to the log (P7).
func TestCallsAndHousekeeping(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)})
	h.ready(t)
	p := open(t, h.address(), desk)
	p.until(`document.querySelectorAll('.counts').length === 4`)
	p.run("calc", "add")
	p.clickText("Send anyway")
	p.until(`document.querySelector('.outcome .result')`)
	p.clickText("Wire")
	if left := p.settles(`((all) => all.join() === 'tools/call add: tool failed' ? '' : all.join('; '))(` + calls + `)`); left != "" {
		t.Errorf("the rows are %s", left)
	}
	p.until(`/\d+ hidden/.test(document.querySelector('.bar .tick .n').innerText)`)
	eval[bool](p, `document.querySelector(".wrow .fold").click() ?? true`) // rows that arrive move it away from a mouse
	p.until(calls + `.length === 2`)
	p.clickOn(`document.querySelector('.bar input[data-key=all]')`, "Housekeeping")
	p.until(calls + `.some((r) => r.startsWith('tools/list'))`)
	p.clickOn(`document.querySelector('.bar input[data-key=flat]')`, "One row per call")
	p.until(calls + `.length > 12`)

	before := h.work.Log.Last()
	for range 3 {
		p.must(chromedp.Do(p.ctx, chromedp.Navigate(h.url+"/#/"), chromedp.Reload()))
		p.until(`document.querySelectorAll('.counts').length === 4`)
	}
	if now := h.work.Log.Last(); now != before {
		t.Errorf("reloading the page three times added %d messages", now-before)
	}
	eval[string](p, `localStorage.clear() ?? ''`)
}

// The filter is in the address and remembered, and Escape leaves the search (P15).
func TestFilterInTheAddress(t *testing.T) {
	t.Parallel()
	h := oddFixture(t)
	w := h.work.Log.Wire("tapped")
	for i := range 5 {
		h.frames(w, fmt.Sprintf(`>{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t%d"}}`, i, i), fmt.Sprintf(`<{"jsonrpc":"2.0","id":%d,"result":{"content":[],"isError":%v}}`, i, i == 3))
	}
	p := open(t, h.address(), desk)
	p.clickText("Wire")
	p.until(`[...document.querySelectorAll('select[aria-label=Server] option')].some((o) => o.value === 'tapped')`)
	eval[bool](p, `(() => { for (const [l, v] of [['Server', 'tapped'], ['Show', 'failed']]) { const s = document.querySelector('select[aria-label=' + l + ']'); s.value = v; s.dispatchEvent(new Event('change')); } return true; })()`)
	p.until(calls + `.length === 1 && ` + calls + `[0].startsWith('tools/call t3')`)
	p.until(`location.hash === '#/wire/all?server=tapped&show=failed'`)
	p.click(`.spacer .wrow`)
	p.until(`document.querySelector('.message .json') && location.hash.endsWith('?server=tapped&show=failed')`)
	p.press("\u001b")
	p.until(`location.hash === '#/wire/all?server=tapped&show=failed'`)
	p.clickText("Learn")
	p.clickText("Wire")
	p.until(`document.querySelector('select[aria-label=Show]').value === 'failed' && ` + calls + `.length === 1`)
	p.must(chromedp.Do(p.ctx, chromedp.Reload()))
	p.until(calls + `.length === 1`)
	p.clickText("Clear the filter")
	p.until(calls + `.length === 5`)
	p.click(`.bar input[type=search]`)
	p.press("z", "z")
	p.until(calls + `.length === 0`)
	p.clickText("Clear the filter")
	p.until(calls + `.length === 5`)
	p.click(`.spacer .wrow`) // the row was hidden meanwhile
	p.until(`document.querySelector('.message .json')`)
	p.press("\u001b")
	p.click(`.bar input[type=search]`)
	p.press("t", "4")
	p.until(calls + `.length === 1 && location.hash.includes('q=t4')`)
	p.press("\u001b")
	p.until(`document.activeElement.matches('.wiretable')`)
	eval[string](p, `localStorage.clear() ?? ''`)
}

// A message folds, and a text is found in it wherever it is hidden.
func TestFoldAndFind(t *testing.T) {
	t.Parallel()
	h := oddFixture(t)
	w := h.work.Log.Wire("tapped")
	items := make([]string, 1000)
	for i := range items {
		items[i] = fmt.Sprintf(`{"n":%d,"name":"item %d"}`, i, i)
	}
	h.frames(w, `>{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`, `<{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"items":[`+strings.Join(items, ",")+`]}}}`)
	p := open(t, h.address(), desk)
	p.openMessage("server=tapped&kind=response")
	p.until(`document.querySelector('.message .json')?.innerText.includes('"items"')`)
	if n := eval[int](p, `document.querySelectorAll('.message .jline').length`); n > 900 {
		t.Errorf("%d lines are drawn at once", n)
	}
	if eval[bool](p, `document.querySelector('.message .json').innerText.includes('item 777')`) {
		t.Error("everything is drawn at once")
	}
	p.click(`.finder input`)
	p.press(strings.Split("item 777", "")...)
	p.until(`document.querySelector('.message .found')?.innerText.includes('item 777')`)
	p.until(`document.querySelector('.finder .soft').innerText === '1 of 1'`)
	p.until(`(() => { const r = document.querySelector('.message .found').getBoundingClientRect(); return r.top > 0 && r.bottom < innerHeight; })()`)
	result := `[...document.querySelectorAll('.message .jline')].find((e) => e.innerText.includes('"result"'))`
	p.clickOn(result+`.querySelector('.fold')`, "fold")
	p.until(`!document.querySelector('.message .json').innerText.includes('"items"') && ` + result + `.getAttribute('aria-expanded') === 'false'`)
	p.press("\t")
	eval[bool](p, result+`.focus() ?? true`)
	p.press("\r")
	p.until(`document.querySelector('.message .json').innerText.includes('"items"')`)
}

// The timeline has one scale: a call that took twice as long is twice as wide,
// overlapping calls are beside each other, what is cut is said, and a bar says
// what it is (P9).
func TestTimeline(t *testing.T) {
	t.Parallel()
	h := oddFixture(t)
	p := open(t, h.address(), desk)
	p.clickText("Wire")
	type bar struct {
		Wide, Top float64
		Server    string
	}
	var got struct {
		Bars  []bar
		Parts int
		Tip   string
	}
	got = eval[struct {
		Bars  []bar
		Parts int
		Tip   string
	}](p, `(async () => {
		const { Timeline } = await import(document.querySelector('link[rel=modulepreload]').href).then((m) => m.timeline);
		const picked = [];
		const line = new Timeline((seq) => picked.push(seq));
		line.el.style.width = '1000px';
		document.querySelector('.wirebox .canvas').prepend(line.el);
		const at = 1.7e15, call = (seq, from, ms, server, outcome = 'ok') => ({ seq, at: at + from * 1000, ms, server, kind: 'request', method: 'tools/call', about: 'x' + seq, outcome });
		const list = [call(1, 0, 100, 'a'), call(2, 50, 200, 'a'), call(3, 60, 400, 'b', 'failed'), call(4, 3_600_000, 100, 'a')];
		line.draw(list);
		line.paint();
		const b = line.bars.find((x) => x.m.seq === 3), box = line.el.getBoundingClientRect();
		line.el.dispatchEvent(new MouseEvent('mousemove', { clientX: box.left + b.x + b.wide / 2, clientY: box.top + b.top + 2, bubbles: true }));
		const tip = line.tip.innerText;
		const out = { Bars: list.map((m) => { const x = line.bars.find((y) => y.m === m); return { Wide: x.wide, Top: x.top, Server: m.server }; }), Parts: line.parts.length, Tip: tip };
		line.el.remove();
		return out;
	})()`)
	near := func(a, b float64) bool { return a > b*0.95 && a < b*1.05 }
	if b := got.Bars; !near(b[1].Wide, 2*b[0].Wide) || !near(b[2].Wide, 4*b[0].Wide) || !near(b[3].Wide, b[0].Wide) {
		t.Errorf("lengths are not to scale: %+v", b)
	}
	if got.Bars[0].Top == got.Bars[1].Top || got.Bars[1].Top == got.Bars[2].Top {
		t.Errorf("overlapping calls lie on each other: %+v", got.Bars)
	}
	if got.Parts != 2 {
		t.Errorf("an hour of silence is cut into %d parts", got.Parts)
	}
	for _, want := range []string{"tools/call x3", "tool failed", "400 ms", "b"} {
		if !strings.Contains(got.Tip, want) {
			t.Errorf("the tooltip %q does not say %q", got.Tip, want)
		}
	}
}

// What a tapped host sent cannot be sent again from here, and a comparison of
// versions says that a server fell back (P10).
func TestVersionsAndTaps(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)[:1], eras: true})
	h.ready(t, "calc")
	w := h.work.Log.Wire("tapped")
	h.frames(w, `>{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`)
	p := open(t, h.address(), desk)
	p.openMessage("server=tapped")
	p.until(`document.querySelector('.message .json')`)
	if eval[bool](p, `[...document.querySelectorAll('.message button')].some((b) => b.innerText.includes('Edit and send'))`) {
		t.Error("a message of a tapped host can be sent")
	}
	p.openMessage("method=tools/list&kind=request&server=calc")
	p.clickText("Compare protocol versions")
	// The server answers as one that does not know the newest revision.
	eval[bool](p, `(() => { const old = window.fetch; window.fetch = async (u, o) => { const r = await old(u, o); if (!String(u).endsWith('/eras')) return r; const v = await r.json(); if (!v.runs.every((x) => x.spoke === x.revision)) throw new Error('spoke ' + JSON.stringify(v.runs.map((x) => [x.revision, x.spoke]))); v.runs[1].spoke = v.runs[0].revision; return new Response(JSON.stringify(v)); }; return true; })()`)
	p.clickText("Call both")
	p.until(`document.querySelectorAll('.sides > div').length === 2`)
	p.until(`[...document.querySelectorAll('.fellback')].map((e) => e.innerText).join().includes('calc does not speak 2026-07-28. The call was made in 2025-11-25.')`)
}

// A host that does not respond is noticed within seconds, and so is its return
// (P11).
func TestFrozenHost(t *testing.T) {
	t.Parallel()
	address, process := upProcess(t, t.TempDir(), t.TempDir())
	p := open(t, address, desk)
	p.until(`document.querySelector('.line').innerText === 'Live'`)
	if err := process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	p.until(`document.querySelector('.line').innerText !== 'Live'`)
	t.Logf("noticed after %v", time.Since(began).Round(100*time.Millisecond))
	p.until(`document.querySelector('#banner').innerText !== ''`)
	if err := process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	p.until(`document.querySelector('.line').innerText === 'Live' && document.querySelector('#banner').innerText === ''`)
}

// Of several questions the newest is on top, and none covers the view (P12).
func TestQuestionsBesideTheView(t *testing.T) {
	t.Parallel()
	h := oddFixture(t)
	h.ready(t, "odd")
	p := open(t, h.address(), screen{width: 1440, height: 900})
	eval[string](p, `location.hash = '#/drive/odd/tools/log'`)
	p.until(`document.querySelector('.detail .form')`)
	for _, tool := range []string{"ask-one", "ask-two", "ask-three"} {
		eval[string](p, fmt.Sprintf(`(async () => (await fetch('/api/v1/servers/odd/call', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ tool: '%s', arguments: {} }) })).text())()`, tool))
		p.until(fmt.Sprintf(`document.querySelector('#tray .ask .quote')?.innerText === %s`, quote(tool)))
	}
	if left := p.settles(`[...document.querySelectorAll('#tray .ask .quote')].map((e) => e.innerText).join() === 'ask-three,ask-two,ask-one' ? '' : document.querySelector('#tray').innerText`); left != "" {
		t.Errorf("the questions are %s", left)
	}
	for _, l := range []screen{{width: 1440, height: 900}, {width: 1024, height: 700}, {width: 390, height: 800}} {
		p.resize(l)
		if left := p.settles(`(() => { const a = document.querySelector('main').getBoundingClientRect(), b = document.querySelector('#tray').getBoundingClientRect(); const over = Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1; return over || a.width < 200 || a.height < 150 ? JSON.stringify([a, b]) : ''; })()`); left != "" {
			t.Errorf("at %d pixels the questions cover the view: %s", l.width, left)
		}
		if left := p.settles(`(() => { const r = document.querySelector('#tray .ask h3').getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight ? '' : JSON.stringify(r); })()`); left != "" {
			t.Errorf("at %d pixels the newest question is not in sight: %s", l.width, left)
		}
	}
}

// A POST with the cookie and no Origin changes nothing (P17).
func TestPostNeedsAnOrigin(t *testing.T) {
	t.Parallel()
	h := oddFixture(t)
	p := open(t, h.address(), desk)
	kept, err := chromedp.Call(p.ctx, network.GetCookies, network.GetCookiesParams{})
	p.must(err)
	r, err := http.NewRequest(http.MethodPost, h.url+"/api/v1/wire/clear", strings.NewReader("{}"))
	p.must(err)
	r.Header.Set("Content-Type", "application/json")
	for _, c := range kept.Cookies {
		r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
	}
	before := h.work.Log.Len()
	resp, err := http.DefaultClient.Do(r)
	p.must(err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden || h.work.Log.Len() < before {
		t.Errorf("a POST without an Origin: %s", resp.Status)
	}
	p.clickText("Wire")
	p.clickText("Clear")
	p.sees("No messages yet")
}

// Lines of standard error are shown without the escapes of their colours.
func TestStderrRowsHaveNoEscapes(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: []config.Server{{Name: "loud", Kind: config.Stdio, Command: "sh", Args: []string{"-c", `printf '\033[31mred\033[0m words\n' >&2; cat > /dev/null`}}}})
	p := open(t, h.address(), desk)
	p.at("#/wire", `[...document.querySelectorAll('.wrow.stderr .method')].some((e) => e.innerText.trim().endsWith('stderr red words'))`)
}
