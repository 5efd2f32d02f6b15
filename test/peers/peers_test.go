// Package peers runs other implementations of MCP as processes, so that Tenon
// is tested against them over stdio and HTTP. The README says what each can do.
package peers

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/internal/needtest"
)

var all = flag.Bool("all", false, "run every peer client against every peer server, not only against its own SDK's")

func TestMain(m *testing.M) { leaktest.Main(m) }

// busy bounds how many conversations run at the same time: each is two
// processes or three, and some of them are slow to start.
var busy = make(chan struct{}, 3)

// parallel runs the test beside others, but not beside too many.
func parallel(t *testing.T) {
	t.Parallel()
	busy <- struct{}{}
	t.Cleanup(func() { <-busy })
}

var goPrograms = sync.OnceValue(func() error {
	out, err := exec.Command("go", "build", "-o", "bin"+string(filepath.Separator),
		"./gosdkserver", "./gosdkclient", "./mcpgoserver", "./mcpgoclient", "./tenonserver", "./tenonclient").CombinedOutput()
	if err != nil {
		return fmt.Errorf("building the programs: %w\n%s", err, out)
	}
	return nil
})

// goPeer returns the command line of one of this module's Go programs.
func goPeer(t *testing.T, name string, args ...string) []string {
	t.Helper()
	if err := goPrograms(); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	path, err := filepath.Abs(filepath.Join("bin", name))
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{path}, args...)
}

// nodePeer returns the command line of a script in the folder node, and skips
// the test where the JavaScript peers are not installed.
func nodePeer(t *testing.T, script string, args ...string) []string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		needtest.Missing(t, "node is not installed; run test/peers/install.sh")
	}
	if _, err := os.Stat("node/node_modules/.installed.json"); err != nil {
		needtest.Missing(t, "the JavaScript peers are not installed; run test/peers/install.sh")
	}
	path, err := filepath.Abs(filepath.Join("node", script))
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{node, path}, args...)
}

// A stepLine is what a client program prints for one step of the script.
type stepLine struct {
	Step    string
	OK      bool
	Value   any
	Error   string
	Skipped string
}

// expected are the values of the steps, except connect, whose value depends
// on the pair.
var expected = map[string]any{
	"tools":         []any{"add", "ask", "echo", "grow", "log", "slow"},
	"add":           map[string]any{"sum": 5.0},
	"echo":          "hello",
	"ask":           "Hello, Ada!",
	"slow":          map[string]any{"progress": []any{1.0, 2.0, 3.0}, "text": "done"},
	"cancel":        "alive",
	"log":           []any{"one", "two", "three"},
	"read-static":   "static text",
	"read-template": "Welcome, ada!",
	"prompt":        "Please greet Ada.",
	"complete":      []any{"Ada", "Alan"},
	"unknown-tool":  map[string]any{"code": -32602.0},
	"grow":          map[string]any{"heard": true, "listed": true},
	"close":         nil,
}

// A failure is the expected value of a step that must fail, saying this.
type failure string

// A ruling is an expected value that is not always the same: it says what is
// wrong with one.
type ruling func(value any) error

// runClient runs a peer's client program against a server and returns what it
// printed, by step. What both programs wrote to stderr comes as second value.
func runClient(t *testing.T, client, server []string) (map[string]stepLine, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, client[0], append(client[1:len(client):len(client)], server...)...)
	cmd.WaitDelay = 30 * time.Second // the server ends after the client, and what it says until then counts
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Logf("the client program ended with: %v", err)
	}
	steps := map[string]stepLine{}
	lines := bufio.NewScanner(&stdout)
	for lines.Scan() {
		var l stepLine
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Errorf("the client printed %q: %v", lines.Text(), err)
			continue
		}
		steps[l.Step] = l
	}
	if err := lines.Err(); err != nil {
		t.Error(err)
	}
	return steps, stderr.String()
}

