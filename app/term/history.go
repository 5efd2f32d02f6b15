package term

import (
	"github.com/tenon-mcp/tenon/app/repl"
	"github.com/tenon-mcp/tenon/internal/redact"
)

// A history recalls what the user typed before. It remembers the position while
// the user looks back.
type history struct {
	repl.History
	at    int    // the shown line; len(Lines) means the draft
	draft string // what was being typed before looking back
}

// load reads the history in file, whose lines are saved without these secrets.
func (h *history) load(file string, secrets *redact.Values) error {
	h.History = repl.History{File: file, JSON: true, Secrets: secrets}
	err := h.Load()
	h.at = len(h.Lines)
	return err
}

// add adds an input and ends looking back.
func (h *history) add(s string) error {
	err := h.Add(s)
	h.at, h.draft = len(h.Lines), ""
	return err
}

// back returns the previous input, and forth the next one; typed is the input
// being typed. They return false at the end.
func (h *history) back(typed string) (string, bool) {
	if h.at == 0 {
		return "", false
	}
	if h.at == len(h.Lines) {
		h.draft = typed
	}
	h.at--
	return h.Lines[h.at], true
}

func (h *history) forth() (string, bool) {
	if h.at >= len(h.Lines) {
		return "", false
	}
	h.at++
	if h.at == len(h.Lines) {
		return h.draft, true
	}
	return h.Lines[h.at], true
}
