package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/internal/visible"
)

// Approvals records which servers of project files the user has approved. An
// approval covers one server of one file and is valid while the server stays the
// same: command, arguments, folder, environment, URL, headers, the variables that
// it uses, and the program's file. Approvals are safe for concurrent use, also by
// several processes with one file.
type Approvals struct {
	file string

	updating sync.Mutex // held during an update of the file, without mu

	mu   sync.Mutex
	pins map[string]pin // by key
}

// A Verdict says whether a server may be started.
type Verdict struct {
	// Approved says that the server may be started.
	Approved bool

	// Refused is a sentence that says why the server can never be approved.
	// Empty means that the user may approve it.
	Refused string

	// Changed are the differences from what the user approved earlier. Nil if
	// no server with this name was approved.
	Changed []Change

	// Warnings are sentences to show before the user approves.
	Warnings []string

	// Pin is a digest of everything that an approval covers, for logs.
	Pin string
	// Program is the path of the program to start. Empty if it was not found or
	// the server is not a program.
	Program string
}

// A Change is a difference between what was approved and what is there now: of a
// server's entry, or of a tool's definition. Before and After can be shown as
// they are; one is empty if the thing did not exist.
type Change struct {
	What   string `json:"what"` // such as "command", "description" or "inputSchema/properties/path"
	Before string `json:"before"`
	After  string `json:"after"`
}

// OpenApprovals reads approvals from a file. A file that does not exist has none.
func OpenApprovals(file string) (*Approvals, error) {
	a := &Approvals{file: file}
	if err := a.load(); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *Approvals) load() error {
	root, err := open(a.file)
	var pins map[string]pin
	switch {
	case errors.Is(err, fs.ErrNotExist):
		pins, err = map[string]pin{}, nil
	case err == nil:
		pins, err = readPins(root)
	}
	if err != nil {
		return fmt.Errorf("read your approvals: %w; if you delete the file, you must approve all project servers again", err)
	}
	a.set(pins)
	return nil
}

func (a *Approvals) set(pins map[string]pin) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pins = pins
}

func readPins(root node) (map[string]pin, error) {
	pins := map[string]pin{}
	for _, file := range root.members() {
		if err := file.value.eachMember(func(s member) error {
			table, err := s.value.table()
			pins[file.name+"\x00"+s.name] = table
			return err
		}); err != nil {
			return nil, err
		}
	}
	return pins, nil
}

// key identifies the entry by its file and its name there.
func (s Server) key() string { return s.Source.File + "\x00" + s.Entry().Name }

// WithApprovals returns the server with the approvals that [Server.MayStart]
// checks.
func (s Server) WithApprovals(a *Approvals) Server {
	s.approvals = a
	return s
}

// MayStart returns nil if the server may be started as it is now, or an
// [*ApprovalError]. Call it before each start: it reads the approvals and the
// program's file, which may have changed. Servers from the command line and from
// the user's own file may always be started.
func (s Server) MayStart() error {
	if !s.Source.Project {
		return nil
	}
	refused := &ApprovalError{Server: s.Entry().Name}
	if s.approvals == nil {
		return refused
	}
	now, err := OpenApprovals(s.approvals.file)
	if err != nil {
		return err
	}
	v := now.Check(s)
	if v.Approved {
		return nil
	}
	refused.Refused, refused.Changed = v.Refused, v.Changed
	return refused
}

// An ApprovalError means that a project's server is not started because the user
// has not approved it as it is now.
type ApprovalError struct {
	Server  string
	Refused string   // why it cannot be approved; empty if it can
	Changed []Change // since the user approved it
}

func (e *ApprovalError) Error() string {
	if e.Refused != "" {
		return fmt.Sprintf("server %s is not started: %s", e.Server, e.Refused)
	}
	why := "you have not approved it"
	if len(e.Changed) > 0 {
		var what []string
		for _, c := range e.Changed {
			what = append(what, c.What)
		}
		why = fmt.Sprintf("it has changed since you approved it (%s)", strings.Join(what, ", "))
	}
	return fmt.Sprintf("server %s is not started: %s. Review it with tenon config approve %s, then restart it", e.Server, why, e.Server)
}

