package wire

import (
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// Calls puts together the tool calls of one answer from pieces that may come
// in any order.
type Calls struct {
	// Restore turns arguments under the names that the provider was given into
	// those of the tool; nil means that they are the same.
	Restore func(tool string, arguments llm.RawMessage) llm.RawMessage

	open []*openCall
	ids  map[string]bool
}

type openCall struct {
	key       any
	call      llm.ToolCall
	arguments strings.Builder
	signature string
	ended     bool
}

// Start begins the call that later pieces name by the key.
func (c *Calls) Start(key any, id, name string, out func(llm.Event)) {
	if c.ids == nil {
		c.ids = map[string]bool{}
	}
	if id == "" || c.ids[id] { // some servers give none, or the same to all
		id = "call_" + rand.Text()
	}
	c.ids[id] = true
	o := &openCall{key: key, call: llm.ToolCall{ID: id, Name: name}}
	c.open = append(c.open, o)
	begun := o.call
	out(llm.Event{Kind: llm.EventCallStart, Call: &begun})
}

// Has reports whether a call with this key was started and not ended.
func (c *Calls) Has(key any) bool { return c.find(key) != nil }

func (c *Calls) find(key any) *openCall {
	for i := len(c.open) - 1; i >= 0; i-- {
		if o := c.open[i]; o.key == key && !o.ended {
			return o
		}
	}
	return nil
}

// Whole reports whether the call with this key has arguments that nothing can
// be added to.
func (c *Calls) Whole(key any) bool {
	o := c.find(key)
	return o != nil && o.arguments.Len() > 0 && rawjson.Check([]byte(o.arguments.String())) == nil
}

// Grow adds to the arguments of a call; a key that was never started is
// ignored, because then there is nobody to run it.
func (c *Calls) Grow(key any, piece string, out func(llm.Event)) {
	o := c.find(key)
	if o == nil || piece == "" {
		return
	}
	o.arguments.WriteString(piece)
	begun := o.call
	out(llm.Event{Kind: llm.EventCallDelta, Call: &begun, Text: piece})
}

// Sign keeps what the provider wants back with the call.
func (c *Calls) Sign(key any, signature string) {
	if o := c.find(key); o != nil {
		o.signature = signature
	}
}

// Replace sets arguments that came in one piece.
func (c *Calls) Replace(key any, arguments string) {
	if o := c.find(key); o != nil && arguments != "" {
		o.arguments.Reset()
		o.arguments.WriteString(arguments)
	}
}

// End says that all of a call has come.
func (c *Calls) End(key any, out func(llm.Event)) {
	if o := c.find(key); o != nil {
		c.end(o, "", out)
	}
}

// EndAll ends the calls that are still open. Cut means that the answer ended
// at a limit, so that what is missing was never written.
func (c *Calls) EndAll(cut bool, out func(llm.Event)) {
	note := ""
	if cut {
		note = " The answer was cut off because it reached the token limit: use shorter arguments, or several calls."
	}
	for _, o := range c.open {
		if !o.ended {
			c.end(o, note, out)
		}
	}
}

func (c *Calls) end(o *openCall, note string, out func(llm.Event)) {
	o.ended = true
	call := o.call
	call.Arguments, call.Problem = Arguments(o.arguments.String())
	if call.Problem != "" {
		call.Problem = call.Problem + note + " What was written: " + excerpt(o.arguments.String())
	} else if c.Restore != nil {
		call.Arguments = c.Restore(call.Name, call.Arguments)
	}
	out(llm.Event{Kind: llm.EventCall, Call: &call, Signature: o.signature})
}

// Arguments checks what a model wrote. Nothing at all means no arguments. The
// problem is written for the model.
func Arguments(text string) (llm.RawMessage, string) {
	raw := []byte(strings.TrimSpace(text))
	if len(raw) == 0 || string(raw) == "null" {
		return llm.RawMessage("{}"), ""
	}
	err := rawjson.Check(raw)
	if err == nil && rawjson.IsObject(raw) {
		return raw, ""
	}
	if err == nil && raw[0] == '"' { // encoded twice
		var inner string
		if Unmarshal(raw, &inner) == nil {
			if args := []byte(strings.TrimSpace(inner)); rawjson.Check(args) == nil && rawjson.IsObject(args) {
				return args, ""
			}
		}
	}
	what := "they are " + kindOf(raw)
	if err != nil {
		what = err.Error()
	}
	return llm.RawMessage("{}"), fmt.Sprintf("The tool was not run: its arguments must be one JSON object, but %s.", what)
}

func kindOf(raw []byte) string {
	switch raw[0] {
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	}
	return "a number"
}

func excerpt(s string) string {
	if r := []rune(s); len(r) > 300 {
		return string(r[:200]) + " … " + string(r[len(r)-80:])
	}
	return s
}
