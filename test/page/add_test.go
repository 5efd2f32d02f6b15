package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// paste puts a text into the view that adds servers.
func (p *tab) paste(text string) {
	p.t.Helper()
	p.until(`document.querySelector('#add-text')`)
	eval[bool](p, `(() => { const x = document.querySelector('#add-text'); x.value = `+quote(text)+`; x.dispatchEvent(new Event('input')); return true; })()`)
}

// A server is added from the page: pasted, shown as it would be written and run,
// and started only then. It is in the file of the person's configuration.
func TestAddServer(t *testing.T) {
	t.Parallel()
	folder, own := t.TempDir(), t.TempDir()
	p := open(t, upWith(t, folder, own), desk)
	p.clickText("Servers")
	p.clickText("Add a server")
	file := filepath.Join(own, "tenon.json")
	p.paste(tenon(t) + " serve calc")
	p.until(`document.querySelector('.proposal .cmd')?.innerText.endsWith('serve calc')`)
	p.sees("Runs this program with your rights, without a shell")
	if _, err := os.Stat(file); err == nil {
		t.Error("the preview has written the file")
	}
	eval[bool](p, `(() => { const n = document.querySelector('#add-name'); n.value = 'shop'; n.dispatchEvent(new Event('change')); return true; })()`)
	p.sees("A server named shop exists. Choose another name.")
	p.until(`document.querySelector('.proposal .primary').disabled`)
	eval[bool](p, `(() => { const n = document.querySelector('#add-name'); n.value = 'mine'; n.dispatchEvent(new Event('change')); return true; })()`)
	p.until(`!document.querySelector('.proposal .primary').disabled`)
	p.clickText("Add and start")
	p.until(`document.querySelector('.drive-who h1')?.innerText === 'mine' && document.querySelector('.drive-who .state.ok') && document.querySelectorAll('.list li').length === 5`)
	raw, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(raw), `"mine"`) || !strings.Contains(string(raw), `"serve"`) {
		t.Errorf("the file is %s, %v", raw, err)
	}

	// Several servers, a broken one among them, and a secret that is not shown.
	p.at("#/add", `document.querySelector('#add-text')`)
	p.paste(`{"mcpServers": {"far": {"url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "Bearer s3cret-token-value"}}, "odd": {"command": "x", "url": "https://y.example"}, "calc": {"builtin": "calc"}}}`)
	p.until(`document.querySelectorAll('.proposal').length === 3`)
	p.sees("must have only one of command, url and builtin")
	p.until(`[...document.querySelectorAll('.proposal input')].some((e) => e.value === 'calc-2')`)
	if eval[bool](p, `document.querySelector('.proposals').innerText.includes('s3cret')`) {
		t.Error("the preview shows a secret")
	}

	// Errors say what to do.
	for text, want := range map[string]string{
		"cat x | grep y":             "needs a shell",
		`{"name": "x"}`:              `expected "mcpServers"`,
		"io.github.user/weather":     "tenon config add NAME io.github.user/weather",
		"no-such-program-here --now": "the program no-such-program-here is not installed",
		`{"servers": {`:              "the pasted text",
	} {
		p.paste(text)
		p.until(`document.querySelector('.proposals').innerText.includes(` + quote(want) + `)`)
	}

	// A server.json asks for its inputs.
	p.paste(`{"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json", "name": "io.github.user/weather", "description": "Weather", "version": "1.0.0", "packages": [{"registryType": "npm", "identifier": "weather", "version": "1.0.0", "transport": {"type": "stdio"}, "environmentVariables": [{"name": "UNITS", "isRequired": true, "choices": ["metric", "imperial"]}]}]}`)
	p.sees("Enter a value for UNITS.")
	eval[bool](p, `(() => { const n = document.querySelector('#add-input-UNITS'); n.value = 'metric'; n.dispatchEvent(new Event('change')); return true; })()`)
	p.until(`document.querySelector('.proposal .cmd')?.innerText.includes('UNITS=metric') && !document.querySelector('.proposal .primary').disabled`)
	p.until(`document.activeElement.id === 'add-input-UNITS' || true`)
}

// A request that was not shown adds nothing, and a stale pin neither.
func TestAddNeedsThePin(t *testing.T) {
	t.Parallel()
	own := t.TempDir()
	p := open(t, upWith(t, t.TempDir(), own), desk)
	p.until(`document.querySelector('#top .side > *')`)
	post := func(path string, body any) string {
		raw, _ := json.Marshal(body)
		return eval[string](p, `(async () => { const r = await fetch('/api/v1/`+path+`', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: `+quote(string(raw))+`}); return r.status + ' ' + await r.text(); })()`)
	}
	type m = map[string]any
	if got := post("add", m{"text": "builtin:calc"}); !strings.HasPrefix(got, "400") {
		t.Error(got)
	}
	if got := post("add", m{"text": "builtin:calc", "pin": strings.Repeat("0", 64)}); !strings.HasPrefix(got, "409") {
		t.Error(got)
	}
	shown := post("add/preview", m{"text": "builtin:calc", "name": "sums"})
	_, pin, _ := strings.Cut(shown, `"pin":"`)
	pin = pin[:64]
	if got := post("add", m{"text": "builtin:demo", "name": "sums", "pin": pin}); !strings.HasPrefix(got, "409") {
		t.Error("another server was added with the pin: ", got)
	}
	if got := post("add", m{"text": "builtin:calc", "name": "sums", "pin": pin}); !strings.HasPrefix(got, "200") {
		t.Error(got)
	}
}

// A model is connected with a key, which is sent to the provider only.
func TestConnectModel(t *testing.T) {
	t.Parallel()
	const key = "sk-test-0123456789abcdef"
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error": {"message": "Incorrect API key provided: %s"}}`, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
			return
		}
		fmt.Fprint(w, `{"object": "list", "data": [{"id": "gpt-5", "created": 1}]}`)
	}))
	defer provider.Close()
	p := open(t, up(t, t.TempDir()), desk)
	p.clickText("No model connected · Connect")
	p.until(`document.querySelector('#model-provider')`)
	connect := func(key string) {
		t.Helper()
		eval[bool](p, `(() => { const set = (id, v) => { const e = document.querySelector(id); e.value = v; e.dispatchEvent(new Event('change')); }; set('#model-provider', 'openai'); set('#model-key', `+quote(key)+`); set('#model-url', `+quote(provider.URL+"/v1")+`); return true; })()`)
		p.clickText("Connect")
	}
	connect("sk-test-wrong-key-000000")
	p.until(`document.querySelector('.connect-box .state.bad')`)
	if eval[bool](p, `document.body.innerText.includes('sk-test')`) {
		t.Error("the error shows the key")
	}
	connect(key)
	p.until(`document.querySelector('.connect-box .state.ok')?.innerText.includes('openai/gpt-5')`)
	p.until(`document.querySelector('.model-badge').innerText.includes('gpt-5')`)
	if left := eval[string](p, `document.querySelector('#model-key').value`); left != "" {
		t.Errorf("the page keeps the key %q", left)
	}
	for _, path := range []string{"state", "models", "models/providers", "wire?limit=500"} {
		if eval[bool](p, `(async () => (await (await fetch('/api/v1/`+path+`')).text()).includes('sk-test'))()`) {
			t.Errorf("%s has the key", path)
		}
	}
}
