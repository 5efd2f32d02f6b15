package mcp

// Check returns an [*Error] if the messages violate the rules for tools: tool
// results come from the user in messages without other content, and answer each
// tool use of the assistant in the message that follows it.
//
// Deprecated: by SEP-2577; it may be removed in the first revision on or after
// 2027-07-28. Call a model directly instead.
func (p *CreateMessageParams) Check() error {
	if p.ToolChoice != nil {
		switch p.ToolChoice.Mode {
		case "", "auto", "required", "none":
		default:
			return InvalidParams("toolChoice.mode: %q is not auto, required or none", clip(p.ToolChoice.Mode))
		}
	}
	var open map[string]bool // tool uses of the message before
	for i := range p.Messages {
		m := &p.Messages[i]
		uses, results := toolBlocks(m.Content.Blocks)
		switch {
		case len(results) > 0 && m.Role != RoleUser:
			return InvalidParams("messages[%d]: tool results come from the user, not from %q", i, m.Role)
		case len(results) > 0 && len(results) != len(m.Content.Blocks):
			return InvalidParams("messages[%d]: a message with tool results must not have other content", i)
		case len(uses) > 0 && m.Role != RoleAssistant:
			return InvalidParams("messages[%d]: tool uses come from the assistant, not from %q", i, m.Role)
		}
		for j, id := range results {
			if !open[id] {
				return InvalidParams("messages[%d].content[%d]: the previous message has no unanswered tool use with the id %q", i, j, clip(id))
			}
			delete(open, id)
		}
		if id, some := anyOf(open); some {
			return InvalidParams("messages[%d]: the tool use %q of the previous message has no result", i, clip(id))
		}
		open = make(map[string]bool, len(uses))
		for _, id := range uses {
			if open[id] {
				return InvalidParams("messages[%d]: two tool uses have the id %q", i, clip(id))
			}
			open[id] = true
		}
	}
	if id, some := anyOf(open); some {
		return InvalidParams("messages: the tool use %q of the last message has no result", clip(id))
	}
	return nil
}

// toolBlocks returns the ids of the tool uses and tool results in blocks.
func toolBlocks(blocks Contents) (uses, results []string) {
	for _, b := range blocks {
		switch b := b.(type) {
		case *ToolUseContent:
			uses = append(uses, b.ID)
		case *ToolResultContent:
			results = append(results, b.ToolUseID)
		}
	}
	return uses, results
}

// anyOf returns the smallest id, so that the error text is deterministic.
func anyOf(ids map[string]bool) (first string, some bool) {
	for id := range ids {
		if !some || id < first {
			first, some = id, true
		}
	}
	return first, some
}
