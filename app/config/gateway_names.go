package config

import (
	"maps"
	"slices"

	"github.com/tenon-mcp/tenon/internal/toolname"
)

// A GatewayName changes how clients of a gateway see a tool or prompt.
type GatewayName struct {
	// Name replaces server__name; empty keeps it.
	Name string
	// Title and Description replace those of the server; empty keeps them.
	Title, Description string
	// Hidden leaves it out of lists and refuses its calls.
	Hidden bool
}

// A GatewaySet is a selection of what a gateway serves, at a URL of its own.
// Tools, Prompts, Resources and Except are patterns of names as clients see them.
type GatewaySet struct {
	Servers, Tools, Prompts, Resources, Except []string
}

// readNames reads the member "tools" or "prompts" of "gateway".
func readNames(n node) (map[string]GatewayName, error) {
	names := map[string]GatewayName{}
	of := map[string]string{}
	err := n.eachMember(func(m member) error {
		g, err := readName(m.value)
		if err != nil {
			return err
		}
		names[m.name] = g
		if other, taken := of[g.Name]; taken && g.Name != "" {
			return m.value.errorf("has the name %q, which %s has already", g.Name, other)
		}
		of[g.Name] = m.name
		return nil
	})
	return names, err
}

func readName(n node) (g GatewayName, err error) {
	err = n.eachMember(func(m member) (err error) {
		switch m.name {
		case "name":
			if g.Name, err = m.value.text(); err == nil && !toolname.Valid(g.Name) {
				err = m.value.errorf("must have 1 to %d letters, digits, _ and -", toolname.DefaultLen)
			}
		case "title":
			g.Title, err = m.value.text()
		case "description":
			g.Description, err = m.value.text()
		case "hidden":
			g.Hidden, err = m.value.bool()
		default:
			err = m.unknown([]string{"name", "title", "description", "hidden"})
		}
		return err
	})
	return g, err
}

// reservedSets are names that URLs below /mcp have already.
var reservedSets = []string{"server-card"}

// readSets reads the member "sets" of "gateway".
func readSets(n node) (map[string]GatewaySet, error) {
	sets := map[string]GatewaySet{}
	err := n.eachMember(func(m member) (err error) {
		if !toolname.Valid(m.name) || slices.Contains(reservedSets, m.name) {
			return m.value.doc.errorAt(m.off, "a set cannot be named %q: its name is part of a URL and has 1 to %d letters, digits, _ and -", m.name, toolname.DefaultLen)
		}
		sets[m.name], err = readSet(m.value)
		return err
	})
	return sets, err
}

func readSet(n node) (s GatewaySet, err error) {
	members := map[string]*[]string{"servers": &s.Servers, "tools": &s.Tools, "prompts": &s.Prompts, "resources": &s.Resources, "except": &s.Except}
	err = n.eachMember(func(m member) (err error) {
		list, ok := members[m.name]
		if !ok {
			return m.unknown(slices.Sorted(maps.Keys(members)))
		}
		*list, err = m.value.texts()
		return err
	})
	return s, err
}
