package stdio

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// playBrittle is an older server that ends when it hears a method it does not
// know before it was initialized.
func playBrittle() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		switch {
		case strings.Contains(in.Text(), `"initialize"`):
			fmt.Println(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"brittle","version":"1"}}}`)
		case strings.Contains(in.Text(), "server/discover"):
			fmt.Fprintln(os.Stderr, "unknown method, giving up")
			os.Exit(1)
		}
	}
}

func supervise(t *testing.T, c *Command) *Supervised {
	t.Helper()
	// No waiting between starts: what is tested is that there is a next one.
	s, err := Supervise(t.Context(), c, nil, &SuperviseOptions{Restart: RestartOptions{Backoff: &Backoff{First: time.Millisecond}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestSupervisedServerIsStartedAgain(t *testing.T) {
	s := supervise(t, mode(t, "mcp"))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	first, err := s.Connection(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Serve(ctx, toolCall("fine")); err != nil {
		t.Fatal(err)
	}
	_, err = s.Serve(ctx, toolCall("crash"))
	if err == nil || !strings.Contains(err.Error(), "code 7") || !strings.Contains(err.Error(), "out of ideas") {
		t.Errorf("the call that was lost says %v", err)
	}
	if _, err := s.Serve(ctx, toolCall("fine")); err != nil {
		t.Fatalf("after the restart: %v", err)
	}
	again, err := s.Connection(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if again.Child().Pid() == first.Child().Pid() {
		t.Error("it is still the same process")
	}
}

func TestServerThatDiesOfTheProbeIsMet(t *testing.T) {
	s := supervise(t, mode(t, "brittle"))
	conn, err := s.Connection(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if conn.Revision() != mcp.Rev20250618 {
		t.Errorf("it speaks %s", conn.Revision())
	}
}

func TestServerThatNeverStartsIsAnErrorAtOnce(t *testing.T) {
	_, err := (&Command{Path: "no-such-program-anywhere"}).Dial(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "no-such-program-anywhere") {
		t.Errorf("got %v", err)
	}
	_, err = mode(t, "crash").Dial(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "code 3") || !strings.Contains(err.Error(), "config") {
		t.Errorf("got %v", err)
	}
}
