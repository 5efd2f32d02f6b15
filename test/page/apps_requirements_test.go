package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/tenon-mcp/tenon/ext/apps"
)

// requirements is a view that checks its host from inside, by the ids of the
// catalogue of host requirements; docs/apps.md has the whole table.
const requirements = `
const result = {};
const check = async (id, f) => { try { result[id] = await f() ? 'pass' : 'fail'; } catch (e) { result[id] = 'fail: ' + (e.message ?? e); } };
const violation = (f) => new Promise((ok) => { document.addEventListener('securitypolicyviolation', ok, {once: true}); f(); setTimeout(() => ok(null), 1500); });
run(async () => {
  const r = await init({availableDisplayModes: ['inline']});
  await check('security/sandbox-proxy-required', () => parent !== top);
  await check('security/sandbox-distinct-origin', () => { try { parent.location.href; return false; } catch { } try { top.location.href; return false; } catch { return true; } });
  await check('security/sandbox-permissions', () => origin !== 'null' && location.origin === origin && localStorage.length === 0);
  const v = await violation(() => fetch('https://undeclared.example/').catch(() => {}));
  await check('security/csp-no-loosening', () => v?.violatedDirective === 'connect-src');
  await check('security/csp-construct-from-domains', () => v.originalPolicy.includes('connect-src https://declared.example') && v.originalPolicy.includes("object-src 'none'"));
  await check('security/sandbox-csp-enforced', () => v.originalPolicy.includes("default-src 'none'") && v.originalPolicy.includes("frame-src 'none'") && v.originalPolicy.includes("base-uri 'self'"));
  await check('security/csp-allow-declared', async () => await violation(() => fetch('https://declared.example/').catch(() => {})) === null);
  await check('lifecycle/initialize-capabilities', () => r.protocolVersion === '2026-01-26' && typeof r.hostCapabilities === 'object');
  await check('context/initialize-hostcontext', () => r.hostContext.theme && r.hostContext.toolInfo.tool.name === 'show');
  await check('lifecycle/tool-input', async () => (await got('ui/notifications/tool-input')).params.arguments.word === 'hello');
  await check('lifecycle/tool-result', async () => (await got('ui/notifications/tool-result')).params.structuredContent.word === 'hello');
  await check('lifecycle/tool-input-partial-stop', () => { const all = heard.map((m) => m.method); return !all.slice(all.indexOf('ui/notifications/tool-input')).includes('ui/notifications/tool-input-partial') && all.filter((m) => m === 'ui/notifications/tool-input').length === 1 && all.indexOf('ui/notifications/tool-input') < all.indexOf('ui/notifications/tool-result'); });
  await check('tools/proxy-call', async () => (await req('tools/call', {name: 'show', arguments: {word: 'again'}})).structuredContent.word === 'again');
  await check('visibility/app-tool-call-guard', async () => { try { await req('tools/call', {name: 'secret', arguments: {}}); return false; } catch { return true; } });
  await check('capabilities/server-passthrough', async () => (await req('resources/list', {})).resources.some((x) => x.uri === 'ui://viewer/view.html') && (await req('resources/read', {uri: 'viewer://data'})).contents[0].text === 'the data' && (await req('tools/list')).tools.map((t) => t.name).join() === 'ask,hang,report,show');
  await check('display/no-undeclared-mode', async () => (await req('ui/request-display-mode', {mode: 'fullscreen'})).mode === 'inline');
  await check('display/decline-undeclared', async () => (await req('ui/request-display-mode', {mode: 'pip'})).mode === 'inline');
  await check('display/unavailable-returns-current', async () => (await req('ui/request-display-mode', {mode: 'nonsense'})).mode === 'inline');
  await check('display/return-resulting-mode', async () => (await req('ui/request-display-mode', {mode: 'inline'})).mode === 'inline');
  const before = innerHeight;
  await check('dimensions/listen-size-changed', async () => { note('ui/notifications/size-changed', {height: before + 77}); await until(() => innerHeight === before + 77); return true; });
  await check('context/context-changed', async () => { await report('change the theme'); const m = await until(() => heard.find((m) => m.method === 'ui/notifications/host-context-changed' && m.params.theme)); return m.params.theme === 'dark'; });
  await check('ping', async () => JSON.stringify(await req('ping')) === '{}');
  return result;
});
onTeardown = async (m) => { await sleep(200); await report('teardown'); post({id: m.id, result: {}}); };`

