package permit

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
)

// The scopes of an [Entry], the one that is looked at first first.
const (
	ScopeCommandLine = "command line" // until the program ends
	ScopeSession     = "session"      // in one conversation
	ScopeProject     = "project"      // in one folder
	ScopeUser        = "user"         // everywhere
	ScopeDefault     = "default"      // what counts without rules
)

var scopes = []string{ScopeCommandLine, ScopeSession, ScopeProject, ScopeUser, ScopeDefault}

// An Entry is a rule or an answer that decides calls, for lists that people see.
type Entry struct {
	ID     string            `json:"id"` // the same as long as the entry decides the same
	Scope  string            `json:"scope"`
	Effect config.Effect     `json:"effect"`
	Server string            `json:"server"`         // a pattern
	Tool   string            `json:"tool"`           // a pattern
	Args   map[string]string `json:"args,omitzero"`  // patterns by argument
	About  string            `json:"about,omitzero"` // which calls it is about, if not all
	From   string            `json:"from"`           // where it is from: a file, a flag, an answer
	Folder string            `json:"folder,omitzero"`
	Since  time.Time         `json:"since,omitzero"`
	Off    string            `json:"off,omitzero"`   // why it does not count here; empty: it does
	Fixed  string            `json:"fixed,omitzero"` // why it cannot be changed or removed; empty: it can

	remove func() error
	change func(config.Effect) error
}

// Name returns what the entry is about, as server/tool.
func (e *Entry) Name() string { return e.Server + "/" + e.Tool }

// errOnlyRemove is returned for a change of an entry that can only be removed.
var errOnlyRemove = errors.New("it can only be removed; /allow and /deny decide about a tool anew")

// List returns all rules and answers that decide calls in a session, and those that
// do not count here, ordered by scope and name. An empty session has none of its
// own.
func (b *Book) List(session string) []Entry {
	b.refresh()
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []Entry
	for _, r := range b.everywhere.Rules {
		all = append(all, b.ruleEntry(r))
	}
	for _, k := range slices.Sorted(maps.Keys(b.kept)) {
		all = append(all, b.answerEntries(k, b.kept[k])...)
	}
	for _, k := range slices.Sorted(maps.Keys(b.sessions[session])) {
		server, tool, _ := strings.Cut(k, "\x00")
		all = append(all, Entry{Scope: ScopeSession, Effect: config.Allow, Server: server, Tool: tool, From: "your answer", change: onlyRemove, remove: func() error {
			b.mu.Lock()
			defer b.mu.Unlock()
			delete(b.sessions[session], k)
			return nil
		}})
	}
	for _, k := range slices.Sorted(maps.Keys(b.patterns)) {
		for _, r := range b.patterns[k] {
			if r.session == session {
				all = append(all, b.patternEntry(k, session, r.Rule))
			}
		}
	}
	for _, glob := range b.everywhere.Trust {
		all = append(all, Entry{Scope: ScopeUser, Effect: config.Allow, Server: glob, Tool: "*", About: "that only read, according to their server", From: `"trust" of your tenon.json`, Fixed: `edit "trust" in your tenon.json`})
	}
	all = append(all, Entry{Scope: ScopeDefault, Effect: config.Ask, Server: "*", Tool: "*", About: "that nothing above decides", From: "built in", Fixed: "add a rule to your tenon.json instead"})
	for i := range all {
		all[i].ID = all[i].digest()
	}
	slices.SortStableFunc(all, func(x, y Entry) int {
		return cmp.Or(slices.Index(scopes, x.Scope)-slices.Index(scopes, y.Scope), strings.Compare(x.Name(), y.Name()))
	})
	return all
}

func onlyRemove(config.Effect) error { return errOnlyRemove }

// digest returns a short name of what the entry decides.
func (e *Entry) digest() string {
	var b strings.Builder
	for _, s := range []string{e.Scope, string(e.Effect), e.Server, e.Tool, e.About, e.Folder} {
		fmt.Fprintf(&b, "%q ", s)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Args)) {
		fmt.Fprintf(&b, "%q=%q ", name, e.Args[name])
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:4])
}

// ruleEntry returns the entry of a rule of a file or the command line. b.mu is held.
func (b *Book) ruleEntry(r config.Rule) Entry {
	e := Entry{Scope: ScopeUser, Effect: r.Effect, Server: r.Server, Tool: r.Tool, Args: r.Args, Folder: r.Folder, About: argsText(r.Args), From: r.File}
	if r.Line > 0 {
		e.From = fmt.Sprintf("%s:%d", r.File, r.Line)
	}
	if r.Folder != "" {
		e.Scope = ScopeProject
		if !config.Within(b.folder, r.Folder) && !(b.folder == "" && r.Effect != config.Allow) {
			e.Off = "it is for " + r.Folder
		}
	}
	switch {
	case r.CommandLine:
		e.Scope, e.From, e.Fixed = ScopeCommandLine, "--"+string(r.Effect), "start the program without the flag"
	case r.File == "":
		e.Fixed = "it is not from a file"
	default:
		e.remove = func() error { return b.changeRule(r, "", config.RemoveRule(r)) }
		e.change = func(effect config.Effect) error { return b.changeRule(r, effect, config.SetRuleEffect(r, effect)) }
	}
	return e
}

