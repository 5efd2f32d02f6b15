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

// The answers of the user; see [Book.Answer].
const (
	Once    = "once"    // this call
	Session = "session" // all calls of this tool in this session
	Always  = "always"  // all calls of this tool, until it changes
	Deny    = "deny"    // not this call
	Never   = "never"   // no call of this tool, which is hidden from the model
)

// A Book decides which calls are allowed and stores the answers of the user. It
// is safe for concurrent use.
type Book struct {
	everywhere config.Settings // with the rules for all folders

	settings config.Settings // in the folder where the host works
	project  config.Settings // the settings for servers of projects
	file     string          // where answers are saved; empty: nowhere

	updating sync.Mutex      // one update at a time, without holding mu
	unsaved  []func(records) // changes that are not written yet

	mu       sync.Mutex
	kept     records
	stamp    fs.FileInfo                // of the file when kept was read; nil if there was none
	stale    bool                       // the file must be read again
	folder   string                     // where the host works; empty: unknown
	sessions map[string]map[string]bool // session -> server and tool
	patterns map[string][]sessionRule   // server and tool -> what sessions allow
	servers  map[string]Identity        // of each server now
	projects map[string]bool            // servers of a project's file
	refused  map[string]json.RawMessage // suspicious definitions that the user denied, by server and tool
}

// An Identity has the facts that identify a server, by name, such as "command"
// and "URL"; see config.Server.Identity. It has no secrets: it is stored and
// shown.
type Identity map[string]string

// A record is what is stored about one tool.
type record struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
	// Answer is always or never; empty if only the definition is known.
	Answer string `json:"answer,omitzero"`
	// Rules are patterns of calls that are allowed.
	Rules []Rule `json:"rules,omitzero"`
	// Definition is what the user has seen and approved.
	Definition json.RawMessage `json:"definition,omitzero"`
	// Identity is that of the server then. Nil in files of older versions, whose
	// approvals no longer count.
	Identity Identity `json:"identity,omitzero"`
}

// A Verdict is the decision of a Book about a call.
type Verdict struct {
	Effect config.Effect // allow, ask or deny
	Why    string        // the rule or answer that decided

	EachTime bool            // a rule asks about every call: an answer counts for this call only
	First    bool            // the user never approved this tool: show the definition in full
	Changes  []config.Change // what changed in the server or the definition since it was approved
	Typed    bool            // a rule of the command line allows it, also if it has changed
	Loud     bool            // the tool may destroy something or reach the open world
	Warnings []string        // suspicious parts of the definition
}

// Open reads the book in a file, which need not exist. A book with an empty file
// name is not saved.
func Open(file string, s config.Settings) (*Book, error) {
	b := &Book{everywhere: s, projects: map[string]bool{}, file: file, kept: records{}, sessions: map[string]map[string]bool{}, patterns: map[string][]sessionRule{}, servers: map[string]Identity{}, refused: map[string]json.RawMessage{}}
	b.SetFolder("")
	return b, b.load()
}

func key(server, tool string) string { return server + "\x00" + tool }

// Identify sets the identity of a server. An approval counts only for the
// identity that it was given for.
func (b *Book) Identify(server string, is Identity) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.servers[server] = is
}

// FromProject sets whether a server is from a project's file. If so, only rules
// for projects and of the command line allow its tools, and Trust does not count.
func (b *Book) FromProject(server string, project bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.projects[server] = project
}

// settingsFor returns the settings for a server.
func (b *Book) settingsFor(server string) config.Settings {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.projects[server] {
		return b.project
	}
	return b.settings
}

// Judge decides about a call with args. It takes into account what other
// processes wrote to the file.
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
	pattern := b.patternFor(known, key(server, tool.Name), session, args)
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
	case pattern != "":
		v.Effect, v.Why = config.Allow, pattern
	case effect == config.Allow && rule != nil:
		v.Effect, v.Why = config.Allow, "Allowed by "+ruleText(rule)
	case trusts(settings, server) && tool.Annotations.ReadOnly():
		v.Effect, v.Why = config.Allow, "You trust "+server+", and it says that this tool only reads"
	default:
		v.Why = "No rule covers this tool"
	}
	return v
}

// changes returns the differences to what was approved; none if nothing was
// approved.
func (r *record) changes(is Identity, tool *mcp.Tool) []config.Change {
	if r.Definition == nil {
		return nil
	}
	return append(r.Identity.changes(is), compare(r.Definition, definitionOf(tool))...)
}

// Hidden reports whether to hide a tool from the model, because no call of it is
// allowed.
func (b *Book) Hidden(server string, tool *mcp.Tool) bool {
	b.refresh()
	b.mu.Lock()
	never, settings := b.kept[key(server, tool.Name)].Answer == Never, b.settings
	b.mu.Unlock()
	return never || settings.Hidden(server, tool.Name)
}

