package protect_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/auth/protect"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

const adaKey, eveKey = "ada-0123456789abcdef0123456789", "eve-0123456789abcdef0123456789"

type consent struct {
	Sure bool `json:"sure" doc:"go on"`
}

// served runs a protected MCP server on loopback and returns a way to post to
// it with somebody's key.
func served(t *testing.T) func(key, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	s := server.New(mcp.Implementation{Name: "files", Version: "1"}, nil)
	server.AddTool(s, "whoami", "says who calls", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		return "you are " + c.Caller.Principal.ID, nil
	}, nil)
	server.AddTool(s, "erase", "asks first", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		if _, err := server.Elicit[consent](c, "sure", "Sure?"); err != nil {
			return "", err
		}
		got, err := server.Elicit[consent](c, "really", "Really?")
		return fmt.Sprint("erased for ", c.Caller.Principal.ID, " ", got.Sure), err
	}, nil)
	keys := map[string]mcp.Principal{}
	for key, id := range map[string]string{adaKey: "ada", eveKey: "eve"} {
		hash, err := protect.HashKey(key)
		if err != nil {
			t.Fatal(err)
		}
		keys[hash] = mcp.Principal{ID: id, Scopes: []string{"mcp"}}
	}
	verifier, err := protect.APIKeys(keys)
	if err != nil {
		t.Fatal(err)
	}
	endpoint, err := streamable.NewHandler(s, &streamable.Options{Principal: protect.Principal})
	if err != nil {
		t.Fatal(err)
	}
	guard, err := protect.New(&protect.Options{Resource: "http://127.0.0.1/mcp", Verifier: verifier, Scopes: []string{"mcp"},
		Require: func(_, name string) []string {
			if name == "forbidden" {
				return []string{"more"}
			}
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(guard.Wrap(endpoint))
	t.Cleanup(web.Close)
	t.Cleanup(endpoint.Shutdown)
	return func(key, body string, headers ...string) (*http.Response, string) {
		r, err := http.NewRequest("POST", web.URL+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			r.Header.Set(name, value)
		}
		res, err := web.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		return res, string(text)
	}
}

// modern makes a call of the newest era and the headers that go with it.
func modern(tool, more string) (string, []string) {
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":{}` + more +
		`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"p","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`
	return body, []string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: " + tool}
}

// The verified principal reaches the tool, in the newest era and in an older
// one, and a session belongs to whoever opened it (go-sdk#696).
func TestPrincipalReachesTheCall(t *testing.T) {
	send := served(t)
	body, headers := modern("whoami", "")
	for key, want := range map[string]string{adaKey: "you are ada", eveKey: "you are eve"} {
		if res, text := send(key, body, headers...); res.StatusCode != 200 || !strings.Contains(text, want) {
			t.Errorf("%d %s", res.StatusCode, text)
		}
	}
	if res, text := send("", body, headers...); res.StatusCode != 401 || strings.Contains(text, "you are") {
		t.Errorf("without a key: %d %s", res.StatusCode, text)
	}
	body, headers = modern("forbidden", "")
	if res, _ := send(adaKey, body, headers...); res.StatusCode != 403 || !strings.Contains(res.Header.Get("WWW-Authenticate"), `scope="mcp more"`) {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}

	res, text := send(adaKey, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"p","version":"1"}}}`)
	session := "Mcp-Session-Id: " + res.Header.Get("Mcp-Session-Id")
	if res.StatusCode != 200 || len(session) < 20 {
		t.Fatalf("%d %s", res.StatusCode, text)
	}
	send(adaKey, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, session, "MCP-Protocol-Version: 2025-11-25")
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"whoami","arguments":{}}}`
	if res, text := send(adaKey, call, session, "MCP-Protocol-Version: 2025-11-25"); res.StatusCode != 200 || !strings.Contains(text, "you are ada") {
		t.Errorf("%d %s", res.StatusCode, text)
	}
	other, stolen := send(eveKey, call, session, "MCP-Protocol-Version: 2025-11-25")
	unknown, none := send(eveKey, call, "Mcp-Session-Id: 0123456789abcdef0123456789abcdef", "MCP-Protocol-Version: 2025-11-25")
	if other.StatusCode != 404 || unknown.StatusCode != 404 || stolen != none {
		t.Errorf("somebody else's session: %d %s; no session: %d %s", other.StatusCode, stolen, unknown.StatusCode, none)
	}
}

// A30: a state that was handed to one user is of no use to another, and the
// verdict is the same as for one that never was.
func TestStateOfAnotherUser(t *testing.T) {
	send := served(t)
	answered := func(key string) string {
		return `,"inputResponses":{"` + key + `":{"action":"accept","content":{"sure":true}}}`
	}
	body, headers := modern("erase", answered("sure"))
	_, text := send(adaKey, body, headers...)
	found := regexp.MustCompile(`"requestState":"([^"]+)"`).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no state in %s", text)
	}
	answer := answered("really") + `,"requestState":"`
	good, headers := modern("erase", answer+found[1]+`"`)
	madeUp, _ := modern("erase", answer+strings.Repeat("A", len(found[1]))+`"`)
	_, stolen := send(eveKey, good, headers...)
	_, unknown := send(eveKey, madeUp, headers...)
	if strings.Contains(stolen, "erased") || stolen != unknown {
		t.Errorf("a stolen state: %s\na made-up state: %s", stolen, unknown)
	}
	if _, text := send(adaKey, good, headers...); !strings.Contains(text, "erased for ada true") {
		t.Errorf("her own: %s", text)
	}
}
