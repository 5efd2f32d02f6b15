package repl

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/app/args"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/internal/safefile"
	"github.com/tenon-mcp/tenon/mcp"
)

// maxHistory is the number of lines that a trimmed history has.
const maxHistory = 1000

// A History is the lines that the user typed, of this run and of earlier ones. It
// is saved in a file that only its owner can read. A line with a secret is not
// saved: it can be recalled until the program ends.
type History struct {
	File    string         // empty: not saved
	JSON    bool           // each line of the file is a JSON string, so that it may have line breaks
	Secrets *redact.Values // known secrets; nil: none

	Lines []string // oldest first
}

// Load reads the file. A file that does not exist is empty.
func (h *History) Load() error {
	if h.File == "" {
		return nil
	}
	data, err := os.ReadFile(h.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for line := range bytes.Lines(data) {
		if s := h.decode(bytes.TrimRight(line, "\r\n")); s != "" {
			h.Lines = append(h.Lines, s)
		}
	}
	h.trim() // the next run tries again if it fails
	return err
}

// Add adds a line, unless it is empty or equals the previous one.
func (h *History) Add(line string) error {
	if n := len(h.Lines); line == "" || n > 0 && h.Lines[n-1] == line {
		return nil
	}
	h.Lines = append(h.Lines, line)
	if h.File == "" || secret(line, h.Secrets) || !h.JSON && strings.Contains(line, "\n") {
		return nil
	}
	return errors.Join(h.append(line), h.trim())
}

// secret reports whether a line contains a secret: a known one, a text that looks
// like one, or a value after a telling name such as password=. The line is
// checked as it was typed, and as the words that a command receives.
func secret(line string, known *redact.Values) bool {
	if known.Text(line) != line {
		return true
	}
	words, last, _ := args.Unfinished(line)
	return slices.ContainsFunc(append(words, last), func(word string) bool {
		name, value, ok := strings.Cut(word, "=")
		return ok && value != "" && redact.Name(strings.TrimSuffix(name, ":")) || known.Text(word) != word
	})
}

func (h *History) append(line string) error {
	if err := os.MkdirAll(filepath.Dir(h.File), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(h.File, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	text := []byte(line)
	if h.JSON {
		text, _ = json.Marshal(line) // a string can always be encoded
	}
	_, err = f.Write(append(text, '\n'))
	return errors.Join(err, f.Close())
}

// decode returns a line of the file; empty if it cannot be read.
func (h *History) decode(line []byte) (s string) {
	if !h.JSON {
		return string(line)
	}
	mcp.Unmarshal(line, &s) // what cannot be read is skipped
	return s
}

// trim removes the oldest lines once there are twice as many as allowed. Lines
// that other processes add to the file meanwhile are preserved.
func (h *History) trim() error {
	if len(h.Lines) <= 2*maxHistory {
		return nil
	}
	h.Lines = slices.Clone(h.Lines[len(h.Lines)-maxHistory:])
	return safefile.Update(h.File, 0o600, func(old []byte) ([]byte, error) {
		lines := slices.Collect(bytes.Lines(old))
		return bytes.Join(lines[max(0, len(lines)-maxHistory):], nil), nil
	})
}
