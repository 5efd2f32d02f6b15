package llmtest

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/app/llm"
)

// chat is OpenAI's Chat Completions API.
type chat struct{}

func bearer(h http.Header) string {
	key, _ := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	return key
}

func (chat) key(h http.Header) string { return bearer(h) }

func chunk(delta object, finish any) object {
	return object{
		"id": "chatcmpl-01", "object": "chat.completion.chunk", "created": 1793000000, "model": "m", "service_tier": "default", "system_fingerprint": "fp_01",
		"choices": []any{object{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}}, "usage": nil,
	}
}

func (chat) stream(t Turn, _ string, send func(string, any)) {
	say := func(delta object) { send("", chunk(delta, nil)) }
	say(object{"role": "assistant", "content": "", "refusal": nil})
	for _, s := range t.Thinking {
		say(object{"reasoning_content": s, "content": nil})
	}
	for _, s := range t.Text {
		say(object{"content": s})
	}
	for _, s := range pieces(t.Refusal) {
		say(object{"refusal": s})
	}
	for i, c := range t.Calls {
		say(object{"tool_calls": []any{object{"index": i, "id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": ""}}}})
		for _, s := range pieces(string(c.Arguments)) {
			say(object{"tool_calls": []any{object{"index": i, "function": object{"arguments": s}}}})
		}
	}
}

var chatStops = map[llm.StopReason]string{
	llm.StopEnd: "stop", llm.StopToolCalls: "tool_calls", llm.StopLength: "length", llm.StopRefusal: "stop", llm.StopStop: "stop",
}

func (chat) end(send func(string, any), t Turn) {
	finish := chatStops[t.stop()]
	if t.Stop == llm.StopRefusal {
		finish = "content_filter"
	}
	send("", chunk(object{}, finish))
	last := chunk(nil, nil)
	last["choices"] = []any{}
	last["usage"] = object{
		"prompt_tokens": t.Usage.Read(), "completion_tokens": t.Usage.Output, "total_tokens": t.Usage.Read() + t.Usage.Output,
		"prompt_tokens_details":     object{"cached_tokens": t.Usage.CacheRead, "cache_write_tokens": t.Usage.CacheWrite, "audio_tokens": 0},
		"completion_tokens_details": object{"reasoning_tokens": 0, "audio_tokens": 0, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0},
	}
	send("", last)
	send("", "[DONE]")
}

func (chat) fail(message string) (string, any) {
	return "", object{"error": object{"message": message, "type": "server_error", "param": nil, "code": nil}}
}

func (chat) refusal(status int, message string) any { return openaiRefusal(status, message) }

func openaiRefusal(status int, message string) any {
	kind := map[int]string{400: "invalid_request_error", 401: "invalid_request_error", 404: "invalid_request_error", 429: "rate_limit_error"}[status]
	kind = cmp.Or(kind, "server_error")
	var code any
	if status == 401 {
		code = "invalid_api_key"
	}
	return object{"error": object{"message": message, "type": kind, "param": nil, "code": code}}
}

func (chat) check(body map[string]any) string {
	wrong := checkTools(body, func(t object) (string, any) {
		f, _ := t["function"].(object)
		return text(f["name"]), f["parameters"]
	}, nil)
	if wrong != "" {
		return wrong
	}
	for i, v := range list(body["tools"]) {
		f, _ := v.(object)["function"].(object)
		if n := utf8.RuneCountInString(text(f["description"])); n > 1024 {
			return fmt.Sprintf("Invalid 'tools[%d].function.description': string too long. Expected a string with maximum length 1024, but got a string with length %d instead.", i, n)
		}
	}
	return checkChatOrder(list(body["messages"]))
}

// checkChatOrder checks that tool messages answer every call before any other
// message follows.
func checkChatOrder(all []any) string {
	if len(all) == 0 {
		return "messages: too short"
	}
	owed := map[string]bool{}
	for i, v := range all {
		m, _ := v.(object)
		role := text(m["role"])
		if role != "tool" && len(owed) > 0 {
			return fmt.Sprintf("messages.%d: an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'", i)
		}
		switch role {
		case "tool":
			if !owed[text(m["tool_call_id"])] {
				return fmt.Sprintf("messages.%d: messages with role 'tool' must be a response to a preceding message with 'tool_calls'", i)
			}
			delete(owed, text(m["tool_call_id"]))
		case "assistant":
			for _, c := range list(m["tool_calls"]) {
				call, _ := c.(object)
				f, _ := call["function"].(object)
				if id := text(call["id"]); id == "" || len(id) > 40 || text(f["name"]) == "" {
					return fmt.Sprintf("messages.%d.tool_calls: id (at most 40 characters) and function.name are required", i)
				}
				if _, ok := f["arguments"].(string); !ok {
					return fmt.Sprintf("messages.%d.tool_calls: function.arguments must be a string", i)
				}
				owed[text(call["id"])] = true
			}
		case "system", "developer", "user":
			if m["content"] == nil {
				return fmt.Sprintf("messages.%d: content is required", i)
			}
		default:
			return fmt.Sprintf("messages.%d: unknown role", i)
		}
	}
	if len(owed) > 0 {
		return "the last tool_calls have no response"
	}
	return ""
}
