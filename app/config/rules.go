package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/internal/rawjson"
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

	// Project applies an allow rule to servers of projects too. Other rules
	// always apply to them.
	Project bool

	Line int // in the file; 0 if unknown

	// CommandLine says that the rule is from the command line. If it allows a
	// tool that has changed since it was approved, the user is warned instead of
	// asked.
	CommandLine bool
}

// Match reports whether the rule applies to a call. Args is a JSON object; nil
// means none.
//
// An allow rule does not match an argument with ".." in a path, also
// percent-encoded. Other rules match arguments that are not JSON.
func (r Rule) Match(server, tool string, args []byte) bool {
	if !Glob(r.Server, server) || !Glob(r.Tool, tool) {
		return false
	}
	if len(r.Args) == 0 {
		return true
	}
	if rawjson.Check(args) != nil || !rawjson.IsObject(args[len(args)-len(strings.TrimLeft(string(args), " \t\r\n")):]) {
		return r.Effect != Allow && len(args) > 0
	}
	for name, pattern := range r.Args {
		raw := rawjson.Lookup(args, name)
		if raw == nil {
			return false
		}
		value, ok := rawjson.String(raw)
		if !ok {
			value = string(rawjson.AppendCanonical(nil, raw))
		}
		if r.Effect == Allow && climbs(value) || !Glob(pattern, value) {
			return false
		}
	}
	return true
}

// climbs reports whether a path or URL contains "..", also percent-encoded several
// times.
func climbs(value string) bool {
	const rounds = 4
	for range rounds {
		if slices.Contains(strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(`/\"?#&;=`, r) }), "..") {
			return true
		}
		decoded := percentDecoded(value)
		if decoded == value {
			return false
		}
		value = decoded
	}
	return true // encoded too often to be an honest path
}

// percentDecoded decodes each %XX once and keeps other percent signs.
func percentDecoded(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b = append(b, byte(c))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
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
// slashes, and ? one character. It takes at most time proportional to the product
// of both lengths.
func Glob(pattern, text string) bool {
	p, t := []rune(pattern), []rune(text)
	star, from := -1, 0 // last star, and end of its match in text
	i, j := 0, 0
	for j < len(t) {
		switch {
		case i < len(p) && p[i] == '*':
			star, from = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == t[j]):
			i++
			j++
		case star >= 0:
			from++
			i, j = star+1, from
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}
