package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/ptytest"
)

// A line typed before the question exists does not approve a project's server;
// the same line typed after it does.
func TestLineTypedAheadApprovesNothing(t *testing.T) {
	s := ptytest.New(t)
	project, dir := t.TempDir(), t.TempDir()
	ran := filepath.Join(dir, "ran")
	write(t, filepath.Join(project, ".mcp.json"), `{"mcpServers":{"h":{"command":"touch","args":["`+ran+`"]}}}`)
	started := func() bool { _, err := os.Stat(ran); return err == nil }
	ended := make(chan int, 1)
	begin := func() {
		go func() {
			ended <- run(t.Context(), []string{"--config-dir", dir, "--project", project, "tools", "h"}, s.TTY, s.TTY, s.TTY)
		}()
	}
	s.Press("yes\ryes\rye")
	s.Sees("yes\r\nyes\r\nye")
	begin()
	s.Sees("(yes/no) ")
	s.Press("s\r") // with what was begun before it would be a yes
	s.Sees("Type yes or no.")
	s.Sees("(yes/no) ")
	if started() {
		t.Fatal("a line that was typed before the question has approved the server")
	}
	s.Press("no\r")
	<-ended
	if started() {
		t.Fatal("it was started after a no")
	}
	begin()
	s.Sees("(yes/no) ")
	s.Press("yes\r")
	<-ended
	if !started() {
		t.Errorf("a yes after the question does not approve:\n%s", s.Text())
	}
}

// Lines typed before a server's form exists fill in none of its fields, in a
// command and in the shell.
func TestLinesTypedAheadFillInNothing(t *testing.T) {
	url, _, _ := asking(t)
	for _, command := range []string{"call", "shell"} {
		s := ptytest.New(t)
		ended := make(chan int, 1)
		begin := func(words ...string) {
			go func() {
				ended <- run(t.Context(), append([]string{"--config-dir", t.TempDir()}, words...), s.TTY, s.TTY, s.TTY)
			}()
		}
		if command == "call" {
			s.Press("git push\r77\r")
			s.Sees("77\r\n")
			begin("call", url, "greet")
		} else {
			begin("shell", url)
			s.Sees("tenon> ")
			s.Press("call greet\rgit push\r77\r")
		}
		s.Sees("name: ")
		s.Press("Ada\r")
		s.Sees("age (integer): ")
		s.Press("37\r")
		s.Sees("hello Ada, 37")
		if command == "shell" {
			s.Sees("tenon> ")
			s.Press("\x04")
		}
		if code := <-ended; code != 0 {
			t.Errorf("%s: exit code %d", command, code)
		}
		if strings.Contains(s.Text(), "hello git push") {
			t.Errorf("%s: what was typed ahead was sent", command)
		}
	}
}
