package page

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/internal/needtest"
	"github.com/tenon-mcp/tenon/schema"
)

// peerView returns the entry of a server with views that others wrote.
func peerView(t *testing.T, name string, args ...string) config.Server {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("views/node_modules/@modelcontextprotocol/server-"+name, "dist/index.js"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		needtest.Missing(t, "the view servers are not installed: test/page/install.sh brings them")
	}
	return config.Server{Name: name, Kind: config.Stdio, Command: needtest.Program(t, "node"), Args: append([]string{file, "--stdio"}, args...)}
}

// watch records the messages between the page and its views.
func (p *tab) watch() {
	p.t.Helper()
	eval[bool](p, `(async () => { window.seen = []; (await import(document.querySelector('link[rel=modulepreload]').href).then((m) => m.apps)).watchers.add((v, sent, m) => seen.push({sent, m: JSON.parse(JSON.stringify(m))})); return true; })()`)
}

type viewMessage struct {
	Sent bool
	M    struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
		Result json.RawMessage
		Error  json.RawMessage
	}
	raw json.RawMessage
}

func (p *tab) watched() []viewMessage {
	p.t.Helper()
	var all []viewMessage
	if err := json.Unmarshal([]byte(eval[string](p, `JSON.stringify(seen)`)), &all); err != nil {
		p.t.Fatal(err)
	}
	return all
}

// definitions has the schema of each message that we send, by method; a result by
// the method of its request, with a + at its end.
var definitions = map[string]string{
	"ui/initialize+": "McpUiInitializeResult", "ui/open-link+": "McpUiOpenLinkResult", "ui/message+": "McpUiMessageResult", "ui/request-display-mode+": "McpUiRequestDisplayModeResult", "ui/download-file+": "McpUiDownloadFileResult",
	"ui/notifications/host-context-changed": "McpUiHostContextChangedNotification", "ui/notifications/tool-input": "McpUiToolInputNotification", "ui/notifications/tool-result": "McpUiToolResultNotification",
	"ui/notifications/tool-cancelled": "McpUiToolCancelledNotification", "ui/resource-teardown": "McpUiResourceTeardownRequest", "ui/notifications/sandbox-resource-ready": "McpUiSandboxResourceReadyNotification",
}

// conform checks every message that the page sent to views against the published
// schema, and returns how many it checked.
func conform(t *testing.T, all []viewMessage) int {
	t.Helper()
	raw, err := os.ReadFile("views/node_modules/@modelcontextprotocol/ext-apps/dist/src/generated/schema.json")
	if err != nil {
		needtest.Missing(t, "the schema of views is not installed: test/page/install.sh brings it")
	}
	var file struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	asked := map[string]string{}
	n := 0
	for _, m := range all {
		what, value := m.M.Method, any(map[string]any{"method": m.M.Method, "params": m.M.Params})
		if !m.Sent {
			asked[string(m.M.ID)] = m.M.Method
			continue
		}
		if what == "" && m.M.Result != nil {
			what, value = asked[string(m.M.ID)]+"+", m.M.Result
		}
		name := definitions[what]
		if name == "" {
			if strings.HasPrefix(what, "ui/") && what != "ui/update-model-context+" {
				t.Errorf("no schema is known for %s", what)
			}
			continue
		}
		v, err := schema.NewValidator(file.Defs[name], nil)
		if err != nil {
			t.Fatal(name, err)
		}
		text, err := json.Marshal(withoutDimensions(t, value))
		if err != nil {
			t.Fatal(err)
		}
		if problem := v.Check(text); problem != nil {
			t.Errorf("%s violates %s: %v\n%.2000s", what, name, problem, text)
		}
		n++
	}
	return n
}

// withoutDimensions removes containerDimensions, after checking it: no object but
// an empty one satisfies the published schema of it, which demands two closed
// objects at once.
func withoutDimensions(t *testing.T, value any) any {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	for _, member := range []string{"params", "hostContext"} {
		context, _ := all[member].(map[string]any)
		if d, ok := context["containerDimensions"].(map[string]any); ok {
			_, width := d["width"].(float64)
			_, height := d["height"].(float64)
			_, most := d["maxHeight"].(float64)
			if len(d) != 2 || !width || height == most {
				t.Errorf("containerDimensions: %v", d)
			}
			delete(context, "containerDimensions")
		}
	}
	return all
}

// sequence waits until the messages with these methods have passed, in this
// order; + marks those that the page sent, ! the end of the view's first tool call.
func (p *tab) sequence(methods ...string) {
	p.t.Helper()
	want, _ := json.Marshal(methods)
	p.until(`(() => { let i = 0; const want = ` + string(want) + `; for (const {sent, m} of seen) if (m.method && (sent ? '+' : '') + m.method === want[i]) i++; return i === want.length; })()`)
}

