package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/safefile"
)

// ErrExists is wrapped by the error of [Add] for a name that is in use.
var ErrExists = errors.New("a server with this name exists")

// Add writes an entry and its inputs to a file. It preserves the rest of the file
// byte by byte, including comments. It creates a missing file, readable only by
// its owner. On an error the file is unchanged.
func Add(file, name string, e Entry) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if err := e.check(name); err != nil {
		return err
	}
	return change(file, func(root node) ([]byte, error) {
		group, at := "mcpServers", node{}
		for _, g := range []string{"servers", "mcpServers"} {
			if n, ok := root.member(g); ok {
				members, err := n.object()
				if err != nil {
					return nil, err
				}
				if i := slices.IndexFunc(members, func(m member) bool { return m.name == name }); i >= 0 {
					return nil, root.doc.errorAt(members[i].off, "%q: %w; remove it first, or choose another name", name, ErrExists)
				}
				group, at = g, n
			}
		}
		for _, in := range e.Inputs {
			var err error
			if root, err = addInput(root, in); err != nil {
				return nil, err
			}
			at, _ = root.member(group)
		}
		if at.doc == nil {
			inner := strings.ReplaceAll(e.json(), "\n", "\n\t")
			return insertMember(root, group, "{\n\t"+string(rawjson.AppendString(nil, name))+": "+inner+"\n}"), nil
		}
		return insertMember(at, name, e.json()), nil
	})
}

// check parses the entry as written to a file.
func (e Entry) check(name string) error {
	root, err := read("the new entry", []byte("{"+string(rawjson.AppendString(nil, name))+":"+e.json()+"}"))
	if err != nil {
		return err
	}
	return readEntry(root.members()[0], Source{}).Err
}

// Remove removes an entry from a file, with the inputs that only it uses, and
// preserves the rest.
func Remove(file, name string) error {
	return change(file, func(root node) ([]byte, error) {
		var names []string
		for _, g := range []string{"mcpServers", "servers"} {
			n, _ := root.member(g)
			if n.doc == nil {
				continue
			}
			for i, m := range n.members() {
				if m.name == name {
					e := readEntry(m, Source{})
					return removeInputs(file, removeMember(n, i), e.variables())
				}
				names = append(names, m.name)
			}
		}
		return nil, fmt.Errorf("%s has no server %q%s", file, name, didYouMean(name, names))
	})
}

// removeInputs returns a document's text without the inputs among used, the
// variables of a removed entry, that the rest does not use. It removes an empty
// list of inputs too.
func removeInputs(file string, text []byte, used map[string]bool) ([]byte, error) {
	for {
		root, err := read(file, text)
		if err != nil {
			return nil, err
		}
		rest := map[string]bool{}
		for _, g := range []string{"mcpServers", "servers"} {
			n, _ := root.member(g)
			for _, m := range n.members() {
				e := readEntry(m, Source{})
				maps.Copy(rest, e.variables())
			}
		}
		at := slices.IndexFunc(root.members(), func(m member) bool { return m.name == "inputs" })
		if at < 0 {
			return text, nil
		}
		inputs := root.members()[at].value
		list, err := inputs.list()
		if err != nil {
			return text, nil // not this entry's fault
		}
		i := slices.IndexFunc(list, func(e node) bool {
			id, _ := e.member("id")
			name, _ := rawjson.String(id.raw)
			return used["input:"+name] && !rest["input:"+name] && !bytes.Contains(text, []byte("${input:"+name+"}"))
		})
		switch {
		case i < 0:
			return text, nil
		case len(list) == 1:
			return removeMember(root, at), nil
		}
		var spans []span
		for _, e := range list {
			spans = append(spans, span{e.off, e.off + len(e.raw)})
		}
		text = removeSpan(inputs, spans, i)
	}
}

// change edits the text of a file while no other process does. Errors contain the
// name of the file, which is then unchanged.
func change(file string, edit func(root node) ([]byte, error)) error {
	var failed error // of edit: contains the file name already
	err := safefile.Update(file, 0o600, func(old []byte) (text []byte, err error) {
		defer func() { failed = err }()
		root, err := read(file, old)
		if err != nil {
			return nil, err
		}
		if text, err = edit(root); err != nil {
			return nil, err
		}
		if _, err := read(file, text); err != nil {
			return nil, fmt.Errorf("the change would make %s invalid, so it was not saved: %w", file, err)
		}
		return text, nil
	})
	if err != nil && failed == nil {
		if p, ok := errors.AsType[*fs.PathError](err); ok && p.Path == filepath.Base(file) {
			err = p.Err // the file is named already
		}
		return fmt.Errorf("write %s: %w; the file is unchanged", file, err)
	}
	return err
}

