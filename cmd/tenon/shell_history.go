package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// mostHistory is how many lines are kept.
const mostHistory = 1000

// A history keeps the lines of shells in a file that only its owner can read.
// It is that of a term.Terminal: the newest line is the first.
type history struct {
	lines []string // the oldest first
	file  string   // empty: they are forgotten
	off   bool     // lines are not kept: they are answers
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
	if len(h.lines) > 2*mostHistory {
		h.lines = h.lines[len(h.lines)-mostHistory:]
		h.rewrite()
	}
	return h
}

// historyFile is in the folder for what a program remembers, or beside the
// configuration where that was moved or the system has no such folder.
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

// Add keeps a line, unless it is empty, the same as the one before, or begins
// with a space.
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

func (h *history) rewrite() {
	os.WriteFile(h.file, []byte(strings.Join(h.lines, "\n")+"\n"), 0o600) // what is not shortened now is later
}

// Len is how many lines there are to go back to.
func (h *history) Len() int {
	if h.off {
		return 0
	}
	return len(h.lines)
}

// At returns a line, the newest at 0.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }
