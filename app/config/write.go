package config

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// A writer writes JSON with one member per line and one tab per level. It has no
// other tabs and line breaks.
type writer struct {
	b     strings.Builder
	level int
	any   bool // the current object has a member
}

func (w *writer) open() {
	w.b.WriteString("{")
	w.level++
	w.any = false
}

func (w *writer) close() {
	w.level--
	if w.any {
		w.b.WriteString("\n" + strings.Repeat("\t", w.level))
	}
	w.b.WriteString("}")
	w.any = true
}

func (w *writer) name(name string) {
	if w.any {
		w.b.WriteString(",")
	}
	w.any = true
	w.b.WriteString("\n" + strings.Repeat("\t", w.level))
	w.b.Write(rawjson.AppendString(nil, name))
	w.b.WriteString(": ")
}

// text writes a member unless it is empty.
func (w *writer) text(name, value string) {
	if value != "" {
		w.name(name)
		w.b.Write(rawjson.AppendString(nil, value))
	}
}

func (w *writer) list(name string, values []string) {
	if len(values) == 0 {
		return
	}
	w.name(name)
	var parts []string
	for _, v := range values {
		parts = append(parts, string(rawjson.AppendString(nil, v)))
	}
	w.b.WriteString("[" + strings.Join(parts, ", ") + "]")
}

func (w *writer) table(name string, table map[string]string) {
	if len(table) == 0 {
		return
	}
	w.name(name)
	w.open()
	for _, n := range slices.Sorted(maps.Keys(table)) {
		w.name(n)
		w.b.Write(rawjson.AppendString(nil, table[n]))
	}
	w.close()
}

func (w *writer) flag(name string, is bool) {
	if is {
		w.name(name)
		w.b.WriteString("true")
	}
}

// json returns the entry as written to a file.
func (e Entry) json() string {
	var w writer
	w.open()
	if e.Kind == HTTP || e.Kind == SSE {
		w.text("type", string(e.Kind))
	}
	w.text("command", e.Command)
	w.list("args", e.Args)
	w.table("env", e.Env)
	w.text("envFile", e.EnvFile)
	w.text("cwd", e.Dir)
	w.text("url", e.URL)
	w.table("headers", e.Headers)
	if o := e.OAuth; o != nil {
		w.name("oauth")
		o.json(&w)
	}
	w.text("builtin", e.Builtin)
	if e.Timeout > 0 {
		w.text("timeout", e.Timeout.String())
	}
	e.Connection.write(&w)
	w.flag("disabled", e.Disabled)
	w.close()
	return w.b.String()
}

func (in Input) json() string {
	var w writer
	w.open()
	w.text("id", in.ID)
	if len(in.Options) > 0 {
		w.text("type", "pickString")
	} else {
		w.text("type", "promptString")
	}
	w.text("description", in.Description)
	w.text("default", in.Default)
	w.flag("password", in.Password)
	w.list("options", in.Options)
	w.close()
	return w.b.String()
}

// addInput returns the document with an input added, unless it has one with that
// ID.
func addInput(root node, in Input) (node, error) {
	n, ok := root.member("inputs")
	if !ok {
		value := "[\n\t" + strings.ReplaceAll(in.json(), "\n", "\n\t") + "\n]"
		return read(root.doc.file, insertMember(root, "inputs", value))
	}
	list, err := n.list()
	if err != nil {
		return node{}, err
	}
	text := root.doc.text
	indent := lineIndent(text, n.off) + unit(text)
	at, before, after := n.off+1, "", newline(text)+lineIndent(text, n.off)
	for _, e := range list {
		if id, ok := e.member("id"); ok && rawjson.EqualString(id.raw, in.ID) {
			return root, nil
		}
		at, before = e.off+len(e.raw), ","
	}
	if bytes.IndexByte(text[at:n.off+len(n.raw)], '\n') >= 0 {
		after = "" // the closing bracket is on its own line
	}
	body := strings.NewReplacer("\n", newline(text)+indent, "\t", unit(text)).Replace(in.json())
	return read(root.doc.file, slices.Concat(text[:at], []byte(before+newline(text)+indent+body+after), text[at:]))
}
