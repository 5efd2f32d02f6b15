package peers

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// tenonProgram builds the command line once.
var tenonProgram = sync.OnceValues(func() (string, error) {
	name, err := filepath.Abs(filepath.Join("bin", "tenon"))
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-o", name, "./cmd/tenon")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		return "", &exec.Error{Name: string(out), Err: err}
	}
	return name, nil
})

// A terminal runs tenon as a person or a script does, and remembers which
// commands it has run.
type terminal struct {
	t       *testing.T
	program string
	config  string
	ran     map[string]bool
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	program, err := tenonProgram()
	if err != nil {
		t.Fatal(err)
	}
	return &terminal{t: t, program: program, config: t.TempDir(), ran: map[string]bool{}}
}

func (c *terminal) command(words ...string) *exec.Cmd {
	c.ran[words[0]] = true
	ctx, stop := context.WithTimeout(c.t.Context(), time.Minute)
	c.t.Cleanup(stop)
	cmd := exec.CommandContext(ctx, c.program, words...)
	cmd.Env = append(os.Environ(), "TENON_CONFIG_DIR="+c.config, "NO_COLOR=1")
	return cmd
}

// run runs a command line and expects its exit code, and texts on standard
// output, or after "err:" on standard error.
func (c *terminal) run(code int, in string, words []string, want ...string) string {
	c.t.Helper()
	cmd := c.command(words...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in), &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		c.t.Errorf("tenon %s: %v, not exit code %d\n%s%s", strings.Join(words, " "), err, code, out.String(), errs.String())
		return out.String()
	}
	for _, w := range want {
		if text, ok := strings.CutPrefix(w, "err:"); ok && !strings.Contains(errs.String(), text) || !ok && !strings.Contains(out.String(), w) {
			c.t.Errorf("tenon %s: there is no %q in\n%s%s", strings.Join(words, " "), w, out.String(), errs.String())
		}
	}
	return out.String()
}

// Every command of the command line, with the everything server as a program
// and over HTTP.
func TestCommandLineWithEverything(t *testing.T) {
	script := filepath.Join("node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js")
	command := nodePeer(t, script)
	t.Run("stdio", func(t *testing.T) {
		parallel(t)
		c := newTerminal(t)
		program := append(slices.Clone(command), "stdio")
		c.run(0, "", append([]string{"config", "add", "everything", "--"}, program...), "err:Added everything to")
		c.everything("everything")
		c.run(0, "", append([]string{"tools", "-q", "--"}, program...), "echo\n")
		file := filepath.Join(t.TempDir(), "tap.txtar")
		c.run(0, "", append([]string{"tools", "-q", "--", c.program, "tap", "-o", file, "--"}, program...), "echo\n")
		c.ran["tap"] = true
		c.replays("everything", file)
		c.rest()
	})
	t.Run("streamable HTTP", func(t *testing.T) {
		parallel(t)
		server := start(t, command[0], "--import", "./node/loopback.mjs", command[1], "streamableHttp")
		c := newTerminal(t)
		c.everything(server.url)
		c.run(0, "", []string{"auth", "status", server.url}, "no login required")
		c.run(0, "", []string{"auth", "logout", server.url}, "err:not logged in")
	})
}

