package host

import (
	"encoding/json"
	"net/url"
	"path/filepath"

	"github.com/tenon-mcp/tenon/app/editdiff"
	"github.com/tenon-mcp/tenon/app/permit"
)

// Edits says how the calls of a server change files.
type Edits struct {
	// Folders are where the server changes files, the one for relative paths
	// first.
	Folders []string

	// Find recognizes a call that changes a file; nil means [editdiff.Find].
	Find func(tool string, args json.RawMessage) (path string, apply func(before string, exists bool) (string, error), ok bool)
}

// SetEdits sets how the calls of a server change files. By default they are
// recognized by their arguments, in the user's folder and the roots of the server.
func (h *Host) SetEdits(server string, e Edits) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.edits == nil {
		h.edits = map[string]Edits{}
	}
	h.edits[server] = e
}

// edit returns the change of a file that a call requests, and the folders that the
// file may be in.
func (h *Host) edit(e *toolEntry, arguments json.RawMessage) (edit editdiff.Edit, folders []string, ok bool) {
	if e.skill || e.server == nil {
		return edit, nil, false
	}
	h.mu.Lock()
	known := h.edits[e.server.name]
	h.mu.Unlock()
	if folders = known.Folders; known.Find != nil {
		edit.Path, edit.Apply, ok = known.Find(e.tool.Name, arguments)
		return edit, folders, ok
	}
	if edit, ok = editdiff.Find(e.tool, arguments); !ok {
		return edit, nil, false
	}
	for _, r := range h.ClientSettings(e.server.name).Roots {
		if u, err := url.Parse(r.URI); err == nil && u.Scheme == "file" {
			folders = append(folders, filepath.FromSlash(u.Path))
		}
	}
	return edit, append(folders, h.opts.Folder), true
}

// diffOf returns what a call would change in a file; nil if the host does not know.
func (h *Host) diffOf(e *toolEntry, call *ToolCall) *editdiff.Diff {
	return h.diff(e, call.Arguments)
}

func (h *Host) diff(e *toolEntry, arguments json.RawMessage) *editdiff.Diff {
	edit, folders, ok := h.edit(e, arguments)
	if !ok {
		return nil
	}
	d := editdiff.Of(edit, folders)
	if d != nil {
		d.Text, d.Path = h.redact(d.Text), h.redact(d.Path)
		for i, n := range d.Notes {
			d.Notes[i] = h.redact(n)
		}
	}
	return d
}

// previewer returns a function that computes the difference for changed arguments.
func (h *Host) previewer(e *toolEntry, call *ToolCall) func(json.RawMessage) *editdiff.Diff {
	if e.skill || call.View != "" {
		return nil
	}
	return func(arguments json.RawMessage) *editdiff.Diff { return h.diff(e, arguments) }
}

// Preview returns what the call of an open ask would change in a file with other
// arguments; nil if the host does not know.
func (h *Host) Preview(id string, arguments json.RawMessage) *editdiff.Diff {
	h.mu.Lock()
	open := h.asks[id]
	h.mu.Unlock()
	if open == nil || open.ask.preview == nil {
		return nil
	}
	return open.ask.preview(arguments)
}

// A seenEdit is the change of a file that the user saw and allowed once.
type seenEdit struct {
	diff    *editdiff.Diff
	edit    editdiff.Edit
	folders []string
}

// current reports whether the file is still as the user saw it; nil is.
func (s *seenEdit) current() bool {
	return s == nil || editdiff.Current(s.diff, s.edit, s.folders)
}

// saw keeps the version of the file that the user allowed a call to change. An
// answer for more than this call counts whatever is in the file.
func (h *Host) saw(e *toolEntry, call *ToolCall, answer Reply, d *editdiff.Diff) {
	call.seen = nil
	if answer.Action != permit.Once || answer.By != person || d == nil {
		return
	}
	edit, folders, ok := h.edit(e, call.Arguments)
	if !ok {
		return
	}
	if call.Proposed != nil { // the user changed the arguments, and saw the difference for these
		if d = editdiff.Of(edit, folders); d == nil {
			return
		}
	}
	call.seen = &seenEdit{d, edit, folders}
}
