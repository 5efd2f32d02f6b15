package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tenon-mcp/tenon/internal/safefile"
)

// maxHistory is the number of lines that a trimmed history has.
const maxHistory = 1000

// A history stores the lines of shells in a file that only its owner can read. It
// implements term.History: index 0 is the newest line.
type history struct {
	lines []string // oldest first
	file  string   // empty: not saved
	off   bool     // lines are answers and are not stored
	warn  func(format string, args ...any)
}

func openHistory(p *program) *history {
	h := &history{warn: p.note}
	file, err := historyFile(p)
	if err != nil {
		return h
	}
	h.file = file
	f, err := os.Open(file)
	if err != nil {
		return h
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		h.lines = append(h.lines, s.Text())
	}
	if len(h.lines) > 2*maxHistory {
		h.lines = h.lines[len(h.lines)-maxHistory:]
		h.trim()
	}
	return h
}

// historyFile returns the path of the history: in the user's state folder, or in
// the configuration folder if that was set or the system has no state folder.
func historyFile(p *program) (string, error) {
	if p.userDir == "" && runtime.GOOS != "windows" && runtime.GOOS != "darwin" {
		if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
			return filepath.Join(dir, "tenon", "history"), nil
		}
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, ".local", "state", "tenon", "history"), nil
		}
	}
	dir, err := p.configDir()
	return filepath.Join(dir, "history"), err
}

// Add stores a line, unless it is empty, equals the previous one, or begins with a
// space.
func (h *history) Add(line string) {
	if h.off || line == "" || line[0] == ' ' || strings.Contains(line, "\n") || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return
	}
	h.lines = append(h.lines, line)
	if h.file == "" {
		return
	}
	if err := h.append(line); err != nil {
		h.warn("cannot save history: %v", err)
		h.file = ""
	}
}

func (h *history) append(line string) error {
	if err := os.MkdirAll(filepath.Dir(h.file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(h.file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, line)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// trim removes all but the newest lines of the file. Lines that other shells add
// meanwhile are preserved. If it fails, the file stays as it is.
func (h *history) trim() {
	safefile.Update(h.file, 0o600, func(old []byte) ([]byte, error) {
		lines := strings.SplitAfter(string(old), "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		return []byte(strings.Join(lines[max(0, len(lines)-maxHistory):], "")), nil
	}) // the next shell tries again
}

// Len returns the number of lines.
func (h *history) Len() int {
	if h.off {
		return 0
	}
	return len(h.lines)
}

// At returns a line; 0 is the newest.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }
