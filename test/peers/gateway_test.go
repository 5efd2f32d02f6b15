package peers

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

// gateway starts tenon gateway before the servers of an .mcp.json. It ends with
// the test.
func gateway(t *testing.T, servers map[string]any, flags ...string) *running {
	t.Helper()
	project := t.TempDir()
	text, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err == nil {
		err = os.WriteFile(filepath.Join(project, ".mcp.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	program, err := tenonProgram()
	if err != nil {
		t.Fatal(err)
	}
	command := []string{"env", "TENON_CONFIG_DIR=" + t.TempDir(), program, "gateway", "-y", "--project", project, "--addr", "127.0.0.1:0"}
	return start(t, append(command, flags...)...)
}

// entry returns the entry of a peer's server in an .mcp.json.
func (p peer) entry(t *testing.T) map[string]any {
	t.Helper()
	command := p.command(t)
	return map[string]any{"command": command[0], "args": command[1:]}
}

// TestPeersThroughGateway runs the script of every peer's client against the
// server of every peer, with tenon gateway in between: each talks to the gateway
// in its own revision.
func TestPeersThroughGateway(t *testing.T) {
	failed := map[string]any{"unknown-tool": map[string]any{"isError": true}}
	// What mcp-go logs after the response belongs to no call any more, so the
	// gateway cannot know whose it is. The first TypeScript SDK logs on another
	// connection than that of the response, which may be read first.
	late := map[string]any{"log": ruling(func(value any) error {
		rest := []any{"one", "two", "three"}
		lines, _ := value.([]any)
		for _, line := range lines {
			i := slices.Index(rest, line)
			if i < 0 {
				return fmt.Errorf("%v is wrong", line)
			}
			rest = rest[i+1:]
		}
		return nil
	})}
	beside := maps.Clone(failed)
	maps.Copy(beside, late)
	clients := []struct {
		peer     peer
		revision mcp.Revision
	}{
		{peer{name: "gosdkclient"}, newest},
		{peer{name: "mcpgoclient"}, newest},
		{peer{name: "ts1-client.mjs"}, r2025c},
		{peer{name: "ts2-client.mjs"}, newest},
		{in(r2025c, peer{name: "ts2-client.mjs"}), r2025c},
	}
	servers := []struct {
		peer  peer
		http  bool
		other map[string]any
	}{
		{peer{name: "gosdkserver"}, false, nil},
		{peer{name: "mcpgoserver"}, false, late},
		{peer{name: "ts1-server.mjs"}, true, beside},
		{peer{name: "ts1-server.mjs"}, false, failed},
		{peer{name: "ts2-server.mjs"}, true, nil},
	}
	for _, s := range servers {
		for _, c := range clients {
			transport := "stdio"
			if s.http {
				transport = "HTTP"
			}
			t.Run(fmt.Sprintf("%s to %s over %s", c.peer, s.peer, transport), func(t *testing.T) {
				parallel(t)
				entry, hears := s.peer.entry(t), func(string) bool { return true }
				if s.http {
					server := start(t, with(s.peer, "-http", "127.0.0.1:0").command(t)...)
					entry, hears = map[string]any{"type": "http", "url": server.url}, server.says
				}
				g := gateway(t, map[string]any{"peer": entry}, "--names", "plain")
				got, stderr := runClient(t, c.peer.to(t, g.url), nil)
				checkSteps(t, got, s.other)
				want := map[string]any{"revision": string(c.revision), "server": strings.TrimSuffix(s.peer.name, ".mjs")}
				if v := got["connect"].Value; !reflect.DeepEqual(v, want) {
					t.Errorf("connect: got %v, want %v", v, want)
				}
				if !hears("slow: cancelled") {
					t.Error("the server was not told that the call is cancelled")
				}
				g.interrupt(t)
				if t.Failed() {
					t.Logf("stderr of the client:\n%s", stderr)
				}
			})
		}
	}
}

// TestInspectorThroughGateway has the Inspector look at two servers as one: one
// of an SDK in its newest revision, and server-everything, which speaks
// 2025-11-25.
func TestInspectorThroughGateway(t *testing.T) {
	for _, era := range []string{"modern", "legacy"} {
		t.Run(era, func(t *testing.T) {
			parallel(t)
			cli := inspector(t)
			everything := nodePeer(t, filepath.Join("node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js"))
			g := gateway(t, map[string]any{
				"go":         peer{name: "gosdkserver"}.entry(t),
				"everything": map[string]any{"command": everything[0], "args": everything[1:]},
			})
			for _, i := range []inspection{
				{"tools/call --tool-name go__add --tool-arg a=2 --tool-arg b=3", "result.structuredContent", map[string]any{"sum": 5.0}, 0},
				{"tools/call --tool-name go__slow --tool-arg ms=90", "result.content.0.text", "done", 0},
				{"tools/call --tool-name everything__echo --tool-arg message=hi", "result.content.0.text", "Echo: hi", 0},
				{"tools/call --tool-name everything__get-sum --tool-arg a=2 --tool-arg b=3", "result.content.0.text", "The sum of 2 and 3 is 5.", 0},
				{"resources/read --uri go+test://static", "result.contents.0.uri", "go+test://static", 0},
				{"prompts/get --prompt-name everything__args-prompt --prompt-args city=Bern", "result.messages.0.content.text", "What's weather in Bern?", 0},
				{"prompts/get --prompt-name go__greet --prompt-args name=Ada", "result.messages.0.content.text", "Please greet Ada.", 0},
			} {
				args := append(cli[1:len(cli):len(cli)], g.url, "--transport", "http", "--protocol-era", era, "--method")
				if got := i.run(t, cli[0], append(args, strings.Fields(i.args)...)); !reflect.DeepEqual(got, i.want) {
					t.Errorf("%s: got %v, want %v", i.args, got, i.want)
				}
			}
			g.interrupt(t)
		})
	}
}
