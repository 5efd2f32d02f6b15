//go:build unix

package api

import (
	"net"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// A path that names a pipe, a socket or a device is refused at once: opening or reading
// it could wait forever, or never end.
func TestUploadOfSpecialFilesIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir) // the name of a socket is short
	s, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l := newLocal(t)
	l.roots = []string{uriOf(dir)}
	names := []string{"pipe", "socket", "."}
	if runtime.GOOS == "linux" && syscall.Mknod(filepath.Join(dir, "zero"), syscall.S_IFCHR|0o600, 1<<8|5) == nil {
		names = append(names, "zero") // only root can make a device
	}
	for _, name := range names {
		for _, tool := range []string{"send", "path"} {
			done := make(chan string, 1)
			go func() { done <- l.sends(tool, name) }()
			select {
			case got := <-done:
				expect(t, tool+" "+name, got, "…not a regular file")
			case <-time.After(time.Minute):
				t.Fatalf("%s of %s hangs", tool, name)
			}
		}
	}
	if sent := l.requests(); len(sent) > 0 {
		t.Errorf("sent %q", sent)
	}
}
