package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
)

// playMCP is a server with tools that behave badly in various ways.
func playMCP() {
	err := Serve(context.Background(), mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		fmt.Println("stray println")
		switch tool := string(c.Params); {
		case c.Method != mcp.MethodToolsCall:
			return mcp.Result{Body: json.RawMessage(`{"capabilities":{"tools":{}}}`)}, nil
		case strings.Contains(tool, "crash"):
			fmt.Fprintln(os.Stderr, "out of ideas")
			os.Exit(7)
		case strings.Contains(tool, "hang"):
			forever()
		case strings.Contains(tool, "wait"):
			<-ctx.Done()
		}
		return mcp.Result{Body: json.RawMessage(`{"content":[]}`)}, nil
	}), nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stderr, "served")
}

func connect(t *testing.T, o *era.DialOptions) *Connection {
	t.Helper()
	c := mode(t, "mcp")
	c.Grace = patience // a server that is not prompt fails by the deadline of the test
	if o != nil {
		c.Era = *o
	}
	conn, err := Dial(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func toolCall(name string) *mcp.Call {
	return &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"` + name + `"}`)}
}

func TestServeAndDial(t *testing.T) {
	for _, known := range append(mcp.Revisions(), "") {
		t.Run("known "+string(known), func(t *testing.T) {
			conn := connect(t, &era.DialOptions{Known: known, OnInvalidFrame: func(frame []byte, err error) {
				t.Errorf("noise: %q %v", frame, err)
			}})
			if known != "" && conn.Revision() != known {
				t.Errorf("speaks %s", conn.Revision())
			}
			if _, err := conn.Serve(t.Context(), toolCall("fine")); err != nil {
				t.Error(err)
			}
			if err := conn.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			contains(t, conn.Child().Stderr(), "stray println\n", "served\n")
		})
	}
}

// Hostile row C54, first half: a crash fails the calls in flight and says why.
func TestCrashInACall(t *testing.T) {
	conn := connect(t, nil)
	_, err := conn.Serve(t.Context(), toolCall("crash"))
	if err == nil {
		t.Fatal("no error")
	}
	contains(t, err.Error(), "exited with code 7", "out of ideas")
	within(t, conn.Done(), "the end of the connection")
	var exit *ExitError
	if !errors.As(conn.Err(), &exit) || exit.Code != 7 {
		t.Errorf("Err: %v", conn.Err())
	}
}

func TestDialSaysWhyItFailed(t *testing.T) {
	_, err := Dial(t.Context(), mode(t, "crash"), nil)
	if err == nil {
		t.Fatal("no error")
	}
	contains(t, err.Error(), "exited with code 3", "config")
	if n := strings.Count(err.Error(), "exited with code 3"); n != 1 {
		t.Errorf("the reason is given %d times:\n%v", n, err)
	}
	var _ mcp.Dialer = &Command{}
	if h, err := (&Command{}).Dial(t.Context(), nil); err == nil || h != nil {
		t.Errorf("got %v, %v", h, err)
	}
}

// A server ends promptly when its input ends, whatever its tools do.
func TestServeEndsOnEOF(t *testing.T) {
	for _, tool := range []string{"wait", "hang"} {
		t.Run(tool, func(t *testing.T) {
			conn := connect(t, nil)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if _, err := conn.Serve(ctx, toolCall(tool)); err == nil {
				t.Error("the tool did not wait")
			}
			if err := conn.Close(); err != nil && tool == "wait" {
				t.Errorf("Close: %v", err)
			} else if exit := (*ExitError)(nil); errors.As(err, &exit) && exit.Forced {
				t.Errorf("the server had to be ended by force: %v", err)
			}
		})
	}
}
