package gateway

import (
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/rulematch"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Match selects calls by who makes them and what they are for. All members must
// match; an empty one matches everything. Members are patterns: * matches any
// text, ? one character.
type Match struct {
	// Principal is the caller; see [PrincipalName].
	Principal string
	// Issuer is the authority that vouches for the caller.
	Issuer string
	// Group is one of the caller's groups, Scope one of its scopes.
	Group, Scope string

	// Server is the name of the server.
	Server string
	// Tool, Prompt and Resource are what is used, as the server names it. A
	// resource is a URI. If one of them is set, the Match is only about that
	// kind; without any it is about everything that a server offers.
	Tool, Prompt, Resource string
	// Args are patterns for arguments of a tool, by name; they make the Match be
	// about tools. They are compared with the value of a string, and with other
	// values as compact JSON.
	Args map[string]string
}

// PrincipalName returns how rules name a caller: "user:" and its ID, "key:" and the
// name of an API key, or "local" if the caller was not authenticated, who is the
// person at this machine.
func PrincipalName(p *mcp.Principal) string {
	switch {
	case p == nil:
		return "local"
	case p.Issuer == keyIssuer:
		return "key:" + p.ID
	}
	return "user:" + p.ID
}

// keyIssuer is the issuer of API keys in package auth/protect.
const keyIssuer = "api-key"

// DefaultGroupClaim is the claim of a token that has the groups of its subject.
const DefaultGroupClaim = "groups"

// An identity is who makes a call.
type identity struct {
	name, issuer   string
	groups, scopes []string
}

// by reports whether the Match is about calls of a caller.
func (m *Match) by(s *identity) bool {
	return fits(m.Principal, s.name) && fits(m.Issuer, s.issuer) && fitsOne(m.Group, s.groups) && fitsOne(m.Scope, s.scopes)
}

func fits(pattern, text string) bool { return pattern == "" || rulematch.Glob(pattern, text) }

// fitsOne reports whether a pattern matches one of the texts. Only the empty
// pattern matches none.
func fitsOne(pattern string, texts []string) bool {
	if pattern == "" {
		return true
	}
	for _, text := range texts {
		if rulematch.Glob(pattern, text) {
			return true
		}
	}
	return false
}

// isWhole reports whether the Match is about everything that a server offers.
func (m *Match) isWhole() bool {
	return m.Tool == "" && m.Prompt == "" && m.Resource == "" && len(m.Args) == 0
}

// about reports whether the Match is about a name of a server, without regard to
// arguments. Allow says that the rule allows; see package rulematch.
func (m *Match) about(t feature, allow bool) bool {
	if !fits(m.Server, t.server) {
		return false
	}
	if m.isWhole() {
		return true
	}
	switch t.kind {
	case protocol.KindTool:
		return (m.Tool != "" || len(m.Args) > 0) && fits(m.Tool, t.own)
	case protocol.KindPrompt:
		return m.Prompt != "" && fits(m.Prompt, t.own)
	case protocol.KindURI:
		return m.Resource != "" && rulematch.URI(m.Resource, t.own, allow)
	case protocol.KindTemplate:
		switch {
		case m.Resource == "":
			return false
		case allow:
			return rulematch.Glob(m.Resource, t.own) || mayOverlap(m.Resource, t.own)
		}
		return rulematch.URI(m.Resource, t.own, false)
	}
	return false
}

// mayOverlap reports whether a URI of a template may match a pattern, by the text
// with which both begin.
func mayOverlap(pattern, template string) bool {
	if i := strings.IndexAny(pattern, "*?"); i >= 0 {
		pattern = pattern[:i]
	}
	literal, _, _ := strings.Cut(template, "{")
	return strings.HasPrefix(literal, pattern) || strings.HasPrefix(pattern, literal)
}

// A feature is something that a server offers, with the name that the server has
// for it.
type feature struct{ kind, server, own string }

// maxSubjects bounds the callers that a link remembers.
const maxSubjects = 10_000

// subjects remembers a value for each caller, so that patterns are not compared
// for each call.
type subjects[T any] struct {
	claim string // with the groups
	build func(*identity) T

	mu    sync.RWMutex
	known map[string]T
}

// of returns the value for a caller.
func (s *subjects[T]) of(p *mcp.Principal) T {
	var buf [256]byte
	groups := claimOf(p, s.claim)
	key := buf[:0]
	if p != nil {
		key = append(append(append(append(key, '+'), p.Issuer...), 0), p.ID...)
		for _, scope := range p.Scopes {
			key = append(append(key, 0), scope...)
		}
		key = append(append(key, 0, 0), groups...)
	}
	s.mu.RLock()
	value, ok := s.known[string(key)]
	s.mu.RUnlock()
	if ok {
		return value
	}
	who := &identity{name: PrincipalName(p), groups: textsOf(groups)}
	if p != nil {
		who.issuer, who.scopes = p.Issuer, p.Scopes
	}
	value = s.build(who)
	s.mu.Lock()
	defer s.mu.Unlock()
	if first, ok := s.known[string(key)]; ok {
		return first
	}
	if s.known == nil || len(s.known) >= maxSubjects {
		s.known = map[string]T{}
	}
	s.known[string(key)] = value
	return value
}

// claimOf returns a claim. A name with dots that is not a claim itself leads into
// objects, such as realm_access.roles.
func claimOf(p *mcp.Principal, name string) []byte {
	if p == nil || len(p.Claims) == 0 {
		return nil
	}
	if name == "" {
		name = DefaultGroupClaim
	}
	if value, ok := p.Claims[name]; ok {
		return value
	}
	first, rest, nested := strings.Cut(name, ".")
	value := []byte(p.Claims[first])
	for nested && value != nil {
		first, rest, nested = strings.Cut(rest, ".")
		value = rawjson.Lookup(value, first)
		if !nested {
			return value
		}
	}
	return nil
}

// textsOf returns a string, or the strings of an array.
func textsOf(raw []byte) (texts []string) {
	if one, ok := rawjson.String(raw); ok {
		return []string{one}
	}
	for e := rawjson.Array(raw); e.Next(); {
		if text, ok := rawjson.String(e.Value); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// OneServer returns a Resolver for a gateway before a single server, whose names
// clients see unchanged. Links need it to know the server's name.
func OneServer(name string) Resolver { return oneServer(name) }

type oneServer string
