package main

import (
	"os"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/internal/logtest"
)

// The demo starts the running program again as a server, so the test binary
// has to be able to be one.
func TestMain(m *testing.M) {
	if os.Getenv("TENON_TEST_MAIN") != "" || len(os.Args) == 3 && os.Args[1] == "serve" {
		main()
		return
	}
	if os.Getenv(neighbourVar) != "" {
		serveNeighbour(os.Getenv(neighbourVar))
		return
	}
	if os.Getenv(samplerVar) != "" {
		serveSampler()
		return
	}
	if word := os.Getenv(waiterVar); word != "" {
		serveWaiter(word)
		return
	}
	leaktest.Main(m)
}

// tenon runs a command line and returns what it wrote.
func tenon(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	t.Setenv("TENON_CONFIG_DIR", t.TempDir())
	var o, e lockedBuffer
	code = run(t.Context(), args, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

// A lockedBuffer collects what a command writes, from any goroutine.
type lockedBuffer = logtest.Buffer

func TestDemo(t *testing.T) {
	code, out, errs := tenon(t, "demo")
	if code != 0 {
		t.Fatalf("exit code %d\n%s\n%s", code, out, errs)
	}
	for _, want := range []string{
		"Both sides use revision 2026-07-28.", "Both sides use revision 2025-11-25.",
		`"method":"server/discover"`, `"method":"initialize"`, `"input_required"`,
		"20 + 22 = 42.", "The average is 21.", `"Welcome, ada!"`, "b: is required but missing",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the demo does not show %s", want)
		}
	}
}

func TestUnknownCommandSaysWhatToDo(t *testing.T) {
	if code, _, errs := tenon(t, "fly"); code != exitUsage || !strings.Contains(errs, "fly") {
		t.Errorf("exit code %d, %q", code, errs)
	}
}

func TestVersion(t *testing.T) {
	if code, out, _ := tenon(t, "version"); code != 0 || !strings.HasPrefix(out, "tenon ") {
		t.Errorf("exit code %d, %q", code, out)
	}
}

// A run makes only the command that it is about, which it finds by a name that
// stands apart from the command.
func TestCommandsHaveTheirNames(t *testing.T) {
	for _, m := range (&program{}).commands() {
		if c := m.make(); c.Name() != m.name || c.Short == "" {
			t.Errorf("%s is called %q, %q", m.name, c.Name(), c.Short)
		}
	}
}
