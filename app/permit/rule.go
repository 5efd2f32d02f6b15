package permit

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/mcp"
)

// Project is the answer that allows calls while the host works in its folder; see
// [Book.Allow].
const Project = "project"

// A Rule allows calls of one tool that match a pattern. Like [Always], it counts for
// the definition of the tool and the identity of the server that the user saw.
type Rule struct {
	Label string `json:"label"`
	// Args and Free are those of the Proposal. No Args: all calls.
	Args map[string]string `json:"args,omitzero"`
	Free []string          `json:"free,omitzero"`
	// Folder is where the host must work, or above it. Empty: everywhere.
	Folder string    `json:"folder,omitzero"`
	Since  time.Time `json:"since,omitzero"`
}

// A sessionRule is a rule for one session.
type sessionRule struct {
	session string
	Rule
}

// equal reports whether two rules allow the same calls.
func (r Rule) equal(o Rule) bool {
	return r.Folder == o.Folder && maps.Equal(r.Args, o.Args) && slices.Equal(r.Free, o.Free)
}

func (r Rule) match(args json.RawMessage) bool {
	p := Proposal{Args: r.Args, Free: r.Free}
	return len(r.Args) == 0 || p.Match(args)
}

// SetFolder sets where the host works, as an absolute path, for rules of projects
// and folders.
func (b *Book) SetFolder(folder string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.folder = folder
	b.settings = b.everywhere.In(folder)
	b.project = b.settings.ForProject()
}

// patternFor returns which pattern allows a call; empty if none does. b.mu is held.
func (b *Book) patternFor(known record, k, session string, args json.RawMessage) string {
	for _, r := range known.Rules {
		if (r.Folder == "" || config.Within(b.folder, r.Folder)) && r.match(args) {
			return r.Text()
		}
	}
	for _, r := range b.patterns[k] {
		if r.session == session && r.match(args) {
			return "Allowed " + r.Label + " for this session"
		}
	}
	return ""
}

// Text says what the rule allows.
func (r Rule) Text() string {
	text := "Always allowed " + r.Label
	if r.Folder != "" {
		text = "Allowed " + r.Label + " for the project " + r.Folder
	}
	return text
}

// errNoFolder is returned for a rule for a project outside of any.
var errNoFolder = errors.New("the folder of the project is not known")

// Allow stores that the user allows the calls that a proposal matches: in this
// session, in this project or always. Without a proposal it allows all calls of the
// tool in this project. It approves the shown definition, as [Book.Answer] does.
func (b *Book) Allow(server string, tool *mcp.Tool, session, scope string, p *Proposal) error {
	r := Rule{Label: "all calls", Since: time.Now().UTC().Truncate(time.Second)}
	if p != nil {
		r.Label, r.Args, r.Free = p.Label, maps.Clone(p.Args), slices.Clone(p.Free)
	}
	b.mu.Lock()
	folder := b.folder
	b.mu.Unlock()
	switch {
	case p != nil && len(p.Args) == 0, p == nil && scope != Project:
		return errors.New("a pattern is required")
	case scope == Project && folder == "":
		return errNoFolder
	case scope == Project:
		r.Folder = folder
	case scope != Session && scope != Always:
		return errors.New("unknown scope " + scope)
	}
	err := b.approve(server, tool, Once)
	k := key(server, tool.Name)
	if scope == Session {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.patterns[k] = append(b.patterns[k], sessionRule{session, r})
		return err
	}
	return errors.Join(err, b.update(func(all records) {
		known := all[k]
		if !slices.ContainsFunc(known.Rules, r.equal) {
			known.Server, known.Tool, known.Rules = server, tool.Name, append(slices.Clip(known.Rules), r)
		}
		all[k] = known
	}))
}
