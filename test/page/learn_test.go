package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/recording"
	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// The keys 1 to 4 open the four views, addresses of earlier versions still
// work, and the list of servers shows what each offers and opens its view.
func TestNavigation(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: append(samples(t), config.Server{Name: "broken", Kind: config.Stdio, Command: "/nonexistent/server"})})
	h.ready(t, "calc", "files", "notes", "shop")
	p := open(t, h.address(), desk)
	current := func(name string) {
		t.Helper()
		p.until(`document.querySelector('nav [aria-current=page]')?.innerText === ` + quote(name))
	}
	p.sees("MCP connects a program to tools")
	current("Learn")
	for _, v := range []struct{ key, name string }{{"2", "Servers"}, {"3", "Wire"}, {"4", "Chat"}, {"1", "Learn"}} {
		p.press(v.key)
		current(v.name)
	}
	for _, v := range []struct{ hash, name, shows string }{
		{"#/host", "Learn", ".panel"}, {"#/server/calc", "Learn", ".panel"}, {"#/connection/calc", "Learn", ".panel"}, {"#/client/calc", "Learn", ".panel"},
		{"#/drive/calc/tools/add", "Servers", ".tool"}, {"#/wire/all/calc", "Wire", ".wiretable"}, {"#/chat", "Chat", ".composer"}, {"#/nowhere", "Learn", ".picture"},
	} {
		eval[string](p, "location.hash = "+quote(v.hash))
		current(v.name)
		p.until(`document.querySelector(` + quote(v.shows) + `)`)
	}
	p.press("2")
	row := func(server string) string {
		return `[...document.querySelectorAll('.server-row')].find((e) => e.querySelector('strong').innerText === ` + quote(server) + `)`
	}
	p.until(row("calc") + `.querySelector('.offer.tools').innerText === '5 tools'`)
	p.until(row("calc") + `.innerText.includes('Calculator')`) // the name that the server reports
	p.until(row("broken") + `.innerText.includes('does not exist')`)
	p.clickOn(row("calc"), "the row of calc")
	p.until(`location.hash === '#/drive/calc'`)
}

// steps waits for the player and returns the texts of its steps.
func (p *tab) steps() []string {
	p.t.Helper()
	p.until(`document.querySelectorAll('.player:not([hidden]) .step').length > 0`)
	return eval[[]string](p, `[...document.querySelectorAll('.player:not([hidden]) .step')].map((e) => e.innerText.replace(/\s+/g, ' '))`)
}

// wants checks that some text contains others.
func wants(t *testing.T, what, text string, all ...string) {
	t.Helper()
	for _, w := range all {
		if !strings.Contains(text, w) {
			t.Errorf("%s: no %q in %.800s", what, w, text)
		}
	}
}

