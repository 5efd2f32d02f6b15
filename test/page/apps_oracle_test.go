package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/ext/apps"
	"github.com/tenon-mcp/tenon/internal/needtest"
)

// bridgePage is a small host that uses AppBridge, the host's side of views of the
// extension's authors. Its function host shows a view with what our host sent to
// it, and returns all messages between the two, and the errors of AppBridge.
const bridgePage = `<!doctype html><meta charset="utf-8"><title>bridge</title>
<script type="importmap">{"imports": {
	"@modelcontextprotocol/client": "/modules/@modelcontextprotocol/client/dist/index.mjs", "@modelcontextprotocol/client/_shims": "/modules/@modelcontextprotocol/client/dist/shimsBrowser.mjs",
	"@modelcontextprotocol/core": "/modules/@modelcontextprotocol/core/dist/index.mjs", "@modelcontextprotocol/core/internal": "/modules/@modelcontextprotocol/core/dist/internal.mjs",
	"zod/v4": "/modules/zod/v4/index.js", "eventsource": "/modules/eventsource/dist/index.js", "eventsource-parser": "/modules/eventsource-parser/dist/index.js", "eventsource-parser/stream": "/modules/eventsource-parser/dist/stream.js",
	"pkce-challenge": "/modules/pkce-challenge/dist/index.browser.js"
}}</script>
<script type="module">
import { AppBridge, PostMessageTransport } from '/modules/@modelcontextprotocol/ext-apps/dist/src/app-bridge.js';

// A Recorder keeps what passes.
class Recorder extends PostMessageTransport {
	seen = [];
	async start() {
		const f = this.onmessage;
		this.onmessage = (m, extra) => { this.seen.push({sent: false, m}); f?.(m, extra); };
		await super.start();
	}
	async send(m, o) { this.seen.push({sent: true, m: JSON.parse(JSON.stringify(m))}); await super.send(m, o); }
}

window.host = async ({html, initialize, input, result, context}) => {
	const frame = document.createElement('iframe');
	frame.width = 800;
	document.body.append(frame);
	const errors = [];
	const bridge = new AppBridge(null, initialize.hostInfo, initialize.hostCapabilities, {hostContext: initialize.hostContext});
	bridge.onerror = (e) => errors.push(String(e));
	bridge.oncalltool = async () => result;
	const ready = new Promise((ok) => { bridge.oninitialized = ok; });
	const sized = new Promise((ok) => { bridge.onsizechange = ok; });
	const wire = new Recorder(frame.contentWindow, frame.contentWindow);
	await bridge.connect(wire);
	frame.srcdoc = html;
	await ready;
	await bridge.sendToolInput(input);
	await bridge.sendToolResult(result);
	await sized;
	bridge.setHostContext({...initialize.hostContext, ...context});
	await bridge.teardownResource({});
	return {seen: wire.seen, errors};
};
</script>`

// bridge opens a page with AppBridge.
func bridge(t *testing.T) *tab {
	t.Helper()
	if _, err := os.Stat("views/node_modules/@modelcontextprotocol/ext-apps/dist/src/app-bridge.js"); err != nil {
		needtest.Missing(t, "app-bridge is not installed: test/page/install.sh brings it")
	}
	mux := http.NewServeMux()
	mux.Handle("/modules/", http.StripPrefix("/modules/", http.FileServer(http.Dir("views/node_modules"))))
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, bridgePage)
	})
	site := httptest.NewServer(mux)
	t.Cleanup(site.Close)
	p := openIn(t, browser, site.URL, desk)
	p.until(`window.host`)
	return p
}

// find returns the first message with a method, or the result of the view's
// request with it if the method ends with a +.
func find(t *testing.T, all []viewMessage, sent bool, method string) json.RawMessage {
	t.Helper()
	for _, m := range all {
		if m.Sent == sent && m.M.Method == method {
			return m.M.Params
		}
		if !m.Sent && m.M.Method+"+" == method {
			for _, r := range all {
				if r.Sent && r.M.Method == "" && string(r.M.ID) == string(m.M.ID) {
					return r.M.Result
				}
			}
		}
	}
	t.Fatalf("there is no %s", method)
	return nil
}