// insertMember returns the document's text with a new last member in an object,
// formatted like the other members.
func insertMember(n node, name, value string) []byte {
	text := n.doc.text
	nl, step := newline(text), unit(text)
	line := func(indent string) string {
		value := strings.NewReplacer("\n", nl+indent, "\t", step).Replace(value)
		return nl + indent + string(rawjson.AppendString(nil, name)) + ": " + value
	}
	if len(bytes.Trim(n.doc.data, space)) == 0 { // the file has no object
		start := "{"
		if len(text) > 0 && text[len(text)-1] != '\n' {
			start = nl + "{" // after a comment
		}
		return append(slices.Clone(text), start+line(step)+nl+"}"+nl...)
	}
	outer := lineIndent(text, n.off)
	end := n.off + len(n.raw) - 1
	members := n.members()
	if len(members) == 0 {
		body := line(outer + step)
		if bytes.IndexByte(n.doc.data[n.off:end], '\n') < 0 {
			body += nl + outer // otherwise the closing brace is on its own line
		}
		return slices.Concat(text[:n.off+1], []byte(body), text[n.off+1:])
	}
	last := members[len(members)-1]
	at := last.value.off + len(last.value.raw)
	comma := []byte(",")
	if i := n.doc.trailingComma(at, end); i >= 0 {
		at, comma = i+1, nil
	}
	if bytes.IndexByte(n.doc.data[n.off:last.off], '\n') < 0 { // all on one line
		return slices.Concat(text[:at], comma, []byte(line(outer+step)+nl+outer), text[at:])
	}
	// The rest of the last member's line is a comment on it.
	rest := text[at:end]
	if i := bytes.IndexByte(n.doc.data[at:end], '\n'); i >= 0 { // not one in a comment
		rest = bytes.TrimRight(rest[:i], "\r")
	}
	if len(bytes.TrimSpace(rest)) == 0 {
		rest = nil
	}
	return slices.Concat(text[:at], comma, rest, []byte(line(lineIndent(text, last.off))), text[at+len(rest):])
}

// removeMember returns the document's text without the member at i.
func removeMember(n node, i int) []byte {
	var spans []span
	for _, m := range n.members() {
		spans = append(spans, span{m.off, m.value.off + len(m.value.raw)})
	}
	return removeSpan(n, spans, i)
}

// A span is the part of a document from one offset to another.
type span struct{ from, to int }

// removeSpan returns the document's text without the member or element at i of
// all in an object or array.
func removeSpan(n node, all []span, i int) []byte {
	text := n.doc.text
	from, to := all[i].from, all[i].to
	if i+1 < len(all) {
		to += bytes.IndexByte(n.doc.data[to:], ',') + 1
		next := all[i+1].from
		line := bytes.IndexByte(n.doc.data[to:next], '\n')
		start := bytes.LastIndexByte(text[:from], '\n') + 1
		switch {
		case line < 0:
			to = next
		case len(bytes.TrimSpace(text[start:from])) == 0: // no other member on its lines
			from, to = start, to+line+1
		}
		return slices.Concat(text[:from], text[to:])
	}
	// Remove the last member with the line break and the comma before it. Keep
	// comments between them.
	keep, comma := n.off+1, n.off+1
	if i > 0 {
		prev := all[i-1].to
		comma = prev + bytes.IndexByte(n.doc.data[prev:], ',')
		keep = comma + 1
	}
	if line := bytes.LastIndexByte(n.doc.data[keep:from], '\n'); line >= 0 {
		from = keep + len(bytes.TrimSuffix(text[keep:keep+line], []byte("\r")))
	}
	if trailing := n.doc.trailingComma(to, n.off+len(n.raw)); trailing >= 0 {
		return slices.Concat(text[:comma], text[keep:from], text[to:trailing], text[trailing+1:])
	}
	return slices.Concat(text[:comma], text[keep:from], text[to:])
}

// trailingComma returns the offset of the trailing comma between two offsets, or
// -1.
func (d *document) trailingComma(from, to int) int {
	for _, i := range d.trailing {
		if i >= from && i < to {
			return i
		}
	}
	return -1
}

// newline returns the line ending of a text.
func newline(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// lineIndent returns the white space at the start of the line at off.
func lineIndent(text []byte, off int) string {
	line := text[bytes.LastIndexByte(text[:off], '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// unit returns one level of the text's indentation.
func unit(text []byte) string {
	for line := range bytes.Lines(text) {
		if in := len(line) - len(bytes.TrimLeft(line, " \t")); in > 0 && in < 9 && in < len(line) && line[in] == '"' {
			return string(line[:in])
		}
	}
	return "  "
}
