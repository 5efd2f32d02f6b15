package llm

import (
	"context"
	"slices"
	"strings"
)

// A Builder assembles a message from the events of an answer. The zero value is
// ready to use. Use it to keep an answer that was cut off; the EventDone of a
// complete answer has the message.
type Builder struct {
	parts []Part
	text  strings.Builder // text of the open part
	open  bool            // whether more text may be appended to the last part
}

// Add appends an event to the message.
func (b *Builder) Add(e Event) {
	switch e.Kind {
	case EventText:
		b.grow(PartText, e.Text, "")
	case EventThinking:
		b.grow(PartThinking, e.Text, e.Signature)
	case EventCall:
		call := *e.Call
		b.closePart()
		b.parts = append(b.parts, Part{Kind: PartToolCall, Call: &call, Signature: e.Signature})
	}
}

func (b *Builder) grow(kind PartKind, text, signature string) {
	if text == "" && signature == "" {
		return
	}
	n := len(b.parts)
	if !b.open || n == 0 || b.parts[n-1].Kind != kind {
		b.closePart()
		b.parts = append(b.parts, Part{Kind: kind})
		n++
		b.open = true
	}
	b.text.WriteString(text)
	b.parts[n-1].Signature += signature
	if signature != "" {
		b.closePart()
	}
}

func (b *Builder) closePart() {
	if b.open {
		b.parts[len(b.parts)-1].Text = b.text.String()
	}
	b.text = strings.Builder{}
	b.open = false
}

// Message returns the answer so far, without incomplete tool calls.
func (b *Builder) Message() Message {
	parts := slices.Clone(b.parts)
	if b.open {
		parts[len(parts)-1].Text = b.text.String()
	}
	return Message{Role: RoleAssistant, Parts: parts}
}

// Empty reports whether the message has no part yet.
func (b *Builder) Empty() bool { return len(b.parts) == 0 }

// An Answer is a complete answer.
type Answer struct {
	Message Message
	Stop    StopReason
	Usage   Usage
}

// Ask sends a request and waits for the complete answer. Along with an error it
// returns the part of the answer received before it.
func Ask(ctx context.Context, m Model, r *Request) (Answer, error) {
	var b Builder
	var a Answer
	for e, err := range m.Stream(ctx, r) {
		if err != nil {
			a.Message = b.Message()
			return a, err
		}
		b.Add(e)
		switch e.Kind {
		case EventUsage:
			a.Usage = e.Usage
		case EventDone:
			a.Stop, a.Usage, a.Message = e.Stop, e.Usage, b.Message()
			if e.Message != nil {
				a.Message = *e.Message
			}
		}
	}
	return a, nil
}