// Held returns why the definition of a tool must not reach the model before the
// user approves it: it has changed since it was approved, or it is suspicious and
// the user denied it. Empty means that it may.
func (b *Book) Held(server string, tool *mcp.Tool) string {
	b.refresh()
	k := key(server, tool.Name)
	b.mu.Lock()
	known, refused, settings := b.kept[k].Definition, b.refused[k], b.settings
	b.mu.Unlock()
	switch {
	case known == nil && refused == nil, settings.AllowedByCommandLine(server, tool.Name, nil):
		return ""
	case len(compare(known, definitionOf(tool))) > 0:
		return "it has changed since you approved it"
	case refused != nil && len(compare(refused, definitionOf(tool))) == 0:
		return "its description looks like instructions to the model, and you denied it"
	}
	return ""
}

// Answer stores the user's answer about a tool. It approves the shown definition,
// on the server as it is now.
func (b *Book) Answer(server string, tool *mcp.Tool, session, answer string) error {
	k := key(server, tool.Name)
	switch answer {
	case Once, Session, Always:
		if answer == Session {
			defer b.allowInSession(session, k) // after the sessions of a changed tool are dropped
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
			b.refused[k] = definitionOf(tool)
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

// approve stores the definition of a tool and the identity of its server. The
// answer once or session removes an earlier one about another definition; always
// replaces it, and none keeps it.
func (b *Book) approve(server string, tool *mcp.Tool, answer string) error {
	is := b.seen(server, tool, answer != "")
	return b.update(func(all records) {
		r := all[key(server, tool.Name)]
		switch {
		case answer == Always && len(r.changes(is, tool)) > 0:
			r.Answer, r.Rules = Always, nil
		case answer == Always:
			r.Answer = Always
		case answer != "" && len(r.changes(is, tool)) > 0:
			r.Answer, r.Rules = "", nil
		}
		all.approve(r, server, tool, is)
	})
}

// seen records in memory that a tool's definition is accepted, and returns the
// identity of its server. If answered, sessions no longer allow a changed tool.
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
		delete(b.patterns, k)
	}
	return is
}

func (all records) approve(r record, server string, tool *mcp.Tool, is Identity) {
	r.Server, r.Tool, r.Definition, r.Identity = server, tool.Name, definitionOf(tool), is
	all[key(server, tool.Name)] = r
}

// Approve stores the definition of a tool and the identity of its server as seen
// by the user, so that earlier answers about the tool count again. It does not
// decide whether the tool may be called.
func (b *Book) Approve(server string, tool *mcp.Tool) error { return b.approve(server, tool, "") }

// Changes returns the differences to what was approved. First reports that
// nothing was approved.
func (b *Book) Changes(server string, tool *mcp.Tool) (changes []config.Change, first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.kept[key(server, tool.Name)]
	return r.changes(b.servers[server], tool), r.Definition == nil
}

// Pin stores the definition of a tool that a rule of the configuration allowed
// without a question, so that a later change is noticed.
func (b *Book) Pin(server string, tool *mcp.Tool) error {
	if _, first := b.Changes(server, tool); !first {
		return nil
	}
	is := b.seen(server, tool, false)
	return b.update(func(all records) {
		// Another process may have stored what the user has seen.
		if r := all[key(server, tool.Name)]; r.Definition == nil {
			all.approve(r, server, tool, is)
		}
	})
}

// Forget removes the answers about a tool; an empty tool means all tools of the
// server.
func (b *Book) Forget(server, tool string) error {
	about := func(k string) bool {
		return k == key(server, tool) || tool == "" && strings.HasPrefix(k, key(server, ""))
	}
	b.mu.Lock()
	maps.DeleteFunc(b.refused, func(k string, _ json.RawMessage) bool { return about(k) })
	for _, allowed := range b.sessions {
		maps.DeleteFunc(allowed, func(k string, _ bool) bool { return about(k) })
	}
	maps.DeleteFunc(b.patterns, func(k string, _ []sessionRule) bool { return about(k) })
	b.mu.Unlock()
	return b.update(func(all records) {
		maps.DeleteFunc(all, func(k string, _ record) bool { return about(k) })
	})
}

// Decided returns the names of the tools of a server that the book has an answer or
// an approved definition of, sorted.
func (b *Book) Decided(server string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var names []string
	for _, r := range b.kept {
		if r.Server == server {
			names = append(names, r.Tool)
		}
	}
	slices.Sort(names)
	return names
}

// Sensitive reports whether the user must allow data of one server to go to
// another.
func (b *Book) Sensitive(from, to string) bool {
	b.mu.Lock()
	settings := b.settings
	b.mu.Unlock()
	return settings.IsSensitive(from, to)
}

// trusts reports whether the user trusts a server's annotations of its own tools.
func trusts(s config.Settings, server string) bool {
	return slices.ContainsFunc(s.Trust, func(glob string) bool { return config.Glob(glob, server) })
}

// loud reports whether a question about a tool should stand out. Annotations that
// are not set count as true.
func loud(a *mcp.ToolAnnotations) bool { return !a.ReadOnly() && (a.Destructive() || a.OpenWorld()) }

func ruleText(r *config.Rule) string {
	text := fmt.Sprintf("the rule %q for %s", r.Effect, r.Server)
	if r.Tool != "" {
		text += "/" + r.Tool
	}
	return text
}
