package page

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/ext/apps"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// dialect is what views in these tests have in common: the messages, without
// any SDK. A view reports to the test with the tool "report".
const dialect = `<!doctype html><meta charset="utf-8"><title>view</title><body><div id="out">starting</div><script>
let next = 0; const open = new Map(); const heard = []; let onMessage = () => {};
function post(m) { parent.postMessage({jsonrpc: '2.0', ...m}, '*'); }
function req(method, params) { const id = next++; post({id, method, params}); return new Promise((ok, bad) => open.set(id, {ok, bad})); }
function note(method, params) { post({method, params}); }
addEventListener('message', (e) => {
  if (e.source !== parent) return;
  const m = e.data; heard.push(m);
  if (m.method === undefined && open.has(m.id)) { const w = open.get(m.id); open.delete(m.id); m.error ? w.bad(m.error) : w.ok(m.result); return; }
  if (m.method === 'ui/resource-teardown') { onTeardown(m); return; }
  onMessage(m);
});
let onTeardown = (m) => post({id: m.id, result: {}});
const init = async (caps = {}) => { const r = await req('ui/initialize', {protocolVersion: '2026-01-26', appInfo: {name: 'test', version: '1'}, appCapabilities: caps}); note('ui/notifications/initialized'); return r; };
const until = async (f) => { for (let i = 0; i < 600; i++) { const v = f(); if (v) return v; await new Promise((ok) => setTimeout(ok, 25)); } throw new Error('never: ' + f); };
const got = (method) => until(() => heard.find((m) => m.method === method));
const report = (v) => req('tools/call', {name: 'report', arguments: {text: JSON.stringify(v)}});
const sleep = (ms) => new Promise((ok) => setTimeout(ok, ms));
const blocked = async (f) => { try { return 'reached: ' + await f(); } catch (e) { return 'blocked'; } };
async function run(f) { try { await report(await f()); } catch (e) { await report({failed: String(e.message ?? JSON.stringify(e))}); } }
</script>`

// A viewFixture is a server with one view, and what its view reported.
type viewFixture struct {
	*fixture
	mu       sync.Mutex
	reports  []string
	secrets  int // calls of the tool that is for the model only
	declared bool
}

func (s *viewFixture) add(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reports = append(s.reports, text)
}

