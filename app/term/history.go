package term

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/tenon-mcp/tenon/mcp"
)

// mostHistory is how many inputs are kept.
const mostHistory = 1000

// A history is what was typed before, the oldest first. It is kept in a file
// that only its owner can read, one JSON string on each line.
type history struct {
	file  string
	all   []string
	at    int    // which one is shown; len(all) means the draft
	draft string // what was being typed before looking back
}

// load reads the file. A line that cannot be read costs only itself.
func (h *history) load(file string) error {
	h.file = file
	if file == "" {
		return nil
	}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var s string
		if mcp.Unmarshal(lines.Bytes(), &s) == nil && s != "" {
			h.all = append(h.all, s)
		}
	}
	h.all = slices.Clone(h.all[max(0, len(h.all)-mostHistory):])
	h.at = len(h.all)
	return nil
}

// add remembers an input. The same twice in a row is kept once.
func (h *history) add(s string) error {
	defer func() { h.at, h.draft = len(h.all), "" }()
	if n := len(h.all); s == "" || n > 0 && h.all[n-1] == s {
		return nil
	}
	h.all = append(h.all, s)
	if h.file == "" {
		return nil
	}
	if len(h.all) > 2*mostHistory {
		h.all = slices.Clone(h.all[len(h.all)-mostHistory:])
		return h.write(os.O_TRUNC, h.all)
	}
	return h.write(os.O_APPEND, []string{s})
}

func (h *history) write(how int, some []string) error {
	if err := os.MkdirAll(filepath.Dir(h.file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(h.file, os.O_CREATE|os.O_WRONLY|how, 0o600)
	if err != nil {
		return err
	}
	var all []byte
	for _, s := range some {
		raw, err := json.Marshal(s)
		if err != nil {
			continue
		}
		all = append(append(all, raw...), '\n')
	}
	_, err = f.Write(all)
	return errors.Join(err, f.Close())
}

// back shows an earlier input, and forth a later one; now is what is being
// typed. They report false at the end.
func (h *history) back(now string) (string, bool) {
	if h.at == 0 {
		return "", false
	}
	if h.at == len(h.all) {
		h.draft = now
	}
	h.at--
	return h.all[h.at], true
}

func (h *history) forth() (string, bool) {
	if h.at >= len(h.all) {
		return "", false
	}
	h.at++
	if h.at == len(h.all) {
		return h.draft, true
	}
	return h.all[h.at], true
}