// Permanent returns true: a retry does not help.
func (e *ApprovalError) Permanent() bool { return true }

// Check returns whether a server may be started as it is now. Servers from the
// command line and from the user's own file always may; those of a project only
// if they were approved and have not changed. Check reads the program's file.
func (a *Approvals) Check(s Server) Verdict {
	v := Verdict{Warnings: warnings(s)}
	if !s.Source.Project {
		v.Approved = true
		return v
	}
	p := pinOf(s)
	v.Pin, v.Program = p.String(), p["program"]
	if v.Refused = refusal(s); v.Refused != "" {
		return v
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if before, ok := a.pins[s.key()]; ok {
		changed := p.changes(before)
		v.Approved = len(changed) == 0
		v.Changed = shown(changed, s)
	}
	return v
}

// shown makes changes safe to display: without digests of visible values, without
// secrets, and with invisible characters escaped.
func shown(list []Change, s Server) []Change {
	written := Server{Source: s.Source}
	for i, c := range list {
		if name, ok := strings.CutPrefix(c.What, "env "); ok && c.After != "" {
			c.After = written.show("env."+name, s.Entry().Env[name])
		}
		if name, ok := strings.CutPrefix(c.What, "header "); ok && c.After != "" {
			c.After = written.show("headers."+name, s.Entry().Headers[name])
		}
		if c.What != "binary" && c.What != "envFile" {
			c.Before, c.After = withoutDigest(c.Before), withoutDigest(c.After)
			if c.Before == c.After {
				c.Before = anotherValue
			}
		}
		list[i] = Change{visible.Line(c.What), visible.Line(c.Before), visible.Line(c.After)}
	}
	return list
}

const anotherValue = "(another value)"

// withoutDigest returns the visible part of a text that is pinned by its digest.
func withoutDigest(text string) string {
	visible, digest, ok := strings.Cut(text, "sha256:")
	if !ok || len(digest) != 64 {
		return text
	}
	return cmp.Or(strings.TrimSuffix(visible, " "), anotherValue)
}

// Approve records that the user approves a server as it is now.
func (a *Approvals) Approve(s Server) error {
	if !s.Source.Project {
		return nil
	}
	if why := refusal(s); why != "" {
		return fmt.Errorf("server %q cannot be approved: %s", s.Name, why)
	}
	p := pinOf(s)
	return a.update(func(pins map[string]pin) { pins[s.key()] = p })
}

// Forget removes the approvals of all servers with this name, in any project.
func (a *Approvals) Forget(name string) error {
	return a.update(func(pins map[string]pin) {
		maps.DeleteFunc(pins, func(key string, _ pin) bool { return strings.HasSuffix(key, "\x00"+name) })
	})
}

// update changes the approvals in the file and loads those that other processes
// have added.
func (a *Approvals) update(edit func(map[string]pin)) error {
	a.updating.Lock()
	defer a.updating.Unlock()
	var pins map[string]pin
	err := change(a.file, func(root node) (text []byte, err error) {
		if pins, err = readPins(root); err != nil {
			return nil, err
		}
		edit(pins)
		return writePins(pins)
	})
	if err != nil {
		return errors.Join(fmt.Errorf("save the approval: %w", err), a.load())
	}
	a.set(pins)
	return nil
}

func writePins(pins map[string]pin) ([]byte, error) {
	files := map[string]map[string]pin{}
	for key, p := range pins {
		file, name, _ := strings.Cut(key, "\x00")
		if files[file] == nil {
			files[file] = map[string]pin{}
		}
		files[file][name] = p
	}
	b, err := json.MarshalIndent(files, "", "  ")
	return append(b, '\n'), err
}
