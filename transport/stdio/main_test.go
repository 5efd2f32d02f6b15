package stdio

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/leaktest"
)

// modeVar makes the test binary play a server; see modes.
const modeVar = "TENON_STDIO_TEST_MODE"

func TestMain(m *testing.M) {
	if mode := os.Getenv(modeVar); mode != "" {
		play, ok := modes[mode]
		if !ok {
			panic("no such mode: " + mode)
		}
		play()
		os.Exit(0)
	}
	leaktest.Main(m)
}

// patience bounds every wait for an operating-system process in these tests.
const patience = time.Minute

// mode returns a Command that runs this test binary in a mode.
func mode(t *testing.T, name string) *Command {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &Command{
		Path: self,
		Env: map[string]string{
			modeVar:      name,
			"GOCOVERDIR": t.TempDir(),         // or a coverage build complains on stderr
			"GORACE":     "atexit_sleep_ms=0", // or a race-checked server takes a second to end
		},
		Grace: 300 * time.Millisecond,
	}
}

// start starts c and closes it at the end of the test.
func start(t *testing.T, c *Command) *Child {
	t.Helper()
	child, err := c.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Close() })
	return child
}

// line reads one frame.
func line(t *testing.T, c *Child) string {
	t.Helper()
	frame, err := c.Stream().Read()
	if err != nil {
		t.Fatalf("reading a line: %v (stderr: %s)", err, c.Stderr())
	}
	return string(frame)
}

// within fails the test if ch is not closed in time.
func within(t *testing.T, ch <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(patience):
		t.Fatalf("not in time: %s", what)
	}
}

// eventually polls until ok, or fails the test.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is missing in:\n%s", p, text)
		}
	}
}
