package permit

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/mcp"
)

// The answers of a person; see [Book.Answer].
const (
	Once    = "once"    // this call
	Session = "session" // all calls of this tool in this session
	Always  = "always"  // all calls of this tool, until it changes
	Deny    = "deny"    // not this call
	Never   = "never"   // no call of this tool; the model does not see it any more
)

// A Book remembers what is allowed. It may be used by many goroutines.
type Book struct {
	settings config.Settings
	project  config.Settings // settings as they count for servers of projects
	file     string          // where answers are kept; empty means in memory only

	updating sync.Mutex      // one update at a time; what mu guards is free meanwhile
	unsaved  []func(records) // changes that could not be written, and the one under way

	mu       sync.Mutex
	kept     records
	stamp    fs.FileInfo                // of the file that kept was read from; nil if there was none
	stale    bool                       // the file must be read again
	sessions map[string]map[string]bool // session -> server and tool
	servers  map[string]Identity        // what each server is now
	projects map[string]bool            // servers that came with a project
	refused  map[string]json.RawMessage // definitions that the person saw, found suspicious, and denied; by server and tool
}

// An Identity says what a server is, as facts by their names, such as "command"
// and "URL"; see config.Server.Identity. It holds no secrets: it is stored and
// shown.
type Identity map[string]string

// A record is what is known of one tool.
type record struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
	// Answer is always or never; empty if only the definition is known.
	Answer string `json:"answer,omitzero"`
	// Definition is what the person has seen and approved.
	Definition json.RawMessage `json:"definition,omitzero"`
	// Identity is what the server was then. Nil in files of older versions,
	// which did not record it: the approval does not count any more.
	Identity Identity `json:"identity,omitzero"`
}

// A Verdict is what a Book says to a call.
type Verdict struct {
	Effect config.Effect // allow, ask or deny
	Why    string        // the rule or answer that decided, in words

	EachTime bool            // a rule asks about every call: an answer counts for this call only
	First    bool            // the person has never approved this tool: show the definition in full
	Changes  []config.Change // what changed in the server or the definition since it was approved
	Typed    bool            // a rule of the command line allows it, also if it has changed
	Loud     bool            // the tool may destroy something or reaches the open world, as far as anybody knows
	Warnings []string        // what looks wrong about the definition
}

// Open reads the book in a file, which need not exist yet. An empty name is a
// book that is forgotten with the process.
func Open(file string, s config.Settings) (*Book, error) {
	b := &Book{settings: s, project: s.ForProject(), projects: map[string]bool{}, file: file, kept: records{}, sessions: map[string]map[string]bool{}, servers: map[string]Identity{}, refused: map[string]json.RawMessage{}}
	return b, b.load()
}

func key(server, tool string) string { return server + "\x00" + tool }

// Identify says what a server is now. An approval counts only for what the
// server was when it was given.
func (b *Book) Identify(server string, is Identity) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.servers[server] = is
}

// FromProject says whether a server came with a project. If so, rules allow its
// tools only if they are for projects or of the command line, and Trust does not
// count.
func (b *Book) FromProject(server string, project bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.projects[server] = project
}

// settingsFor returns the settings that count for a server.
func (b *Book) settingsFor(server string) config.Settings {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.projects[server] {
		return b.project
	}
	return b.settings
}

