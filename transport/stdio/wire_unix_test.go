//go:build unix

package stdio

import (
	"context"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/era"
)

// What a program writes before it ends is read although a write to it fails
// first: it may say why the program ended.
func TestLastOutputIsReadBeforeAWriteFails(t *testing.T) {
	for range 30 {
		lines := make(chan string, 10)
		c := &Command{Path: "/bin/sh", Args: []string{"-c", "exec 0<&-; echo 'no token'; exit 3"},
			Era: era.DialOptions{OnInvalidFrame: func(frame []byte, _ error) { lines <- string(frame) }}}
		conn, err := Dial(context.Background(), c, nil)
		if err == nil {
			conn.Close()
			t.Fatal("connected to a program that had ended")
		}
		select {
		case line := <-lines:
			if !strings.Contains(line, "no token") {
				t.Fatalf("got %q, %v", line, err)
			}
		default:
			t.Fatalf("the last line was not read: %v", err)
		}
	}
}
