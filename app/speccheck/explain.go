package speccheck

import (
	"cmp"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Field is one member of a message and its meaning.
type Field struct {
	Pointer string // a JSON pointer
	Text    string // its meaning, as a sentence; empty if the protocol does not define it
	Type    string // its type, in words
	// Required reports whether the member is required.
	Required bool
	// Known reports whether this revision defines the member. Others are allowed.
	Known bool
	// Revisions lists the revisions with this meaning, oldest first.
	Revisions []mcp.Revision
}

// maxFields bounds an explanation.
const maxFields = 20_000

// Explain returns the meaning of each member of a message in the message's
// revision, in the order of the frame. The contents of values that the protocol
// does not define, such as a tool's arguments, are left out. A message of an
// unknown revision is explained as one of the newest.
func Explain(m Message) (fields []Field) {
	if !m.Kind.IsJSON() {
		return nil
	}
	letter := letterOf(m.Revision)
	w := &walker{letter: letter}
	w.see = func(pointer string, d *member, known bool) {
		if len(fields) >= maxFields {
			return
		}
		f := Field{Pointer: pointer, Known: known}
		if d != nil {
			f.Text, f.Required, f.Type, f.Revisions = d.text, d.required, d.kind.words(), d.in.revisions()
		}
		fields = append(fields, f)
	}
	eachPart(&m, func(j *jsonrpc.Message, pointer string) {
		w.explain(j, partOf(&m, pointer), m.Method, pointer)
	})
	return fields
}

// partOf returns the frame of one message of a batch, or the frame.
func partOf(m *Message, pointer string) []byte {
	if pointer == "" {
		return m.Frame
	}
	v, _ := rawjson.At(m.Frame, pointer)
	return v
}

// explain explains the members of the envelope and their contents.
func (w *walker) explain(j *jsonrpc.Message, frame []byte, asked, pointer string) {
	method := cmp.Or(j.Method, asked)
	for o := rawjson.Object(frame); o.Next(); {
		name := string(o.Name)
		at := pointer + "/" + rawjson.EscapePointer(name)
		m := table().forms["Envelope"].find(name, w.letter)
		if name == "method" {
			m = w.methodMember(m, j.Method)
		}
		w.see(at, m, m != nil)
		if name == "params" || name == "result" || name == "error" {
			w.message(j, method, pointer)
		}
	}
}

// methodMember explains the method itself.
func (w *walker) methodMember(m *member, method string) *member {
	known := table().methods[method]
	if known == nil {
		return m
	}
	way := known.at(w.letter)
	if way == nil {
		way = &known.list[0]
	}
	own := *m
	own.text, own.in, own.required = way.text, way.in, true
	return &own
}

// Describe returns a sentence that describes a method, or "" for a method that
// the protocol does not define. An empty revision means the newest that has it.
func Describe(method string, r mcp.Revision) string {
	known := table().methods[method]
	if known == nil {
		return ""
	}
	if way := known.at(letterOf(r)); way != nil {
		return way.text
	}
	return known.list[0].text
}
