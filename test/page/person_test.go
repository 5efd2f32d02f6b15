package page

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/tenon-mcp/tenon/app/config"
)

// From nothing to the first tool call, with the mouse, on the real program. A
// server that the folder wants waits for approval, and is started by it.
func TestFirstCallByMouse(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := fmt.Sprintf(`{"mcpServers":{"extra":{"command":%q,"args":["serve","calc"]}}}`, tenon(t))
	if err := os.WriteFile(filepath.Join(folder, ".mcp.json"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	address := up(t, folder)
	p := open(t, address, desk)
	p.until(`document.querySelectorAll('.counts').length === 5`)
	if hash := eval[string](p, "location.hash"); strings.Contains(hash, "token") {
		t.Errorf("the token stays in the address: %s", hash)
	}
	p.click(`[data-part="server/calc"]`)
	p.sees("A server offers tools")
	p.clickText("Use it")
	p.click(`a[href$="/tools/add"]`)
	p.click(`.fields .row:nth-child(1) input`)
	p.press("2", "0")
	p.click(`.fields .row:nth-child(2) input`)
	p.press("2", "2")
	p.until(`document.querySelector('.raw').value.includes('"b": 22')`)
	p.clickText("Run")
	p.until(`document.querySelector('.outcome .pairs dd')?.innerText === '42'`)

	p.clickText("Learn")
	p.click(`[data-part="pending/extra"]`)
	p.sees("Command")
	p.sees("serve calc")
	p.clickText("Approve and start")
	p.until(`document.querySelector('[data-part="server/extra"] .state.ok')`)

	own, token, _ := strings.Cut(address, "/#token=")
	r, err := http.Post(own+"/api/v1/login", "application/json", strings.NewReader(`{"token":"`+token+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusUnauthorized {
		t.Errorf("the token works twice: %s", r.Status)
	}
	if foreign := p.foreign(own); len(foreign) > 0 {
		t.Errorf("the page asked for %q", foreign)
	}
}

// tabTo presses Tab until the element in focus fits.
func (p *tab) tabTo(condition string) {
	p.t.Helper()
	for range 80 {
		if eval[bool](p, "((e) => !!("+condition+"))(document.activeElement)") {
			if !eval[bool](p, `(() => { const o = getComputedStyle(document.activeElement); return o.outlineStyle !== 'none' && parseFloat(o.outlineWidth) > 0; })()`) {
				p.t.Errorf("the focus on %s cannot be seen", condition)
			}
			return
		}
		p.press("\t")
	}
	p.t.Fatalf("no Tab leads to %s", condition)
}

// The same with keys only.
func TestFirstCallByKeys(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)})
	p := open(t, h.address(), desk)
	p.until(`document.querySelectorAll('.counts').length === 4`)
	p.tabTo(`e.dataset.part === 'server/calc'`)
	p.press("\r")
	p.sees("A server offers tools")
	p.tabTo(`e.innerText?.trim() === 'Use it'`)
	p.press("\r")
	p.until(`document.querySelector('.tool')`)
	p.tabTo(`e.getAttribute('href')?.endsWith('/tools/multiply')`)
	p.press("\r")
	p.until(`document.querySelector('.detail h2')?.innerText === 'multiply'`)
	p.tabTo(`e.matches('.fields input')`)
	p.press("6", "\t", "7")
	p.tabTo(`e.innerText?.trim() === 'Run'`)
	p.press("\r")
	p.until(`document.querySelector('.outcome .pairs dd')?.innerText === '42'`)

	p.press("3")
	p.until(`document.querySelectorAll('.spacer .wrow').length > 0`)
	p.tabTo(`e.matches('.wiretable')`)
	p.press(kb.ArrowUp)
	p.press("\r")
	p.until(`document.querySelector('.message .json')`)
	p.press(kb.Escape)
	p.until(`document.querySelector('.message') === null || document.querySelector('.message').closest('[hidden]')`)
	p.press("?")
	p.until(`document.querySelector('dialog[open] .keys')`)
}

// Arguments that do not fit are said so while they are typed, and JSON beside
// the form changes the form.
func TestFormAndJSON(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)})
	p := open(t, h.address()+"", desk)
	p.until(`document.querySelectorAll('.counts').length === 4`)
	eval[string](p, `location.hash = '#/drive/calc/tools/add'`)
	p.click(`.fields input`)
	p.press("x")
	p.sees("This must be a number.")
	eval[bool](p, `(() => { const r = document.querySelector('.raw'); r.value = '{"a": 1.5, "b": 2}'; r.dispatchEvent(new Event('input')); return true; })()`)
	p.until(`document.querySelector('.fields input').value === '1.5'`)
	eval[bool](p, `(() => { const r = document.querySelector('.raw'); r.value = '{"a": '; r.dispatchEvent(new Event('input')); return true; })()`)
	p.sees("This is not JSON yet")
}