// The page meets the requirements for hosts of views that can be seen from a view
// or beside it.
func TestHostRequirements(t *testing.T) {
	st := newViewFixture(t, requirements, apps.ViewUI{CSP: &apps.CSP{ConnectDomains: []string{"https://declared.example"}}, Permissions: apps.Permissions{ClipboardWrite: true}}, setup{})
	p := openIn(t, logging, st.address(), desk)
	p.watch()
	st.runWith(p, "show", map[string]any{"word": "hello"})
	p.sees("wants more than to be shown") // security/external-domain-warning
	p.sees("https://declared.example")
	if eval[bool](p, `document.querySelector('.app-frame') !== null`) {
		t.Error("the view was shown before the person answered")
	}
	p.clickText("Allow and show")
	st.report(p, 0)
	eval[string](p, `(document.documentElement.dataset.theme = 'dark', document.dispatchEvent(new Event('theme')), '')`)
	var got map[string]string
	if err := json.Unmarshal(st.report(p, 1), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 22 {
		t.Errorf("%d checks were made", len(got))
	}
	for id, outcome := range got {
		if outcome != "pass" {
			t.Errorf("%s: %s", id, outcome)
		}
	}
	// What only the host can see.
	if asked := p.requested(logging); !slices.Equal(asked, []string{"https://declared.example/"}) {
		t.Errorf("the view requested %q", asked) // security/csp-allow-declared, csp-default-deny
	}
	frame := eval[map[string]string](p, `(() => { const f = document.querySelector('.app-frame'); return {sandbox: f.getAttribute('sandbox'), allow: f.getAttribute('allow'), src: f.src}; })()`)
	if frame["sandbox"] != "allow-scripts allow-same-origin allow-forms" || frame["allow"] != "clipboard-write" || !strings.HasPrefix(frame["src"], "http://sandbox.localhost:") {
		t.Errorf("the frame: %v", frame) // security/iframe-sandboxed, permissions-allow-attr, sandbox-proxy-required
	}
	p.sequence("ui/notifications/sandbox-proxy-ready", "+ui/notifications/sandbox-resource-ready", "ui/initialize", "ui/notifications/initialized", "+ui/notifications/tool-input", "+ui/notifications/tool-result")
	if n := eval[int](p, `seen.filter(({sent, m}) => !sent && String(m.method).startsWith('ui/notifications/sandbox-')).length`); n != 1 {
		t.Errorf("the proxy sent %d messages of its own", n) // security/sandbox-no-self-requests
	}
	if !st.declared {
		t.Error("the server did not get the MIME types") // capabilities/mimetypes-required
	}
	policy := ""
	for _, line := range auditLines(t, st.dir) {
		if strings.Contains(string(line), `"what":"view"`) && strings.Contains(string(line), "connect-src https://declared.example") {
			policy = string(line)
		}
	}
	if policy == "" {
		t.Error("the policy is not in the audit log") // security/csp-audit-log
	}
	if !slices.Contains(st.audited(t, "read"), "resources/read") {
		t.Error("the read of the view is not in the audit log")
	}
	eval[string](p, `location.hash = '#/wire'`)
	if bye := string(st.report(p, 2)); bye != `"teardown"` { // lifecycle/teardown-notify, teardown-await
		t.Error(bye)
	}
	p.until(`!document.querySelector('.app-frame')`)
	conform(t, p.watched())
}

// A link of a view is opened when the person says so and the audit log has it, and
// a file is saved under a harmless name.
func TestLinksAndFilesOfViews(t *testing.T) {
	t.Parallel()
	st := &viewFixture{}
	var opened []string // and whether it was in the audit log by then
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		known := strings.Contains(string(bytes.Join(auditLines(t, st.dir), nil)), r.URL.Path)
		st.mu.Lock()
		defer st.mu.Unlock()
		if r.URL.Path != "/favicon.ico" {
			opened = append(opened, fmt.Sprint(r.URL.Path, known, r.Header.Get("Referer")))
		}
	}))
	defer site.Close()
	st.start(t, dialect+`<script>const site = '`+site.URL+`'; run(async () => {
		await init();
		const out = [];
		try { await req('ui/open-link', {url: site + '/unaudited'}); } catch (e) { out.push(e.message); }
		out.push(JSON.stringify(await req('ui/open-link', {url: site + '/path?q=1'})));
		out.push(JSON.stringify(await req('ui/open-link', {url: 'https://example.com/no'})));
		out.push(JSON.stringify(await req('ui/download-file', {contents: [{type: 'resource', resource: {uri: 'file:///x/../../.bashrc', text: 'x'}}]})));
		return out;
	});</script>`, apps.ViewUI{}, setup{})
	p := open(t, st.address(), desk)
	p.watch()
	eval[bool](p, `(() => { const real = fetch; window.fetch = (u, o) => String(o?.body).includes('/unaudited') ? Promise.resolve(new Response('{"error":{"code":-32603,"message":"cannot write the audit log"}}', {headers: {'Content-Type': 'application/json'}})) : real(u, o); return true; })()`)
	st.run(p, "show")
	for _, path := range []string{"/unaudited", "/path?q=1"} {
		p.until(`document.querySelector('dialog.box')?.innerText.includes('` + path + `')`)
		p.clickOn(`[...document.querySelectorAll('dialog.box button')].find((b) => b.innerText === 'Open in a new tab')`, "Open")
	}
	for end := time.Now().Add(waitLimit); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		st.mu.Lock()
		some := len(opened) > 0
		st.mu.Unlock()
		if some {
			break
		}
	}
	_, err := chromedp.Call(p.ctx, page.BringToFront, cdp.Empty{})
	p.must(err)
	p.until(`document.querySelector('dialog.box')?.innerText.includes('/no')`)
	p.clickOn(`[...document.querySelectorAll('dialog.box button')].find((b) => b.innerText === 'Cancel')`, "Cancel")
	p.until(`document.querySelector('dialog.box')?.innerText.includes('bashrc')`)
	if name := eval[string](p, `document.querySelector('dialog.box li code').innerText`); name != "bashrc" {
		t.Errorf("the file would be saved as %q", name)
	}
	p.clickOn(`[...document.querySelectorAll('dialog.box button')].find((b) => b.innerText === 'Cancel')`, "Cancel")
	var got []string
	if err := json.Unmarshal(st.report(p, 0), &got); err != nil {
		t.Fatal(err)
	}
	if want := []string{"cannot write the audit log", `{}`, `{"isError":true}`, `{"isError":true}`}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	p.sees("cannot write the audit log")
	st.mu.Lock()
	defer st.mu.Unlock()
	if want := []string{"/pathtrue"}; !slices.Equal(opened, want) {
		t.Errorf("opened %q", opened)
	}
	conform(t, p.watched())
	if got := st.audited(t, "view"); !slices.Equal(got, []string{"show", "ui/open-link"}) {
		t.Errorf("the audit log has %q", got)
	}
}

