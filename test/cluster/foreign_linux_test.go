package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// addKey makes an API key of the gateways with this configuration folder.
func addKey(t testing.TB, dir, name string) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "gateway", "keys", "add", name)
	cmd.Env = append(os.Environ(), "TENON_CONFIG_DIR="+dir)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// post sends a message to a URL with an API key and further headers, and returns
// the status, the session id and the body of the response.
func post(t testing.TB, url, key, body string, header ...string) (status int, session, text string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+key)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Mcp-Session-Id"), string(raw)
}

// What a cluster has sealed for a principal, session ids and states of calls, is
// of no use to another principal, with another cluster, or when it is changed.
func TestForeignTokens(t *testing.T) {
	_, legacy, servers := twoShops(t)
	dir := t.TempDir()
	ada, bob := addKey(t, dir, "ada"), addKey(t, dir, "bob")
	settings := fmt.Sprintf(`{"keys": %q}`, filepath.Join(dir, "gateway-keys.json"))
	own, other := start(t, 2, servers, settings), start(t, 1, servers, settings)
	changed := func(token string) string { // in its middle
		i := len(token) / 2
		return token[:i] + string('A'+(token[i]-'A'+1)%2) + token[i+1:]
	}
	t.Run("session", func(t *testing.T) {
		const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
		status, id, body := post(t, own.nginx, ada, initialize)
		if status != http.StatusOK || id == "" {
			t.Fatalf("initialize: %d %s", status, body)
		}
		use := func(url, key, id string) int {
			status, _, _ := post(t, url, key, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "Mcp-Session-Id", id, "MCP-Protocol-Version", "2025-06-18")
			return status
		}
		for _, c := range []struct {
			name, url, key, id string
			want               int
		}{
			{"the same principal", own.nginx, ada, id, http.StatusOK},
			{"the same principal at another replica", own.nginx, ada, id, http.StatusOK},
			{"another principal", own.nginx, bob, id, http.StatusNotFound},
			{"no principal", own.nginx, "wrong", id, http.StatusUnauthorized},
			{"another cluster", other.nginx, ada, id, http.StatusNotFound},
			{"changed", own.nginx, ada, changed(id), http.StatusNotFound},
			{"the same principal still", own.nginx, ada, id, http.StatusOK},
		} {
			if got := use(c.url, c.key, c.id); got != c.want {
				t.Errorf("%s: status %d, want %d", c.name, got, c.want)
			}
		}
	})
	t.Run("state", func(t *testing.T) {
		order := func(url, key, rest string) (int, string) {
			body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"legacy__order","arguments":{"name":"soap"},` + rest +
				`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}}}`
			status, _, text := post(t, url, key, body, "MCP-Protocol-Version", string(mcp.Rev20260728), "Mcp-Method", "tools/call", "Mcp-Name", "legacy__order")
			return status, text
		}
		status, text := order(own.nginx, ada, "")
		var first struct {
			Result struct {
				RequestState  string                     `json:"requestState"`
				InputRequests map[string]json.RawMessage `json:"inputRequests"`
			} `json:"result"`
		}
		if err := json.Unmarshal([]byte(text), &first); err != nil || status != http.StatusOK || first.Result.RequestState == "" || len(first.Result.InputRequests) != 1 {
			t.Fatalf("%d %s: %v", status, text, err)
		}
		next := func(state string) string {
			for name := range first.Result.InputRequests {
				return fmt.Sprintf(`"requestState":%q,"inputResponses":{%q:{"action":"accept","content":{"grams":100}}},`, state, name)
			}
			return ""
		}
		state := first.Result.RequestState
		for _, c := range []struct{ name, url, key, state string }{
			{"another principal", own.nginx, bob, state},
			{"another cluster", other.nginx, ada, state},
			{"changed", own.nginx, ada, changed(state)},
		} {
			if status, text := order(c.url, c.key, next(c.state)); status != http.StatusBadRequest {
				t.Errorf("%s: %d %s", c.name, status, text)
			}
		}
		if n := legacy.ordered("soap"); n != 0 {
			t.Fatalf("ordered %d times", n)
		}
		if status, text := order(own.nginx, ada, next(state)); status != http.StatusOK || legacy.ordered("soap") != 1 {
			t.Errorf("the principal itself: %d %s", status, text)
		}
		for range 2 { // at each replica
			if status, text := order(own.nginx, ada, next(state)); status == http.StatusOK && !strings.Contains(text, `"error"`) || legacy.ordered("soap") != 1 {
				t.Errorf("replayed: %d %s; ordered %d times", status, text, legacy.ordered("soap"))
			}
		}
	})
}

// Clients with API keys answer questions and cancel calls although these requests
// reach another replica than the call, which verifies the key itself.
func TestForwardedWithKeys(t *testing.T) {
	modern, legacy, servers := twoShops(t)
	dir := t.TempDir()
	key := addKey(t, dir, "ada")
	w := start(t, 3, servers, fmt.Sprintf(`{"keys": %q}`, filepath.Join(dir, "gateway-keys.json")))
	for _, rev := range someRevisions {
		t.Run(string(rev), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), hangs)
			defer cancel()
			header := http.Header{"Authorization": {"Bearer " + key}}
			c, err := client.Dial(ctx, &streamclient.Endpoint{URL: w.nginx, Header: header, Era: era.DialOptions{Known: rev}}, &client.Options{Elicit: accept})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			for name, h := range map[string]*shop{"modern": modern, "legacy": legacy} {
				for range 4 {
					if got := call(t, c, name+"__order", map[string]any{"name": "wax"}); got != "100 g of wax" {
						t.Errorf("%s: order: %s", name, got)
					}
				}
				cancelled(t, c, h, name)
			}
		})
	}
}

// A replica that would serve everybody does not start beside one that requires
// authorization.
func TestReplicasAgreeOnAuthorization(t *testing.T) {
	_, _, servers := twoShops(t)
	w := start(t, 1, servers)
	t.Setenv("TENON_TEST_TOKEN", "0123456789012345678901234567")
	w.replicas[0].kill()
	w.replicas[0].args = []string{"--auth-token", "TENON_TEST_TOKEN"}
	w.replicas[0].start()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), hangs)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "gateway", "--addr", "127.0.0.1:0", "--page", "off")
	cmd.Env = append(os.Environ(), "TENON_CONFIG_DIR="+w.replicas[0].dir, "TENON_REDIS="+w.redis.URL)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "requires authorization, and this one would serve everybody") {
		t.Errorf("%v: %s", err, out)
	}
}
