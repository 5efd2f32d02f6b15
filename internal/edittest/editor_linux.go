package edittest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// StartEditor starts an editor of one file. stop ends it and returns the
// lines that it saved and the lines of others that it overwrote, as any
// editor overwrites changes made after it read the file.
func StartEditor(t *testing.T, file string) (stop func() (saved []string, dropped map[string]bool)) {
	t.Helper()
	cmd := child("editor", file, "editor", 0)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() ([]string, map[string]bool) {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the editor: %v", errors.Join(err, errorOf(cmd)))
		}
		var saved []string
		dropped := map[string]bool{}
		for report := range strings.Lines(out.String()) {
			what, line, _ := strings.Cut(strings.TrimSuffix(report, "\n"), " ")
			if what == "saved" {
				saved = append(saved, line)
			} else {
				dropped[line] = true
			}
		}
		return saved, dropped
	}
}

func errorOf(cmd *exec.Cmd) error {
	if cmd.ProcessState == nil || cmd.ProcessState.Success() {
		return nil
	}
	return errors.New(cmd.ProcessState.String())
}

// edit changes a file in three ways, in turn, until standard input ends.
func edit(file string) {
	ended := make(chan struct{})
	go func() { // until the test closes the pipe
		io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	for i := 0; ; i++ {
		select {
		case <-ended:
			return
		case <-time.After(rand.N(8 * time.Millisecond)):
		}
		line := fmt.Sprintf("editor-%d", i)
		var err error
		switch i % 3 {
		case 0:
			err = appendLine(file, line)
		case 1:
			err = rewrite(file, line)
		case 2:
			err = rename(file, line)
		}
		if err == nil {
			fmt.Println("saved", line)
		} else if !errors.Is(err, os.ErrNotExist) {
			panic(err)
		}
	}
}

// open opens a file for writing. The error is [os.ErrNotExist] if the file was
// replaced and removed before the open was complete: the system finds the file of a
// name before it counts its writers, so nobody can know of a writer in between.
func open(file string, flag int) (*os.File, error) {
	f, err := os.OpenFile(file, flag, 0)
	if err != nil {
		return nil, err
	}
	var info unix.Stat_t
	if err = unix.Fstat(int(f.Fd()), &info); err == nil && info.Nlink == 0 {
		err = os.ErrNotExist
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// appendLine adds a line in place.
func appendLine(file, line string) error {
	f, err := open(file, os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(line + "\n")
	return err
}

// rewrite reads the file, empties it and writes it again, in place.
func rewrite(file, line string) error {
	f, err := open(file, os.O_RDWR)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(append(text, line+"\n"...), 0)
	}
	return err
}

// rename reads the file, writes another one and renames it over the file. It
// reads the replaced file to know what it overwrote.
func rename(file, line string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	temp := file + ".editor"
	defer os.Remove(temp)
	if err := os.WriteFile(temp, append(text, line+"\n"...), 0o644); err != nil {
		return err
	}
	if err := unix.Renameat2(unix.AT_FDCWD, temp, unix.AT_FDCWD, file, unix.RENAME_EXCHANGE); err != nil {
		return err
	}
	before, err := os.ReadFile(temp)
	if err != nil {
		return err
	}
	had := "\n" + string(text)
	for l := range strings.Lines(string(before)) {
		if !strings.Contains(had, "\n"+l) {
			fmt.Println("dropped", strings.TrimSpace(l))
		}
	}
	return nil
}
