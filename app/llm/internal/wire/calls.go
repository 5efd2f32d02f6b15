package wire

import (
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// Calls assembles the tool calls of one answer from pieces that may arrive
// interleaved. The caller chooses the key that identifies a call.
type Calls struct {
	// Restore renames arguments from the names sent to the provider to those of
	// the tool; nil means that the names are the same.
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

// Start begins the call with this key.
func (c *Calls) Start(key any, id, name string, out func(llm.Event)) {
	if c.ids == nil {
		c.ids = map[string]bool{}
	}
	if id == "" || c.ids[id] { // some servers send no ID, or the same one for all
		id = "call_" + rand.Text()
	}
	c.ids[id] = true
	o := &openCall{key: key, call: llm.ToolCall{ID: id, Name: name}}
	c.open = append(c.open, o)
	out(llm.Event{Kind: llm.EventCallStart, Call: new(o.call)})
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

// Complete reports whether the arguments of the call with this key are valid
// JSON.
func (c *Calls) Complete(key any) bool {
	o := c.find(key)
	return o != nil && o.arguments.Len() > 0 && rawjson.Check([]byte(o.arguments.String())) == nil
}

// Append adds to the arguments of a call. It ignores an unknown key.
func (c *Calls) Append(key any, piece string, out func(llm.Event)) {
	o := c.find(key)
	if o == nil || piece == "" {
		return
	}
	o.arguments.WriteString(piece)
	out(llm.Event{Kind: llm.EventCallDelta, Call: new(o.call), Text: piece})
}

// Sign sets the signature that the provider needs back with the call.
func (c *Calls) Sign(key any, signature string) {
	if o := c.find(key); o != nil {
		o.signature = signature
	}
}

// Replace sets the complete arguments of a call.
func (c *Calls) Replace(key any, arguments string) {
	if o := c.find(key); o != nil && arguments != "" {
		o.arguments.Reset()
		o.arguments.WriteString(arguments)
	}
}

// End completes a call.
func (c *Calls) End(key any, out func(llm.Event)) {
	if o := c.find(key); o != nil {
		c.end(o, "", out)
	}
}

// EndAll completes all open calls. Cut says that the answer ended at the token
// limit.
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
		call.Problem += note + " Received: " + excerpt(o.arguments.String())
	} else if c.Restore != nil {
		call.Arguments = c.Restore(call.Name, call.Arguments)
	}
	out(llm.Event{Kind: llm.EventCall, Call: &call, Signature: o.signature})
}

// Arguments checks the arguments that a model wrote; an empty text means {}. The
// second result tells the model what is wrong, or is "".
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
	return llm.RawMessage("{}"), fmt.Sprintf("The tool was not called: its arguments must be one JSON object, but %s.", what)
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
