package cluster

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/freeport"
	"github.com/tenon-mcp/tenon/internal/redistest"
)

// gatewaySection returns the blocks of commands and configuration in the section of
// docs/scale-out.md about gateways.
func gatewaySection(t testing.TB) []string {
	t.Helper()
	doc, err := os.ReadFile("../../docs/scale-out.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(doc), "\n## The gateway\n")
	section, _, _ = strings.Cut(section, "\n### ")
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)\n```\n(.*?)\n```\n").FindAllStringSubmatch(section, -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) != 4 {
		t.Fatalf("the section has %d blocks: %q", len(blocks), blocks)
	}
	return blocks
}

// The commands of docs/scale-out.md work as they are written there: they make a
// secret and a key, start a replica that accepts the key, list the replicas, and
// rotate the keys.
func TestDocumentedCommands(t *testing.T) {
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	redis, dir := redistest.Start(t, nil), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tenon.json"), []byte(`{"mcpServers": {"calc": {"builtin": "calc"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	addr, ops := freeport.ForTest(t), freeport.ForTest(t)
	here := strings.NewReplacer("10.0.0.11:7070", addr, "10.0.0.11:7946", freeport.ForTest(t), "127.0.0.1:9090", ops,
		"redis://10.0.0.5:6379/0", "'"+redis.URL+"/0'", "/etc/tenon", dir)
	run := func(ctx context.Context, script string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "sh", "-e", "-c", here.Replace(script))
		cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(path)+":"+os.Getenv("PATH"), "TENON_CONFIG_DIR="+dir)
		return cmd
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*hangs)
	defer cancel()
	blocks := gatewaySection(t)
	setUp := run(ctx, blocks[0])
	said := &replica{} // for what it prints, besides the key
	setUp.Stderr = said
	key, err := setUp.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", blocks[0], err, said.log())
	}
	screen := &replica{} // for what it prints
	gateway := run(ctx, "exec "+blocks[1])
	gateway.Stdout, gateway.Stderr = screen, screen
	gateway.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := gateway.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { gateway.Process.Kill(); gateway.Wait() }()
	list := func() int {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/mcp", strings.NewReader(modernList))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "mcp.example.com"
		r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
			"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/list"}, "Authorization": {"Bearer " + strings.TrimSpace(string(key))}}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0 // not yet
		}
		res.Body.Close()
		return res.StatusCode
	}
	for list() != http.StatusOK {
		if time.Sleep(50 * time.Millisecond); ctx.Err() != nil {
			t.Fatalf("the replica does not accept the key: %d\n%s", list(), screen.log())
		}
	}
	out, err := run(ctx, blocks[2]).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "REPLICA") || !strings.Contains(string(out), "this one") || !strings.Contains(string(out), "The replicas seal with key") {
		t.Errorf("%s: %v\n%s", blocks[2], err, out)
	}
}

// The configuration of nginx in docs/scale-out.md is that of these tests, apart from
// addresses.
func TestDocumentedNginx(t *testing.T) {
	lines := func(text string) string {
		var kept []string
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if !strings.HasPrefix(line, "server 10.") && !strings.HasPrefix(line, "listen ") {
				kept = append(kept, line)
			}
		}
		return strings.Join(kept, "\n")
	}
	_, used, _ := strings.Cut(nginxConfig, "\tupstream gateways {\n")
	used = "upstream gateways {\n" + strings.TrimSuffix(strings.Replace(used, "%[3]s", "", 1), "}\n")
	if got := lines(gatewaySection(t)[3]); got != strings.TrimSpace(lines(used)) {
		t.Errorf("the document has\n%s\nand the tests use\n%s", got, lines(used))
	}
	if !strings.Contains(gatewaySection(t)[3], "max_fails=0;") {
		t.Error("nginx would leave out a replica that was restarted")
	}
}