// A turn of the chat: the call is shown with what it is, allowed once, and its
// result and what the model saw can be opened.
func TestChatWithApproval(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)})
	p := open(t, h.address(), desk)
	p.clickText("Chat")
	p.sees("No model connected · matching keywords")
	p.click(`.composer textarea`)
	for _, c := range "add 20 and 22" {
		p.press(string(c))
	}
	p.clickText("Send")
	p.sees("Allow this call?")
	p.sees("Add two numbers")
	p.sees("No rule covers this tool")
	p.clickText("Allow once")
	p.until(`[...document.querySelectorAll('.card .pairs dd')].some((e) => e.innerText === '42')`)
	p.until(`document.querySelectorAll('.ask').length === 0`)
	p.until(`document.querySelector('.sessions li strong')?.innerText === 'add 20 and 22'`)
	p.sees("Allowed once")
	p.clickText("What the model saw")
	p.sees("calc__add")
	p.sees("The complete last request")
	p.must(chromedp.Do(p.ctx, chromedp.Reload()))
	p.until(`document.querySelectorAll('.card').length === 1`)
	p.sees("add 20 and 22")
}

// A server that asks, while one of its tools is driven by hand: the form says
// who asks, and the answer goes on with the call.
func TestElicitation(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)})
	p := open(t, h.address(), desk)
	p.until(`document.querySelectorAll('.counts').length === 4`)
	eval[string](p, `location.hash = '#/drive/calc/tools/average'`)
	p.until(`document.querySelector('.detail h2')?.innerText === 'average'`)
	p.clickText("Run")
	p.until(`document.querySelector('#tray .ask h3 strong')?.innerText === 'calc'`)
	p.sees("1 question")
	p.click(`#tray .fields .row:nth-child(1) input`)
	p.press("1", "0")
	p.click(`#tray .fields .row:nth-child(2) input`)
	p.press("3", "2")
	p.clickText("Send")
	p.until(`document.querySelector('.outcome .pairs dd')?.innerText === '21'`)
	p.until(`document.querySelectorAll('.ask').length === 0`)
}

// A process that is killed shows red, and only it; it is started again, and by
// hand as well.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	servers := append(samples(t), config.Server{Name: "child", Kind: config.Stdio, Command: tenon(t), Args: []string{"serve", "calc"}})
	h := newFixture(t, setup{servers: servers})
	h.ready(t, "child")
	p := open(t, h.address(), desk)
	p.until(`document.querySelectorAll('.counts').length === 5`)
	eval[bool](p, `(() => { window.__red = new Set(); new MutationObserver(() => { for (const e of document.querySelectorAll('.connection-row.bad')) __red.add(e.getAttribute('aria-label')); }).observe(document.querySelector('.picture'), {subtree: true, childList: true, attributes: true}); return true; })()`)
	before := h.work.Fleet.Get("child").State()
	child, err := os.FindProcess(before.Pid)
	if err == nil {
		err = child.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.until(`__red.size > 0`)
	p.until(`document.querySelector('[data-part="server/child"] .state.ok')`)
	if red := eval[string](p, `[...__red].join()`); red != "child" {
		t.Errorf("red were: %s", red)
	}
	p.click(`[data-part="server/child"]`)
	p.sees("Process")
	second := h.work.Fleet.Get("child").State().Pid
	p.until(fmt.Sprintf(`document.querySelector('.proc').innerText.startsWith('%d,')`, second))
	p.clickText("Restart")
	p.until(fmt.Sprintf(`document.querySelector('.proc') && !document.querySelector('.proc').innerText.startsWith('%d,')`, second))
	p.clickText("Switch off")
	p.until(`document.querySelector('[data-part="server/child"] .state.off')`)
	p.clickText("Switch on")
	p.until(`document.querySelector('[data-part="server/child"] .state.ok')`)
}