// P13, P14, issue 18: the anatomy has the servers of this host with the names
// that they report, and other hosts. A played call is a real one: it is in the
// log, it travels with its name and its result, and can be paused, stepped and
// replayed. Housekeeping does not travel.
func TestAnatomy(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: []config.Server{builtinServer("node", "calc", nil), builtinServer("notes", "demo", nil)}})
	h.ready(t, "node", "notes")
	p := open(t, h.address(), desk)
	p.until(`document.querySelectorAll('.counts').length === 2`)
	p.until(`document.querySelector('[data-part="server/node"] strong').innerText === 'Calculator'`)
	p.until(`document.querySelector('[data-part="server/node"] .offer.tools').innerText.includes('add, subtract')`)
	p.until(`document.querySelector('.totals .tools').innerText.includes('8 tools')`)

	// A list is housekeeping.
	if _, err := h.work.Fleet.Get("node").Client().Do(t.Context(), mcp.MethodToolsList, nil, &client.CallOptions{Fresh: true}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	if eval[bool](p, `document.querySelector('.travel') !== null || !document.querySelector('.player').hidden`) {
		t.Error("a list travels")
	}

	p.clickText("Play a tool call")
	p.until(`document.querySelector('.travel')?.innerText === 'tools/call add →'`)
	p.until(`document.querySelector('[data-part="client/node"]').closest('.connection-row').classList.contains('busy')`)
	p.clickText("Pause")
	p.until(`((a) => a && a.playState === 'paused' && !a.pending)(document.querySelector('.travel').getAnimations()[0])`)
	before := eval[string](p, `getComputedStyle(document.querySelector('.travel')).transform`)
	time.Sleep(400 * time.Millisecond)
	if after := eval[string](p, `getComputedStyle(document.querySelector('.travel')).transform`); after != before {
		t.Errorf("a paused call moves from %s to %s", before, after)
	}
	p.clickText("Step forward")
	p.until(`document.querySelector('.travel').innerText === '← 42'`)
	p.until(`document.querySelector('.step[aria-current=step]').innerText.startsWith('4 Result')`)
	p.clickText("Step back")
	p.until(`document.querySelector('.travel').innerText === 'tools/call add →'`)
	p.clickText("Replay")
	p.until(`document.querySelector('[data-part=you]').classList.contains('active')`)
	list, _ := h.work.Log.Filter(wirelog.Query{Server: "node", Method: mcp.MethodToolsCall}, 0, 2)
	if len(list) != 2 {
		t.Fatalf("the log has %d messages of the call", len(list))
	}
	wants(t, "the steps", strings.Join(p.steps(), "|"), "a 20, b 22", "tools/call add, id "+list[1].ID, "42 after")

	// Another call, made by nobody of the page, is shown as well.
	p.until(`[...document.querySelectorAll('.player button')].some((b) => b.innerText === 'Play')`) // the first has ended
	if _, err := h.work.Fleet.Get("node").Client().CallTool(t.Context(), "multiply", map[string]int{"a": 6, "b": 7}, nil); err != nil {
		t.Fatal(err)
	}
	p.until(`document.querySelector('.player-caption').innerText.startsWith('tools/call multiply')`)

	for part, text := range map[string]string{
		"you": "You give the task", "model": "none connected", "approval": "Before a call of the model", "host": "The host is the program", "client/node": "tools/call multiply",
		"connection/node": "in memory", "server/node": "Calculator",
	} {
		eval[string](p, `location.hash = '#/`+part+`'`)
		p.until(`document.querySelector('.side-panel').innerText.includes(` + quote(text) + `)`)
		p.until(`document.querySelector('[data-part="` + part + `"]').getAttribute('aria-expanded') === 'true'`)
	}
}

