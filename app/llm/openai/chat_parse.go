package openai

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/internal/wire"
	"github.com/tenon-mcp/tenon/sse"
)

// A chatParser translates a stream of chunks. Each chunk has a piece of the
// message; the last one with a choice has the finish reason, one more may have
// the usage, and [DONE] ends the stream.
type chatParser struct {
	calls    wire.Calls
	think    thinkTags
	usage    llm.Usage
	finish   string
	refused  bool
	last     int              // key of the newest call
	ids      map[int]string   // the server's IDs of calls by key
	reason   string           // signature for the JSON member that has the thinking
	details  []jsontext.Value // OpenRouter's reasoning_details
	thinking bool             // a thinking block is open
}

type chunk struct {
	Choices []struct {
		Index   int    `json:"index"`
		Delta   delta  `json:"delta"`
		Message delta  `json:"message"` // of an answer that is not streamed
		Finish  string `json:"finish_reason"`
	} `json:"choices"`
	Usage *chatUsage     `json:"usage"`
	Error jsontext.Value `json:"error"`
}

type delta struct {
	Content          jsontext.Value   `json:"content"`
	Refusal          string           `json:"refusal"`
	ReasoningContent string           `json:"reasoning_content"`
	Reasoning        jsontext.Value   `json:"reasoning"`
	ReasoningDetails []jsontext.Value `json:"reasoning_details"`
	ToolCalls        []callDelta      `json:"tool_calls"`
}

type callDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string         `json:"name"`
		Arguments jsontext.Value `json:"arguments"`
	} `json:"function"`
	Extra jsontext.Value `json:"extra_content"`
}

