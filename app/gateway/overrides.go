package gateway

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/toolname"
	"github.com/tenon-mcp/tenon/mcp"
)

// An Override changes how clients see a tool or prompt.
type Override struct {
	// Name replaces the name server__name: 1 to 64 letters, digits, _ and -. The
	// old name is unknown then. Empty keeps it.
	Name string
	// Title and Description replace those of the server; empty keeps them.
	Title, Description string
	// Hidden leaves it out of lists and makes its name unknown.
	Hidden bool
}

// overrides holds the Overrides of one kind of names. It does not change.
type overrides struct {
	of      map[string]Override // by key
	renamed map[string]string   // keys by the names of Overrides
}

// newOverrides checks Overrides. A key is the name that clients see without it, or
// server__name with the names in full.
func newOverrides(kind string, all map[string]Override) (*overrides, error) {
	o := &overrides{of: map[string]Override{}, renamed: map[string]string{}}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		v := all[key]
		if v.Name == key {
			v.Name = ""
		}
		o.of[key] = v
		if v.Name == "" {
			continue
		}
		if !toolname.Valid(v.Name) {
			return nil, fmt.Errorf("gateway: the %s %q cannot be named %q: a name has 1 to %d letters, digits, _ and -", kind, key, clip(v.Name), toolname.DefaultLen)
		}
		if other, taken := o.renamed[v.Name]; taken {
			return nil, fmt.Errorf("gateway: the %ss %q and %q cannot both be named %q", kind, other, key, v.Name)
		}
		o.renamed[v.Name] = key
	}
	for _, name := range slices.Sorted(maps.Keys(o.renamed)) {
		if other, ok := o.of[name]; ok && other.Name == "" && !other.Hidden {
			return nil, fmt.Errorf("gateway: the %s %q cannot be named %q: another one has that name", kind, o.renamed[name], name)
		}
	}
	return o, nil
}

// find returns the Override for a name of a server.
func (o *overrides) find(u *upstream, own string) Override {
	if len(o.of) == 0 {
		return Override{}
	}
	if v, ok := o.of[toolname.Join(u.name, own, 0)]; ok {
		return v
	}
	return o.of[u.name+"__"+own]
}

// outward returns the name that clients see for a name of a server. ok is false
// if they do not see it: it is hidden, or an Override gives the name to another
// tool or prompt.
func (o *overrides) outward(u *upstream, own string) (out string, ok bool) {
	v := o.find(u, own)
	switch {
	case v.Hidden:
		return "", false
	case v.Name != "":
		return v.Name, true
	}
	out = toolname.Join(u.name, own, 0)
	_, taken := o.renamed[out]
	return out, !taken
}

// rewrite returns an item of a list, which has the name that clients see, with
// the texts of its Override.
func (v Override) rewrite(item []byte) []byte {
	return withText(withText(item, "title", v.Title), "description", v.Description)
}

// SetOverrides replaces the Overrides of the Options. Clients are notified that
// lists have changed. It changes nothing if it returns an error: two tools or two
// prompts would have the same name, a name is invalid, or begins like those of
// another server.
func (r *Router) SetOverrides(tools, prompts map[string]Override) error {
	names, err := newNames(tools, prompts)
	if err != nil {
		return err
	}
	r.updating.Lock()
	notify := func() {}
	if err = names.check(r.table.Load()); err == nil {
		notify = r.setNames(names)
	}
	r.updating.Unlock()
	notify()
	return err
}

// allNames has the Overrides of tools and prompts.
type allNames struct{ tools, prompts *overrides }

func newNames(tools, prompts map[string]Override) (n allNames, err error) {
	if n.tools, err = newOverrides(protocol.KindTool, tools); err == nil {
		n.prompts, err = newOverrides(protocol.KindPrompt, prompts)
	}
	return n, err
}

// check returns an error if an Override gives a tool or prompt a name that begins
// like those of another server in the table: clients would take it for that
// server's.
func (n allNames) check(t *table) error {
	for kind, o := range map[string]*overrides{protocol.KindTool: n.tools, protocol.KindPrompt: n.prompts} {
		for _, name := range slices.Sorted(maps.Keys(o.renamed)) {
			server, _, _ := strings.Cut(name, "__")
			other := t.byKey[keyOf(server)]
			if other == nil || server == name || strings.HasPrefix(o.renamed[name], other.name+"__") {
				continue
			}
			return fmt.Errorf("gateway: the %s %q cannot be named %q: names that begin with %s__ are those of server %s", kind, o.renamed[name], name, server, other.name)
		}
	}
	return nil
}

// setNames uses other Overrides. It returns the function that reads the lists of the
// servers of before again, and notifies clients, if the Overrides differ.
func (r *Router) setNames(n allNames) (notify func()) {
	oldTools, oldPrompts := r.tools.Swap(n.tools), r.prompts.Swap(n.prompts)
	if oldTools == nil || maps.Equal(oldTools.of, n.tools.of) && maps.Equal(oldPrompts.of, n.prompts.of) {
		return func() {}
	}
	servers := r.table.Load().upstreams
	return func() {
		for _, u := range servers {
			for _, one := range u.all() {
				one.changed(mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true})
			}
		}
	}
}

// overridesOf returns the Overrides for a kind of names.
func (r *Router) overridesOf(kind string) *overrides {
	if kind == protocol.KindPrompt {
		return r.prompts.Load()
	}
	return r.tools.Load()
}

// withText returns an object with the text of a member replaced or added. An
// empty text changes nothing.
func withText(obj []byte, member, text string) []byte {
	if text == "" {
		return obj
	}
	value := rawjson.AppendString(nil, text)
	if rawjson.Lookup(obj, member) != nil {
		return rawjson.RewriteMember(obj, member, func([]byte) []byte { return value })
	}
	inner, ok := bytes.CutSuffix(bytes.TrimSpace(obj), []byte("}"))
	if !ok {
		return obj
	}
	return fmt.Appendf(slices.Clip(inner), `,%q:%s}`, member, value)
}
