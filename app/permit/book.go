package permit

import (
	"encoding/json"
	"fmt"
	"slices"
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
	file     string // where answers are kept; empty means in memory only

	mu       sync.Mutex
	kept     map[string]record          // by server and tool
	sessions map[string]map[string]bool // session -> server and tool
}

// A record is what is known of one tool.
type record struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
	// Answer is always or never; empty if only the definition is known.
	Answer string `json:"answer,omitzero"`
	// Definition is what the person has seen and approved.
	Definition json.RawMessage `json:"definition,omitzero"`
}

// A Verdict is what a Book says to a call.
type Verdict struct {
	Effect config.Effect // allow, ask or deny
	Why    string        // the rule or answer that decided, in words

	First    bool     // the person has never approved this tool: show the definition in full
	Changes  []Change // what changed in the definition since it was approved
	Loud     bool     // the tool may destroy something or reaches the open world, as far as anybody knows
	Warnings []string // what looks wrong about the definition
}

// A Change is a difference between the definition that was approved and the one
// that is there now.
type Change struct {
	What   string `json:"what"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// Open reads the book in a file, which need not exist yet. An empty name is a
// book that is forgotten with the process.
func Open(file string, s config.Settings) (*Book, error) {
	b := &Book{settings: s, file: file, kept: map[string]record{}, sessions: map[string]map[string]bool{}}
	return b, b.load()
}

func key(server, tool string) string { return server + "\x00" + tool }

// Judge decides on a call. Args is what the tool would be given.
func (b *Book) Judge(server string, tool *mcp.Tool, args json.RawMessage, session string) Verdict {
	effect, rule := b.settings.Decide(server, tool.Name, args)
	v := Verdict{Effect: config.Ask, Loud: loud(tool.Annotations), Warnings: Suspect(tool)}
	b.mu.Lock()
	known, seen := b.kept[key(server, tool.Name)]
	inSession := b.sessions[session][key(server, tool.Name)]
	b.mu.Unlock()
	v.First = !seen || known.Definition == nil
	if !v.First {
		v.Changes = Compare(known.Definition, definition(tool))
	}
	switch {
	case effect == config.Deny && rule != nil:
		v.Effect, v.Why = config.Deny, "denied by "+ruleText(rule)
	case known.Answer == Never:
		v.Effect, v.Why = config.Deny, "you said never"
	case len(v.Changes) > 0:
		v.Why = fmt.Sprintf("%s has changed its definition since you approved it", tool.Name)
	case effect == config.Ask && rule != nil:
		v.Why = "asked because of " + ruleText(rule)
	case known.Answer == Always:
		v.Effect, v.Why = config.Allow, "you said always"
	case inSession:
		v.Effect, v.Why = config.Allow, "you allowed it for this session"
	case effect == config.Allow && rule != nil:
		v.Effect, v.Why = config.Allow, "allowed by "+ruleText(rule)
	case b.trusts(server) && tool.Annotations.ReadOnly():
		v.Effect, v.Why = config.Allow, "you trust "+server+", and it says that this only reads"
	default:
		v.Why = "no rule says anything"
	}
	return v
}

// Hidden reports whether the model should not see a tool, because no call of it
// would be allowed whatever its arguments.
func (b *Book) Hidden(server string, tool *mcp.Tool) bool {
	b.mu.Lock()
	never := b.kept[key(server, tool.Name)].Answer == Never
	b.mu.Unlock()
	return never || b.settings.Hidden(server, tool.Name)
}

// Answer remembers what the person said to a question about a tool. What they
// have approved is the definition that they were shown.
func (b *Book) Answer(server string, tool *mcp.Tool, session, answer string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := key(server, tool.Name)
	r := b.kept[k]
	r.Server, r.Tool = server, tool.Name
	switch answer {
	case Once, Session, Always:
		if len(Compare(r.Definition, definition(tool))) > 0 {
			r.Answer = "" // what was said before was said about something else
			for _, allowed := range b.sessions {
				delete(allowed, k)
			}
		}
		r.Definition = definition(tool)
		if answer == Always {
			r.Answer = Always
		}
		if answer == Session {
			if b.sessions[session] == nil {
				b.sessions[session] = map[string]bool{}
			}
			b.sessions[session][k] = true
		}
	case Never:
		r.Answer = Never
	case Deny:
		return nil
	default:
		return fmt.Errorf("there is no answer %q: choose once, session, always, deny or never", answer)
	}
	b.kept[k] = r
	return b.save(k)
}

// Pin remembers the definition of a tool that a rule has let pass without a
// question, so that a later change is noticed.
func (b *Book) Pin(server string, tool *mcp.Tool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := key(server, tool.Name)
	if r, ok := b.kept[k]; ok && r.Definition != nil {
		return nil
	}
	b.kept[k] = record{Server: server, Tool: tool.Name, Definition: definition(tool), Answer: b.kept[k].Answer}
	return b.save(k)
}

// Forget takes back what was said about a tool; an empty tool means all tools
// of the server.
func (b *Book) Forget(server, tool string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var gone []string
	for k, r := range b.kept {
		if r.Server == server && (tool == "" || r.Tool == tool) {
			delete(b.kept, k)
			gone = append(gone, k)
			for _, s := range b.sessions {
				delete(s, k)
			}
		}
	}
	return b.save(gone...)
}

// Sensitive reports whether data of one server may not go to another without
// the person's say.
func (b *Book) Sensitive(from, to string) bool { return b.settings.IsSensitive(from, to) }

// trusts reports whether the person takes a server's word about its own tools.
func (b *Book) trusts(server string) bool {
	return slices.ContainsFunc(b.settings.Trust, func(glob string) bool { return config.Glob(glob, server) })
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
