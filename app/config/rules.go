package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// An Effect is what a rule says about a call.
type Effect string

const (
	Allow Effect = "allow" // call it
	Ask   Effect = "ask"   // ask the person
	Deny  Effect = "deny"  // do not call it, and do not show it to the model
)

// A Rule says what to do with the calls that it matches.
type Rule struct {
	Effect Effect

	// Server and Tool are globs: * stands for any text, ? for one character.
	Server, Tool string

	// Args are globs by the name of an argument, all of which must match. A
	// string is matched as it is, another value as compact JSON.
	Args map[string]string

	// Project has a rule that allows count for servers of projects, too.
	// Other rules always do.
	Project bool

	Line int // in the file; 0 if unknown

	// CommandLine says that the person gave the rule for this run alone. If
	// it allows a tool that has changed since it was approved, the person is
	// warned and not asked.
	CommandLine bool
}

// Match reports whether the rule is about this call. Args is an object in
// JSON; nil means none.
//
// A rule that allows is read narrowly and the others widely: arguments with a
// .. in a path, also percent-encoded, match no pattern of the former, and arguments that are no JSON
// match every pattern of the latter.
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

// climbs reports whether a path or URL goes up somewhere, also if that is
// percent-encoded, even several times.
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
	return true // nobody encodes a plain path that often
}

// percentDecoded decodes each %XX once, and leaves other percent signs alone.
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

// Decide says what to do with a call, and by which rule. The strictest rule
// that matches counts, whatever the order: deny before ask before allow. Only an
// allow rule of the command line, which the person typed for this run, counts
// before ask. A call that no rule matches is asked about; the rule is nil then.
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

// ForProject returns the settings as they count for a project's server. A
// project chooses the names of its servers, so what allows something to a name
// does not count: allow rules without Project, and Trust. Rules of the command
// line do.
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

// IsSensitive reports whether data from one server may go to the other only
// when the person says so.
func (s Settings) IsSensitive(from, to string) bool {
	return from != to && slices.ContainsFunc(s.Sensitive, func(p Pair) bool { return Glob(p.From, from) && Glob(p.To, to) })
}

// Glob reports whether pattern matches all of text. * stands for any text,
// slashes included, and ? for one character. It takes time in proportion to
// the product of both lengths at most.
func Glob(pattern, text string) bool {
	p, t := []rune(pattern), []rune(text)
	star, from := -1, 0 // the last star, and where in text it ends so far
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
