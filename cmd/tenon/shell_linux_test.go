package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// A screen is a terminal with a person before it, who is this test.
type screen struct {
	t      *testing.T
	keys   *os.File // the person's end
	tty    *os.File // the program's end
	mu     sync.Mutex
	text   string
	at     int // how far it was read
	closed chan struct{}
}

func newScreen(t *testing.T) *screen {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no terminals here: ", err)
	}
	n, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no terminals here: ", err)
	}
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 100}); err != nil {
		t.Fatal(err)
	}
	s := &screen{t: t, keys: keys, tty: tty, closed: make(chan struct{})}
	go func() {
		defer close(s.closed)
		b := make([]byte, 4096)
		for {
			n, err := keys.Read(b)
			s.mu.Lock()
			s.text += string(b[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		if t.Failed() { // whoever still reads is to end
			for range 3 {
				keys.WriteString("\x03\x04")
				time.Sleep(100 * time.Millisecond)
				keys.WriteString("\x04")
			}
		}
		tty.Close()
		<-s.closed
		keys.Close()
	})
	return s
}

func (s *screen) press(keys string) {
	s.t.Helper()
	if _, err := s.keys.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// sees waits for a text after what was seen before.
func (s *screen) sees(want string) {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		s.mu.Lock()
		i := strings.Index(s.text[s.at:], want)
		if i >= 0 {
			s.at += i + len(want)
		}
		s.mu.Unlock()
		if i >= 0 {
			return
		}
	}
	s.t.Fatalf("%q is not on the screen:\n%q", want, s.text[s.at:])
}

// asking is a server with something of everything that a shell completes.
func asking(t *testing.T) (url string, started, cancelled chan struct{}) {
	t.Helper()
	started, cancelled = make(chan struct{}, 1), make(chan struct{}, 1)
	s := server.New(mcp.Implementation{Name: "asking", Version: "1"}, nil)
	type size struct {
		Size string `json:"size" schema:"enum=small|large"`
		Loud bool   `json:"loud,omitzero"`
	}
	server.AddTool(s, "measure", "Measure", func(_ context.Context, _ *mcp.Call, in size) (string, error) { return "it is " + in.Size, nil })
	server.AddTool(s, "wait", "Wait", func(ctx context.Context, _ *mcp.Call, _ struct{}) (string, error) {
		started <- struct{}{}
		<-ctx.Done()
		cancelled <- struct{}{}
		return "", ctx.Err()
	})
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
	})
	server.AddTool(s, "pay", "Pay", func(_ context.Context, c *mcp.Call, in struct {
		Page string `json:"page"`
	}) (string, error) {
		return "paid", server.ElicitURL(c, "page", "Pay here", in.Page)
	})
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
	s := newScreen(t)
	ended := make(chan int, 1)
	go func() {
		ended <- run(t.Context(), []string{"--config-dir", dir, "shell", url}, s.tty, s.tty, s.tty)
	}()
	s.sees("tenon> ")
	s.press("cal\tme\tsi\tsm\tlo\ttr\t\r")
	s.sees("call measure size=small loud=true")
	s.sees("it is small")

	s.press("call wait\r")
	s.sees("call wait")
	<-started
	syscall.Kill(os.Getpid(), syscall.SIGINT)
	<-cancelled
	s.sees("interrupted; the server was told")

	s.press("call pay page=https://bank.com@evil.io/\r")
	s.sees("It is on the machine evil.io.")
	s.sees("not opened: what stands before the @ (bank.com) is a user name")

	s.press("call greet\r")
	s.sees("Who are you?")
	s.sees("who you are")
	s.press("Ada\r")
	s.press("many\r")
	s.sees("whole number")
	s.press("36\r")
	s.sees("hello Ada, 36")

	s.press("half a line\x03")
	s.sees("^C")
	s.sees("tenon> ")
	s.press("call \t")
	s.sees("greet")
	s.press("\x03")
	s.sees("^C")
	s.sees("tenon> ")
	s.press(" tools -q\r") // begins with a space: is not kept
	s.sees("wait")
	s.press("\x1b[A\r") // the arrow up: what was kept before
	s.sees("Who are you?")
	s.press("!\r")
	s.sees("tenon> ")
	s.press("\x04")
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