// methodsOf lists the methods of the messages of a side, each once, in the order of
// their first message.
func methodsOf(all []viewMessage, sent bool) (list []string) {
	for _, m := range all {
		if m.Sent == sent && m.M.Method != "" && !slices.Contains(list, m.M.Method) && m.M.Method != "ui/notifications/sandbox-proxy-ready" && m.M.Method != "ui/notifications/sandbox-resource-ready" {
			list = append(list, m.M.Method)
		}
	}
	return list
}

// Our host and AppBridge send the same messages to the same view, and AppBridge
// accepts all that our views send.
func TestHostAgreesWithAppBridge(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)})
	h.ready(t, "shop", "notes")
	p, other := open(t, h.address(), desk), bridge(t)
	p.watch()
	for _, test := range []struct{ server, tool, args, view string }{
		{"shop", "run_query", `{"sql": "select 'a' as name, 3 as n union all select 'b', 5"}`, "../../builtin/sql/view/chart.html"},
		{"notes", "backlinks", `{"path": "Garden"}`, "../../builtin/notes/view/graph.html"},
	} {
		t.Run(test.server, func(t *testing.T) {
			eval[string](p, `location.hash = '#/drive/`+test.server+`/tools/`+test.tool+`'`)
			p.until(`document.querySelector('.tool code')?.innerText === '` + test.tool + `'`)
			eval[bool](p, `(async () => { seen.length = 0; const {startRun} = await import(document.querySelector('link[rel=modulepreload]').href).then((m) => m.runs); await startRun('`+test.server+`', '`+test.tool+`', `+test.args+`); return true; })()`)
			p.sequence("ui/initialize", "ui/notifications/initialized", "+ui/notifications/tool-input", "+ui/notifications/tool-result", "ui/notifications/size-changed")
			eval[string](p, `(document.documentElement.dataset.theme = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark', document.dispatchEvent(new Event('theme')), '')`)
			p.until(`seen.some(({sent, m}) => sent && m.method === 'ui/notifications/host-context-changed' && m.params.theme)`)
			eval[string](p, `location.hash = '#/wire'`)
			p.until(`seen.some(({sent, m}) => !sent && m.id === 'teardown')`)
			ours := p.watched()
			html, err := os.ReadFile(test.view)
			if err != nil {
				t.Fatal(err)
			}
			var context json.RawMessage
			for _, m := range ours {
				if m.M.Method == "ui/notifications/host-context-changed" && json.Valid(m.M.Params) && slices.Contains(keys(t, m.M.Params), "theme") {
					context = m.M.Params
				}
			}
			given, err := json.Marshal(map[string]any{"html": string(html), "initialize": find(t, ours, true, "ui/initialize+"), "input": find(t, ours, true, "ui/notifications/tool-input"), "result": find(t, ours, true, "ui/notifications/tool-result"), "context": context})
			if err != nil {
				t.Fatal(err)
			}
			var theirs struct {
				Seen   []viewMessage
				Errors []string
			}
			if err := json.Unmarshal([]byte(eval[string](other, `host(`+string(given)+`).then(JSON.stringify)`)), &theirs); err != nil {
				t.Fatal(err)
			}
			if len(theirs.Errors) > 0 {
				t.Errorf("AppBridge reports %q", theirs.Errors)
			}
			for _, m := range theirs.Seen {
				if m.M.Error != nil {
					t.Errorf("AppBridge or the view refused something: %s", m.M.Error)
				}
			}
			for _, what := range []string{"ui/initialize+", "ui/notifications/tool-input", "ui/notifications/tool-result"} {
				var a, b any
				if json.Unmarshal(find(t, ours, true, what), &a) != nil || json.Unmarshal(find(t, theirs.Seen, true, what), &b) != nil || !reflect.DeepEqual(a, b) {
					t.Errorf("%s: we send\n%.1500v\nand AppBridge\n%.1500v", what, a, b)
				}
			}
			for _, sent := range []bool{true, false} {
				if a, b := methodsOf(ours, sent), methodsOf(theirs.Seen, sent); !slices.Equal(a, b) {
					t.Errorf("messages of the host %v: ours %q, with AppBridge %q", sent, a, b)
				}
			}
		})
	}
}

