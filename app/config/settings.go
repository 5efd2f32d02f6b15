package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
)

// Settings are the user's settings in tenon.json.
type Settings struct {
	// Model is the model to use, as provider/name. Empty means none.
	Model string

	// Effort is how much the model thinks: one of [Efforts]; empty means
	// EffortAuto.
	Effort string

	// Providers are services with models, in the order of the file. See
	// [Config.Providers].
	Providers []ProviderSettings

	// Rules decide which tools may be called. See [Settings.Decide].
	Rules []Rule

	// Sensitive are pairs of servers between which data needs the user's consent.
	Sensitive []Pair

	// Trust are patterns of servers whose tool annotations (read-only,
	// destructive) are trusted.
	Trust []string

	// Audit configures the log of all calls.
	Audit Audit

	// ToolSearch says when the model searches for tools.
	ToolSearch ToolSearch

	// NoInstructions keeps AGENTS.md and CLAUDE.md of projects from the model.
	NoInstructions bool

	// Gateway configures tenon gateway.
	Gateway Gateway
}

// A Pair is two patterns: data from servers that match From to servers that match
// To.
type Pair struct{ From, To string }

// Audit configures the log of all calls.
type Audit struct {
	// File is the path of the log; empty means the default.
	File string
	// Optional allows calls when the log cannot be written.
	Optional bool
}

// A ToolSearch says when the model gets search_tools and call_tool instead of all
// tools. The zero value is ToolSearchAuto.
type ToolSearch struct {
	Mode string // ToolSearchAuto, ToolSearchAlways or ToolSearchNever

	// Tokens is the largest size of all tool definitions, in tokens, without a
	// search. 0 means that Mode decides.
	Tokens int
}

// The modes of a ToolSearch.
const (
	ToolSearchAuto   = "auto"   // search if there are many tools, or too large ones for the model's context
	ToolSearchAlways = "always" // always search
	ToolSearchNever  = "never"  // always send all tools
)

// ParseToolSearch parses "auto", "always", "never" or a number of tokens.
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

// settingMembers are the members of tenon.json.
var settingMembers = append([]string{"model", "effort", "providers", "permissions", "sensitive", "trust", "audit", "toolSearch", "instructions", "gateway"}, serverMembers...)

func readSettings(root node) (s Settings, err error) {
	err = root.eachMember(func(m member) (err error) {
		switch m.name {
		case "model":
			s.Model, err = m.value.text()
		case "effort":
			s.Effort, err = readEffort(m.value)
		case "providers":
			s.Providers, err = readProviders(m.value)
		case "permissions":
			s.Rules, err = listOf(m.value, readRule)
		case "sensitive":
			s.Sensitive, err = listOf(m.value, readPair)
		case "trust":
			s.Trust, err = m.value.texts()
		case "audit":
			s.Audit, err = readAudit(m.value)
		case "toolSearch":
			s.ToolSearch, err = readToolSearch(m.value)
		case "instructions":
			s.NoInstructions, err = m.value.bool()
			s.NoInstructions = !s.NoInstructions
		case "gateway":
			s.Gateway, err = readGateway(m.value)
		default:
			if !slices.Contains(serverMembers, m.name) {
				err = m.unknown(settingMembers)
			}
		}
		return err
	})
	return s, err
}

// unknown returns an error about the name of a member.
func (m member) unknown(known []string) error {
	return m.value.doc.errorAt(m.off, "unknown member %s%s", m.value.path, didYouMean(m.name, known))
}

func readRule(n node) (Rule, error) {
	r := Rule{Server: "*", Tool: "*"}
	r.File = n.doc.file
	r.Line, _ = n.doc.position(n.off)
	err := n.eachMember(func(m member) (err error) {
		switch m.name {
		case "effect":
			var text string
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
		case "folder":
			if r.Folder, err = m.value.text(); err == nil && !filepath.IsAbs(r.Folder) {
				err = m.value.errorf("must be an absolute path")
			}
			r.Folder = filepath.Clean(r.Folder)
		default:
			err = m.unknown([]string{"effect", "server", "tool", "args", "folder", "project"})
		}
		return err
	})
	if err == nil && r.Effect != Allow && r.Effect != Ask && r.Effect != Deny {
		err = n.errorf(`must have an "effect" that is "allow", "ask" or "deny"`)
	}
	return r, err
}

func readPair(n node) (Pair, error) {
	p := Pair{From: "*", To: "*"}
	err := n.eachMember(func(m member) (err error) {
		switch m.name {
		case "from":
			p.From, err = m.value.text()
		case "to":
			p.To, err = m.value.text()
		default:
			err = m.unknown([]string{"from", "to"})
		}
		return err
	})
	return p, err
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
	err = n.eachMember(func(m member) (err error) {
		switch m.name {
		case "file":
			a.File, err = m.value.text()
		case "optional":
			a.Optional, err = m.value.bool()
		default:
			err = m.unknown([]string{"file", "optional"})
		}
		return err
	})
	return a, err
}
