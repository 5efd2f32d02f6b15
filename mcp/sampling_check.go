package mcp

// CheckSampling reports, as an [*Error], where the messages break the rules for
// tools: a message with tool results holds nothing else and comes from the
// user, each wish of the assistant to use a tool is answered in the very next
// message, and nothing is answered that was not wished for.
//
// Deprecated: by SEP-2577; it may go in the first revision on or after
// 2027-07-28. Call a model directly instead.
func CheckSampling(p *CreateMessageParams) error {
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
			return InvalidParams("messages[%d]: a message with tool results must hold nothing else", i)
		case len(uses) > 0 && m.Role != RoleAssistant:
			return InvalidParams("messages[%d]: only the assistant uses tools, not %q", i, m.Role)
		}
		for j, id := range results {
			if !open[id] {
				return InvalidParams("messages[%d].content[%d]: no open tool use in the message before has the id %q", i, j, clip(id))
			}
			delete(open, id)
		}
		if id, some := anyOf(open); some {
			return InvalidParams("messages[%d]: the tool use %q of the message before has no result here", i, clip(id))
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

// toolBlocks collects the ids of the tool uses and tool results among blocks.
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

// anyOf picks the smallest id, so that the same fault is always told the same
// way.
func anyOf(ids map[string]bool) (first string, some bool) {
	for id := range ids {
		if !some || id < first {
			first, some = id, true
		}
	}
	return first, some
}