// keys returns the names of the members of an object.
func keys(t *testing.T, raw json.RawMessage) (all []string) {
	t.Helper()
	var o map[string]json.RawMessage
	if err := json.Unmarshal(raw, &o); err != nil {
		t.Fatal(err)
	}
	for k := range o {
		all = append(all, k)
	}
	return all
}

// officialApp returns a view that uses App, the view's side of the extension's
// authors, as app.
func officialApp(t *testing.T, script string) string {
	t.Helper()
	code, err := os.ReadFile("views/node_modules/@modelcontextprotocol/ext-apps/dist/src/app-with-deps.js")
	if err != nil {
		needtest.Missing(t, "the views of others are not installed: test/page/install.sh brings them")
	}
	name := regexp.MustCompile(`([\w$]+) as App\b`).FindSubmatch(code)
	if name == nil {
		t.Fatal("app-with-deps.js does not export App")
	}
	return fmt.Sprintf(`<!doctype html><meta charset="utf-8"><title>official</title><p>official</p><script type="module">%s;
const errors = [], out = {errors}, app = new %s({name: 'official', version: '1'}, {availableDisplayModes: ['inline']});
const report = (v) => app.callServerTool({name: 'report', arguments: {text: JSON.stringify(v)}});
%s</script>`, code, name[1], script)
}

// The App of the extension's authors is content with all that our host answers.
func TestOfficialAppIsContent(t *testing.T) {
	t.Parallel()
	st := &viewFixture{}
	st.start(t, officialApp(t, `
app.onerror = (e) => errors.push(String(e));
const input = new Promise((ok) => { app.ontoolinput = ok; }), result = new Promise((ok) => { app.ontoolresult = ok; });
app.onteardown = async () => { await report('teardown'); return {}; };
try {
	await app.connect();
	out.host = app.getHostVersion().name;
	out.tool = app.getHostContext().toolInfo.tool.name;
	out.input = JSON.stringify((await input).arguments);
	out.result = (await result).content[0].text;
	out.again = (await app.callServerTool({name: 'show', arguments: {word: 'again'}})).structuredContent.word;
	out.resource = (await app.readServerResource({uri: 'viewer://data'})).contents[0].text;
	out.listed = String((await app.listServerResources()).resources.length);
	out.mode = (await app.requestDisplayMode({mode: 'inline'})).mode;
	await app.sendLog({level: 'info', data: 'official'});
	await app.updateModelContext({content: [{type: 'text', text: 'context'}], structuredContent: {n: 1}});
	out.message = String((await app.sendMessage({role: 'user', content: [{type: 'text', text: 'a suggestion'}]})).isError ?? false);
	out.link = String((await app.openLink({url: 'https://example.com/official'})).isError);
	out.model = (await app.createSamplingMessage({maxTokens: 5, messages: [{role: 'user', content: {type: 'text', text: 'go'}}]})).content.text;
} catch (e) { errors.push(String(e)); }
await report(out);`), apps.ViewUI{}, setup{model: &caller{}})
	p := open(t, st.address(), desk)
	p.watch()
	p.clickText("Chat")
	p.say("call show")
	p.until(`document.querySelector('dialog.box')?.innerText.includes('/official')`)
	p.clickOn(`[...document.querySelectorAll('dialog.box button')].find((b) => b.innerText === 'Cancel')`, "Cancel")
	p.sees("viewer’s view of show asks to use")
	p.clickText("Allow")
	p.sees("This would be sent to viewer’s view of show.")
	p.clickOn(`[...document.querySelectorAll('.ask button')].find((b) => b.innerText.trim() === 'Send')`, "Send")
	var got map[string]any
	if err := json.Unmarshal(st.report(p, 0), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"errors": []any{}, "host": "tenon", "tool": "show", "input": "{}", "result": "the text of show", "again": "again", "resource": "the data", "listed": "2", "mode": "inline", "message": "false", "link": "true", "model": got["model"]}
	if text, _ := got["model"].(string); !reflect.DeepEqual(got, want) || !strings.HasPrefix(text, "done") {
		t.Errorf("the view got %v", got)
	}
	eval[string](p, `location.hash = '#/wire'`)
	if bye := string(st.report(p, 1)); bye != `"teardown"` {
		t.Error(bye)
	}
	conform(t, p.watched())
}