// report waits for the nth report of the view, from 0.
func (s *viewFixture) report(p *tab, n int) json.RawMessage {
	p.t.Helper()
	for end := time.Now().Add(waitLimit); time.Now().Before(end); time.Sleep(30 * time.Millisecond) {
		s.mu.Lock()
		if len(s.reports) > n {
			defer s.mu.Unlock()
			return json.RawMessage(s.reports[n])
		}
		s.mu.Unlock()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.picture("/tmp/tenon-page-failed.png")
	p.t.Fatalf("the view did not report; the page shows %.3000s\nthe last messages: %s\nconsole: %q", eval[string](p, "document.body.innerText"), eval[string](p, "JSON.stringify((window.seen ?? []).slice(-6)).slice(0, 3000)"), p.printed)
	return nil
}

// newViewFixture builds a page with a server that has a view with this script.
func newViewFixture(t *testing.T, script string, ui apps.ViewUI, p setup) *viewFixture {
	return newViewFixtureHTML(t, dialect+"<script>"+script+"</script>", ui, p)
}

func newViewFixtureHTML(t *testing.T, html string, ui apps.ViewUI, p setup) *viewFixture {
	st := &viewFixture{}
	st.start(t, html, ui, p)
	return st
}

func (st *viewFixture) start(t *testing.T, html string, ui apps.ViewUI, p setup) {
	p.builtin = func(name string, _ url.Values) (connect.Builtin, error) {
		s := server.New(mcp.Implementation{Name: name, Version: "1"}, nil)
		if name == "other" {
			server.AddTool(s, "theirs", "A tool of another server", func(context.Context, *mcp.Call, struct{}) (string, error) { return "theirs", nil }, nil)
			return s, nil
		}
		return s, st.fill(s, html, ui)
	}
	p.servers = append(p.servers, builtinServer("viewer", "viewer", nil), builtinServer("other", "other", nil))
	if p.rules == nil {
		p.rules = []config.Rule{{Effect: config.Allow, Server: "viewer", Tool: "*"}}
	}
	st.fixture = newFixture(t, p)
}

type report struct {
	Text string `json:"text"`
}

func (st *viewFixture) fill(s *server.Server, html string, ui apps.ViewUI) error {
	show := func(_ context.Context, c *mcp.Call, in struct {
		Word string `json:"word,omitempty"`
	}) (*mcp.CallToolResult, error) {
		st.mu.Lock()
		st.declared = apps.Supported(&c.Caller)
		st.mu.Unlock()
		return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text("the text of show")}, StructuredContent: json.RawMessage(fmt.Sprintf(`{"word":%q}`, in.Word))}, nil
	}
	server.AddTool(s, "show", "Show a word", show, &server.ToolOptions{Meta: apps.ToolMeta("ui://viewer/view.html")})
	server.AddTool(s, "report", "Take a report", func(_ context.Context, _ *mcp.Call, in report) (string, error) { st.add(in.Text); return "taken", nil }, &server.ToolOptions{Meta: apps.ToolMeta("", apps.AppView)})
	server.AddTool(s, "secret", "For the model only", func(context.Context, *mcp.Call, struct{}) (string, error) {
		st.mu.Lock()
		defer st.mu.Unlock()
		st.secrets++
		return "secret", nil
	}, &server.ToolOptions{Meta: apps.ToolMeta("", apps.Model)})
	server.AddTool(s, "hang", "Wait until cancelled", func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		server.Progress(c, 1, 2, "half")
		<-ctx.Done()
		return "", ctx.Err()
	}, &server.ToolOptions{Meta: apps.ToolMeta("ui://viewer/view.html")})
	server.AddTool(s, "ask", "Ask the person", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		got, err := server.Elicit[struct {
			Colour string `json:"colour"`
		}](c, "k", "Which colour?")
		return "colour " + got.Colour, err
	}, nil)
	if err := s.AddResource(mcp.Resource{URI: "viewer://data", Name: "data"}, func(context.Context, *mcp.Call, string, map[string]string) ([]mcp.ResourceContents, error) {
		return server.TextResource("text/plain", "the data"), nil
	}, nil); err != nil {
		return err
	}
	return apps.AddView(s, apps.View{URI: "ui://viewer/view.html", Name: "view", HTML: html, UI: ui})
}

// run opens the server's view and runs the tool show.
func (st *viewFixture) run(p *tab, tool string) {
	p.t.Helper()
	p.until(`document.querySelector('#top .side > *')`)
	eval[string](p, `location.hash = '#/drive/viewer/tools/`+tool+`'`)
	p.until(`document.querySelector('.tool h2')?.innerText.trim() === '` + tool + `'`)
	p.clickText("Run")
}

// runWith opens the server's view and calls a tool with arguments.
func (st *viewFixture) runWith(p *tab, tool string, args map[string]any) {
	p.t.Helper()
	p.until(`document.querySelector('#top .side > *')`)
	eval[string](p, `location.hash = '#/drive/viewer/tools/`+tool+`'`)
	p.until(`document.querySelector('.tool h2')?.innerText.trim() === '` + tool + `'`)
	raw, err := json.Marshal(args)
	p.must(err)
	eval[bool](p, `(async () => { const {startRun} = await import(document.querySelector('link[rel=modulepreload]').href).then((m) => m.runs); await startRun('viewer', '`+tool+`', `+string(raw)+`); return true; })()`)
}

// audited returns the tools of the records of a kind in the audit log.
func (st *viewFixture) audited(t *testing.T, what string) []string {
	t.Helper()
	all := []string{}
	for _, line := range auditLines(t, st.dir) {
		var l struct{ Record struct{ What, Tool string } }
		if json.Unmarshal(line, &l) == nil && l.Record.What == what {
			all = append(all, l.Record.Tool)
		}
	}
	slices.Sort(all)
	return all
}
