//go:build !windows

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/llmtest"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// waiters are the entries of the configuration for a waiter of each era over each
// transport, with the diary of each.
func waiters(t *testing.T, test func(t *testing.T, entry, only, over string, diary func() string)) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, only := range []string{"legacy", "modern"} {
		for _, over := range []string{"stdio", "HTTP"} {
			t.Run(only+" "+over, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "diary")
				entry := map[string]any{"command": self, "env": map[string]string{waiterVar: only + ":" + file, "GORACE": "atexit_sleep_ms=0"}}
				if over == "HTTP" {
					s, note := waiter(file)
					h, err := streamable.NewHandler(s, &streamable.Options{Era: era.ServerOptions{LegacyOnly: only == "legacy", ModernOnly: only == "modern"}})
					if err != nil {
						t.Fatal(err)
					}
					web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						if body, err := io.ReadAll(r.Body); err == nil {
							noteCancel(body, note)
							r.Body = io.NopCloser(bytes.NewReader(body))
						}
						h.ServeHTTP(w, r)
					}))
					t.Cleanup(func() {
						h.Shutdown()
						web.CloseClientConnections()
						web.Close()
					})
					entry = map[string]any{"url": web.URL + streamable.Path}
				}
				raw, err := json.Marshal(entry)
				if err != nil {
					t.Fatal(err)
				}
				test(t, string(raw), only, over, func() string { b, _ := os.ReadFile(file); return string(b) })
			})
		}
	}
}

// checkCancels waits until the server has cancelled a number of calls because it
// was told to, in the way of its era and transport: 2026-07-28 over HTTP closes the
// stream of the call instead of sending a notification.
func checkCancels(t *testing.T, diary func() string, only, over string, n int) {
	t.Helper()
	want := n
	if only == "modern" && over == "HTTP" {
		want = 0
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		now, told := diary(), 0
		for line := range strings.Lines(now) {
			if id, ok := strings.CutPrefix(line, "told of "); ok && strings.Contains(now, "request "+id) {
				told++
			}
		}
		if strings.Count(now, "cancelled\n") == n && told == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the server was not told of %d cancellations, %d of them as notifications:\n%s", n, want, now)
		}
	}
}

// slowly is an answer of the model with a text and a call of a tool of the waiter.
func slowly(id, tool string) llmtest.Turn {
	return llmtest.Turn{Text: []string{"Let me see. "}, Calls: []llm.ToolCall{{ID: id, Name: "waiter__" + tool, Arguments: llm.RawMessage(`{}`)}}}
}

// withWaiter writes a configuration with a provider and a waiter.
func withWaiter(t *testing.T, dir string, provider *llmtest.Server, entry string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "tenon.json"), fmt.Sprintf(`{"model": "work/m", "mcpServers": {"waiter": %s},
		"providers": {"work": {"baseURL": %q, "key": %q, "models": ["m"]}}}`, entry, provider.V1(), llmtest.Key))
}

// Esc and Ctrl-C in a real terminal cancel the running call at the server, in both
// eras and over both transports. What the model said stays, the model learns that
// the call was stopped, and the next message works on the same connection.
func TestKeysCancelCallsAtTheServer(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	waiters(t, func(t *testing.T, entry, only, over string, diary func() string) {
		t.Parallel()
		provider := llmtest.New(t, slowly("c1", "wait"), llmtest.Turn{Text: []string{"After Esc."}},
			slowly("c2", "wait"), llmtest.Turn{Text: []string{"After Ctrl-C."}},
			slowly("c3", "finish"), llmtest.Turn{Text: []string{"Counted."}})
		dir := t.TempDir()
		withWaiter(t, dir, provider, entry)
		v := openTerminal(t, dir, []string{"TENON_TEST_MAIN=1", "TENON_CONFIG_DIR=" + dir, "HOME=" + dir}, own, "chat", "--allow", "waiter")
		v.tmux("resize-window", "-t", "t", "-x", "100", "-y", "50")
		v.until("1 server", "waiter  2 tools")
		for i, key := range []string{"Escape", "C-c"} {
			v.types(fmt.Sprintf("question %d", i))
			v.keys("Enter")
			eventually(t, func() bool { return strings.Count(diary(), "called") == i+1 })
			v.until("waiter/wait", "esc stops", "Let me see.")
			v.keys(key)
			checkCancels(t, diary, only, over, i+1)
			v.untilWithout("esc stops", "Let me see.", "── /help")
			v.types(fmt.Sprintf("and now %d", i))
			v.keys("Enter")
			v.until("After "+[]string{"Esc", "Ctrl-C"}[i], "── /help")
			body := string(provider.Last())
			for _, want := range []string{"Let me see. ", fmt.Sprintf(`"tool_call_id":"c%d"`, i+1), "The call was cancelled by the person."} {
				if !strings.Contains(body, want) {
					t.Errorf("after %s the model does not get %q: %s", key, want, body)
				}
			}
		}
		v.types("count them")
		v.keys("Enter")
		v.until("all parcels counted", "Counted.")
		checkCancels(t, diary, only, over, 2)
		v.keys("C-d")
		v.until("left with 0")
	})
}

// --timeout and Ctrl-C end tenon run with the call cancelled at the server, in both
// eras and over both transports; --max-turns lets a call that was begun finish. In
// each case the session has what came, and its next message works.
func TestRunCancelsCallsAtTheServer(t *testing.T) {
	waiters(t, func(t *testing.T, entry, only, over string, diary func() string) {
		t.Parallel()
		dir, cancels := t.TempDir(), 0
		for _, c := range []struct {
			how, tool string
			args      []string
			code      int
			stop      string
			model     string // what the model gets of the call
		}{
			{"timeout", "wait", []string{"--timeout", "2s"}, exitLimit, "timeout", "the time limit was reached"},
			{"interrupt", "wait", nil, exitInterrupted, "cancelled", "The call was cancelled"},
			{"max-turns", "finish", []string{"--max-turns", "1"}, exitLimit, "max_turns", "all parcels counted"},
		} {
			provider := llmtest.New(t, slowly("c1", c.tool), llmtest.Turn{Text: []string{"Fine."}})
			withWaiter(t, dir, provider, entry)
			cmd := binary(t, append([]string{"run", "count", "--allow", "waiter", "--output", "stream-json"}, c.args...)...)
			set(cmd, "TENON_CONFIG_DIR", dir)
			var out, errs lockedBuffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			calls := strings.Count(diary(), "called")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			guard := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
			eventually(t, func() bool { return strings.Count(diary(), "called") == calls+1 })
			if c.how == "interrupt" {
				cmd.Process.Signal(os.Interrupt)
			}
			cmd.Wait()
			guard.Stop()
			lines := streamed(t, out.String())
			r := lines[len(lines)-1]
			if code := cmd.ProcessState.ExitCode(); code != c.code || r.Result.Stop != c.stop || r.Result.Answer != "Let me see. " {
				t.Errorf("%s: exit code %d, %+v\n%s", c.how, code, r.Result, errs.String())
			}
			if c.tool == "wait" {
				cancels++
			}
			checkCancels(t, diary, only, over, cancels)
			again := binary(t, "run", "and now", "--resume", r.Session)
			set(again, "TENON_CONFIG_DIR", dir)
			if code, text, errs := output(t, again); code != 0 || !strings.Contains(text, "Fine.") {
				t.Errorf("%s: the next message: exit code %d\n%s%s", c.how, code, text, errs)
			}
			if body := string(provider.Last()); !strings.Contains(body, "Let me see. ") || !strings.Contains(body, c.model) {
				t.Errorf("%s: the model gets %s", c.how, body)
			}
		}
	})
}
