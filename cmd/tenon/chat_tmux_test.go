//go:build !windows

package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/needtest"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

var captures = flag.Bool("captures", false, "write what the terminal shows into docs/host.md and docs/models.md")

// A terminal is a real one: tmux with a screen of 80 columns and 24 lines.
type terminal struct {
	t      *testing.T
	socket string
}

// openTerminal starts a program in tmux.
func openTerminal(t *testing.T, dir string, env []string, program ...string) *terminal {
	t.Helper()
	needtest.Program(t, "tmux")
	v := &terminal{t: t, socket: fmt.Sprintf("tenon-%d-%s", os.Getpid(), strings.NewReplacer("/", "-", " ", "-").Replace(t.Name()))}
	args := []string{"new-session", "-d", "-s", "t", "-x", "80", "-y", "24", "-c", dir}
	for _, e := range env {
		args = append(args, "-e", e)
	}
	for i, w := range program {
		program[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	v.tmux(append(args, strings.Join(program, " ")+"; echo left with $?; cat")...)
	t.Cleanup(func() { exec.Command("tmux", "-L", v.socket, "kill-server").Run() })
	return v
}

func (v *terminal) tmux(args ...string) string {
	v.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-L", v.socket, "-f", "/dev/null"}, args...)...).CombinedOutput()
	if err != nil {
		v.t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func (v *terminal) keys(keys ...string) {
	v.t.Helper()
	v.tmux(append([]string{"send-keys", "-t", "t"}, keys...)...)
}

func (v *terminal) types(text string) { v.t.Helper(); v.tmux("send-keys", "-t", "t", "-l", text) }

// screen is what the terminal shows.
func (v *terminal) screen() string {
	v.t.Helper()
	return strings.TrimRight(v.tmux("capture-pane", "-p", "-t", "t"), "\n")
}

// until waits until the screen has all the texts, and returns it.
func (v *terminal) until(texts ...string) string { v.t.Helper(); return v.untilWithout("", texts...) }

// untilWithout waits until the screen has all the texts and not the absent one,
// and returns it. If absent is empty, only the texts count.
func (v *terminal) untilWithout(absent string, texts ...string) string {
	v.t.Helper()
	now := ""
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(30 * time.Millisecond) {
		now = v.screen()
		if (absent == "" || !strings.Contains(now, absent)) && !slices.ContainsFunc(texts, func(s string) bool { return !strings.Contains(now, s) }) {
			return now
		}
	}
	v.t.Fatalf("the terminal never shows %q without %q:\n%s", texts, absent, now)
	return ""
}

var picked = regexp.MustCompile(`▶([A-Z][^·\n]*[^·\n ])`)

// answer goes to a question, picks one of its options and takes it.
func (v *terminal) answer(option, question string) {
	v.t.Helper()
	v.until(question)
	v.keys("C-g")
	v.until("→ ← select")
	last := ""
	for range 12 {
		v.keys("Right")
		now := last
		for end := time.Now().Add(10 * time.Second); now == last && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if found := picked.FindStringSubmatch(v.screen()); found != nil {
				now = found[1]
			}
		}
		if now == option {
			v.keys("Enter")
			v.untilWithout("▶" + option)
			return
		}
		last = now
	}
	v.t.Fatalf("there is no option %q:\n%s", option, v.screen())
}

// slowServer has a tool that ends when it is cancelled.
func slowServer(t *testing.T) (address string, cancelled <-chan struct{}) {
	t.Helper()
	heard := make(chan struct{})
	s := server.New(mcp.Implementation{Name: "depot", Version: "1.0.0"}, nil)
	server.AddTool(s, "fetch_parcels", "Fetch all parcels, one after the other", func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		server.Progress(c, 3, 12, "parcel 3 of 12")
		<-ctx.Done()
		close(heard)
		return "", ctx.Err()
	}, nil)
	server.AddTool(s, "open_locker", "Open the locker", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		_, err := server.Elicit[struct {
			Locker   int    `json:"locker"`
			Passcode string `json:"passcode"`
		}](c, "code", "Which locker shall be opened?")
		return "open", err
	}, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- streamable.Serve(ctx, l, s, nil, nil) }() // ends with stop
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String() + "/mcp", heard
}

// The whole of a chat in a real terminal. What it shows on the way is in
// docs/host.md.
func TestChatInATerminal(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	config, dir := t.TempDir(), t.TempDir()
	address, cancelled := slowServer(t)
	for _, add := range [][]string{{"calc", "builtin:calc"}, {"depot", address}} {
		var errs strings.Builder
		if code := run(t.Context(), append([]string{"--config-dir", config, "config", "add"}, add...), strings.NewReader(""), &errs, &errs); code != 0 {
			t.Fatalf("config add: %d %s", code, &errs)
		}
	}
	env := []string{"TENON_TEST_MAIN=1", "TENON_CONFIG_DIR=" + config, "HOME=" + dir}
	v := openTerminal(t, dir, env, own, "chat", "--model", "none")
	shown := map[string]string{}

	shown["welcome"] = v.until("2 servers", "calc   5 tools", "depot  2 tools", "Try      add 2 and 3")
	v.types("add 2 and 3")
	v.keys("Enter")
	shown["approval"] = v.until("Allow calc/add?", "Allow once · Allow for this session · Always allow · Deny · Deny because…", "a: 2", "Add two numbers", "No model connected · matching keywords")
	v.answer("Allow for this session", "Allow calc/add?")
	shown["added"] = v.until("Allowed for this session", "✓ calc/add", "\n5\n", "── /help")

	v.types("/call calc/av")
	shown["completion"] = v.untilWithout("calc/add  Add", "> /call calc/av", "calc/average  Ask the user") // that is of the word before its last letter
	v.keys("Tab")
	v.until("> /call calc/average")
	v.keys("Enter")
	v.answer("Allow once", "Allow calc/average?")
	v.answer("Fill in", "calc asks you to fill in a form")
	v.until("enter next")
	v.types("four")
	v.keys("Enter")
	shown["form"] = v.until("Which two numbers shall be averaged?", "a number is needed, such as 3 or 0.5")
	v.keys("C-u")
	v.types("4")
	v.keys("Enter")
	v.types("7")
	v.keys("Enter")
	v.answer("Send", "calc asks you to fill in a form")
	v.until("5.5")

	v.types("/call depot/open_locker")
	v.keys("Enter")
	v.answer("Allow once", "Allow depot/open_locker?")
	v.answer("Fill in", "depot asks you to fill in a form")
	v.until("enter next")
	v.types("7")
	v.keys("Enter")
	v.types("hunter2")
	shown["secret"] = v.until("depot asks for what looks like a secret (passcode)", "> •••••••")
	v.keys("C-x") // declines
	v.until("decline: depot asks you to fill in a form")
	if now := v.screen(); strings.Contains(now, "hunter2") {
		t.Errorf("the secret is shown:\n%s", now)
	}
	v.until("── /help")

	v.keys("F2")
	shown["servers"] = v.until("── Servers", "calc", "ready", "builtin", "depot", "http")
	v.keys("Escape")
	v.until("/help")
	v.types("/wire calc ")
	v.keys("Enter")
	shown["wire"] = v.until("── Wire of calc", "tools/call average = result", "modern")
	v.keys("Enter")
	v.until(`"jsonrpc": "2.0"`)
	v.keys("Escape")
	v.until("── Wire of calc")
	v.keys("Escape")
	v.until("/help")

	v.types("/call calc/multiply a=6 b=7")
	v.keys("Enter")
	v.answer("Deny because…", "Allow calc/multiply?")
	v.until("Why? The model gets this text:")
	v.types("the answer is known")
	shown["reason"] = v.until("> the answer is known", "enter deny, and tell the model why")
	v.keys("Enter")
	v.until("You denied it: the answer is known", "── /help")

	v.types("/call depot/fetch_parcels")
	v.keys("Enter")
	v.answer("Allow once", "Allow depot/fetch_parcels?")
	shown["running"] = v.until("parcel 3 of 12", "esc stops")
	v.keys("C-c")
	select {
	case <-cancelled: // the server has heard of it
	case <-time.After(time.Minute):
		t.Fatalf("the server was not told\n%s", v.screen())
	}
	v.until("stopped")

	v.tmux("resize-window", "-t", "t", "-x", "40", "-y", "12")
	small := v.until("No model connected · matching keywords")
	for l := range strings.SplitSeq(small, "\n") {
		if n := len([]rune(l)); n > 40 {
			t.Errorf("a line is too wide: %q", l)
		}
	}
	v.tmux("resize-window", "-t", "t", "-x", "80", "-y", "24")
	v.types("x") // the Ctrl-C from before does not count any more
	v.until("> x")
	v.keys("C-c")
	v.until("Ctrl-C again quits")
	v.types("y") // the second has to come soon after the first, and the screen may have come late
	v.until("> y")
	v.keys("C-c", "C-c")
	v.until("left with 0")
	documented(t, "host.md", shown)
}

// What the user does with a conversation: copy, edit, export, clear, resume.
func TestConversationInATerminal(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	config, dir := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"talk.jsonl": `{"script":1,"model":{"provider":"script","name":"demo","context":20000}}
{"when":{"role":"user"}}
{"thinking":"A short answer will do."}
{"delay":"300ms"}
{"text":"Forty-two, of course."}
{"usage":{"input":4000,"output":200,"cost":0.0123}}
{"done":""}
`,
		"edit": "#!/bin/sh\n[ -t 1 ] || exit 1\nprintf ' from the editor\\n' >> \"$1\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"TENON_TEST_MAIN=1", "TENON_CONFIG_DIR=" + config, "HOME=" + dir, "VISUAL=" + filepath.Join(dir, "edit"), "SSH_TTY=none"}
	v := openTerminal(t, dir, env, own, "chat", "--model", "script:talk.jsonl", "--server", "builtin:calc")
	v.tmux("set-option", "-s", "set-clipboard", "on")

	v.until("1 server")
	v.types("what is the answer")
	v.keys("C-g")
	v.until("> what is the answer from the editor")
	v.keys("Enter")
	v.untilWithout("esc stops", "thought for ", "Forty-two, of course.", "context 21 %", "$0.0123")
	v.types("/copy")
	v.keys("Enter")
	v.until("Sent the last answer (21 characters) to the clipboard of your terminal")
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		out, _ := exec.Command("tmux", "-L", v.socket, "show-buffer").Output()
		if string(out) == "Forty-two, of course." {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the clipboard has %q", out)
		}
	}
	v.types("/export talk.md")
	v.keys("Enter")
	v.until("Wrote the conversation to talk.md")
	if text, err := os.ReadFile(filepath.Join(dir, "talk.md")); err != nil || !strings.Contains(string(text), "Forty-two") {
		t.Errorf("%s %v", text, err)
	}
	v.types("/clear")
	v.keys("Enter")
	v.untilWithout("Forty-two", "New conversation. The previous one is saved")
	v.types("/resume")
	v.keys("Enter")
	v.until("Resume a conversation", "This folder", "1 message", "just now")
	v.types("answer")
	v.keys("Enter")
	v.until("Resumed: what is the answer from the editor", "Forty-two")
	v.keys("C-d")
	v.until("left with 0")
}

