package llmtest

import (
	"net/http"
	"slices"
	"strings"

	json "github.com/go-json-experiment/json"
)

// reshaped is the Messages or the Responses API of a product: its events are those
// of the original, changed as the profile says.
type reshaped struct {
	wire
	Profile
}

func (p reshaped) key(h http.Header) string {
	if p.KeyHeader != "" {
		return strings.TrimPrefix(h.Get(p.KeyHeader), "Bearer ")
	}
	return p.wire.key(h)
}

func (p reshaped) refusal(status int, message string) any {
	if p.PlainErrors {
		return object{"error": message}
	}
	return p.wire.refusal(status, message)
}

func (p reshaped) fail(message string) (string, any) {
	name, data := p.wire.fail(message)
	if p.PlainErrors {
		data = object{"error": message}
	}
	if p.NoNames {
		name = ""
	}
	return name, data
}

func (p reshaped) stream(t Turn, model string, send func(string, any)) {
	if p.NoSignature {
		t.Signature = ""
	}
	if p.SameIDs {
		t.Calls = slices.Clone(t.Calls)
		for i := range t.Calls {
			t.Calls[i].ID = "call_0"
		}
	}
	p.wire.stream(t, model, p.changing(t, send))
}

func (p reshaped) end(send func(string, any), t Turn) {
	p.wire.end(p.changing(t, send), t)
	if p.WithDone {
		send("", "[DONE]")
	}
}

// changing returns a function that sends an event as the product does.
func (p reshaped) changing(t Turn, send func(string, any)) func(string, any) {
	var held object                          // a content_block_start that waits for its arguments
	var arguments strings.Builder            // of the open call
	return func(name string, original any) { // the data is this event's own
		data, _ := original.(object)
		kind := text(data["type"])
		deliver := func(data object) {
			if p.NoNames {
				name = ""
			}
			send(name, data)
		}
		delta, _ := data["delta"].(object)
		switch {
		case kind == "ping" && p.NoPing, text(delta["type"]) == "signature_delta" && p.NoSignature:
		case kind == "message_start" && (p.UsageLate || p.NoUsage):
			data["message"].(object)["usage"] = object{"input_tokens": 0, "output_tokens": 0}
			deliver(data)
		case kind == "message_delta" && p.UsageLate:
			data["usage"] = object{"input_tokens": t.Usage.Input, "output_tokens": t.Usage.Output}
			deliver(data)
		case kind == "message_delta" && p.NoUsage:
			delete(data, "usage")
			deliver(data)
		case kind == "content_block_start" && text(data["content_block"].(object)["type"]) == "tool_use" && (p.Objects || p.Whole):
			held = data
			arguments.Reset()
		case text(delta["type"]) == "input_json_delta" && held != nil:
			arguments.WriteString(text(delta["partial_json"]))
		case kind == "content_block_stop" && held != nil:
			start, stop := held, data
			held = nil
			if p.Objects {
				var input any
				_ = json.Unmarshal([]byte(arguments.String()), &input)
				start["content_block"].(object)["input"] = input
			}
			name = "content_block_start"
			deliver(start)
			if !p.Objects {
				name = "content_block_delta"
				deliver(object{"type": name, "index": start["index"], "delta": object{"type": "input_json_delta", "partial_json": arguments.String()}})
			}
			name = "content_block_stop"
			deliver(stop)

		case strings.HasPrefix(kind, "response.reasoning_summary") && p.Thinking == "reasoning_text":
			if strings.HasSuffix(kind, "_text.delta") {
				name = "response.reasoning_text.delta"
				deliver(object{"type": name, "item_id": data["item_id"], "output_index": data["output_index"], "content_index": 0, "delta": data["delta"]})
			}
		case strings.HasPrefix(kind, "response.function_call_arguments") && p.Whole:
		case kind == "response.output_item.added" && p.OnlyDone:
		case kind == "response.output_item.done":
			if item := data["item"].(object); text(item["type"]) == "reasoning" && p.Thinking == "reasoning_text" {
				item["content"] = []any{object{"type": "reasoning_text", "text": strings.Join(t.Thinking, "")}}
				item["summary"] = []any{}
				delete(item, "encrypted_content")
			}
			deliver(data)
		case kind == "response.completed":
			r := data["response"].(object)
			if p.NoUsage {
				r["usage"] = nil
			}
			if p.NoOutput {
				r["output"] = []any{}
			}
			deliver(data)
		default:
			deliver(data)
		}
	}
}