// A grant is for what the user was shown: a server that asks for more meanwhile
// gets nothing of it.
func TestGrantIsForWhatWasShown(t *testing.T) {
	t.Parallel()
	st := newViewFixture(t, `init();`, apps.ViewUI{CSP: &apps.CSP{ConnectDomains: []string{"https://asked.example", "https://more.example"}}}, setup{})
	p := open(t, st.address(), desk)
	open := func(wants string) string {
		return eval[string](p, `fetch('/api/v1/views', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ server: 'viewer', tool: 'show', grant: true, wants: `+wants+` }) }).then((r) => r.json()).then((o) => Object.keys(o).sort().join())`)
	}
	for _, wants := range []string{`{}`, `{ domains: ['https://asked.example'] }`} {
		if got := open(wants); got != "problems,wants" {
			t.Errorf("granted %s: the page got %s", wants, got)
		}
	}
	if got := open(`{ domains: ['https://asked.example', 'https://more.example'] }`); !strings.Contains(got, "proxy") {
		t.Errorf("the page got %s", got)
	}
}

// The views of the builtin servers draw the result of a query, and the links to a
// note.
func TestBuiltinViews(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)})
	h.ready(t, "shop", "notes")
	p := open(t, h.address(), desk)
	p.watch()
	for _, test := range []struct{ server, tool, args string }{
		{"shop", "run_query", `{"sql": "select 'a' as name, 3 as n union all select 'b', 5"}`},
		{"notes", "backlinks", `{"path": "Garden"}`},
	} {
		eval[string](p, `location.hash = '#/drive/`+test.server+`/tools/`+test.tool+`'`)
		p.until(`document.querySelector('.tool h2') && location.hash.includes('` + test.tool + `') && document.querySelector('.tool code').innerText === '` + test.tool + `'`)
		eval[bool](p, `(async () => { seen.length = 0; const {startRun} = await import(document.querySelector('link[rel=modulepreload]').href).then((m) => m.runs); await startRun('`+test.server+`', '`+test.tool+`', `+test.args+`); return true; })()`)
		p.sequence("ui/initialize", "ui/notifications/initialized", "+ui/notifications/tool-result", "ui/notifications/size-changed")
		if n := conform(t, p.watched()); n < 4 {
			t.Errorf("%s: %d messages", test.server, n)
		}
	}
}