// Judge decides on a call. Args is what the tool would be given. What other
// processes have written to the file counts.
func (b *Book) Judge(server string, tool *mcp.Tool, args json.RawMessage, session string) Verdict {
	b.refresh()
	settings := b.settingsFor(server)
	effect, rule := settings.Decide(server, tool.Name, args)
	v := Verdict{Effect: config.Ask, Loud: loud(tool.Annotations), Warnings: Suspect(tool)}
	v.Typed = settings.AllowedByCommandLine(server, tool.Name, args)
	b.mu.Lock()
	known := b.kept[key(server, tool.Name)]
	is := b.servers[server]
	inSession := b.sessions[session][key(server, tool.Name)]
	b.mu.Unlock()
	v.First = known.Definition == nil
	v.Changes = known.changes(is, tool)
	switch {
	case effect == config.Deny && rule != nil:
		v.Effect, v.Why = config.Deny, "Denied by "+ruleText(rule)
	case known.Answer == Never:
		v.Effect, v.Why = config.Deny, "You always deny this tool"
	case v.Typed:
		v.Effect, v.Why = config.Allow, "Allowed by --allow"
	case len(v.Changes) > 0:
		v.Why = fmt.Sprintf("%s/%s has changed since you approved it", server, tool.Name)
	case effect == config.Ask && rule != nil:
		v.Why, v.EachTime = "You are asked by "+ruleText(rule), true
	case known.Answer == Always:
		v.Effect, v.Why = config.Allow, "Always allowed"
	case inSession:
		v.Effect, v.Why = config.Allow, "Allowed for this session"
	case effect == config.Allow && rule != nil:
		v.Effect, v.Why = config.Allow, "Allowed by "+ruleText(rule)
	case trusts(settings, server) && tool.Annotations.ReadOnly():
		v.Effect, v.Why = config.Allow, "You trust "+server+", and it says that this tool only reads"
	default:
		v.Why = "No rule covers this tool"
	}
	return v
}

// changes lists what is not as it was approved; nothing if nothing was.
func (r *record) changes(is Identity, tool *mcp.Tool) []config.Change {
	if r.Definition == nil {
		return nil
	}
	return append(r.Identity.changes(is), Compare(r.Definition, definition(tool))...)
}

// Hidden reports whether the model should not see a tool, because no call of it
// would be allowed whatever its arguments.
func (b *Book) Hidden(server string, tool *mcp.Tool) bool {
	b.refresh()
	b.mu.Lock()
	never := b.kept[key(server, tool.Name)].Answer == Never
	b.mu.Unlock()
	return never || b.settings.Hidden(server, tool.Name)
}

// Held says why the definition of a tool must not reach the model before the
// person approves it: it has changed since it was approved, or it looks like
// orders to the model and the person has denied it. Empty means that it may.
func (b *Book) Held(server string, tool *mcp.Tool) string {
	b.refresh()
	k := key(server, tool.Name)
	b.mu.Lock()
	known, refused := b.kept[k].Definition, b.refused[k]
	b.mu.Unlock()
	switch {
	case known == nil && refused == nil, b.settings.AllowedByCommandLine(server, tool.Name, nil):
		return ""
	case len(Compare(known, definition(tool))) > 0:
		return "it has changed since you approved it"
	case refused != nil && len(Compare(refused, definition(tool))) == 0:
		return "its description looks like instructions to the model, and you denied it"
	}
	return ""
}

// Answer remembers what the person said to a question about a tool. What they
// have approved is the definition that they were shown, on the server as it is
// now.
func (b *Book) Answer(server string, tool *mcp.Tool, session, answer string) error {
	k := key(server, tool.Name)
	switch answer {
	case Once, Session, Always:
		if answer == Session {
			defer b.allowInSession(session, k) // after those of a changed tool are dropped
		}
		return b.approve(server, tool, answer)
	case Never:
		return b.update(func(all records) {
			r := all[k]
			r.Server, r.Tool, r.Answer = server, tool.Name, Never
			all[k] = r
		})
	case Deny:
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.kept[k].Definition == nil && len(Suspect(tool)) > 0 {
			b.refused[k] = definition(tool)
		}
		return nil
	}
	return fmt.Errorf("unknown answer %q: use once, session, always, deny or never", answer)
}

func (b *Book) allowInSession(session, k string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sessions[session] == nil {
		b.sessions[session] = map[string]bool{}
	}
	b.sessions[session][k] = true
}