type chatUsage struct {
	Prompt     int     `json:"prompt_tokens"`
	Completion int     `json:"completion_tokens"`
	Cost       float64 `json:"cost"`
	Details    struct {
		Cached     int `json:"cached_tokens"`
		CacheWrite int `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
}

// Parse implements [wire.Parser].
func (p *chatParser) Parse(e sse.Event, out func(llm.Event)) (bool, error) {
	data := bytes.TrimSpace(e.Data)
	if len(data) == 0 {
		return false, nil
	}
	if string(data) == "[DONE]" {
		return true, p.end(out)
	}
	var c chunk
	if err := wire.Unmarshal(data, &c); err != nil {
		if r, ok := wire.ReadReport(data); ok {
			return false, r.Err(0)
		}
		return false, err
	}
	if len(c.Error) > 0 && string(c.Error) != "null" || len(c.Choices) == 0 && c.Usage == nil && e.Name == "error" {
		r, _ := wire.ReadReport(data)
		return false, r.Err(0)
	}
	if u := c.Usage; u != nil {
		cached := min(u.Details.Cached+u.Details.CacheWrite, u.Prompt)
		p.usage = llm.Usage{Input: u.Prompt - cached, Output: u.Completion, CacheRead: u.Details.Cached, CacheWrite: u.Details.CacheWrite, Cost: u.Cost}
	}
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			continue // only one was requested
		}
		p.delta(&ch.Delta, out)
		p.delta(&ch.Message, out)
		if ch.Finish != "" {
			p.finish = ch.Finish
		}
	}
	return false, nil
}

func (p *chatParser) delta(d *delta, out func(llm.Event)) {
	if d.ReasoningContent != "" {
		p.reason = signedContent
		p.thought(d.ReasoningContent, out)
	} else if s := textOf(d.Reasoning); s != "" {
		p.reason = signedPlain
		p.thought(s, out)
	}
	p.details = append(p.details, d.ReasoningDetails...)
	p.content(d.Content, out)
	if d.Refusal != "" {
		p.refused = true
		p.closeThinking(out)
		out(llm.Event{Kind: llm.EventText, Text: d.Refusal})
	}
	for _, c := range d.ToolCalls {
		p.closeThinking(out)
		p.call(c, out)
	}
}

// content handles a string, or a list of parts as Mistral sends it.
func (p *chatParser) content(raw jsontext.Value, out func(llm.Event)) {
	if len(raw) == 0 || string(raw) == "null" {
		return
	}
	if raw[0] != '[' {
		p.text(textOf(raw), out)
		return
	}
	var parts []struct {
		Type     string         `json:"type"`
		Text     string         `json:"text"`
		Thinking jsontext.Value `json:"thinking"`
	}
	if wire.Unmarshal(raw, &parts) != nil {
		return
	}
	for _, part := range parts {
		if part.Type != "thinking" {
			p.text(part.Text, out)
			continue
		}
		var inner []struct {
			Text string `json:"text"`
		}
		_ = wire.Unmarshal(part.Thinking, &inner)
		for _, t := range inner {
			p.thought(t.Text, out)
		}
	}
}

func (p *chatParser) text(s string, out func(llm.Event)) {
	if s == "" {
		return
	}
	p.think.split(s, func(piece string, thinking bool) {
		if thinking {
			p.thought(piece, out)
			return
		}
		p.closeThinking(out)
		out(llm.Event{Kind: llm.EventText, Text: piece})
	})
}

func (p *chatParser) thought(s string, out func(llm.Event)) {
	if s != "" {
		p.thinking = true
		out(llm.Event{Kind: llm.EventThinking, Text: s})
	}
}

// closeThinking ends a thinking block with the signature that returns it to the
// provider.
func (p *chatParser) closeThinking(out func(llm.Event)) {
	signature := p.reason
	if len(p.details) > 0 {
		signature = signedDetails + string(joinDetails(p.details))
	}
	if signature != "" && (p.thinking || len(p.details) > 0) {
		out(llm.Event{Kind: llm.EventThinking, Signature: signature})
	}
	p.thinking, p.reason, p.details = false, "", nil
}

// call handles a piece of a call. Calls have an index, but some servers send 0
// for all or none; then a new ID starts a new call, or a name after complete
// arguments.
func (p *chatParser) call(c callDelta, out func(llm.Event)) {
	key := p.last
	if c.Index != nil {
		key = *c.Index
	}
	if p.ids == nil {
		p.ids = map[int]string{}
	}
	repeated := c.Function.Name != "" && len(c.Function.Arguments) > 2 && p.calls.Complete(key)
	if repeated || !p.calls.Has(key) || c.ID != "" && p.ids[key] != c.ID || c.Index == nil && c.Function.Name != "" {
		if c.Function.Name == "" {
			return
		}
		if p.calls.Has(key) {
			p.calls.End(key, out)
		}
		p.ids[key], p.last = c.ID, key
		p.calls.Start(key, c.ID, c.Function.Name, out)
	}
	if len(c.Extra) > 0 && c.Extra[0] == '{' {
		p.calls.Sign(key, signedExtra+string(c.Extra))
	}
	if args := c.Function.Arguments; len(args) > 0 && args[0] == '"' {
		p.calls.Append(key, textOf(args), out)
	} else if len(args) > 0 && string(args) != "null" {
		p.calls.Append(key, string(args), out) // an object instead of a string
	}
}

// End implements [wire.Parser]. It accepts a stream without [DONE] if it had a
// finish reason.
func (p *chatParser) End(out func(llm.Event)) error {
	if p.finish == "" {
		return wire.Truncated("finish_reason")
	}
	return p.end(out)
}

func (p *chatParser) end(out func(llm.Event)) error {
	p.think.flush(func(piece string, thinking bool) {
		if thinking {
			p.thought(piece, out)
			return
		}
		out(llm.Event{Kind: llm.EventText, Text: piece})
	})
	p.closeThinking(out)
	p.calls.EndAll(p.finish == "length", out)
	if p.finish == "error" {
		return &llm.Error{Kind: llm.ErrServer, Message: "the answer ended with an unspecified error"}
	}
	return nil
}

// Outcome implements [wire.Parser].
func (p *chatParser) Outcome() (llm.StopReason, llm.Usage) {
	switch {
	case p.refused || p.finish == "content_filter":
		return llm.StopRefusal, p.usage
	case p.finish == "length":
		return llm.StopLength, p.usage
	case p.finish == "tool_calls" || p.finish == "function_call":
		return llm.StopToolCalls, p.usage
	}
	return llm.StopEnd, p.usage
}

// textOf decodes a JSON string; it returns "" for other values.
func textOf(raw jsontext.Value) string {
	var s string
	if len(raw) == 0 || raw[0] != '"' || wire.Unmarshal(raw, &s) != nil {
		return ""
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
