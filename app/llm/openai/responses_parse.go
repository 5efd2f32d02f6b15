package openai

import (
	"bytes"
	"cmp"

	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/internal/wire"
	"github.com/tenon-mcp/tenon/sse"
)

// A responsesParser translates the stream of a response:
//
//	response.created
//	  response.output_item.added        message, reasoning, function_call
//	    response.*.delta …
//	  response.output_item.done
//	  …
//	response.completed                  or .incomplete, or .failed
type responsesParser struct {
	calls   wire.Calls
	usage   llm.Usage
	stop    llm.StopReason
	summary int // index of the current part of the reasoning summary
}

type responseEvent struct {
	Type         string         `json:"type"`
	OutputIndex  int            `json:"output_index"`
	SummaryIndex int            `json:"summary_index"`
	Delta        jsontext.Value `json:"delta"`
	Arguments    string         `json:"arguments"`
	Item         jsontext.Value `json:"item"`
	Response     struct {
		Status     string         `json:"status"`
		Error      jsontext.Value `json:"error"`
		Incomplete struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
		Usage *responseUsage `json:"usage"`
	} `json:"response"`
}

type responseUsage struct {
	Input   int `json:"input_tokens"`
	Output  int `json:"output_tokens"`
	Details struct {
		Cached     int `json:"cached_tokens"`
		CacheWrite int `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
}

type outputItem struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Parse implements [wire.Parser]. It ignores unknown event types.
func (p *responsesParser) Parse(e sse.Event, out func(llm.Event)) (bool, error) {
	data := bytes.TrimSpace(e.Data)
	if len(data) == 0 || string(data) == "[DONE]" {
		return false, nil
	}
	var ev responseEvent
	if err := wire.Unmarshal(data, &ev); err != nil {
		return false, err
	}
	switch ev.Type {
	case "response.output_text.delta":
		p.say(llm.EventText, textOf(ev.Delta), out)
	case "response.refusal.delta":
		p.stop = llm.StopRefusal
		p.say(llm.EventText, textOf(ev.Delta), out)
	case "response.reasoning_summary_text.delta":
		if ev.SummaryIndex != p.summary {
			p.summary = ev.SummaryIndex
			p.say(llm.EventThinking, "\n\n", out)
		}
		p.say(llm.EventThinking, textOf(ev.Delta), out)
	case "response.reasoning_text.delta":
		p.say(llm.EventThinking, textOf(ev.Delta), out)
	case "response.output_item.added":
		p.added(&ev, out)
	case "response.function_call_arguments.delta":
		p.calls.Append(ev.OutputIndex, textOf(ev.Delta), out)
	case "response.function_call_arguments.done":
		p.calls.Replace(ev.OutputIndex, ev.Arguments)
	case "response.output_item.done":
		p.done(&ev, out)
	case "response.completed", "response.incomplete":
		p.complete(&ev, out)
		return true, nil
	case "response.failed", "response.cancelled":
		p.count(ev.Response.Usage)
		r, _ := wire.ReadReport([]byte(`{"error":` + cmp.Or(string(ev.Response.Error), "null") + `}`))
		return false, r.Err(0)
	case "error", "":
		r, ok := wire.ReadReport(data)
		if !ok {
			r.Message = "the stream has an event without a type"
		}
		return false, r.Err(0)
	}
	return false, nil
}

func (p *responsesParser) say(kind llm.EventKind, s string, out func(llm.Event)) {
	if s != "" {
		out(llm.Event{Kind: kind, Text: s})
	}
}

func (p *responsesParser) added(ev *responseEvent, out func(llm.Event)) {
	p.summary = 0
	var item outputItem
	if wire.Unmarshal(ev.Item, &item) == nil && item.Type == "function_call" {
		p.calls.Start(ev.OutputIndex, item.CallID, item.Name, out)
		p.calls.Append(ev.OutputIndex, item.Arguments, out)
	}
}

func (p *responsesParser) done(ev *responseEvent, out func(llm.Event)) {
	var item outputItem
	if wire.Unmarshal(ev.Item, &item) != nil {
		return
	}
	switch item.Type {
	case "function_call":
		if !p.calls.Has(ev.OutputIndex) { // no output_item.added was sent
			p.calls.Start(ev.OutputIndex, item.CallID, item.Name, out)
		}
		p.calls.Replace(ev.OutputIndex, item.Arguments)
		p.calls.End(ev.OutputIndex, out)
	case "reasoning":
		if item := reasoningItem(ev.Item); item != nil {
			out(llm.Event{Kind: llm.EventThinking, Signature: signedItem + string(item)})
		}
	}
}

// reasoningItem returns a reasoning item as the next request must repeat it, without
// its status. It returns nil for an item without encrypted content, which the
// provider cannot restore.
func reasoningItem(item jsontext.Value) jsontext.Value {
	var all map[string]jsontext.Value
	if wire.Unmarshal(item, &all) != nil || len(textOf(all["encrypted_content"])) == 0 {
		return nil
	}
	delete(all, "status")
	out, err := json.Marshal(all, json.Deterministic(true))
	if err != nil {
		return nil
	}
	return out
}

func (p *responsesParser) complete(ev *responseEvent, out func(llm.Event)) {
	p.count(ev.Response.Usage)
	if ev.Type == "response.incomplete" {
		p.stop = llm.StopLength
		if ev.Response.Incomplete.Reason == "content_filter" {
			p.stop = llm.StopRefusal
		}
	}
	p.calls.EndAll(p.stop == llm.StopLength, out)
}

func (p *responsesParser) count(u *responseUsage) {
	if u != nil {
		cached := min(u.Details.Cached+u.Details.CacheWrite, u.Input)
		p.usage = llm.Usage{Input: u.Input - cached, Output: u.Output, CacheRead: u.Details.Cached, CacheWrite: u.Details.CacheWrite}
	}
}

// End implements [wire.Parser]: the stream had no last event.
func (p *responsesParser) End(func(llm.Event)) error {
	return wire.Truncated("response.completed")
}

// Outcome implements [wire.Parser].
func (p *responsesParser) Outcome() (llm.StopReason, llm.Usage) {
	return cmp.Or(p.stop, llm.StopEnd), p.usage
}