var volatile = regexp.MustCompile(`\d\d:\d\d:\d\d(\.\d+)?|\d+(\.\d+)? ?(µs|ms|s)\b|\d+ calls?|127\.0\.0\.1:\d+`)

// waited finds how long something runs, which is shown after a second, the
// spinner, and the rule, which is shorter by that.
var waited = regexp.MustCompile(`( │| ·) \d+(:\d\d)? (s|min)\b|[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]|─+`)

// documented checks that a page of docs shows what the terminal shows, or has it
// do so. Of the wire only that there is a capture: which messages stand beside
// each other there is a matter of chance.
func documented(t *testing.T, page string, shown map[string]string) {
	t.Helper()
	file := filepath.Join("..", "..", "docs", page)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for name, now := range shown {
		head := "<!-- capture: " + name + " -->\n```text\n"
		_, rest, found := strings.Cut(text, head)
		old, _, ended := strings.Cut(rest, "\n```\n")
		if !found || !ended {
			t.Errorf("docs/%s has no place for the capture %s", page, name)
			continue
		}
		now = squeezed(now)
		if *captures {
			text = strings.Replace(text, head+old+"\n```\n", head+now+"\n```\n", 1)
			continue
		}
		if strip := func(s string) string {
			return strings.Join(strings.Fields(volatile.ReplaceAllString(waited.ReplaceAllString(s, ""), "0")), " ")
		}; name != "wire" && strip(old) != strip(now) {
			t.Errorf("docs/%s shows another %s (make captures writes it anew):\n%s\nnow\n%s", page, name, old, now)
		}
	}
	if *captures {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var empty = regexp.MustCompile(`\n(\s*\n){3,}`)

// squeezed leaves out most of the empty lines.
func squeezed(s string) string { return empty.ReplaceAllString(strings.TrimRight(s, "\n "), "\n\n") }