// P14: a host that runs its server through tenon tap is drawn with the names that
// both report, and its calls travel too.
func TestAnatomyShowsTappedHosts(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)[:1]})
	h.ready(t, "calc")
	p := open(t, h.address(), desk)
	p.until(`document.querySelector('.counts')`)
	wire := h.work.Log.Wire("python3")
	add := func(dir speccheck.Dir, kind speccheck.Kind, frame string) {
		wire.Add(speccheck.Message{At: time.Now(), Dir: dir, Kind: kind, Frame: []byte(frame)})
	}
	wire.Event(recording.TapConnected)
	add(speccheck.ToServer, speccheck.KindRequest, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"some-editor","version":"3"}}}`)
	add(speccheck.FromServer, speccheck.KindResponse, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"weather","title":"Weather","version":"2"}}}`)
	p.until(`document.querySelector('.part.tap strong')?.innerText === 'some-editor'`)
	p.until(`document.querySelector('.part.tapped strong')?.innerText === 'Weather'`)
	add(speccheck.ToServer, speccheck.KindRequest, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"forecast","arguments":{"city":"Bern"}}}`)
	add(speccheck.FromServer, speccheck.KindResponse, `{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"rain"}]}}`)
	p.until(`document.querySelector('.connection-row.tapped.busy') && document.querySelector('.travel')?.innerText === 'tools/call forecast →'`)
	p.click(`.part.tapped`)
	p.sees("This server belongs to another host.")
}

// Each primitive runs a real example, with the numbers that were typed, and the
// way back asks the person, the model and the log.
func TestPrimitives(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)})
	h.ready(t, "calc", "files", "notes", "shop")
	p := open(t, h.address()+"", desk)
	p.until(`document.querySelector('.counts')`)
	p.clickText("Primitives")
	p.until(`[...document.querySelectorAll('.prim .here strong')].map((e) => e.innerText).join() === '37 tools,25 resources,6 prompts'`)
	eval[bool](p, `(() => { const x = document.querySelector('.number input'); x.value = '1.5'; x.dispatchEvent(new Event('input', {bubbles: true})); return true; })()`)
	p.clickText("Play all three")
	steps := strings.Join(p.steps(), "|")
	wants(t, "the steps", steps, "tools/call add", "23.5", "resources/read welcome://you", "Welcome, you!", "prompts/get explain", "1.5 + 22")
	seq := eval[uint64](p, `+document.querySelector('.prim.tools [data-seq]').dataset.seq`)
	if m, ok := h.work.Log.Get(seq); !ok || !strings.Contains(string(m.Frame), `"a":1.5`) {
		t.Errorf("message %d of the log is %s", seq, m.Frame)
	}
	card := func(title string) string {
		return `[...document.querySelectorAll('.prim')].find((e) => e.querySelector('h3').innerText === ` + quote(title) + `)`
	}
	run := func(title string) {
		t.Helper()
		p.clickOn(card(title)+`.querySelector('.example button')`, "Run it: "+title)
	}
	shows := func(title string, all ...string) {
		t.Helper()
		for _, text := range all {
			p.until(card(title) + `.querySelector('.exchange')?.innerText.includes(` + quote(text) + `)`)
		}
	}
	run("Logging")
	shows("Logging", "tools/call count", "progress 3 of 3", "log: Counted 3 of 3")
	run("Elicitation")
	p.sees("Which two numbers shall be averaged?")
	eval[bool](p, `(() => { [...document.querySelectorAll('#tray input')].forEach((x, i) => { x.value = ['20', '22'][i]; x.dispatchEvent(new Event('input')); }); return true; })()`)
	p.clickText("Send")
	shows("Elicitation", "input required: elicitation/create", "tools/call average with the answer", "21")
	run("Sampling")
	p.sees("asks to use the model")
	p.clickText("Decline")
	p.until(card("Sampling") + `.innerText.includes('User rejected sampling request')`)
	run("Sampling")
	p.clickText("Allow")
	p.until(`document.querySelector('#tray textarea')`)
	eval[bool](p, `(() => { const x = document.querySelector('#tray textarea'); x.value = 'It is 23.5.'; x.dispatchEvent(new Event('input')); return true; })()`)
	p.clickText("Send")
	shows("Sampling", "input required: sampling/createMessage", "tools/call write_line with the answer", "It is 23.5.")
}

// The kinds of messages are messages of the log, explained member by member.
func TestMessages(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)[:1]})
	h.ready(t, "calc")
	p := open(t, h.address(), desk)
	p.until(`document.querySelector('.counts')`)
	eval[string](p, `location.hash = '#/learn/messages'`)
	p.clickText("Batch")
	p.sees("No batch has passed yet.")
	p.clickText("Play one of each")
	steps := p.steps()
	if len(steps) != 5 {
		t.Fatalf("the steps are %q", steps)
	}
	p.clickText("Pause")
	for i, want := range []string{`"tools/call"`, `"result"`, `"notifications/message"`, `-32602`, `[{"jsonrpc":"2.0","id":2,"method":"ping"}`} {
		p.click(fmt.Sprintf(`.steps li:nth-child(%d) .step`, i+1))
		var seq uint64
		if _, err := fmt.Sscanf(steps[i][strings.Index(steps[i], "message"):], "message %d", &seq); err != nil {
			t.Fatal(err)
		}
		m, ok := h.work.Log.Get(seq)
		if !ok || !strings.Contains(string(m.Frame), want) {
			t.Errorf("message %d is %s", seq, m.Frame)
		}
		p.until(fmt.Sprintf(`document.querySelector('.shape a[href="#/wire/%d"]')`, seq))
		p.until(`document.querySelectorAll('.member .meaning:not(:empty)').length >= 2`)
		squeezed := eval[string](p, `[...document.querySelectorAll('.members .source, .members .brace')].map((e) => e.innerText).join('').replace(/\s+/g, '')`)
		if want := strings.ReplaceAll(strings.ReplaceAll(string(m.Frame), " ", ""), ",", ""); strings.ReplaceAll(squeezed, ",", "") != want {
			t.Errorf("message %d is %s, and shown as %s", seq, want, squeezed)
		}
	}
}

// A call is drawn from its messages, or from a real conversation.
func TestSequence(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)[:1]})
	h.ready(t, "calc")
	p := open(t, h.address(), desk)
	p.until(`document.querySelector('.counts')`)
	eval[string](p, `location.hash = '#/learn/messages/call'`)
	p.clickText("Play a call")
	wants(t, "the steps", strings.Join(p.steps(), "|"), "You to host", "Client to server tools/call add", "Server to client 42", "Host to you 42")
	p.until(`document.querySelectorAll('.arrows .wire a').length === 2`)
	p.clickText("The model calls it")
	p.clickText("Play a call")
	p.sees("Allow this call?")
	p.clickText("Allow once")
	p.until(`document.querySelector('.arrows')?.textContent.includes('call calc/add')`)
	wants(t, "the steps", strings.Join(p.steps(), "|"), "Host to model", "Model to host call calc/add", "Host to you Allow this call?", "You to host Allowed", "Client to server tools/call add", "Server to client 42", "Host to model")
	list, _ := h.work.Log.Filter(wirelog.Query{Server: "calc", Method: mcp.MethodToolsCall}, 0, 2)
	p.until(fmt.Sprintf(`document.querySelector('.arrows a[href="#/wire/%d"]')`, list[0].Seq))
	p.clickText("Step forward")
	p.press(kb.ArrowRight) // keys step, too
}

// Both lifecycles come from real handshakes, in the chosen revision.
func TestLifecycles(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)[:1]})
	h.ready(t, "calc")
	p := open(t, h.address(), desk)
	p.until(`document.querySelector('.counts')`)
	eval[string](p, `location.hash = '#/learn/messages/lifecycle'`)
	p.clickText("Play both")
	column := func(n int) string {
		return fmt.Sprintf(`[...document.querySelectorAll('.lifebox:nth-child(%d) .life [data-seq] summary .mono')].map((e) => e.innerText).join()`, n)
	}
	p.until(column(1) + ` === 'initialize,result of initialize,notifications/initialized,logging/setLevel,result of logging/setLevel,tools/call add,42'`)
	p.until(column(2) + ` === 'server/discover,result of server/discover,tools/call add,42'`)
	eval[bool](p, `(() => { const s = document.querySelector('.life-head select'); s.value = '2024-11-05'; s.dispatchEvent(new Event('change')); return true; })()`)
	p.until(`document.querySelector('.player-caption').innerText.includes('2024-11-05')`)
	seq := eval[uint64](p, `+document.querySelector('.lifebox [data-seq]').dataset.seq`)
	if m, ok := h.work.Log.Get(seq); !ok || !strings.Contains(string(m.Frame), `"protocolVersion":"2024-11-05"`) {
		t.Errorf("message %d is %s", seq, m.Frame)
	}
}

// The bytes are those of real transports: what HTTP adds has the length of the
// message, and the result is that of the numbers that were typed.
func TestTransports(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)[:1]})
	h.ready(t, "calc")
	p := open(t, h.address(), desk)
	p.until(`document.querySelector('.counts')`)
	eval[string](p, `location.hash = '#/learn/transport'`)
	p.until(`document.querySelector('.number input')`)
	eval[bool](p, `(() => { const x = document.querySelector('.number input'); x.value = '0.25'; return true; })()`)
	p.clickText("Play the same call three times")
	p.until(`[...document.querySelectorAll('.carrier .facts dd:nth-of-type(1)')].map((e) => e.innerText).join() === '22.25,22.25,22.25'`)
	text := eval[[]string](p, `[...document.querySelectorAll('.bytes')].map((e) => e.innerText)`)
	if len(text) != 6 {
		t.Fatalf("%d pieces", len(text))
	}
	wants(t, "stdio", text[0], `"a":0.25`, `\n`)
	if strings.Contains(text[0], "HTTP") {
		t.Errorf("stdio has headers: %s", text[0])
	}
	wants(t, "HTTP", text[2], "POST /mcp HTTP/1.1", "Content-Type: application/json", "Mcp-Method: tools/call")
	wants(t, "HTTP", text[3], "HTTP/1.1 200 OK", "Content-Type: application/json", "22.25")
	wants(t, "events", text[5], "text/event-stream", "data: ", "notifications/progress", "22.25")
	length := eval[string](p, `(() => { const pre = document.querySelectorAll('.bytes')[2]; return /Content-Length: (\d+)/.exec(pre.innerText)[1] + ' ' + new TextEncoder().encode(pre.querySelector('.b-message').innerText).length; })()`)
	if a, b, _ := strings.Cut(length, " "); a != b {
		t.Errorf("Content-Length is %s and the message has %s bytes", a, b)
	}
	eval[bool](p, `(() => { const s = document.querySelector('.learn-tools select'); s.value = '2025-11-25'; s.dispatchEvent(new Event('change')); return true; })()`)
	p.until(`[...document.querySelectorAll('.bytes')][2]?.innerText.includes('Mcp-Session-Id')`)
}

// Everything in Learn works with keys only and, for those who want less motion,
// without any.
func TestLearnByKeysWithoutMotion(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)[:1]})
	h.ready(t, "calc")
	p := open(t, h.address(), desk)
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: "reduce"}}})
	p.must(err)
	p.until(`document.querySelector('.counts')`)
	p.tabTo(`e.innerText?.trim() === 'Play a tool call'`)
	p.press("\r")
	p.until(`document.querySelector('.travel')?.innerText === 'tools/call add →'`)
	if n := eval[int](p, `document.getAnimations().filter((a) => a.playState === 'running').length`); n != 0 {
		t.Errorf("%d animations run", n)
	}
	p.tabTo(`e.matches('.player .step')`)
	p.press(kb.ArrowLeft)
	for _, d := range []struct{ tab, play, shows string }{{"Primitives", "Play all three", ".prim.tools .exchange"}, {"Messages", "Play one of each", ".member"}, {"Transport", "Play the same call three times", ".bytes"}} {
		p.tabTo(`e.matches('.segments a') && e.innerText === ` + quote(d.tab))
		p.press("\r")
		p.tabTo(`e.innerText?.trim() === ` + quote(d.play))
		p.press("\r")
		p.until(`document.querySelector(` + quote(d.shows) + `)`)
	}
}

// No diagram is wider than the screen, whatever it has played, and axe finds
// nothing in it, in both themes.
func TestLearnFits(t *testing.T) {
	t.Parallel()
	code := axe(t)
	h := newFixture(t, setup{servers: samples(t)})
	h.ready(t, "calc", "files", "notes", "shop")
	p := open(t, h.address(), desk)
	p.until(`document.querySelector('.counts')`)
	for _, l := range []screen{{width: 1440, height: 900}, {width: 1024, height: 768, dark: true}, {width: 390, height: 844}, {width: 1440, height: 900, dark: true}} {
		p.resize(l)
		for _, d := range []struct{ hash, play, shows string }{
			{"#/", "Play a tool call", ".player:not([hidden]) .step"}, {"#/learn/primitives", "Play all three", ".prim.prompts .exchange"}, {"#/learn/messages/kinds", "Play one of each", ".member"},
			{"#/learn/messages/call", "Play a call", ".arrows .wire"}, {"#/learn/messages/lifecycle", "Play both", ".life [data-seq]"}, {"#/learn/transport", "Play the same call three times", ".bytes"},
			{"#/servers", "", ".server-row .offer"},
		} {
			eval[string](p, "location.hash = "+quote(d.hash))
			if d.play != "" {
				p.clickText(d.play)
			}
			p.until(`document.querySelector(` + quote(d.shows) + `)`)
			if wide := p.settles(`(document.documentElement.scrollWidth > innerWidth ? 'the page; ' : '') + [...document.querySelectorAll('main *')].filter((e) => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.scroll,pre,.json,svg,.unseen')).slice(0, 3).map((e) => e.className + ' ' + e.innerText?.slice(0, 30)).join('; ')`); wide != "" {
				t.Errorf("%s at %d pixels is too wide: %s", d.hash, l.width, wide)
			}
			p.accessible(code, d.hash, l)
		}
	}
}