// everything runs what needs a server.
func (c *terminal) everything(server string) {
	dir := c.t.TempDir()
	c.run(0, "", []string{"tools", server}, "echo message:string\n", "get-sum")
	c.run(0, "", []string{"tools", server, "get-annotated-message"}, "One of: error, success, debug.")
	c.run(0, "", []string{"resources", server}, "demo://resource/static/document/features.md", "demo://resource/dynamic/text/{resourceId}")
	c.run(0, "", []string{"prompts", server}, "args-prompt city state?\n")
	c.run(0, "", []string{"call", server, "echo", "message=hello"}, "Echo: hello")
	c.run(0, `{"a":2,"b":3}`, []string{"call", server, "get-sum", "--json", "-"}, "The sum of 2 and 3 is 5.")
	c.run(1, "", []string{"call", server, "get-sum", "a=two"}, "Input validation error", "err:The tool failed:")
	c.run(2, "", []string{"call", server, "get-som"}, "err:did you mean get-sum?")
	c.run(0, "", []string{"call", server, "get-structured-content", "location=Chicago"}, `"temperature":36`)
	c.run(0, "", []string{"call", server, "get-tiny-image", "--save", dir}, "[image image/png, ")
	if saved, err := filepath.Glob(filepath.Join(dir, "*.png")); err != nil || len(saved) != 1 {
		c.t.Errorf("saved %v, %v", saved, err)
	}
	c.run(0, "", []string{"call", server, "trigger-long-running-operation", "duration=0.2", "steps=4"}, "completed")
	c.run(0, "", []string{"call", server, "trigger-elicitation-request", "--answer", "name=Ada"}, "Name: Ada")
	c.run(0, "", []string{"call", server, "trigger-elicitation-request", "--decline"}, "User declined", "err:Declined the question")
	c.run(0, "", []string{"read", server, "demo://resource/dynamic/text/12"}, "Resource 12:")
	c.run(0, "", []string{"read", server, "demo://resource/dynamic/blob/12", "-o", filepath.Join(dir, "blob")})
	if blob, err := os.ReadFile(filepath.Join(dir, "blob")); err != nil || !bytes.HasPrefix(blob, []byte("Resource 12:")) {
		c.t.Errorf("the file has %q, %v", blob, err)
	}
	c.run(3, "", []string{"read", server, "demo://no/such"}, "err:-32602")
	c.run(0, "", []string{"prompt", server, "args-prompt", "city=Bern"}, "What's weather in Bern?")
	c.run(0, "", []string{"complete", server, "completable-prompt", "department=S"}, "Sales\nSupport\n")
	c.run(0, "", []string{"complete", server, "completable-prompt", "name=", "department=Engineering"}, "Alice\n")
	c.run(0, "", []string{"discover", server}, "mcp-servers/everything", "13 tools", "with a handshake")
	c.run(0, "", []string{"ping", server, "--format", "json"}, `"method": "ping"`)
	c.run(0, "", []string{"raw", server, "tools/call", `{"name":"echo","arguments":{"message":"x"}}`}, `"Echo: x"`)
	c.run(0, "", []string{"call", server, "echo", "message=x", "--trace"}, "err:→ legacy tools/call echo")
	c.run(1, "call echo message=one\nread demo://resource/dynamic/text/1\ncall get-sum a=x\n", []string{"shell", server}, "Echo: one\nResource 1:", "err:The tool failed:")
	c.doctor(server)
	c.listens(server)
	file := filepath.Join(dir, "r.txtar")
	c.run(0, "", []string{"record", server, "-o", file, "--", "call", "echo", "message=hi"}, "Echo: hi")
	c.run(0, "", []string{"call", "echo", "message=hi", "--", c.program, "replay", file, "--serve"}, "Echo: hi")
	c.ran["replay"] = true
}

func (c *terminal) doctor(server string) {
	var r struct {
		Speaks   []string
		Findings []struct{ Severity, Check, What string }
	}
	out := c.run(0, "", []string{"doctor", server, "--format", "json"})
	if err := json.Unmarshal([]byte(out), &r); err != nil || len(r.Speaks) != 4 {
		c.t.Errorf("%v: %s", err, out)
	}
}

// listens hears an update of a resource, and ends when it is interrupted.
func (c *terminal) listens(server string) {
	cmd := c.command("listen", server, "--resource", "demo://resource/dynamic/text/1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	var said []string
	lines, found := bufio.NewScanner(out), false
	for !found && lines.Scan() {
		said = append(said, lines.Text())
		found = strings.Contains(lines.Text(), "notifications/subscriptions/acknowledged")
	}
	if !found {
		c.t.Errorf("it says %q, %v", said, lines.Err())
	}
	cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		c.t.Errorf("listen ended with %v", err)
	}
}

// replays plays a conversation that was recorded between tenon and the server.
func (c *terminal) replays(server, file string) {
	c.run(0, "", []string{"replay", file, server}, "err:match the recording")
}

// rest runs what needs no server, and sees to it that nothing was left out.
func (c *terminal) rest() {
	dir := c.t.TempDir()
	c.run(0, "", []string{"config"}, "everything  ")
	c.run(0, "", []string{"config", "remove", "everything"}, "err:Removed everything from")
	c.run(0, "", []string{"call", "add", "a=1", "b=2", "--", c.program, "serve", "calc"}, "3")
	c.run(0, "", []string{"skills", "list", "--", c.program, "serve", "notes", "vault=" + dir}, "weekly-review")
	c.run(0, "", []string{"tasks", "list"})
	c.ran["serve"], c.ran["auth"] = true, true // the latter over HTTP
	c.run(0, "", []string{"demo"}, "the modern and the legacy era")
	c.run(0, "", []string{"api", "check", "orders"}, "orders: ok")
	c.run(0, "", []string{"version"}, "tenon ")
	c.run(0, "", []string{"exit-codes"}, "130")
	c.run(0, "", []string{"help"}, "Use a server:")
	c.run(0, "", []string{"completion", "bash"}, "complete -o bashdefault")
	c.run(0, "", []string{"man", dir})
	if man, err := exec.LookPath("man"); err == nil {
		page, err := exec.Command(man, "-l", filepath.Join(dir, "tenon-call.1")).CombinedOutput()
		if err != nil || !bytes.Contains(page, []byte("EXIT STATUS")) {
			c.t.Errorf("man cannot show the page: %v\n%s", err, page)
		}
	}
	// Hosts and upgrades have tests of their own.
	for _, other := range []string{"chat", "run", "up", "models", "audit", "gateway", "inspect", "upgrade"} {
		c.ran[other] = true
	}
	for line := range strings.Lines(c.run(0, "", []string{"__complete", ""})) {
		name, _, ok := strings.Cut(line, "\t")
		if ok && !c.ran[name] {
			c.t.Errorf("tenon %s was not run", name)
		}
	}
}
