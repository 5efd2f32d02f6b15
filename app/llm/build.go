package llm

import (
	"slices"
	"strings"
)

// A Builder makes a message of the events of an answer. Its zero value is
// ready. It serves whoever must keep an answer that was cut off; a complete
// answer comes with its EventDone.
type Builder struct {
	parts []Part
	text  strings.Builder // of the last part, while it grows
	open  bool            // the last part may grow
}

// Add takes an event into account.
func (b *Builder) Add(e Event) {
	switch e.Kind {
	case EventText:
		b.grow(PartText, e.Text, "")
	case EventThinking:
		b.grow(PartThinking, e.Text, e.Signature)
	case EventCall:
		call := *e.Call
		b.settle()
		b.parts = append(b.parts, Part{Kind: PartToolCall, Call: &call, Signature: e.Signature})
		b.open = false
	}
}

func (b *Builder) grow(kind PartKind, text, signature string) {
	if text == "" && signature == "" {
		return
	}
	n := len(b.parts)
	if !b.open || n == 0 || b.parts[n-1].Kind != kind {
		b.settle()
		b.parts = append(b.parts, Part{Kind: kind})
		n++
		b.open = true
	}
	b.text.WriteString(text)
	b.parts[n-1].Signature += signature
	if signature != "" {
		b.settle()
	}
}

// settle ends the part that grows.
func (b *Builder) settle() {
	if b.open {
		b.parts[len(b.parts)-1].Text = b.text.String()
	}
	b.text = strings.Builder{}
	b.open = false
}

// Message is the answer so far. Calls whose arguments had not all come are not
// in it.
func (b *Builder) Message() Message {
	parts := slices.Clone(b.parts)
	if b.open {
		parts[len(parts)-1].Text = b.text.String()
	}
	return Message{Role: RoleAssistant, Parts: parts}
}

// Empty reports whether nothing has come yet.
func (b *Builder) Empty() bool { return len(b.parts) == 0 }
