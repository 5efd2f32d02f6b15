package leaktest

import (
	"github.com/tenon-mcp/tenon/internal/needtest"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

func TestMain(m *testing.M) { Main(m) }

func TestSeesAGoroutine(t *testing.T) {
	before := takeSnapshot()
	release := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-release
	}()
	expectLeft(t, before, "TestSeesAGoroutine")
	close(release)
	<-ended
	expectNothingLeft(t, before)
}

func TestSeesADescriptor(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("descriptors are only looked at on Linux")
	}
	before := takeSnapshot()
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	expectLeft(t, before, os.DevNull)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	expectNothingLeft(t, before)
}

func TestSeesAChild(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("children are only looked at on Linux")
	}
	before := takeSnapshot()
	// The child waits for the end of its input.
	cmd := exec.Command("cat")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		needtest.Missing(t, err.Error())
	}
	expectLeft(t, before, "child process")
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	expectNothingLeft(t, before)
}

func expectLeft(t *testing.T, before snapshot, part string) {
	t.Helper()
	left := strings.Join(before.settle(0), "\n")
	if !strings.Contains(left, part) {
		t.Errorf("what is left does not name %q:\n%s", part, left)
	}
}

func expectNothingLeft(t *testing.T, before snapshot) {
	t.Helper()
	if left := before.settle(settleTime); len(left) > 0 {
		t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
	}
}
