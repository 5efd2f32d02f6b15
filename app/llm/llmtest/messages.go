package llmtest

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/app/llm"
)

// messages is Anthropic's Messages API.
type messages struct{}

func (messages) key(h http.Header) string {
	if h.Get("Anthropic-Version") == "" {
		return ""
	}
	return cmp.Or(h.Get("X-Api-Key"), bearer(h)) // the newest SDK for JavaScript sends a bearer token
}

func (messages) stream(t Turn, model string, send func(string, any)) {
	event := func(kind string, more object) {
		more["type"] = kind
		send(kind, more)
	}
	event("message_start", object{"message": object{
		"id": "msg_01", "type": "message", "role": "assistant", "model": model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil,
		"usage": object{"input_tokens": t.Usage.Input, "cache_creation_input_tokens": t.Usage.CacheWrite, "cache_read_input_tokens": t.Usage.CacheRead, "output_tokens": 1},
	}})
	event("ping", object{})
	index := 0
	block := func(start object, deltas ...object) {
		event("content_block_start", object{"index": index, "content_block": start})
		for _, d := range deltas {
			event("content_block_delta", object{"index": index, "delta": d})
		}
		event("content_block_stop", object{"index": index})
		index++
	}
	if len(t.Thinking) > 0 {
		var deltas []object
		for _, s := range t.Thinking {
			deltas = append(deltas, object{"type": "thinking_delta", "thinking": s})
		}
		signature := []string{t.Signature}
		if t.SignatureInPieces {
			signature = pieces(t.Signature)
		}
		for _, s := range signature {
			deltas = append(deltas, object{"type": "signature_delta", "signature": s})
		}
		block(object{"type": "thinking", "thinking": "", "signature": ""}, deltas...)
	}
	if t.Redacted != "" {
		block(object{"type": "redacted_thinking", "data": t.Redacted})
	}
	text := t.Text
	if t.Refusal != "" {
		text = pieces(t.Refusal)
	}
	if len(text) > 0 {
		var deltas []object
		for _, s := range text {
			deltas = append(deltas, object{"type": "text_delta", "text": s})
		}
		block(object{"type": "text", "text": ""}, deltas...)
	}
	for _, c := range t.Calls {
		deltas := []object{{"type": "input_json_delta", "partial_json": ""}}
		for _, s := range pieces(string(c.Arguments)) {
			deltas = append(deltas, object{"type": "input_json_delta", "partial_json": s})
		}
		block(object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}}, deltas...)
	}
}

var messagesStops = map[llm.StopReason]string{
	llm.StopEnd: "end_turn", llm.StopToolCalls: "tool_use", llm.StopLength: "max_tokens", llm.StopRefusal: "refusal", llm.StopStop: "stop_sequence",
}

func (messages) end(send func(string, any), t Turn) {
	send("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": messagesStops[t.stop()], "stop_sequence": nil}, "usage": object{"output_tokens": t.Usage.Output}})
	send("message_stop", object{"type": "message_stop"})
}

func (messages) fail(message string) (string, any) {
	return "error", object{"type": "error", "error": object{"type": "overloaded_error", "message": message}}
}

func (messages) refusal(status int, message string) any {
	kind := map[int]string{400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error"}[status]
	kind = cmp.Or(kind, "api_error")
	return object{"type": "error", "error": object{"type": kind, "message": message}, "request_id": "req_01"}
}

func (messages) check(body map[string]any) string {
	known := []string{"model", "max_tokens", "stream", "system", "messages", "tools", "tool_choice", "temperature", "stop_sequences", "thinking", "output_config", "top_p", "top_k", "metadata"}
	for name := range body {
		if !slices.Contains(known, name) {
			return name + ": Extra inputs are not permitted"
		}
	}
	if n, ok := body["max_tokens"].(float64); !ok || n < 1 {
		return "max_tokens: Field required"
	}
	marks := countMarks(body)
	if marks > 4 {
		return fmt.Sprintf("A maximum of 4 blocks with cache_control may be provided. Found %d.", marks)
	}
	if wrong := checkTools(body, func(t object) (string, any) { return text(t["name"]), t["input_schema"] }, namesTight); wrong != "" {
		return wrong
	}
	return checkMessages(list(body["messages"]))
}

// checkMessages checks that roles alternate and that exactly one result for each
// call follows at once.
func checkMessages(all []any) string {
	if len(all) == 0 {
		return "messages: at least one message is required"
	}
	owed := map[string]bool{}
	seen := map[string]bool{}
	for i, m := range all {
		msg, _ := m.(object)
		role := text(msg["role"])
		if want := []string{"user", "assistant"}[i%2]; role != want {
			return fmt.Sprintf("messages.%d: role %q, expected %q", i, role, want)
		}
		content := list(msg["content"])
		if s, ok := msg["content"].(string); ok {
			content = []any{object{"type": "text", "text": s}}
		}
		if len(content) == 0 {
			return fmt.Sprintf("messages.%d: content is empty", i)
		}
		last := false
		for j, b := range content {
			block, _ := b.(object)
			at := fmt.Sprintf("messages.%d.content.%d", i, j)
			switch text(block["type"]) {
			case "text":
				last = true
				if strings.TrimSpace(text(block["text"])) == "" {
					return at + ": text content blocks must contain non-whitespace text"
				}
			case "thinking":
				if text(block["signature"]) == "" {
					return at + ".thinking.signature: Field required"
				}
			case "tool_use":
				id := text(block["id"])
				if !idForm.MatchString(id) || seen[id] || role != "assistant" {
					return at + ".tool_use.id: must be unique and match ^[a-zA-Z0-9_-]+$"
				}
				if _, ok := block["input"].(object); !ok {
					return at + ".tool_use.input: Input should be a valid dictionary"
				}
				seen[id], owed[id] = true, true
			case "tool_result":
				if !owed[text(block["tool_use_id"])] || last {
					return at + ": unexpected `tool_use_id` in `tool_result` blocks"
				}
				delete(owed, text(block["tool_use_id"]))
				if block["is_error"] == true && len(list(block["content"])) == 0 {
					return at + ": content cannot be empty if `is_error` is true"
				}
			case "image", "document", "redacted_thinking":
			default:
				return at + ": unknown type"
			}
		}
		if role == "user" && len(owed) > 0 {
			return fmt.Sprintf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after", i)
		}
	}
	return ""
}
