package page

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"
)

var program struct {
	once sync.Once
	file string
	err  error
}

// tenon builds the program once and returns its file.
func tenon(t *testing.T) string {
	t.Helper()
	program.once.Do(func() {
		dir, err := os.MkdirTemp("", "tenon-program-")
		if err != nil {
			program.err = err
			return
		}
		program.file = filepath.Join(dir, "tenon")
		build := exec.Command("go", "build", "-o", program.file, "./cmd/tenon")
		build.Dir = filepath.Join("..", "..")
		if out, err := build.CombinedOutput(); err != nil {
			program.err = &buildError{err, out}
		}
	})
	if program.err != nil {
		t.Fatal(program.err)
	}
	return program.file
}

type buildError struct {
	err error
	out []byte
}

func (e *buildError) Error() string { return e.err.Error() + "\n" + string(e.out) }

var printed = regexp.MustCompile(`http://127\.0\.0\.1:\d+/#token=[A-Z0-9]+`)

// up runs tenon up in a folder and returns the address that it prints.
func up(t *testing.T, folder string, args ...string) string {
	t.Helper()
	return upWith(t, folder, t.TempDir(), args...)
}

// upWith does so with the person's configuration in a folder.
func upWith(t *testing.T, folder, config string, args ...string) string {
	t.Helper()
	address, _ := upProcess(t, folder, config, args...)
	return address
}

// upProcess does so too, and returns the process.
func upProcess(t *testing.T, folder, config string, args ...string) (string, *os.Process) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	c := exec.CommandContext(ctx, tenon(t), append([]string{"up", "--no-browser", "--model", "none", "--workspace", filepath.Join(t.TempDir(), "work")}, args...)...)
	c.Dir = folder
	c.Env = append(os.Environ(), "TENON_CONFIG_DIR="+config)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 10 * time.Second
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = c.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if address := printed.FindString(lines.Text()); address != "" {
			go func() {
				for lines.Scan() { // so that it never waits for a reader
				}
			}()
			return address, c.Process
		}
	}
	t.Fatal("tenon up printed no address")
	return "", nil
}
