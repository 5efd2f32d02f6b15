package anthropic

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/internal/wire"
	"github.com/tenon-mcp/tenon/sse"
)

// A parser translates a stream of the Messages API:
//
//	message_start
//	  content_block_start   text, thinking, redacted_thinking, tool_use
//	    content_block_delta …
//	  content_block_stop
//	  …
//	message_delta           stop reason and usage
//	message_stop
type parser struct {
	calls wire.Calls
	kinds map[int]string // types of the blocks by index
	signs map[int]string // signatures of open thinking blocks by index
	usage llm.Usage
	stop  llm.StopReason
}

type streamEvent struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Usage usage `json:"usage"`
	} `json:"message"`
	Block struct {
		Type      string         `json:"type"`
		ID        string         `json:"id"`
		Name      string         `json:"name"`
		Text      string         `json:"text"`
		Thinking  string         `json:"thinking"`
		Signature string         `json:"signature"`
		Data      string         `json:"data"`
		Input     jsontext.Value `json:"input"`
	} `json:"content_block"`
	Delta struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		Thinking    string `json:"thinking"`
		Signature   string `json:"signature"`
		PartialJSON string `json:"partial_json"`
		StopReason  string `json:"stop_reason"`
	} `json:"delta"`
	Usage usage `json:"usage"`
}

// usage has pointers because an omitted number leaves the earlier one in force.
type usage struct {
	Input      *int `json:"input_tokens"`
	Output     *int `json:"output_tokens"`
	CacheRead  *int `json:"cache_read_input_tokens"`
	CacheWrite *int `json:"cache_creation_input_tokens"`
}

func (u usage) mergeInto(v *llm.Usage) {
	for _, f := range []struct {
		from *int
		to   *int
	}{{u.Input, &v.Input}, {u.Output, &v.Output}, {u.CacheRead, &v.CacheRead}, {u.CacheWrite, &v.CacheWrite}} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
}

// Parse implements [wire.Parser]. It ignores unknown event types, as the API
// requires.
func (p *parser) Parse(e sse.Event, out func(llm.Event)) (bool, error) {
	if len(e.Data) == 0 {
		return false, nil
	}
	var ev streamEvent
	if err := wire.Unmarshal(e.Data, &ev); err != nil {
		return false, err
	}
	switch ev.Type {
	case "message_start":
		ev.Message.Usage.mergeInto(&p.usage)
	case "content_block_start":
		p.start(&ev, out)
	case "content_block_delta":
		p.delta(&ev, out)
	case "content_block_stop":
		p.sign(ev.Index, out)
		p.calls.End(ev.Index, out)
	case "message_delta":
		ev.Usage.mergeInto(&p.usage)
		if ev.Delta.StopReason != "" {
			p.stop = stopReason(ev.Delta.StopReason)
		}
	case "message_stop":
		for _, index := range slices.Sorted(maps.Keys(p.signs)) { // blocks without content_block_stop
			p.sign(index, out)
		}
		p.calls.EndAll(p.stop == llm.StopLength, out)
		return true, nil
	case "error":
		r, _ := wire.ReadReport(e.Data)
		return false, r.Err(0)
	case "message":
		return false, &llm.Error{Kind: llm.ErrServer, Message: "the server sent a whole message instead of a stream"}
	case "":
		if r, ok := wire.ReadReport(e.Data); ok {
			return false, r.Err(0)
		}
		return false, errors.New("no type")
	}
	return false, nil
}

func (p *parser) start(ev *streamEvent, out func(llm.Event)) {
	if p.kinds == nil {
		p.kinds = map[int]string{}
	}
	b := ev.Block
	p.kinds[ev.Index] = b.Type
	switch b.Type {
	case "text":
		p.text(b.Text, out)
	case "thinking":
		p.think(ev.Index, b.Thinking, b.Signature, out)
	case "redacted_thinking":
		out(llm.Event{Kind: llm.EventThinking, Signature: redactedThinking + b.Data})
	case "tool_use":
		p.calls.Start(ev.Index, b.ID, b.Name, out)
		if len(b.Input) > 2 { // not {}: some servers send all arguments here
			p.calls.Append(ev.Index, string(b.Input), out)
		}
	}
}

func (p *parser) delta(ev *streamEvent, out func(llm.Event)) {
	switch d := ev.Delta; d.Type {
	case "text_delta":
		p.text(d.Text, out)
	case "thinking_delta":
		p.think(ev.Index, d.Thinking, "", out)
	case "signature_delta":
		p.think(ev.Index, "", d.Signature, out)
	case "input_json_delta":
		if p.kinds[ev.Index] == "tool_use" {
			p.calls.Append(ev.Index, d.PartialJSON, out)
		}
	}
}

func (p *parser) text(s string, out func(llm.Event)) {
	if s != "" {
		out(llm.Event{Kind: llm.EventText, Text: s})
	}
}

// think emits thinking and collects the signature, which may come in pieces, until
// the block ends.
func (p *parser) think(index int, s, signature string, out func(llm.Event)) {
	if s != "" {
		out(llm.Event{Kind: llm.EventThinking, Text: s})
	}
	if signature != "" {
		if p.signs == nil {
			p.signs = map[int]string{}
		}
		p.signs[index] += signature
	}
}

// sign emits the signature of a thinking block.
func (p *parser) sign(index int, out func(llm.Event)) {
	if s := p.signs[index]; s != "" {
		delete(p.signs, index)
		out(llm.Event{Kind: llm.EventThinking, Signature: signedThinking + s})
	}
}

// End implements [wire.Parser]: the stream had no message_stop.
func (p *parser) End(func(llm.Event)) error {
	return wire.Truncated("message_stop")
}

// Outcome implements [wire.Parser].
func (p *parser) Outcome() (llm.StopReason, llm.Usage) {
	return cmp.Or(p.stop, llm.StopEnd), p.usage
}

func stopReason(s string) llm.StopReason {
	switch s {
	case "tool_use":
		return llm.StopToolCalls
	case "max_tokens", "model_context_window_exceeded":
		return llm.StopLength
	case "stop_sequence":
		return llm.StopStop
	case "refusal":
		return llm.StopRefusal
	}
	return llm.StopEnd
}
