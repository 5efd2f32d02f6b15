package config

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// A GatewayMatch selects calls of a gateway by who makes them and what they are
// for. Members are patterns, as in a Rule; an empty one matches everything. A
// match that names a tool, prompt or resource is only about those.
type GatewayMatch struct {
	// Principal is user:ID, key:NAME, or local for the person at this machine.
	Principal string
	// Issuer, Group and Scope are those of the principal.
	Issuer, Group, Scope string
	// Server, Tool, Prompt and Resource are what is used.
	Server, Tool, Prompt, Resource string
	// Args are as in a Rule.
	Args map[string]string
}

// A GatewayRule decides the calls that it matches. Its effect is Allow or Deny.
type GatewayRule struct {
	GatewayMatch
	Effect Effect
	Line   int // in the file
}

// A GatewayLimit bounds the calls that it matches.
type GatewayLimit struct {
	GatewayMatch
	// Rate is how many calls are allowed in each Period; 0 means any number.
	Rate   int
	Period time.Duration
	// Burst is how many calls may be made at once; 0 means Rate.
	Burst int
	// Concurrency is how many calls may be open; 0 means any number.
	Concurrency int
	// Per says which calls are counted together: "principal", "tool" or "all".
	Per  string
	Line int // in the file
}

// GatewayAudit configures the audit log of a gateway.
type GatewayAudit struct {
	Audit
	// Off records nothing.
	Off bool
	// Sync makes calls wait until their records are on disk.
	Sync bool
	// Arguments says what of arguments is recorded: "redacted", "none", or
	// their digest if empty.
	Arguments string
}

// read reads a member of a match. It reports false if there is no such member.
func (g *GatewayMatch) read(m member) (ok bool, err error) {
	if m.name == "args" {
		g.Args, err = m.value.table()
		return true, err
	}
	to := map[string]*string{
		"principal": &g.Principal, "issuer": &g.Issuer, "group": &g.Group, "scope": &g.Scope,
		"server": &g.Server, "tool": &g.Tool, "prompt": &g.Prompt, "resource": &g.Resource,
	}[m.name]
	if to == nil {
		return false, nil
	}
	if *to, err = m.value.text(); err == nil && *to == "" {
		err = m.value.errorf("must not be empty")
	}
	return true, err
}

// matchMembers are the members of a match.
var matchMembers = []string{"principal", "issuer", "group", "scope", "server", "tool", "prompt", "resource"}

func readGatewayRule(n node) (r GatewayRule, err error) {
	r.Line, _ = n.doc.position(n.off)
	err = n.eachMember(func(m member) error {
		if ok, err := r.read(m); ok {
			return err
		}
		if m.name != "effect" {
			return m.unknown(append([]string{"effect", "args"}, matchMembers...))
		}
		text, err := m.value.text()
		r.Effect = Effect(text)
		return err
	})
	switch {
	case err != nil:
	case r.Effect == Ask:
		err = n.errorf(`cannot have the effect "ask": a gateway has nobody to ask; use "allow" or "deny"`)
	case r.Effect != Allow && r.Effect != Deny:
		err = n.errorf(`must have an "effect" that is "allow" or "deny"`)
	}
	return r, err
}

func readGatewayLimit(n node) (l GatewayLimit, err error) {
	l.Line, _ = n.doc.position(n.off)
	err = n.eachMember(func(m member) (err error) {
		switch m.name {
		case "rate":
			l.Rate, l.Period, err = readRate(m.value)
		case "burst":
			l.Burst, err = m.value.positive()
		case "concurrency":
			l.Concurrency, err = m.value.positive()
		case "per":
			l.Per, err = m.value.oneOf("principal", "tool", "all")
		case "args":
			err = m.value.errorf("a limit cannot depend on arguments")
		default:
			ok := false
			if ok, err = l.read(m); !ok {
				err = m.unknown(append([]string{"rate", "burst", "concurrency", "per"}, matchMembers...))
			}
		}
		return err
	})
	switch {
	case err != nil:
	case l.Rate == 0 && l.Concurrency == 0:
		err = n.errorf(`must have a "rate" such as "60/m", a "concurrency", or both`)
	case l.Burst > 0 && l.Rate == 0:
		err = n.errorf(`must have a "rate" if it has a "burst"`)
	}
	return l, err
}

// readRate reads a rate such as "60/m" or "5/10s".
func readRate(n node) (calls int, period time.Duration, err error) {
	text, err := n.text()
	if err != nil {
		return 0, 0, err
	}
	number, per, _ := strings.Cut(text, "/")
	calls, err = strconv.Atoi(number)
	if units := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}; err == nil && units[per] > 0 {
		period = units[per]
	} else if err == nil {
		period, err = time.ParseDuration(per)
	}
	if err != nil || calls <= 0 || period <= 0 || calls > 1e9 {
		return 0, 0, n.errorf(`must be a number of calls and a time, such as "60/m" or "5/10s"`)
	}
	return calls, period, nil
}

// positive reads a number from 1 to a million.
func (n node) positive() (int, error) {
	i, err := strconv.Atoi(string(n.raw))
	if err != nil || i < 1 || i > 1e6 {
		return 0, n.errorf("must be a number from 1 to 1000000")
	}
	return i, nil
}

// oneOf reads one of some words.
func (n node) oneOf(words ...string) (string, error) {
	text, err := n.text()
	if err == nil && !slices.Contains(words, text) {
		err = n.errorf(`must be one of "%s"`, strings.Join(words, `", "`))
	}
	return text, err
}

func readGatewayAudit(n node) (a GatewayAudit, err error) {
	err = n.eachMember(func(m member) (err error) {
		switch m.name {
		case "file":
			a.File, err = m.value.text()
		case "optional":
			a.Optional, err = m.value.bool()
		case "off":
			a.Off, err = m.value.bool()
		case "sync":
			a.Sync, err = m.value.bool()
		case "arguments":
			if a.Arguments, err = m.value.oneOf("digest", "redacted", "none"); a.Arguments == "digest" {
				a.Arguments = ""
			}
		default:
			err = m.unknown([]string{"file", "optional", "off", "sync", "arguments"})
		}
		return err
	})
	return a, err
}
