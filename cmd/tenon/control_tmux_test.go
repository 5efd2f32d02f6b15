//go:build !windows

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/llmtest"
)

// In a real terminal with a strict provider: what is typed while the model answers
// waits, Esc stops the answer and the message follows; a kill loses no message that
// waits; and what a turn changed is said when it is taken back.
func TestStayInControl(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	provider := llmtest.New(t,
		llmtest.Turn{Text: []string{"Half of the ", "answer"}, Hang: true},
		llmtest.Turn{Text: []string{"In short: fine."}},
		llmtest.Turn{Calls: []llm.ToolCall{{ID: "w1", Name: "fs__write_file", Arguments: []byte(`{"path":"plan.md","content":"x"}`)}}},
		llmtest.Turn{Text: []string{"Never"}, Hang: true},
		llmtest.Turn{Text: []string{"All is well."}})
	config, dir := t.TempDir(), t.TempDir()
	write(t, filepath.Join(config, "tenon.json"), fmt.Sprintf(`{
		"providers": {"work": {"baseURL": %q, "key": "${env:WORK_KEY}"}}}`, provider.V1()))
	var errs strings.Builder
	if code := run(t.Context(), []string{"--config-dir", config, "config", "add", "fs", "builtin:fs?root=" + dir + "&readonly=false"}, strings.NewReader(""), &errs, &errs); code != 0 {
		t.Fatalf("config add: %d %s", code, &errs)
	}
	env := []string{"TENON_TEST_MAIN=1", "TENON_CONFIG_DIR=" + config, "HOME=" + dir, "WORK_KEY=" + llmtest.Key}
	v := openTerminal(t, dir, env, "sh", "-c", `echo $$ > "$HOME/chat.pid"; exec "$0" "$@"`, own, "chat", "--model", "work/m", "--allow", "fs", "--no-builtins")
	v.tmux("resize-window", "-t", "t", "-x", "120", "-y", "40")
	v.until("1 server")
	v.types("tell me all")
	v.keys("Enter")
	v.until("Half of the answer", "esc stops")
	v.types("be short")
	v.keys("Enter")
	v.until("1 queued", "↳ be short")
	v.types("and kind")
	v.keys("Escape")
	select {
	case <-provider.Gone():
	case <-time.After(time.Minute):
		t.Fatalf("the request goes on\n%s", v.screen())
	}
	v.until("Half of the answer", "Stopped", "› be short", "In short: fine.", "> and kind", "!queued")
	if body := string(provider.Last()); !strings.Contains(body, "Half of the answer") || !strings.Contains(body, "The person stopped your answer") {
		t.Errorf("the model got %s", body)
	}
	v.keys("C-u")
	v.types("write the plan")
	v.keys("Enter")
	v.until("Never", "✓ fs/write_file")
	v.types("this waits")
	v.keys("Enter")
	v.until("↳ this waits")
	v.types("and this")
	v.keys("Enter")
	v.until("↳ and this")
	raw, err := os.ReadFile(filepath.Join(dir, "chat.pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	v.until("left with 137")

	v.tmux("respawn-pane", "-k", "-t", "t", "-c", dir, "'"+own+"' chat --model work/m --allow fs --no-builtins --resume last")
	v.until("2 queued · ↑ edits the last · enter on the empty line sends", "↳ this waits", "↳ and this", "write the plan")
	v.keys("Up")
	v.until("> and this", "1 queued")
	v.keys("C-u", "Enter")
	v.until("› this waits", "All is well.", "!queued")
	v.types("/undo")
	v.keys("Enter")
	v.until("Removed the last turn: this waits.")
	v.types("/undo")
	v.keys("Enter")
	v.until("Removed the last turn: write the plan.", "What these calls did stays as it is:", "fs/write_file (path: plan.md)")
	v.types("/redo")
	v.keys("Enter")
	v.until("The turn is back: write the plan. Its calls were not made again.", "✓ fs/write_file")
}
