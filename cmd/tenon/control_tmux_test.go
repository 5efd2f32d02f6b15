//go:build !windows

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
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
	v.untilWithout("queued", "Half of the answer", "Stopped", "› be short", "In short: fine.", "> and kind")
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
	v.untilWithout("queued", "› this waits", "All is well.")
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

// chatWith starts a chat in a terminal with a provider and the calc server.
func chatWith(t *testing.T, provider *llmtest.Server, args ...string) *terminal {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "tenon.json"), fmt.Sprintf(`{"model": "work/m", "mcpServers": {"calc": {"builtin": "calc"}},
		"providers": {"work": {"baseURL": %q, "key": "${env:WORK_KEY}", "models": ["m"]}}}`, provider.V1()))
	return openTerminal(t, dir, []string{"TENON_TEST_MAIN=1", "TENON_CONFIG_DIR=" + dir, "HOME=" + dir, "WORK_KEY=" + llmtest.Key}, append([]string{own, "chat"}, args...)...)
}

// sends types a message and sends it.
func (v *terminal) sends(text string) { v.t.Helper(); v.types(text); v.keys("Enter") }

var countdown = regexp.MustCompile(`asking again in (\d+) s`)

// A provider that wants a pause gets it: the person sees the seconds until the
// request is sent again, and Esc ends the wait at once. The next message works.
func TestRetryCountsDownUntilEsc(t *testing.T) {
	t.Parallel()
	provider := llmtest.New(t, llmtest.Turn{Status: 429, Header: map[string][]string{"Retry-After": {"50"}}}, llmtest.Turn{Text: []string{"Here I am."}})
	v := chatWith(t, provider)
	v.until("1 server")
	v.sends("are you there")
	v.until("asking again in ", "Retrying in 50s", "esc stops")
	seconds := func() int {
		found := countdown.FindStringSubmatch(v.screen())
		if found == nil {
			t.Fatalf("no seconds are shown:\n%s", v.screen())
		}
		n, err := strconv.Atoi(found[1])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	first := seconds()
	eventually(t, func() bool { return seconds() < first })
	v.keys("Escape")
	v.untilWithout("asking again", "Stopped", "── /help")
	if n := len(provider.Requests()); n != 1 {
		t.Errorf("%d requests were sent", n)
	}
	v.sends("and now")
	v.until("Here I am.")
	if body := string(provider.Last()); !strings.Contains(body, "are you there") {
		t.Errorf("the first message is lost: %s", body)
	}
}

// With --plain at a terminal, a line that is typed while the model answers is
// queued and follows; Ctrl-C ends the wait for a provider that wants a pause, and
// what is queued then waits for an empty line.
func TestPlainQueuesAndStops(t *testing.T) {
	t.Parallel()
	release, n := make(chan struct{}), atomic.Int32{}
	provider := llmtest.NewFunc(t, func([]byte) llmtest.Turn {
		switch n.Add(1) {
		case 1:
			<-release
			return llmtest.Turn{Text: []string{"The first answer."}}
		case 3:
			return llmtest.Turn{Status: 429, Header: map[string][]string{"Retry-After": {"50"}}}
		}
		return llmtest.Turn{Text: []string{fmt.Sprintf("Answer %d.", n.Load())}}
	})
	v := chatWith(t, provider, "--plain")
	v.until("Type /help for help.\n>")
	v.sends("one")
	eventually(t, func() bool { return n.Load() == 1 })
	v.sends("two")
	v.until("(queued: two)")
	close(release)
	v.until("The first answer.", "> two", "Answer 2.")
	if body := string(provider.Last()); !strings.Contains(body, "The first answer.") || !strings.Contains(body, `"two"`) {
		t.Errorf("the model gets %s", body)
	}
	v.sends("three")
	v.until("Retrying in 50s (attempt 2 of 5)")
	v.sends("four")
	v.until("(queued: four)")
	v.keys("C-c")
	v.until("stopped", "1 message is still queued: an empty line sends")
	v.keys("Enter")
	v.until("> four", "Answer 4.")
	if body := string(provider.Last()); !strings.Contains(body, `"three\n\nfour"`) {
		t.Errorf("the model gets %s", body)
	}
	v.types("half a line")
	v.keys("C-c") // drops the line, and does not leave
	v.until("half a line^C\nCtrl-C again quits\n>")
	v.sends("five")
	v.until("> five", "Answer 5.\n>")
	v.keys("C-c")
	v.until("> ^C\nCtrl-C again quits\n>")
	v.keys("C-c")
	v.until("left with 0")
}

// /resume lists the conversations of this folder first and those of others under
// their folders, and opens the one that is selected.
func TestResumeListsByFolder(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	config, home := t.TempDir(), t.TempDir()
	model := scripted(t, `{"when":{"role":"user"}}`, `{"text":"Noted."}`, `{"done":""}`)
	for _, c := range [][2]string{{"garden", "plant the roses"}, {"house", "paint the door"}, {"garden", "water the lawn"}} {
		dir := filepath.Join(home, c[0])
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := binary(t, "chat", "--model", model, "--no-builtins")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(c[1]+"\n")
		set(cmd, "TENON_CONFIG_DIR", config)
		set(cmd, "HOME", home)
		if code, out, errs := output(t, cmd); code != 0 {
			t.Fatalf("exit code %d\n%s%s", code, out, errs)
		}
	}
	v := openTerminal(t, filepath.Join(home, "house"), []string{"TENON_TEST_MAIN=1", "TENON_CONFIG_DIR=" + config, "HOME=" + home}, own, "chat", "--model", model, "--no-builtins")
	v.until("/help")
	v.sends("/resume")
	now := v.until("Resume a conversation", "This folder", "paint the door", "~/garden", "water the lawn", "plant the roses", "1 message", "just now")
	at := 0
	for _, want := range []string{"This folder", "paint the door", "~/garden", "water the lawn", "plant the roses"} {
		i := strings.Index(now[at:], want)
		if i < 0 {
			t.Fatalf("%q is not below the others:\n%s", want, now)
		}
		at += i
	}
	v.keys("Down")
	v.until("▶water the lawn")
	v.keys("Enter")
	v.until("Resumed: water the lawn", "Noted.")
	v.keys("C-d")
	v.until("left with 0")
}

// /model lists what can be used first, then the providers that cannot, and why; a
// part of a name filters. What it shows is in docs/models.md.
func TestModelsInATerminal(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "tenon.json"), `{"model": "work/gpt-5.4", "providers": {"work": {
		"wire": "openai-responses", "dialect": "azure", "baseURL": "https://acme.openai.azure.com/openai/v1",
		"key": "${env:AZURE_OPENAI_API_KEY}", "keyHeader": "api-key",
		"models": [{"name": "gpt-5.4", "context": 272000, "efforts": ["low", "medium", "high"], "prices": {"input": 1.25, "output": 10}}, {"name": "gpt-5.4-mini", "efforts": []}]
	}}}`)
	env := []string{"TENON_TEST_MAIN=1", "TENON_CONFIG_DIR=" + dir, "HOME=" + dir, "AZURE_OPENAI_API_KEY=secret-key-0123456789", "DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere"}
	for _, name := range []string{"ANTHROPIC", "OPENAI", "GEMINI", "GOOGLE", "OPENROUTER", "MISTRAL", "GROQ", "DEEPSEEK", "XAI"} {
		env = append(env, name+"_API_KEY=")
	}
	v := openTerminal(t, dir, env, own, "chat", "-s", "builtin:calc")
	v.until("1 server")
	v.sends("/model")
	shown := v.untilWithout("asking providers", "── Models", "current · 272k · $1.25/10 · thinks · ${env:AZURE_OPENAI_API_KEY}", "work/gpt-5.4-mini", "anthropic  no API key", "xai  no API key", "ollama  ", "lmstudio  ", "llamacpp  ", "vllm  ")
	v.types("mini")
	v.untilWithout("anthropic", "work/gpt-5.4-mini")
	v.keys("Enter")
	v.until("work/gpt-5.4-mini │ 1 server")
	documented(t, "models.md", map[string]string{"models": shown})
}

// Ctrl-C in the editor is for the editor: the chat and the message stay.
func TestInterruptInTheEditor(t *testing.T) {
	t.Parallel()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	editor := filepath.Join(dir, "edit")
	if err := os.WriteFile(editor, []byte("#!/bin/sh\necho editing\nexec sleep 1000\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	env := []string{"TENON_TEST_MAIN=1", "TENON_CONFIG_DIR=" + dir, "HOME=" + dir, "VISUAL=" + editor}
	v := openTerminal(t, dir, env, own, "chat", "--model", "none", "-s", "builtin:calc")
	v.until("1 server")
	v.types("add 2 and")
	v.until("> add 2 and")
	v.keys("C-g")
	v.until("editing")
	v.keys("C-c")
	v.until("The editor failed, so the message is as it was", "> add 2 and")
	v.sends(" 3")
	v.until("Allow calc/add?")
}
