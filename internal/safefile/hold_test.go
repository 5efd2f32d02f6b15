package safefile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tenon-mcp/tenon/internal/safefile"
)

// A file is held until it is released, and by one only; asking whether it is
// held does not hold it.
func TestHold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	held := func(want bool) {
		t.Helper()
		if got, err := safefile.Held(path); got != want || err != nil {
			t.Errorf("held: %v, %v; want %v", got, err, want)
		}
	}
	held(false)
	release, err := safefile.Hold(path)
	if err != nil {
		t.Fatal(err)
	}
	held(true)
	held(true)
	if _, err := safefile.Hold(path); err == nil {
		t.Error("it can be held twice")
	}
	release()
	held(false)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	held(false) // left behind by a process that was killed
}