// Thirty servers, some with long names: every box is on the page, none lies on
// another.
func TestThirtyServers(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: thirty()})
	p := open(t, h.address(), desk)
	p.until(`document.querySelectorAll('.counts').length === 30`)
	const overlap = `(() => { const r = [...document.querySelectorAll('.picture .server, .picture .hostbox')].map((e) => e.getBoundingClientRect()); let n = 0; r.forEach((a, i) => r.slice(0, i).forEach((b) => { if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1) n++; })); return n === 0 ? '' : String(n); })()`
	for _, l := range []screen{desk, phone, {width: 900, height: 700}} {
		p.resize(l)
		p.until(`document.documentElement.scrollWidth <= innerWidth`)
		if n := p.settles(overlap); n != "" {
			t.Errorf("at %d pixels, %s boxes lie on each other", l.width, n)
		}
	}
}

func thirty() []config.Server {
	var all []config.Server
	for i := range 30 {
		name := fmt.Sprintf("server-%02d", i)
		if i%7 == 3 {
			name += "-with-a-name-that-is-much-longer-than-any-box-could-be"
		}
		all = append(all, builtinServer(name, "calc", nil))
	}
	return all
}

// Fifty thousand messages: only the rows in sight are elements, and scrolling
// shows the right ones. TestFlood judges how quick that is.
func TestManyMessages(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)[:1]})
	wire := h.work.Log.Wire("flood")
	flood := func(n int) {
		for i := range n {
			wire.Event(fmt.Sprintf("message %d", i))
		}
	}
	flood(49_000)
	p := open(t, h.address(), desk)
	p.clickText("Wire")
	p.until(`document.querySelector('.bar .count').innerText.startsWith('49,0')`)
	go flood(1_000)
	p.until(`document.querySelector('.bar .count').innerText.startsWith('50,0')`)
	if n := eval[int](p, `document.querySelectorAll('.wrow').length`); n > 150 {
		t.Errorf("%d rows are elements", n)
	}
	eval[bool](p, `(() => { const box = document.querySelector('.rows'); box.scrollTop = 28 * 25000; return true; })()`)
	p.until(`[...document.querySelectorAll('.spacer .wrow')].some((e) => e.getAttribute('aria-rowindex') === '25002' && !e.hidden && e.innerText.includes('flood'))`)
	p.click(`.bar input[type=search]`)
	for _, c := range "message 48999" {
		p.press(string(c))
	}
	p.until(`document.querySelector('.bar .count').innerText.startsWith('1 row of ')`)
}

// At 380 pixels nothing has to be scrolled sideways, in any view.
func TestPhone(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)})
	p := open(t, h.address(), phone)
	p.until(`document.querySelectorAll('.counts').length === 4`)
	for _, hash := range []string{"#/", "#/server/shop", "#/drive/shop/tools/query", "#/drive/files/resources", "#/wire", "#/wire/2", "#/chat"} {
		eval[string](p, "location.hash = "+quote(hash))
		time.Sleep(300 * time.Millisecond) // until what is asked for was drawn; the next line judges it
		p.until(`document.documentElement.scrollWidth <= 380`)
		if wide := p.settles(`[...document.querySelectorAll('main *')].filter((e) => e.checkVisibility() && e.getBoundingClientRect().right > 381 && !e.closest('.scroll,.tabs,pre,.json,.rows,svg')).slice(0, 3).map((e) => e.className + ' ' + e.innerText?.slice(0, 30)).join('; ')`); wide != "" {
			t.Errorf("%s: too wide: %s", hash, wide)
		}
	}
	eval[string](p, `location.hash = '#/drive/calc/tools/add'`)
	p.click(`.fields .row:nth-child(1) input`)
	p.press("1")
	p.click(`.fields .row:nth-child(2) input`)
	p.press("2")
	p.clickText("Run")
	p.until(`document.querySelector('.outcome .pairs dd')?.innerText === '3'`)
}

// Dark follows the system, and the button turns it round and is remembered.
func TestDark(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)[:1]})
	p := open(t, h.address(), night)
	const brightness = `(getComputedStyle(document.body).backgroundColor.match(/\d+/g) ?? []).slice(0, 3).reduce((a, b) => a + +b, 0) / 3`
	if b := p.settles(`((b) => b > 60 ? String(b) : '')(` + brightness + `)`); b != "" {
		t.Errorf("the dark page has brightness %s", b)
	}
	p.clickText("Light or dark")
	p.until(brightness + " > 200")
	p.must(chromedp.Do(p.ctx, chromedp.Reload()))
	p.until(`document.querySelector('#top .side > *')`)
	p.until(brightness + " > 200")
	eval[string](p, `localStorage.clear() ?? ''`)
}
