package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// Approvals remember which servers of project files a person has approved. An
// approval is for one server of one file, and good for as long as everything
// that was approved stays the same: command, arguments, folder, names and
// values of its environment, URL, headers, the variables that it uses, and the
// program's file. It may be used by several goroutines, and several processes
// may use one file.
type Approvals struct {
	file string

	updating sync.Mutex // one update at a time; pins are free meanwhile

	mu   sync.Mutex
	pins map[string]pin // by key
}

// A Verdict says whether a server may be opened.
type Verdict struct {
	// Approved says that it may.
	Approved bool

	// Refused says, in a sentence, why it may never be. Empty means that the
	// person may approve it.
	Refused string

	// Changed is how it differs from what the person approved earlier. Nil if
	// nothing of this name was approved.
	Changed []Change

	// Warnings are what the person should know before approving, in sentences.
	Warnings []string

	// Pin is a digest of all that an approval is about. It is for logs.
	Pin string
	// Program is the file that Command stands for; start this one. Empty if
	// there is none or if the server is no program.
	Program string
}

// A Change is one thing that is not as it was approved. Before or After is
// empty where it was not there. Both can be shown as they are.
type Change struct{ What, Before, After string }

// OpenApprovals reads the approvals in a file. One that does not exist is
// empty. One that cannot be read is an error: to approve everything again,
// delete it.
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
		return fmt.Errorf("read your approvals: %w; if you delete the file, you are asked again about every project's servers", err)
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
		servers, err := file.value.object()
		if err != nil {
			return nil, err
		}
		for _, s := range servers {
			table, err := s.value.table()
			if err != nil {
				return nil, err
			}
			pins[file.name+"\x00"+s.name] = table
		}
	}
	return pins, nil
}

// key names the entry in its file, also if the server goes by another name.
func (s Server) key() string { return s.Source.File + "\x00" + s.Entry().Name }

// WithApprovals returns the server with the approvals that [Server.MayStart]
// looks at.
func (s Server) WithApprovals(a *Approvals) Server {
	s.approvals = a
	return s
}

// MayStart returns nil if the server may be started as it is now, or an
// [*ApprovalError]. It reads the file of the approvals and the program's file,
// so call it before each start: a program may change while its server is down.
// Servers that the person typed or has in their own file always may.
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

// An ApprovalError says that a project's server is not started, because the
// person has not approved it as it is now.
type ApprovalError struct {
	Server  string
	Refused string   // why it cannot be approved; empty if it can
	Changed []Change // since the person approved it
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
	return fmt.Sprintf("server %s is not started: %s. Look at it and approve it with tenon config approve %s, then restart it", e.Server, why, e.Server)
}

// Permanent reports that trying again does not help.
func (e *ApprovalError) Permanent() bool { return true }

// Check says whether a server may be opened as it is now. Servers that the
// person typed or has in their own file always may; those of a project may if
// they were approved and are the same still. For a program of a project its
// whole file is read.
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

// shown makes changes fit for a person: no digests of values that can be seen
// in the file itself, no secrets, and nothing that hides.
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

// withoutDigest returns what can be seen of a text that is pinned by its digest.
func withoutDigest(text string) string {
	seen, digest, ok := strings.Cut(text, "sha256:")
	switch {
	case !ok || len(digest) != 64:
		return text
	case seen == "":
		return anotherValue
	}
	return strings.TrimSuffix(seen, " ")
}

// Approve remembers that the person approves a server as it is now.
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

// Forget takes back the approvals of all servers of this name, in whatever
// project.
func (a *Approvals) Forget(name string) error {
	return a.update(func(pins map[string]pin) {
		maps.DeleteFunc(pins, func(key string, _ pin) bool { return strings.HasSuffix(key, "\x00"+name) })
	})
}

// update changes the approvals in the file, and takes over those that other
// processes have added to it.
func (a *Approvals) update(edit func(map[string]pin)) error {
	a.updating.Lock()
	defer a.updating.Unlock()
	var pins map[string]pin
	err := change(a.file, func(root node) (text []byte, err error) {
		if pins, err = readPins(root); err != nil {
			return nil, err
		}
		edit(pins)
		return writePins(pins), nil
	})
	if err != nil {
		return errors.Join(fmt.Errorf("keep the approval: %w", err), a.load())
	}
	a.set(pins)
	return nil
}

func writePins(pins map[string]pin) []byte {
	b := []byte("{")
	last := ""
	for i, key := range slices.Sorted(maps.Keys(pins)) {
		file, name, _ := strings.Cut(key, "\x00")
		switch {
		case i > 0 && file == last:
			b = append(b, ",\n"...)
		case i > 0:
			b = append(b, "\n  },\n"...)
		default:
			b = append(b, '\n')
		}
		if i == 0 || file != last {
			b = append(b, "  "...)
			b = append(rawjson.AppendString(b, file), ": {\n"...)
			last = file
		}
		b = append(b, "    "...)
		b = append(rawjson.AppendString(b, name), ": "...)
		b = append(b, pins[key].json("\n      ")...)
	}
	if len(pins) > 0 {
		b = append(b, "\n  }\n"...)
	}
	return append(b, "}\n"...)
}
