//go:build unix

package stdio

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// A server ends in order on SIGTERM, with its input still open.
func TestServeEndsOnSignal(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			conn := connect(t, nil)
			if _, err := conn.Serve(t.Context(), toolCall("fine")); err != nil { // a second message: signals are caught
				t.Fatal(err)
			}
			if err := syscall.Kill(conn.Child().Pid(), sig); err != nil {
				t.Fatal(err)
			}
			within(t, conn.Done(), "the end of the connection")
			var exit *ExitError
			if !errors.As(conn.Err(), &exit) || exit.Code != 0 {
				t.Errorf("Err: %v", conn.Err())
			}
			contains(t, conn.Child().Stderr(), "served\n")
		})
	}
}

// Hostile rows C58 and C60 from the other side: a client that asks much and
// reads nothing cannot keep a server from ending.
func TestServeEndsWithoutReader(t *testing.T) {
	for _, way := range []string{"terminated", "client gone"} {
		t.Run(way, func(t *testing.T) {
			c := mode(t, "mcp")
			cmd := exec.Command(c.Path)
			cmd.Env = append(os.Environ(), modeVar+"=mcp", "GORACE=atexit_sleep_ms=0")
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			// In all this is more than both pipes and the server's own queue can
			// hold; the first 200 fit into the pipes.
			stuffed := make(chan struct{})
			var writing sync.WaitGroup
			writing.Go(func() {
				pad := strings.Repeat("x", 500)
				for id := range 20_000 {
					if id == 200 {
						close(stuffed)
					}
					if _, err := fmt.Fprintf(in, `{"jsonrpc":"2.0","id":"%s-%d","method":"ping"}`+"\n", pad, id); err != nil {
						return
					}
				}
			})
			within(t, stuffed, "the server to take requests")
			if way == "terminated" {
				if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Error(err)
				}
			} else {
				out.Close()
				in.Close()
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = cmd.Process.Wait()
			}()
			within(t, ended, "the end of the server")
			in.Close()
			out.Close()
			writing.Wait()
		})
	}
}
