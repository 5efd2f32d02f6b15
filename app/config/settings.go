package config

import (
	"fmt"
	"slices"
	"strconv"
)

// Settings are what a person has decided once for all, in tenon.json.
type Settings struct {
	// Model is the model to use, as provider/name. Empty means none chosen.
	Model string

	// Rules say which tools may be called. See [Settings.Decide].
	Rules []Rule

	// Sensitive are pairs of servers between which no data goes without the
	// person's say.
	Sensitive []Pair

	// Trust are globs of servers whose own word about their tools (read-only,
	// destructive) is believed.
	Trust []string

	// Audit is about the log of all calls.
	Audit Audit

	// ToolSearch says when the model searches for tools.
	ToolSearch ToolSearch
}

// A Pair is two globs: data from servers of the first kind to servers of the
// second.
type Pair struct{ From, To string }

// Audit says where the log of calls is kept, and what if it cannot be written.
type Audit struct {
	// File is empty for the default place.
	File string
	// Optional lets calls go on when the log cannot be written. Unset, they
	// are refused then.
	Optional bool
}

// A ToolSearch says when the model is given search_tools and call_tool instead
// of the tools themselves. The zero value is ToolSearchAuto.
type ToolSearch struct {
	Mode string // ToolSearchAuto, ToolSearchAlways or ToolSearchNever

	// Tokens is how many tokens the definitions of all tools may take before
	// the model searches. 0: Mode decides.
	Tokens int
}

// The modes of a ToolSearch.
const (
	ToolSearchAuto   = "auto"   // where the tools are many, or large for the model's context
	ToolSearchAlways = "always" // the model always searches
	ToolSearchNever  = "never"  // the model is always given all tools
)

// ParseToolSearch reads "auto", "always", "never" or a number of tokens.
func ParseToolSearch(text string) (ToolSearch, error) {
	switch text {
	case ToolSearchAuto, ToolSearchAlways, ToolSearchNever:
		return ToolSearch{Mode: text}, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		return ToolSearch{}, fmt.Errorf(`must be "auto", "always", "never" or a number of tokens, not %q`, text)
	}
	return ToolSearch{Tokens: n}, nil
}

// settingMembers are the names that tenon.json may have.
var settingMembers = append([]string{"model", "permissions", "sensitive", "trust", "audit", "toolSearch"}, serverMembers...)

func readSettings(root node) (s Settings, err error) {
	for _, m := range root.members() {
		switch m.name {
		case "model":
			s.Model, err = m.value.text()
		case "permissions":
			s.Rules, err = readRules(m.value)
		case "sensitive":
			s.Sensitive, err = readPairs(m.value)
		case "trust":
			s.Trust, err = m.value.texts()
		case "audit":
			s.Audit, err = readAudit(m.value)
		case "toolSearch":
			s.ToolSearch, err = readToolSearch(m.value)
		default:
			if !slices.Contains(serverMembers, m.name) {
				err = m.unknown(settingMembers)
			}
		}
		if err != nil {
			return Settings{}, err
		}
	}
	return s, nil
}

// unknown is an error about the name of a member.
func (m member) unknown(known []string) error {
	return m.value.doc.errorAt(m.off, "%s is not known here%s", m.value.path, didYouMean(m.name, known))
}

func readRules(n node) ([]Rule, error) {
	nodes, err := n.list()
	if err != nil {
		return nil, err
	}
	var rules []Rule
	for _, n := range nodes {
		members, err := n.object()
		if err != nil {
			return nil, err
		}
		r := Rule{Server: "*", Tool: "*"}
		for _, m := range members {
			var text string
			switch m.name {
			case "effect":
				text, err = m.value.text()
				r.Effect = Effect(text)
			case "server":
				r.Server, err = m.value.text()
			case "tool":
				r.Tool, err = m.value.text()
			case "args":
				r.Args, err = m.value.table()
			case "project":
				r.Project, err = m.value.bool()
			default:
				err = m.unknown([]string{"effect", "server", "tool", "args", "project"})
			}
			if err != nil {
				return nil, err
			}
		}
		if r.Effect != Allow && r.Effect != Ask && r.Effect != Deny {
			return nil, n.errorf(`must have an "effect" that is "allow", "ask" or "deny"`)
		}
		r.Line, _ = n.doc.position(n.off)
		rules = append(rules, r)
	}
	return rules, nil
}

func readPairs(n node) ([]Pair, error) {
	nodes, err := n.list()
	if err != nil {
		return nil, err
	}
	var pairs []Pair
	for _, n := range nodes {
		members, err := n.object()
		if err != nil {
			return nil, err
		}
		p := Pair{From: "*", To: "*"}
		for _, m := range members {
			switch m.name {
			case "from":
				p.From, err = m.value.text()
			case "to":
				p.To, err = m.value.text()
			default:
				err = m.unknown([]string{"from", "to"})
			}
			if err != nil {
				return nil, err
			}
		}
		pairs = append(pairs, p)
	}
	return pairs, nil
}

func readToolSearch(n node) (ToolSearch, error) {
	text, err := n.scalar()
	if err != nil {
		return ToolSearch{}, err
	}
	t, err := ParseToolSearch(text)
	if err != nil {
		return t, n.errorf("%v", err)
	}
	return t, nil
}

func readAudit(n node) (a Audit, err error) {
	members, err := n.object()
	if err != nil {
		return a, err
	}
	for _, m := range members {
		switch m.name {
		case "file":
			a.File, err = m.value.text()
		case "optional":
			a.Optional, err = m.value.bool()
		default:
			err = m.unknown([]string{"file", "optional"})
		}
		if err != nil {
			return Audit{}, err
		}
	}
	return a, nil
}
