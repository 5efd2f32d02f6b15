package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tenon-mcp/tenon/internal/ptytest"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// asking is a server with something of everything that a shell completes.
func asking(t *testing.T) (url string, started, cancelled chan struct{}) {
	t.Helper()
	started, cancelled = make(chan struct{}, 1), make(chan struct{}, 1)
	s := server.New(mcp.Implementation{Name: "asking", Version: "1"}, nil)
	type size struct {
		Size string `json:"size" schema:"enum=small|large"`
		Loud bool   `json:"loud,omitzero"`
	}
	server.AddTool(s, "measure", "Measure", func(_ context.Context, _ *mcp.Call, in size) (string, error) { return "it is " + in.Size, nil }, nil)
	server.AddTool(s, "wait", "Wait", func(ctx context.Context, _ *mcp.Call, _ struct{}) (string, error) {
		started <- struct{}{}
		<-ctx.Done()
		cancelled <- struct{}{}
		return "", ctx.Err()
	}, nil)
	type person struct {
		Name string `json:"name" doc:"who you are"`
		Age  int    `json:"age"`
	}
	server.AddTool(s, "greet", "Greet", func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		who, err := server.Elicit[person](c, "who", "Who are you?")
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("hello %s, %d", who.Name, who.Age), nil
	}, nil)
	server.AddTool(s, "pay", "Pay", func(_ context.Context, c *mcp.Call, in struct {
		Page string `json:"page"`
	}) (string, error) {
		return "paid", server.ElicitURL(c, "page", "Pay here", in.Page)
	}, nil)
	h, err := streamable.NewHandler(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(h)
	t.Cleanup(func() { h.Shutdown(); web.Close() })
	return web.URL + streamable.Path, started, cancelled
}

func TestShellAtATerminal(t *testing.T) {
	url, started, cancelled := asking(t)
	dir := t.TempDir()
	s := ptytest.New(t)
	ended := make(chan int, 1)
	go func() {
		ended <- run(t.Context(), []string{"--config-dir", dir, "shell", url}, s.TTY, s.TTY, s.TTY)
	}()
	s.Sees("tenon> ")
	s.Press("cal\tme\tsi\tsm\tlo\ttr\t\r")
	s.Sees("call measure size=small loud=true")
	s.Sees("it is small")

	s.Press("call wait\r")
	s.Sees("call wait")
	<-started
	syscall.Kill(os.Getpid(), syscall.SIGINT)
	<-cancelled
	s.Sees("interrupted; the call was cancelled")

	s.Press("call pay page=https://bank.com@evil.io/\r")
	s.Sees("The page is on the host evil.io.")
	s.Sees("not opened: the part before the @ (bank.com) is a user name")

	s.Press("call measure size=small password=hunter2\r") // contains a secret: is not saved
	s.Sees("password")
	s.Sees("tenon> ")

	s.Press("call greet\r")
	s.Sees("Who are you?")
	s.Sees("who you are")
	s.Sees("name: ")
	s.Press("Ada\r")
	s.Sees("age (integer): ")
	s.Press("many\r")
	s.Sees("whole number")
	s.Sees("age (integer): ")
	s.Press("36\r")
	s.Sees("hello Ada, 36")

	s.Press("half a line\x03")
	s.Sees("^C")
	s.Sees("tenon> ")
	s.Press("call \t")
	s.Sees("greet")
	s.Press("\x03")
	s.Sees("^C")
	s.Sees("tenon> ")
	s.Press(" tools -q\r") // begins with a space: is not kept
	s.Sees("wait")
	s.Press("\x1b[A\r") // the arrow up: what was kept before
	s.Sees("name: ")
	s.Press("!\r")
	s.Sees("tenon> ")
	s.Press("\x04")
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d", code)
	}
	kept, err := os.ReadFile(filepath.Join(dir, "history"))
	if want := "call measure size=small loud=true \ncall wait\ncall pay page=https://bank.com@evil.io/\ncall greet\n"; err != nil || string(kept) != want {
		t.Errorf("the history has %q, %v", kept, err)
	}
	if about, err := os.Stat(filepath.Join(dir, "history")); err != nil || about.Mode().Perm() != 0o600 {
		t.Errorf("the history can be read by others: %v, %v", about.Mode(), err)
	}
}

// H13: call warns of a form that asks for a secret, names the server, and shows
// nothing of what is typed, not even with --trace; so does the shell.
func TestCallShowsNoSecrets(t *testing.T) {
	s := server.New(mcp.Implementation{Name: "vault", Version: "1"}, nil)
	server.AddTool(s, "unlock", "Unlock", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		in, err := server.Elicit[struct {
			APIKey string `json:"api_key"`
		}](c, "key", "Log in to go on.")
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%d characters", len(in.APIKey)), nil
	}, nil)
	h, err := streamable.NewHandler(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(h)
	t.Cleanup(func() { h.Shutdown(); web.Close() })
	url := web.URL + streamable.Path
	for _, words := range [][]string{{"call", url, "unlock"}, {"call", url, "unlock", "--trace"}, {"shell", url}} {
		screen := ptytest.New(t)
		ended := make(chan int, 1)
		go func() {
			ended <- run(t.Context(), append([]string{"--config-dir", t.TempDir()}, words...), screen.TTY, screen.TTY, screen.TTY)
		}()
		if words[0] == "shell" {
			screen.Sees("tenon> ")
			screen.Press("call unlock\r")
		}
		screen.Sees("asks for what looks like a secret (api_key)")
		screen.Sees("api_key (not shown): ")
		screen.Press("sk-very-secret\r")
		screen.Sees("14 characters")
		if words[0] == "shell" {
			screen.Sees("tenon> ")
			screen.Press("\x04")
		}
		if code := <-ended; code != 0 {
			t.Errorf("%s ends with %d", words[0], code)
		}
		if strings.Contains(screen.Text(), "very-secret") {
			t.Errorf("%s shows the secret: %q", words[0], screen.Text())
		}
	}
}
