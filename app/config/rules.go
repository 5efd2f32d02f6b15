package config

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/rulematch"
)

// An Effect is the decision of a rule.
type Effect string

const (
	Allow Effect = "allow" // call the tool
	Ask   Effect = "ask"   // ask the user
	Deny  Effect = "deny"  // do not call the tool, and hide it from the model
)

// A Rule decides the calls that it matches.
type Rule struct {
	Effect Effect

	// Server and Tool are patterns: * matches any text, ? one character.
	Server, Tool string

	// Args are patterns by argument name, all of which must match. They are
	// compared with the value of a string, or with other values as compact JSON.
	Args map[string]string

	// Folder restricts the rule to hosts that work in this folder or below it.
	// Empty: everywhere.
	Folder string

	// Project applies an allow rule to servers of projects too. Other rules
	// always apply to them.
	Project bool

	File string // that the rule is from; empty if it is from none
	Line int    // in the file; 0 if unknown

	// CommandLine says that the rule is from the command line. If it allows a
	// tool that has changed since it was approved, the user is warned instead of
	// asked.
	CommandLine bool
}

// Match reports whether the rule applies to a call. Args is a JSON object; nil
// means none.
//
// An allow rule does not match an argument with ".." in a path, also
// percent-encoded, or in another spelling (Path for path). Other rules match
// arguments that are not JSON, and in any spelling.
func (r Rule) Match(server, tool string, args []byte) bool {
	return Glob(r.Server, server) && Glob(r.Tool, tool) && rulematch.Args(r.Args, args, r.Effect == Allow)
}

// Decide returns the effect for a call and the rule that decides. Of the matching
// rules deny takes precedence over ask and ask over allow, except that an allow
// rule of the command line takes precedence over ask. If no rule matches, Decide
// returns Ask and nil.
func (s Settings) Decide(server, tool string, args []byte) (Effect, *Rule) {
	for _, one := range []struct {
		effect    Effect
		onlyTyped bool
	}{{Deny, false}, {Allow, true}, {Ask, false}, {Allow, false}} {
		for i, r := range s.Rules {
			if r.Effect == one.effect && (r.CommandLine || !one.onlyTyped) && r.Match(server, tool, args) {
				return r.Effect, &s.Rules[i]
			}
		}
	}
	return Ask, nil
}

// In returns the settings of a host that works in a folder: without the rules for
// other folders. In an unknown folder, rules that deny or ask apply, and those that
// allow do not.
func (s Settings) In(folder string) Settings {
	s.Rules = slices.DeleteFunc(slices.Clone(s.Rules), func(r Rule) bool {
		switch {
		case r.Folder == "":
			return false
		case folder == "":
			return r.Effect == Allow
		}
		return !Within(folder, r.Folder)
	})
	return s
}

// Within reports whether a folder is another one or below it.
func Within(folder, of string) bool {
	return folder != "" && (folder == of || strings.HasPrefix(folder, strings.TrimSuffix(of, string(filepath.Separator))+string(filepath.Separator)))
}

// ForProject returns the settings for a project's server. A project chooses the
// names of its servers, so Trust and allow rules without Project or CommandLine do
// not apply.
func (s Settings) ForProject() Settings {
	s.Rules = slices.DeleteFunc(slices.Clone(s.Rules), func(r Rule) bool { return r.Effect == Allow && !r.Project && !r.CommandLine })
	s.Trust = nil
	return s
}

// AllowedByCommandLine reports whether a rule of the command line allows a call,
// and no rule denies it.
func (s Settings) AllowedByCommandLine(server, tool string, args []byte) bool {
	effect, rule := s.Decide(server, tool, args)
	return effect == Allow && rule.CommandLine
}

// Hidden reports whether a tool is denied whatever its arguments are.
func (s Settings) Hidden(server, tool string) bool {
	return slices.ContainsFunc(s.Rules, func(r Rule) bool {
		return r.Effect == Deny && len(r.Args) == 0 && r.Match(server, tool, nil)
	})
}

// IsSensitive reports whether data from one server may go to the other only with
// the user's consent.
func (s Settings) IsSensitive(from, to string) bool {
	return from != to && slices.ContainsFunc(s.Sensitive, func(p Pair) bool { return Glob(p.From, from) && Glob(p.To, to) })
}

// Glob reports whether pattern matches all of text. * matches any text, including
// slashes, and ? one character.
func Glob(pattern, text string) bool { return rulematch.Glob(pattern, text) }