// approve records the definition of a tool and what its server is now. An answer
// once or session takes back an earlier one that was about something else; with
// always it becomes the answer, and with none the earlier one stays.
func (b *Book) approve(server string, tool *mcp.Tool, answer string) error {
	is := b.seen(server, tool, answer != "")
	return b.update(func(all records) {
		r := all[key(server, tool.Name)]
		switch {
		case answer == Always:
			r.Answer = Always
		case answer != "" && len(r.changes(is, tool)) > 0:
			r.Answer = ""
		}
		all.approve(r, server, tool, is)
	})
}

// seen notes in memory that a tool's definition is taken as it is, and returns
// what its server is. If answered, sessions do not allow a changed tool any more.
func (b *Book) seen(server string, tool *mcp.Tool, answered bool) Identity {
	k := key(server, tool.Name)
	b.mu.Lock()
	defer b.mu.Unlock()
	is := Identity{}
	maps.Copy(is, b.servers[server])
	delete(b.refused, k)
	if known := b.kept[k]; answered && len(known.changes(is, tool)) > 0 {
		for _, allowed := range b.sessions {
			delete(allowed, k)
		}
	}
	return is
}

func (all records) approve(r record, server string, tool *mcp.Tool, is Identity) {
	r.Server, r.Tool, r.Definition, r.Identity = server, tool.Name, definition(tool), is
	all[key(server, tool.Name)] = r
}

// Approve takes the definition of a tool and what its server is now as what the
// person has seen. What they said about the tool before counts again; whether
// it may be called is not decided.
func (b *Book) Approve(server string, tool *mcp.Tool) error { return b.approve(server, tool, "") }

// Changes lists what is not as it was approved. First says that nothing was.
func (b *Book) Changes(server string, tool *mcp.Tool) (changes []config.Change, first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.kept[key(server, tool.Name)]
	return r.changes(b.servers[server], tool), r.Definition == nil
}

// Pin remembers the definition of a tool that a rule of the configuration has
// let pass without a question, so that a later change is noticed.
func (b *Book) Pin(server string, tool *mcp.Tool) error {
	if _, first := b.Changes(server, tool); !first {
		return nil
	}
	is := b.seen(server, tool, false)
	return b.update(func(all records) {
		// Another process may have recorded what the person has really seen.
		if r := all[key(server, tool.Name)]; r.Definition == nil {
			all.approve(r, server, tool, is)
		}
	})
}

// Forget takes back what was said about a tool; an empty tool means all tools
// of the server.
func (b *Book) Forget(server, tool string) error {
	about := func(k string) bool {
		return k == key(server, tool) || tool == "" && strings.HasPrefix(k, key(server, ""))
	}
	b.mu.Lock()
	maps.DeleteFunc(b.refused, func(k string, _ json.RawMessage) bool { return about(k) })
	for _, allowed := range b.sessions {
		maps.DeleteFunc(allowed, func(k string, _ bool) bool { return about(k) })
	}
	b.mu.Unlock()
	return b.update(func(all records) {
		maps.DeleteFunc(all, func(k string, _ record) bool { return about(k) })
	})
}

// Sensitive reports whether data of one server may not go to another without
// the person's say.
func (b *Book) Sensitive(from, to string) bool { return b.settings.IsSensitive(from, to) }

// trusts reports whether the person takes a server's word about its own tools.
func trusts(s config.Settings, server string) bool {
	return slices.ContainsFunc(s.Trust, func(glob string) bool { return config.Glob(glob, server) })
}

// loud reports whether a question about a tool should stand out. What a server
// does not deny is assumed.
func loud(a *mcp.ToolAnnotations) bool { return !a.ReadOnly() && (a.Destructive() || a.OpenWorld()) }

func ruleText(r *config.Rule) string {
	text := fmt.Sprintf("the rule %q for %s", r.Effect, r.Server)
	if r.Tool != "" {
		text += "/" + r.Tool
	}
	return text
}