// changeRule repeats in memory what was changed in the file of a rule; an empty
// effect removes it.
func (b *Book) changeRule(r config.Rule, effect config.Effect, err error) error {
	if err != nil {
		return err
	}
	b.mu.Lock()
	rules := slices.Clone(b.everywhere.Rules)
	i := slices.IndexFunc(rules, func(o config.Rule) bool {
		return o.File == r.File && o.Line == r.Line && o.Effect == r.Effect && o.Server == r.Server && o.Tool == r.Tool
	})
	switch {
	case i < 0:
	case effect == "":
		rules = slices.Delete(rules, i, i+1)
	default:
		rules[i].Effect = effect
	}
	b.everywhere.Rules = rules
	folder := b.folder
	b.mu.Unlock()
	b.SetFolder(folder)
	return nil
}

// answerEntries returns the entries of what the user answered about a tool. b.mu is
// held.
func (b *Book) answerEntries(k string, r record) []Entry {
	var all []Entry
	if r.Answer != "" {
		e := Entry{Scope: ScopeUser, Effect: config.Allow, Server: r.Server, Tool: r.Tool, From: "your answer"}
		if r.Answer == Never {
			e.Effect = config.Deny
		}
		e.remove = func() error {
			return b.update(func(all records) { r := all[k]; r.Answer = ""; all.put(k, r) })
		}
		e.change = func(effect config.Effect) error {
			switch {
			case effect == config.Ask:
				return errors.New("remove it, and you are asked again")
			case effect == config.Allow && r.Definition == nil:
				return errors.New("you have not seen its definition yet; /allow " + r.Server + "/" + r.Tool + " shows it")
			}
			answer := Always
			if effect == config.Deny {
				answer = Never
			}
			return b.update(func(all records) { r := all[k]; r.Server, r.Tool, r.Answer = e.Server, e.Tool, answer; all[k] = r })
		}
		all = append(all, e)
	}
	for _, rule := range r.Rules {
		e := Entry{Scope: ScopeUser, Effect: config.Allow, Server: r.Server, Tool: r.Tool, Args: rule.Args, About: rule.Label, Folder: rule.Folder, Since: rule.Since, From: "your answer", change: onlyRemove}
		if rule.Folder != "" {
			e.Scope = ScopeProject
			if !config.Within(b.folder, rule.Folder) {
				e.Off = "it is for " + rule.Folder
			}
		}
		e.remove = func() error {
			return b.update(func(all records) {
				r := all[k]
				r.Rules = slices.DeleteFunc(slices.Clone(r.Rules), rule.equal)
				all.put(k, r)
			})
		}
		all = append(all, e)
	}
	return all
}

// put stores a record, or removes it if nothing is left of it.
func (all records) put(k string, r record) {
	if r.Answer == "" && len(r.Rules) == 0 && r.Definition == nil {
		delete(all, k)
		return
	}
	all[k] = r
}

// patternEntry returns the entry of a pattern of a session.
func (b *Book) patternEntry(k, session string, r Rule) Entry {
	server, tool, _ := strings.Cut(k, "\x00")
	return Entry{Scope: ScopeSession, Effect: config.Allow, Server: server, Tool: tool, Args: r.Args, About: r.Label, Since: r.Since, From: "your answer", change: onlyRemove, remove: func() error {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.patterns[k] = slices.DeleteFunc(slices.Clone(b.patterns[k]), func(o sessionRule) bool { return o.session == session && r.equal(o.Rule) })
		return nil
	}}
}

// argsText describes the patterns of a rule.
func argsText(args map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(args)) {
		parts = append(parts, name+" = "+args[name])
	}
	if parts == nil {
		return ""
	}
	return "with " + strings.Join(parts, ", ")
}

// Remove removes the entry with an ID of [Book.List] and returns it.
func (b *Book) Remove(id, session string) (Entry, error) {
	return b.act(id, session, func(e *Entry) error { return e.remove() })
}

// Change changes the effect of the entry with an ID of [Book.List] and returns the
// entry as it was.
func (b *Book) Change(id, session string, effect config.Effect) (Entry, error) {
	return b.act(id, session, func(e *Entry) error {
		if e.Effect == effect {
			return nil
		}
		return e.change(effect)
	})
}

func (b *Book) act(id, session string, do func(*Entry) error) (Entry, error) {
	for _, e := range b.List(session) {
		if e.ID != id {
			continue
		}
		if e.Fixed != "" {
			return e, fmt.Errorf("the rule %s for %s cannot be changed here: %s", id, e.Name(), e.Fixed)
		}
		if err := do(&e); err != nil {
			return e, fmt.Errorf("change the rule %s for %s: %w", id, e.Name(), err)
		}
		return e, nil
	}
	return Entry{}, fmt.Errorf("no rule has the id %q", id)
}