// clickAround clicks into a view from top to bottom, as somebody does who looks
// for its first button, until a condition is true.
func (p *tab) clickAround(condition string) {
	p.t.Helper()
	for y := 4; y < 600; y += 8 {
		at := eval[[]float64](p, `(() => { const f = document.querySelector('.app-frame'); f.scrollIntoView({block: 'start'}); const r = f.getBoundingClientRect(); return [r.x, r.y, r.height]; })()`)
		if float64(y) > at[2] {
			break
		}
		p.must(chromedp.Do(p.ctx, chromedp.MouseClickXY(at[0]+48, at[1]+float64(y))))
		for range 4 {
			if eval[bool](p, condition) {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	p.until(condition)
}

// The map and the document viewer want the network, and are shown without it when
// the person says so. The document viewer reads its document from its server with
// tool calls; the map stays empty.
func TestViewsThatWantTheNetwork(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ server, tool string }{{"map", "show-map"}, {"pdf", "display_pdf"}} {
		t.Run(test.server, func(t *testing.T) {
			var args []string
			if test.server == "pdf" {
				file := filepath.Join(t.TempDir(), "one.pdf")
				if err := os.WriteFile(file, []byte(onePage), 0o600); err != nil {
					t.Fatal(err)
				}
				args = []string{file}
			}
			h := newFixture(t, setup{servers: []config.Server{peerView(t, test.server, args...)}, rules: []config.Rule{{Effect: config.Allow, Server: "*", Tool: "*"}}})
			h.ready(t, test.server)
			p := open(t, h.address(), desk)
			p.watch()
			eval[string](p, `location.hash = '#/drive/`+test.server+`/tools/`+test.tool+`'`)
			p.until(`document.querySelector('.tool h2')`)
			if len(args) > 0 {
				eval[bool](p, `(async () => { const {startRun} = await import(document.querySelector('link[rel=modulepreload]').href).then((m) => m.runs); await startRun('pdf', 'display_pdf', {url: 'file://`+args[0]+`'}); return true; })()`)
			} else {
				p.clickText("Run")
			}
			p.sees("wants more than to be shown")
			p.clickText("Show it without")
			p.sequence("+ui/notifications/sandbox-resource-ready")
			if test.server == "pdf" { // the map loads its library from the network before it begins
				p.sequence("ui/initialize", "ui/notifications/initialized", "+ui/notifications/tool-input", "+ui/notifications/tool-result", "tools/call")
			}
			conform(t, p.watched())
			eval[string](p, `location.hash = '#/wire'`)
			p.until(`!document.querySelector('.app-frame')`)
		})
	}
}

// onePage is a small document.
const onePage = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"

// Three views of others complete their handshake, call a tool, are resized and
// torn down, under the strictest policy; every message that they get conforms.
func TestViewsOfOthers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ server, tool string }{{"basic-vanillajs", "get-time"}, {"debug", "debug-tool"}, {"budget-allocator", "get-budget-data"}} {
		t.Run(test.server, func(t *testing.T) {
			h := newFixture(t, setup{servers: []config.Server{peerView(t, test.server)}, rules: []config.Rule{{Effect: config.Allow, Server: "*", Tool: "*"}}})
			h.ready(t, test.server)
			p := open(t, h.address(), desk)
			p.watch()
			eval[string](p, `location.hash = '#/drive/`+test.server+`/tools/`+test.tool+`'`)
			p.until(`document.querySelector('.tool h2')`)
			p.clickText("Run")
			p.sequence("ui/initialize", "ui/notifications/initialized", "+ui/notifications/tool-input", "+ui/notifications/tool-result")
			p.sequence("ui/notifications/size-changed")
			p.until(`document.querySelector('.app-frame').style.height`)
			eval[string](p, `(document.documentElement.dataset.theme = 'dark', document.dispatchEvent(new Event('theme')), '')`)
			p.sequence("+ui/notifications/host-context-changed")
			switch test.server {
			case "debug": // it reports each callback with a tool call of its own
				p.sequence("tools/call")
			case "basic-vanillajs":
				p.clickAround(`seen.some(({sent, m}) => !sent && m.method === 'tools/call')`)
			}
			if n := conform(t, p.watched()); n < 5 {
				t.Errorf("only %d messages were checked", n)
			}
			eval[string](p, `location.hash = '#/wire'`)
			p.until(`seen.some(({sent, m}) => !sent && m.id === 'teardown')`)
			p.until(`!document.querySelector('.app-frame')`)
			conform(t, p.watched())
		})
	}
}
