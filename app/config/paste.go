package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/internal/visible"
)

// ErrNotEntries is wrapped by the error of [Paste] for JSON that has no servers.
var ErrNotEntries = errors.New("found no servers")

// Paste reads the servers of a text that a user copied from the documentation of a
// server or from the configuration of another program: an object with mcpServers
// or servers, also below mcp; an object or a part of one with servers by their
// names; or one entry, whose Name is then empty. Comments and trailing commas are
// allowed. Warnings name what is ignored. Err of an entry says why it cannot be
// used.
func Paste(text string) (entries []Entry, warnings []string, err error) {
	const from = "the pasted text"
	text = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "\ufeff"))
	if strings.HasPrefix(text, `"`) { // a part of an object
		text = "{" + strings.TrimSuffix(text, ",") + "}"
	}
	root, err := read(from, []byte(text))
	if err != nil {
		return nil, nil, err
	}
	if _, err := root.object(); err != nil {
		return nil, nil, err
	}
	src := Source{File: from}
	if inner, ok := root.member("mcp"); ok {
		root = inner
	}
	switch {
	case has(root, "mcpServers") || has(root, "servers"):
		entries, err = readServers(root, src)
	case has(root, "command") || has(root, "url") || has(root, "builtin"):
		one := readEntry(member{name: "server", off: root.off, value: root}, src)
		one.Name = ""
		entries = []Entry{one}
	default:
		for _, m := range root.members() {
			if has(m.value, "command") || has(m.value, "url") || has(m.value, "builtin") {
				entries = append(entries, readEntry(m, src))
			}
		}
	}
	if err == nil && len(entries) == 0 {
		err = fmt.Errorf("%w in the JSON: expected \"mcpServers\" or \"servers\", or an object with \"command\" or \"url\"", ErrNotEntries)
	}
	for i := range entries {
		e := &entries[i]
		where := visible.Line(e.Name)
		for _, w := range e.Warnings {
			warnings = append(warnings, strings.TrimPrefix(where+": "+w, ": "))
		}
		warnings = append(warnings, e.problems(where)...)
	}
	return entries, warnings, err
}

// has reports whether a value is an object with a member.
func has(n node, name string) bool {
	_, ok := n.member(name)
	return ok
}

// JSON returns the entry as [Add] writes it to a file.
func (e Entry) JSON() string { return strings.ReplaceAll(e.json(), "\t", "  ") }
