package host

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/workspace"
)

// playAsker is a server of revision 2025-06-18, written without the library. Each
// of its tools sends the client one request, and its result says how the client
// answered. It serves one call at a time and waits for that answer for ever.
func playAsker() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		switch m.Method {
		case "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"asker","version":"1"}}}`+"\n", m.ID)
		case "tools/list":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[`, m.ID)
			sep := ""
			for name := range requests {
				fmt.Printf(`%s{"name":%q,"description":"Ask","inputSchema":{"type":"object"}}`, sep, name)
				sep = ","
			}
			fmt.Println(`]}}`)
		case "tools/call":
			fmt.Printf(`{"jsonrpc":"2.0","id":"ask",%s}`+"\n", requests[m.Params.Name])
			text, _ := json.Marshal(awaitAnswer(in))
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}`+"\n", m.ID, text)
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", m.ID)
		}
	}
}

// requests are what the tools of the asker ask, by their names.
var requests = map[string]string{
	"sample": `"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"write"}}],"maxTokens":9}`,
	"nested": `"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{"a":{"type":"object","properties":{}}}}}`,
	"mode":   `"method":"elicitation/create","params":{"mode":"dance","message":"?"}`,
	"roots":  `"method":"roots/list"`,
	"form":   `"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}`,
}

// awaitAnswer waits for the answer to the one request and describes it.
func awaitAnswer(in *bufio.Scanner) string {
	for in.Scan() {
		var m struct {
			ID     string
			Method string
			Result json.RawMessage
			Error  *struct {
				Code    int
				Message string
			}
		}
		switch err := json.Unmarshal(in.Bytes(), &m); {
		case strings.Contains(in.Text(), "notifications/cancelled"):
			return "the call was cancelled"
		case err != nil || m.ID != "ask":
		case m.Error != nil:
			return fmt.Sprintf("fallback after %d %s", m.Error.Code, m.Error.Message)
		default:
			return "answered " + string(m.Result)
		}
	}
	return "the client left"
}

// H22: what a person declines, and what cannot be asked, is answered as such, and
// the call goes on: the server's own fallback is its result.
func TestDeclinedInputRequestsLetTheCallGoOn(t *testing.T) {
	for _, attended := range []bool{true, false} {
		t.Run(fmt.Sprintf("attended=%v", attended), func(t *testing.T) {
			w := open(t, lines(
				expect("go"), call("asker__sample", m{}), call("asker__nested", m{}), call("asker__mode", m{}), call("asker__roots", m{}), call("asker__form", m{}),
				expect("answered"), m{"text": "ok"},
			), []config.Server{played(t, "asker")}, func(o *workspace.Options) { o.Unattended = !attended })
			w.answering(func(host.Ask) *host.Reply { return &host.Reply{Action: "decline"} })
			w.ready("asker")
			w.send("go")
			want := []string{
				"fallback after -1 User rejected sampling request",
				"fallback after -32602 invalid input request elicitation/create: requestedSchema",
				"fallback after -32602 invalid input request elicitation/create: ",
				"fallback after -32601 ",
				`answered {"action":"decline"}`,
			}
			for i, c := range w.calls() {
				if c.Phase != host.CallDone || !strings.Contains(c.ForModel, want[i]) {
					t.Errorf("%s came to %s: %s; want %s", c.Name, c.Phase, c.ForModel, want[i])
				}
			}
		})
	}
}

// H22: in both eras, over both transports, a declined sampling request costs no
// more than the model's text. Only a server of an older revision can go on
// without it; a call to one of the newest ends, and says why.
func TestDeclinedSampling(t *testing.T) {
	everywhere(t, func(t *testing.T, s config.Server, era func(*workspace.Options)) {
		var revision string
		w := open(t, lines(expect("go"), call("tools__rhyme", m{}), expect("User rejected sampling request"), m{"text": "ok"}), []config.Server{s}, func(o *workspace.Options) {
			era(o)
			revision = string(o.Revision)
		})
		w.answering(func(host.Ask) *host.Reply { return &host.Reply{Action: "decline"} })
		w.ready("tools")
		w.send("go")
		c := w.calls()[0]
		if older := revision < "2026"; older != (c.Phase == host.CallDone) || older != strings.Contains(c.ForModel, "a rhyme of my own") {
			t.Errorf("in %s the call came to %s: %s", revision, c.Phase, c.ForModel)
		}
	})
}

// A program on this machine is told the user's folder, unless an argument tells it
// another one.
func TestRootsOfTheFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a b")
	for _, args := range [][]string{nil, {"--verbose"}, {"/elsewhere"}} {
		one := played(t, "asker")
		one.Args = append(one.Args, args...)
		w := open(t, lines(expect("go"), call("asker__roots", m{}), expect(""), m{"text": "ok"}), []config.Server{one}, func(o *workspace.Options) { o.Host.Folder = folder })
		w.ready("asker")
		w.send("go")
		want := `answered {"roots":[{"uri":"file://` + strings.ReplaceAll(folder, " ", "%20") + `"`
		if len(args) > 0 && args[0] == "/elsewhere" {
			want = "fallback after -32601"
		}
		if got := w.calls()[0].ForModel; !strings.Contains(got, want) {
			t.Errorf("with %q: %s; want %s", args, got, want)
		}
	}
}