// checkSteps compares what a client printed with what is expected; other holds
// values that differ from the usual ones for this pair.
func checkSteps(t *testing.T, got map[string]stepLine, other map[string]any) {
	t.Helper()
	if c := got["connect"]; !c.OK {
		t.Errorf("connect: %s", c.Error)
		return
	}
	for step, want := range expected {
		if w, ok := other[step]; ok {
			want = w
		}
		why, fails := want.(failure)
		rule, ruled := want.(ruling)
		switch l, ok := got[step]; {
		case !ok:
			t.Errorf("%s: the client did not get that far", step)
		case fails && (l.OK || !strings.Contains(l.Error, string(why))):
			t.Errorf("%s: got %v %q, want an error with %q", step, l.Value, l.Error, why)
		case fails:
		case !l.OK:
			t.Errorf("%s: %s%s", step, l.Error, l.Skipped)
		case ruled:
			if err := rule(l.Value); err != nil {
				t.Errorf("%s: got %v: %v", step, l.Value, err)
			}
		case step == "slow" && progressed(l.Value):
		case !reflect.DeepEqual(l.Value, want):
			t.Errorf("%s: got %v, want %v", step, l.Value, want)
		}
	}
}

// progressed accepts a slow step that misses its last progress: the JavaScript
// clients drop progress that arrives in one read with the result.
func progressed(value any) bool {
	m, ok := value.(map[string]any)
	return ok && m["text"] == "done" && reflect.DeepEqual(m["progress"], []any{1.0, 2.0})
}

// TestPeersAmongThemselves shows that the fixtures are right: what fails
// between Tenon and a peer is then not the fixture's fault.
func TestPeersAmongThemselves(t *testing.T) {
	const newest, legacy = "2026-07-28", "2025-11-25"
	clients := []struct {
		sdk      string
		revision string // to be negotiated with a server that knows it
		command  func(t *testing.T) []string
	}{
		{"gosdk", newest, func(t *testing.T) []string { return goPeer(t, "gosdkclient") }},
		{"gosdk", legacy, func(t *testing.T) []string { return goPeer(t, "gosdkclient", "-revision", legacy) }},
		{"mcpgo", newest, func(t *testing.T) []string { return goPeer(t, "mcpgoclient") }},
		{"mcpgo", legacy, func(t *testing.T) []string { return goPeer(t, "mcpgoclient", "-revision", legacy) }},
		{"ts1", legacy, func(t *testing.T) []string { return nodePeer(t, "ts1-client.mjs") }},
		{"ts2", newest, func(t *testing.T) []string { return nodePeer(t, "ts2-client.mjs") }},
		{"ts2", legacy, func(t *testing.T) []string { return nodePeer(t, "ts2-client.mjs", "-revision", legacy) }},
	}
	servers := []struct {
		sdk, name string
		newest    string
		command   func(t *testing.T) []string
		other     map[string]any
	}{
		{"gosdk", "gosdkserver", newest, func(t *testing.T) []string { return goPeer(t, "gosdkserver") }, nil},
		{"mcpgo", "mcpgoserver", newest, func(t *testing.T) []string { return goPeer(t, "mcpgoserver") }, nil},
		{"ts1", "ts1-server", legacy, func(t *testing.T) []string { return nodePeer(t, "ts1-server.mjs") },
			map[string]any{"unknown-tool": map[string]any{"isError": true}}},
		{"ts2", "ts2-server", newest, func(t *testing.T) []string { return nodePeer(t, "ts2-server.mjs") }, nil},
	}
	for _, c := range clients {
		for _, s := range servers {
			if c.sdk != s.sdk && !*all {
				continue
			}
			t.Run(fmt.Sprintf("%s %s to %s", c.sdk, c.revision, s.name), func(t *testing.T) {
				parallel(t)
				got, stderr := runClient(t, c.command(t), s.command(t))
				checkSteps(t, got, s.other)
				want := map[string]any{"revision": min(c.revision, s.newest), "server": s.name}
				if v := got["connect"].Value; !reflect.DeepEqual(v, want) {
					t.Errorf("connect: got %v, want %v", v, want)
				}
				if !strings.Contains(stderr, "slow: cancelled") {
					t.Error("the server was not told that the call is cancelled")
				}
				if t.Failed() {
					t.Logf("stderr:\n%s", stderr)
				}
			})
		}
	}
}
