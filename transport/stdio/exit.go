package stdio

import (
	"fmt"
	"os"
	"strings"
	"unicode"
)

// An ExitError reports how a server process ended.
type ExitError struct {
	// Program is the program as the Command names it.
	Program string

	// Code is the exit code; -1 if a signal ended the process.
	Code int

	// Signal is the signal that ended the process; nil if none did.
	Signal os.Signal

	// Forced means that Close ended the process, since it did not exit when its
	// input was closed.
	Forced bool

	// Stderr is the end of the standard error of the process, at most 64 KiB,
	// converted to valid UTF-8.
	Stderr string
}

// Limits of the part of Stderr in the text of an ExitError.
const (
	shownLines = 10
	shownBytes = 2 << 10
)

// Error names the program, its exit code or signal, and the last lines of its
// standard error without control characters.
func (e *ExitError) Error() string {
	how := fmt.Sprintf("exited with code %d", e.Code)
	if e.Signal != nil {
		how = fmt.Sprintf("was ended by signal %q", e.Signal)
	}
	if e.Forced {
		how = "did not end when its input was closed and " + how
	}
	text := fmt.Sprintf("server %q %s", e.Program, how)
	last := lastLines(e.Stderr)
	if last == "" {
		return text + "; it wrote nothing to its stderr"
	}
	return text + "; last lines of its stderr:\n" + last
}

// lastLines returns the end of s that fits into an error text.
func lastLines(s string) string {
	s = strings.Map(printable, strings.TrimSpace(s))
	if len(s) > shownBytes {
		s = strings.ToValidUTF8(s[len(s)-shownBytes:], "")
	}
	lines := strings.Split(s, "\n")
	if len(lines) > shownLines {
		lines = lines[len(lines)-shownLines:]
	}
	return strings.Join(lines, "\n")
}

// printable removes control characters, which could control a terminal.
func printable(r rune) rune {
	if r == '\n' || r == '\t' || !unicode.IsControl(r) {
		return r
	}
	return -1
}
