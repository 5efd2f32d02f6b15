package llm

import "slices"

// A Builder makes a message of the events of an answer. Its zero value is
// ready. It serves whoever must keep an answer that was cut off; a complete
// answer comes with its EventDone.
type Builder struct {
	parts []Part
	open  bool // the last part may grow
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
		b.parts = append(b.parts, Part{Kind: kind})
		n++
	}
	b.parts[n-1].Text += text
	b.parts[n-1].Signature += signature
	b.open = signature == ""
}

// Message is the answer so far. Calls whose arguments had not all come are not
// in it.
func (b *Builder) Message() Message {
	return Message{Role: RoleAssistant, Parts: slices.Clone(b.parts)}
}

// Empty reports whether nothing has come yet.
func (b *Builder) Empty() bool { return len(b.parts) == 0 }
