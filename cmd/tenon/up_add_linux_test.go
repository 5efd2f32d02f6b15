package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/config"
)

// A browserAt is a browser at the page of tenon up.
type browserAt struct {
	t       *testing.T
	address string
	client  *http.Client
}

func logIn(t *testing.T, v *page) *browserAt {
	t.Helper()
	address, token, _ := strings.Cut(v.addresses[0], "/#token=")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &browserAt{t, address, &http.Client{Jar: jar, Timeout: hangs}}
	b.post(http.StatusOK, "login", map[string]any{"token": token})
	return b
}

// post makes a request that must end with a status, and returns the response.
func (b *browserAt) post(status int, path string, body any) string {
	b.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		b.t.Fatal(err)
	}
	r, err := http.NewRequest(http.MethodPost, b.address+"/api/v1/"+path, strings.NewReader(string(raw)))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", b.address)
	got, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil || got.StatusCode != status {
		b.t.Fatalf("%s: %d %s %v", path, got.StatusCode, text, err)
	}
	return string(text)
}

// A server that is pasted into the page is added with its secrets in the keyring,
// and the key of a model goes there too. No response and no file has either.
func TestSecretsOfThePageAreInTheKeyring(t *testing.T) {
	s, bus := startKeyring(t)
	d := newDesk(t)
	cmd := d.command("up", "--model", "none", "--no-browser")
	set(cmd, "DBUS_SESSION_BUS_ADDRESS", bus)
	b := logIn(t, startPage(t, cmd))
	const key = "sk-page-0123456789abcdef"
	q := map[string]any{"text": `{"mcpServers": {"hub": {"command": "npx", "args": ["-y", "hub"], "env": {"HUB_TOKEN": "` + inputSecret + `", "MODE": "plain"}}}}`}
	shown := b.post(http.StatusOK, "add/preview", q)
	var got struct {
		Servers []struct{ Pin, Writes, Runs, File string }
	}
	if err := json.Unmarshal([]byte(shown), &got); err != nil || len(got.Servers) != 1 {
		t.Fatalf("%s, %v", shown, err)
	}
	if strings.Contains(shown, inputSecret) || !strings.Contains(got.Servers[0].Writes, "${keyring:hub.HUB_TOKEN}") || !strings.Contains(got.Servers[0].Writes, `"plain"`) {
		t.Errorf("shown was %s", shown)
	}
	if all := s.all(); all != "" {
		t.Errorf("the preview stored %s", all)
	}
	q["pin"] = got.Servers[0].Pin
	b.post(http.StatusOK, "add", q)
	if all := s.all(); all != "tenon-servers/hub.HUB_TOKEN="+inputSecret {
		t.Errorf("the keyring has %s", all)
	}
	eventually(t, func() bool { return strings.Contains(d.read(d.environ), "HUB_TOKEN="+inputSecret+"\n") })
	noFileHolds(t, d.config, inputSecret, "tenon.json")

	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error": {"message": "bad key %s"}}`, r.Header.Get("Authorization"))
			return
		}
		fmt.Fprint(w, `{"object": "list", "data": [{"id": "gpt-5", "created": 1}]}`)
	}))
	defer provider.Close()
	model := map[string]any{"provider": "openai", "key": "sk-page-wrong-wrong", "url": provider.URL + "/v1"}
	if text := b.post(http.StatusBadRequest, "models/connect", model); strings.Contains(text, "sk-page") {
		t.Errorf("the error is %s", text)
	}
	model["key"] = key
	if text := b.post(http.StatusOK, "models/connect", model); strings.Contains(text, "sk-page") || !strings.Contains(text, "The key is in your keyring.") {
		t.Errorf("the response is %s", text)
	}
	if all := s.all(); !strings.Contains(all, "tenon-models/openai@"+strings.TrimPrefix(provider.URL, "http://")+"="+key) || strings.Contains(all, "wrong") {
		t.Errorf("the keyring has %s", all)
	}
	noFileHolds(t, d.config, key)
	model["url"] = "http://model.example/v1"
	b.post(http.StatusBadRequest, "models/connect", model)
}

// A page that other machines reach adds no servers, and neither does inspect.
func TestAddingIsForThisMachine(t *testing.T) {
	for _, args := range [][]string{{"inspect", "builtin:calc"}, {"up", "--remote", "--addr", "0.0.0.0:0"}} {
		cmd := binary(t, append(args, "--model", "none", "--no-browser")...)
		b := logIn(t, startPage(t, cmd))
		b.post(http.StatusNotFound, "add/preview", map[string]any{"text": "builtin:calc"})
		b.post(http.StatusNotFound, "models/connect", map[string]any{"provider": "openai", "key": "x"})
	}
}

// P16: a server of a project that needs a variable which is not set shows its
// command.
func TestPendingServerWithAnUnsetVariable(t *testing.T) {
	cmd := binary(t, "up", "--model", "none", "--no-browser")
	write(t, filepath.Join(cmd.Dir, ".mcp.json"), `{"mcpServers": {"weather": {"command": "weather-server", "args": ["--key", "${NO_SUCH_VARIABLE_HERE}"]}}}`)
	b := logIn(t, startPage(t, cmd))
	r, err := b.client.Get(b.address + "/api/v1/pending")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body)
	contains(t, string(text), `"command":"weather-server --key '${NO_SUCH_VARIABLE_HERE}'"`, "set NO_SUCH_VARIABLE_HERE")
}

func TestSuggestedNames(t *testing.T) {
	for text, want := range map[string]string{
		"npx -y @modelcontextprotocol/server-everything":      "everything",
		"npx -y @scope/weather-mcp@1.2.3 --now":               "weather",
		"uvx mcp-server-git":                                  "git",
		"python3 /opt/notes.py":                               "notes",
		"/opt/bin/shop serve":                                 "shop",
		"https://mcp.example.com/v1":                          "example.com",
		"builtin:fs?root=.":                                   "fs",
		"TOKEN=x npx thing":                                   "thing",
		"docker run -i --rm mcp/fetch":                        "fetch",
		"$ npx thing":                                         "thing",
		"```sh\nnpx -y other\n```":                            "other",
		`{"command": "npx", "args": ["-y", "server-memory"]}`: "memory",
	} {
		var e config.Entry
		var err error
		if text = unfenced(text); strings.HasPrefix(text, "{") {
			var all []config.Entry
			all, _, err = config.Paste(text)
			e = all[0]
		} else {
			e, err = typed(text)
		}
		if err != nil || suggestedName(e) != want {
			t.Errorf("%s is called %q, want %q (%v)", text, suggestedName(e), want, err)
		}
	}
}
