package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/leaktest"
)

// The demo starts the running program again as a server, so the test binary
// has to be able to be one.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "serve" {
		main()
		return
	}
	leaktest.Main(m)
}

func TestDemo(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"demo"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{
		"Both speak revision 2026-07-28.", "Both speak revision 2025-11-25.",
		`"method":"server/discover"`, `"method":"initialize"`, `"input_required"`,
		"20 + 22 = 42.", "The average is 21.", `"Welcome, ada!"`, "b: is required but missing",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the demo does not show %s", want)
		}
	}
}

func TestUnknownCommandSaysWhatToDo(t *testing.T) {
	err := run(t.Context(), []string{"fly"}, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "tenon help") {
		t.Errorf("got %v", err)
	}
}

func TestVersion(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"version"}, &out); err != nil || !strings.HasPrefix(out.String(), "tenon ") {
		t.Errorf("got %q, %v", out.String(), err)
	}
}
