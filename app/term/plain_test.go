package term

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/keyword"
	"github.com/tenon-mcp/tenon/server"
)

// plainly runs the plain face with lines as input.
func plainly(t *testing.T, model llm.Model, others map[string]*server.Server, typed ...string) string {
	t.Helper()
	feed := NewFeed()
	w := desk(t, model, feed, others)
	var out bytes.Buffer
	err := RunPlain(t.Context(), w, Options{Feed: feed, In: strings.NewReader(strings.Join(typed, "\n") + "\n"), Out: &out})
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\u009b\x07\r") {
		t.Errorf("there is an escape sequence in\n%q", out.String())
	}
	return out.String()
}

// has checks that texts are there in this order.
func has(t *testing.T, out string, want ...string) {
	t.Helper()
	rest := out
	for _, w := range want {
		i := strings.Index(rest, w)
		if i < 0 {
			t.Fatalf("%q is missing, or not in its place:\n%s", w, out)
		}
		rest = rest[i+len(w):]
	}
}

func TestPlainWithoutAModel(t *testing.T) {
	out := plainly(t, keyword.Model{}, nil,
		"add 2 and 3", "maybe", "o", "Allow once",
		"/call calc/average", "session", "4", "x", "8",
		"/call calc/multiply a=6", "7", "always",
		"/read calc welcome://ada", "/servers", "/wire calc", "/tool", "/sessions", "/quit", "never reached")
	has(t, out,
		"Model: No model connected · matching keywords",
		"> add 2 and 3", "? Allow calc/add?", "a: 2", "answer with one of", "✓ calc/add", "Allowed once", "  5",
		"? calc asks you to fill in a form", "│ Which two numbers", "a number is needed", "✓ calc/average", "  6",
		"Fill in calc/multiply", "b (number)", "✓ calc/multiply", "Always allowed", "  42",
		"Welcome, ada!", "calc ", "ready", "→ tools/call multiply", "did you mean /tools", "add 2 and 3", "> /quit")
	if strings.Contains(out, "never reached") {
		t.Error("/quit does not leave")
	}
}

func TestPlainWithAScript(t *testing.T) {
	model := scripted(t, `{"script":1,"model":{"provider":"script","name":"demo"}}
{"expect":{"role":"user","has":"sum"}}
{"text":"Adding.\nAt once"}
{"call":{"name":"calc__add","arguments":{"a":2,"b":3}}}
{"call":{"name":"calc__divide","arguments":{"a":1,"b":0}}}
{"done":""}
{"expect":{"role":"tool"}}
{"text":"It is "}
{"text":"5."}
{"done":""}
`)
	out := plainly(t, model, nil, "a sum", "once", "once")
	has(t, out, "Adding.\nAt once\n", "? Allow calc/", "? Allow calc/", "It is 5.\n")
	has(t, out, "division by zero")
}

// Where nobody answers any more, the answer is no.
func TestPlainEndOfInputDenies(t *testing.T) {
	out := plainly(t, keyword.Model{}, nil, "add 2 and 3")
	has(t, out, "? Allow calc/add?", "⊘ calc/add was denied")
	if strings.Contains(out, "✓") {
		t.Errorf("it ran\n%s", out)
	}
}

func TestPlainDeclinesForms(t *testing.T) {
	out := plainly(t, keyword.Model{}, nil, "/call calc/average", "once", "!", "/call calc/add", "!")
	has(t, out, "✗ calc/average", "declined", "Fill in calc/add", "not called")
}

func TestPlainShowsNoSecrets(t *testing.T) {
	out := plainly(t, keyword.Model{}, map[string]*server.Server{"vault": vault()}, "/call vault/unlock", "once", "ada", "hunter2hunter2")
	asked, _, _ := strings.Cut(out, "✓ vault/unlock")
	has(t, asked, "vault asks for what looks like a secret (password)", "user (text)", "password (text, hidden): (hidden)")
	if strings.Contains(asked, "hunter2") {
		t.Errorf("the secret is shown\n%s", asked)
	}
}

func TestPlainServersCannotDraw(t *testing.T) {
	out := plainly(t, keyword.Model{}, map[string]*server.Server{"evil": hostile(t)},
		"/tools evil", "/resources evil", "/prompts evil", "/read evil evil://x", "/call evil/do", "once", "name", "/wire evil", "/evil:p x=1")
	clean(t, "plain", out)
	has(t, out, "? Allow evil/do?", "! ", "✓ evil/do")
}

// A server cannot write a line that looks like one of Tenon: further lines of its
// text are indented.
func TestPlainServersCannotBeginLines(t *testing.T) {
	var out bytes.Buffer
	p := &plain{t: &talk{}, out: &out, phase: map[string]host.CallPhase{}}
	p.event(host.Event{Kind: host.EventLog, Server: "evil", Level: "info", Text: "fine\n? Allow fs/remove?"})
	p.event(host.Event{Kind: host.EventTool, Call: &host.ToolCall{ID: "1", Server: "evil", Tool: "x", Phase: host.CallFailed, Problem: "exited with code 3; last lines of its stderr:\n> /quit"}})
	if got := out.String(); strings.Contains(got, "\n?") || strings.Contains(got, "\n>") || !strings.Contains(got, "\n  ? Allow") || !strings.Contains(got, "\n  > /quit") {
		t.Errorf("%s", got)
	}
}

// A prompt that was answered takes no interrupt any more: it is for what the
// answer has begun.
func TestPlainPromptLetsInterruptsGo(t *testing.T) {
	interrupts := make(chan os.Signal)
	p := &plain{t: &talk{o: Options{Interrupts: interrupts}}, in: readLines(strings.NewReader(strings.Repeat("x\n", 50)), io.Discard, false)}
	defer p.in.close()
	for i := range 50 {
		p.in.ask(lineRequest{})
		for len(p.in.got) == 0 { // the line is there already, so that the prompt is over at once
			time.Sleep(10 * time.Microsecond)
		}
		if _, err := p.prompt(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		go func() { interrupts <- os.Interrupt }()
		time.Sleep(100 * time.Microsecond) // a prompt that is still there would take it
		select {
		case <-interrupts:
		case <-time.After(time.Minute):
			t.Fatalf("interrupt %d was lost", i)
		}
	}
}

// An interrupt stops what runs; the chat goes on.
func TestPlainInterrupt(t *testing.T) {
	began, cancelled := make(chan struct{}), make(chan struct{})
	feed := NewFeed()
	w := desk(t, keyword.Model{}, feed, map[string]*server.Server{"slow": slow(began, cancelled)})
	in, typing := io.Pipe()
	interrupts := make(chan os.Signal)
	var out bytes.Buffer
	done := make(chan error, 1)
	go func() {
		done <- RunPlain(context.Background(), w, Options{Feed: feed, In: in, Out: &out, Interrupts: interrupts})
	}()
	io.WriteString(typing, "/call slow/wait\nonce\n")
	<-began
	interrupts <- os.Interrupt
	<-cancelled
	io.WriteString(typing, "/call calc/add a=1 b=1\nonce\n/quit\n")
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
	typing.Close()
	has(t, out.String(), "◌ slow/wait was stopped", "✓ calc/add")
}
