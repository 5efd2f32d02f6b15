package page

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/png"
	"net/url"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/mcp"
)

// attack is what the server says in every place where it may say something.
const attack = `<img src=x onerror="window.__pwned=1"><script>window.__pwned=2</script><svg onload=window.__pwned=3>"'` + "`" + `${window.__pwned=4} [x](javascript:window.__pwned=5) ![i](http://10.0.0.1/leak.png) <a href="javascript:window.__pwned=6">x</a>` + "\u202e\u2066\u200b\u0007\U000E0041"

// A hostile server has no feature that does not try to run something.
type hostile struct{}

func (hostile) Close() error { return nil }

func (hostile) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	if c.Method == mcp.MethodSubscriptionsListen {
		<-ctx.Done()
		return mcp.Result{}, ctx.Err()
	}
	if c.Method == mcp.MethodToolsCall && strings.Contains(string(c.Params), `"page"`) && c.InputResponses["q"] == nil {
		return mcp.Result{}, &mcp.InputRequired{Requests: map[string]mcp.InputRequest{"q": {Method: mcp.MethodElicit, Params: text(map[string]any{"mode": "url", "elicitationId": "1", "message": attack, "url": "javascript:window.__pwned=7"})}}}
	}
	if c.Method == mcp.MethodToolsCall && strings.Contains(string(c.Params), `"ask"`) && c.InputResponses["q"] == nil {
		return mcp.Result{}, &mcp.InputRequired{Requests: map[string]mcp.InputRequest{"q": {Method: mcp.MethodElicit, Params: text(map[string]any{"message": attack, "requestedSchema": map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string", "title": attack, "description": attack}}}})}}}
	}
	body, ok := answers()[c.Method]
	if !ok {
		return mcp.Result{}, &mcp.Error{Code: -32601, Message: attack}
	}
	return mcp.Result{Body: text(body), Server: &mcp.Implementation{Name: attack, Title: attack, Version: attack, Icons: icons()}}, nil
}

func text(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

// icons are pictures that must not be shown, or not be fetched.
func icons() []mcp.Icon {
	return []mcp.Icon{
		{Src: "http://10.0.0.1/icon.png"}, {Src: "https://evil.example/icon.png"}, {Src: "javascript:window.__pwned=8"}, {Src: "file:///etc/passwd"},
		{Src: "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(`<svg xmlns="http://www.w3.org/2000/svg" onload="window.top.__pwned=9"><script>window.top.__pwned=10</script></svg>`)), MIMEType: "image/svg+xml"},
		{Src: "data:image/png;base64," + huge()},
		{Src: "data:text/html,<script>window.__pwned=11</script>"},
	}
}

// huge is a PNG whose header says 20,000 by 20,000 pixels.
func huge() string {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		panic(err)
	}
	raw := b.Bytes()
	copy(raw[16:], []byte{0, 0, 0x4e, 0x20, 0, 0, 0x4e, 0x20})
	return base64.StdEncoding.EncodeToString(raw)
}

func answers() map[string]any {
	type m = map[string]any
	schema := m{"type": "object", "title": attack, "description": attack, "properties": m{
		attack: m{"type": "string", "description": attack, "default": attack, "examples": []string{attack}}, "__proto__": m{"type": "string"}, "constructor": m{"enum": []string{attack, "b"}},
		"slow": m{"type": "string", "pattern": "^(a+)+$"}, "loop": m{"$ref": "#"}, "far": m{"$ref": "https://evil.example/schema.json"},
	}}
	content := []m{
		{"type": "text", "text": attack}, {"type": "text", "text": "# " + attack + "\n\n| a | b |\n|---|---|\n| " + attack + " | 1 |\n\n[click](https://evil.example/x) <https://evil.example/y>"},
		{"type": "image", "mimeType": "image/svg+xml", "data": base64.StdEncoding.EncodeToString([]byte("<svg onload=alert(1)>"))}, {"type": "image", "mimeType": "image/png", "data": huge()}, {"type": "image", "mimeType": "text/html", "data": "PHNjcmlwdD4="},
		{"type": "audio", "mimeType": "audio/wav\"><script>", "data": "AAAA"}, {"type": "resource_link", "uri": "javascript:window.__pwned=12", "name": attack, "title": attack}, {"type": "resource", "resource": m{"uri": "javascript:window.__pwned=13", "mimeType": "text/html", "text": attack}},
	}
	tool := func(name string) m {
		return m{"name": name, "title": attack, "description": attack, "inputSchema": schema, "icons": icons(), "annotations": m{"title": attack, "readOnlyHint": true}}
	}
	return map[string]any{
		mcp.MethodDiscover:              m{"supportedVersions": mcp.Revisions(), "capabilities": m{"tools": m{}, "resources": m{}, "prompts": m{}, "completions": m{}, "logging": m{}, "experimental": m{attack: m{attack: attack}}}, "instructions": attack, "serverInfo": m{"name": attack, "version": attack}},
		mcp.MethodToolsList:             m{"tools": []m{tool("run"), tool("page"), tool("ask"), tool(attack)}},
		mcp.MethodToolsCall:             m{"content": content, "structuredContent": m{"rows": []m{{attack: attack}}}, "isError": true},
		mcp.MethodResourcesList:         m{"resources": []m{{"uri": "javascript:window.__pwned=14", "name": attack, "title": attack, "description": attack, "icons": icons()}}},
		mcp.MethodResourceTemplatesList: m{"resourceTemplates": []m{{"uriTemplate": "javascript:{x}", "name": attack, "description": attack}}},
		mcp.MethodResourcesRead:         m{"contents": []m{{"uri": "javascript:1", "mimeType": "text/html", "text": attack}, {"uri": "x:y", "mimeType": "image/svg+xml", "blob": "PHN2Zz4="}}},
		mcp.MethodPromptsList:           m{"prompts": []m{{"name": "p", "title": attack, "description": attack, "arguments": []m{{"name": attack, "description": attack}}}}},
		mcp.MethodPromptsGet:            m{"description": attack, "messages": []m{{"role": "user", "content": m{"type": "text", "text": attack}}, {"role": "assistant", "content": content[6]}}},
		mcp.MethodComplete:              m{"completion": m{"values": []string{attack, "javascript:1"}}},
	}
}

// Whatever a server says, wherever it is shown: nothing of it runs, nothing is
// fetched, no address leads away, and what cannot be seen is shown.
func TestHostileServer(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{
		servers: []config.Server{builtinServer("bad", "bad", nil), builtinServer("calc", "calc", nil)},
		builtin: func(name string, q url.Values) (connect.Builtin, error) {
			if name == "bad" {
				return hostile{}, nil
			}
			return builtins(name, q)
		},
	})
	wire := h.work.Log.Wire(attack)
	wire.Stderr(attack)
	wire.InvalidFrame([]byte(attack))
	wire.Event(attack)
	h.ready(t, "bad")
	p := open(t, h.address(), desk)
	p.until(`document.querySelector('[data-part="server/bad"] .counts')`)
	shows := func(hash, condition string) {
		t.Helper()
		eval[string](p, "location.hash = "+quote(hash))
		p.until(condition)
		judge(t, p, h.url, hash)
	}
	shows("#/server/bad", `document.querySelector('.panel .quote')`)
	shows("#/connection/bad", `document.querySelector('.handshake, .facts')`)
	shows("#/drive/bad/tools/run", `document.querySelector('.tool .form')`)
	const insists = `[...document.querySelectorAll('button')].some((b) => b.innerText.includes('anyway'))`
	p.clickText("Run")
	p.until(`document.querySelector('.outcome .result') || ` + insists)
	if eval[bool](p, insists) {
		p.clickText("Send anyway")
	}
	p.until(`document.querySelector('.outcome .result')`)
	judge(t, p, h.url, "a result")
	p.clickText("click")
	p.until(`document.querySelector('dialog[open] .address')?.innerText.includes('https://evil.example/x')`)
	p.press("\u001b")
	shows("#/drive/bad/resources/"+url.PathEscape("javascript:window.__pwned=14"), `document.querySelector('.detail .part')`)
	shows("#/drive/bad/prompts/p", `document.querySelector('.detail .fields')`)
	p.clickText("Preview")
	p.until(`document.querySelector('.detail .chat-entry')`)
	judge(t, p, h.url, "a prompt")
	shows("#/drive/bad/about", `document.querySelector('.aboutbox')`)
	for _, tool := range []string{"page", "ask"} {
		shows("#/drive/bad/tools/"+tool, `document.querySelector('.detail code')?.innerText === '`+tool+`'`)
		p.clickText("Run")
		p.until(`document.querySelector('.run-meta .state.bad') || document.querySelector('#tray .ask') || ` + insists)
		if eval[bool](p, insists) {
			p.clickText("Send anyway")
		}
		p.until(`document.querySelector('#tray .ask') || document.querySelector('.run-meta .state.bad') && !(` + insists + `)`)
		judge(t, p, h.url, "a question")
		if eval[bool](p, `document.querySelector('#tray .ask') !== null`) {
			if who := eval[string](p, `document.querySelector('#tray .ask h3 strong').innerText`); who != "bad" {
				t.Errorf("the question of bad is shown as of %q", who)
			}
			p.clickText("Decline")
			p.until(`document.querySelectorAll('.ask').length === 0`)
		}
	}
	shows("#/wire/all?flat=1&all=1", `document.querySelectorAll('.spacer .wrow').length > 5`)
	for seq := range 3 {
		shows("#/wire/"+string(rune('1'+seq)), `document.querySelector('.message .json, .message pre')`)
	}
	shows("#/chat", `document.querySelector('.composer')`)
}

// judge looks for anything that ran, leads away or was fetched.
func judge(t *testing.T, p *tab, own, where string) {
	t.Helper()
	if got := eval[string](p, `String(window.__pwned)`); got != "undefined" {
		t.Errorf("%s: something ran: %s", where, got)
	}
	if bad := eval[string](p, `[...document.querySelectorAll('a[href]')].map((a) => a.getAttribute('href')).filter((h) => !h.startsWith('#')).join()`); bad != "" {
		t.Errorf("%s: links to %s", where, bad)
	}
	if bad := eval[string](p, `[...document.querySelectorAll('body script, script[src], iframe, object, embed, form, base, meta[http-equiv], [onerror], [onload], [srcdoc], [style*=url]')].map((e) => e.outerHTML.slice(0, 80)).join()`); bad != "" {
		t.Errorf("%s: the page has %s", where, bad)
	}
	if bad := eval[string](p, `[...document.querySelectorAll('img, audio, video')].map((e) => e.getAttribute('src')).filter((s) => !/^data:(image\/(png|gif|jpeg|webp)|audio\/[a-z0-9.+-]+);base64,[A-Za-z0-9+/=]*$/.test(s)).join()`); bad != "" {
		t.Errorf("%s: shows %s", where, bad)
	}
	if n := eval[int](p, `[...document.querySelectorAll('img')].filter((i) => i.naturalWidth > 8192 || i.width > 8192).length`); n != 0 {
		t.Errorf("%s: shows a picture that is too large", where)
	}
	if eval[bool](p, `/[\u202a-\u202e\u2066-\u2069\u200b\u0007]/.test(document.body.innerText)`) {
		t.Errorf("%s: characters that cannot be seen are on the page as they came", where)
	}
	if foreign := p.foreign(own); len(foreign) > 0 {
		t.Errorf("%s: the page asked for %q", where, foreign)
	}
}
