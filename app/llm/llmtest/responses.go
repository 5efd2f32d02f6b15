package llmtest

import (
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/tenon-mcp/tenon/app/llm"
)

// responses is OpenAI's Responses API.
type responses struct{}

func (responses) key(h http.Header) string { return bearer(h) }

func response(status string) object {
	return object{
		"id": "resp_01", "object": "response", "created_at": 1793000000, "status": status, "model": "m",
		"error": nil, "incomplete_details": nil, "instructions": nil, "output": []any{}, "parallel_tool_calls": true,
		"tool_choice": "auto", "tools": []any{}, "usage": nil, "metadata": object{}, "store": false, "temperature": 1.0, "top_p": 1.0,
	}
}

func (responses) stream(t Turn, _ string, send func(string, any)) {
	sequence, index := 0, 0
	event := func(kind string, more object) {
		more["type"], more["sequence_number"] = kind, sequence
		sequence++
		send(kind, more)
	}
	item := func(id string, start, done object, middle func(at object)) {
		event("response.output_item.added", object{"output_index": index, "item": start})
		middle(object{"item_id": id, "output_index": index})
		event("response.output_item.done", object{"output_index": index, "item": done})
		index++
	}
	with := func(at, more object) object {
		out := maps.Clone(at)
		maps.Copy(out, more)
		return out
	}
	event("response.created", object{"response": response("in_progress")})
	event("response.in_progress", object{"response": response("in_progress")})
	if len(t.Thinking) > 0 || t.Signature != "" {
		start := object{"id": "rs_01", "type": "reasoning", "summary": []any{}}
		whole := object{"type": "summary_text", "text": strings.Join(t.Thinking, "")}
		item("rs_01", start, t.reasoningItem(), func(at object) {
			event("response.reasoning_summary_part.added", with(at, object{"summary_index": 0, "part": object{"type": "summary_text", "text": ""}}))
			for _, s := range t.Thinking {
				event("response.reasoning_summary_text.delta", with(at, object{"summary_index": 0, "delta": s}))
			}
			event("response.reasoning_summary_text.done", with(at, object{"summary_index": 0, "text": whole["text"]}))
		})
	}
	if len(t.Text) > 0 || t.Refusal != "" {
		kind, field, parts, whole := "output_text", "text", t.Text, strings.Join(t.Text, "")
		if t.Refusal != "" {
			kind, field, parts, whole = "refusal", "refusal", pieces(t.Refusal), t.Refusal
		}
		done := t.messageItem()
		part := list(done["content"])[0]
		start := object{"id": "msg_01", "type": "message", "status": "in_progress", "role": "assistant", "content": []any{}}
		item("msg_01", start, done, func(at object) {
			event("response.content_part.added", with(at, object{"content_index": 0, "part": object{"type": kind, field: ""}}))
			for _, s := range parts {
				event("response."+kind+".delta", with(at, object{"content_index": 0, "delta": s}))
			}
			event("response."+kind+".done", with(at, object{"content_index": 0, field: whole}))
			event("response.content_part.done", with(at, object{"content_index": 0, "part": part}))
		})
	}
	for i, c := range t.Calls {
		call := callItem(i, c)
		item(text(call["id"]), with(call, object{"status": "in_progress", "arguments": ""}), call, func(at object) {
			for _, s := range pieces(string(c.Arguments)) {
				event("response.function_call_arguments.delta", with(at, object{"delta": s}))
			}
			event("response.function_call_arguments.done", with(at, object{"name": c.Name, "arguments": string(c.Arguments)}))
		})
	}
}

func (t Turn) reasoningItem() object {
	whole := object{"type": "summary_text", "text": strings.Join(t.Thinking, "")}
	return object{"id": "rs_01", "type": "reasoning", "summary": []any{whole}, "encrypted_content": t.Signature, "status": "completed"}
}

func (t Turn) messageItem() object {
	part := object{"type": "output_text", "text": strings.Join(t.Text, ""), "annotations": []any{}, "logprobs": []any{}}
	if t.Refusal != "" {
		part = object{"type": "refusal", "refusal": t.Refusal}
	}
	return object{"id": "msg_01", "type": "message", "status": "completed", "role": "assistant", "content": []any{part}}
}

func callItem(i int, c llm.ToolCall) object {
	return object{"id": fmt.Sprintf("fc_%02d", i), "type": "function_call", "status": "completed", "call_id": c.ID, "name": c.Name, "arguments": string(c.Arguments)}
}

// items returns the complete items of an answer.
func (t Turn) items() []any {
	all := []any{}
	if len(t.Thinking) > 0 || t.Signature != "" {
		all = append(all, t.reasoningItem())
	}
	if len(t.Text) > 0 || t.Refusal != "" {
		all = append(all, t.messageItem())
	}
	for i, c := range t.Calls {
		all = append(all, callItem(i, c))
	}
	return all
}

func (responses) end(send func(string, any), t Turn) {
	r := response("completed")
	r["output"] = t.items()
	kind := "response.completed"
	if t.Stop == llm.StopLength || t.Stop == llm.StopRefusal {
		kind, r["status"] = "response.incomplete", "incomplete"
		r["incomplete_details"] = object{"reason": map[llm.StopReason]string{llm.StopLength: "max_output_tokens", llm.StopRefusal: "content_filter"}[t.Stop]}
	}
	r["usage"] = object{
		"input_tokens": t.Usage.Read(), "output_tokens": t.Usage.Output, "total_tokens": t.Usage.Read() + t.Usage.Output,
		"input_tokens_details":  object{"cached_tokens": t.Usage.CacheRead, "cache_write_tokens": t.Usage.CacheWrite},
		"output_tokens_details": object{"reasoning_tokens": 0},
	}
	send(kind, object{"type": kind, "sequence_number": 9999, "response": r})
}

func (responses) fail(message string) (string, any) {
	return "error", object{"type": "error", "sequence_number": 9998, "code": "server_error", "message": message, "param": nil}
}

func (responses) refusal(status int, message string) any { return openaiRefusal(status, message) }

func (responses) check(body map[string]any) string {
	wrong := checkTools(body, func(t object) (string, any) { return text(t["name"]), t["parameters"] }, nil)
	if wrong != "" {
		return wrong
	}
	for i, v := range list(body["tools"]) {
		if v.(object)["strict"] != false {
			return fmt.Sprintf("tools[%d].strict: this schema is not strict", i)
		}
	}
	owed := map[string]bool{}
	for i, v := range list(body["input"]) {
		item, _ := v.(object)
		switch text(item["type"]) {
		case "function_call":
			owed[text(item["call_id"])] = true
		case "function_call_output":
			if !owed[text(item["call_id"])] {
				return fmt.Sprintf("input[%d]: No tool call found for function call output with call_id %s.", i, text(item["call_id"]))
			}
			delete(owed, text(item["call_id"]))
		case "reasoning":
			if body["store"] != true && text(item["encrypted_content"]) == "" {
				return fmt.Sprintf("input[%d]: Item with id %s not found. Items are not persisted when `store` is set to false.", i, text(item["id"]))
			}
		case "message", "":
		default:
			return fmt.Sprintf("input[%d].type: unknown", i)
		}
	}
	for id := range owed {
		return "No tool output found for function call " + id + "."
	}
	return ""
}
