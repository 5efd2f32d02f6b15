package host

import (
	"maps"
	"slices"

	"github.com/tenon-mcp/tenon/app/llm"
)

// A conversation is the rows of a session, and which of them differ from those in
// the store. Each result of an answer with several calls is a row of its own, so
// that it can be saved when its call ends. Its session locks it.
type conversation struct {
	rows  []Row
	next  int64
	dirty map[int64]bool
	gone  []int64
}

func newConversation(rows []Row) conversation {
	c := conversation{rows: rows, dirty: map[int64]bool{}}
	if n := len(rows); n > 0 {
		c.next = rows[n-1].Seq + 1
	}
	return c
}

// add appends a message and returns its number.
func (c *conversation) add(m llm.Message) int64 {
	seq := c.next
	c.next++
	c.rows = append(c.rows, Row{seq, m})
	c.dirty[seq] = true
	return seq
}

// set replaces the message with a number. Slices returned earlier keep the old
// one.
func (c *conversation) set(seq int64, m llm.Message) {
	c.rows = slices.Clone(c.rows)
	for i := range c.rows {
		if c.rows[i].Seq == seq {
			c.rows[i].Message = m
			c.dirty[seq] = true
		}
	}
}

// drop removes the rows that match.
func (c *conversation) drop(match func(Row) bool) {
	c.rows = slices.DeleteFunc(slices.Clone(c.rows), func(r Row) bool {
		if !match(r) {
			return false
		}
		delete(c.dirty, r.Seq)
		c.gone = append(c.gone, r.Seq)
		return true
	})
}

// index returns the position of the row with a number, -1 if there is none.
func (c *conversation) index(seq int64) int {
	return slices.IndexFunc(c.rows, func(r Row) bool { return r.Seq == seq })
}

// changes returns what must be written to the store, and marks it as written.
func (c *conversation) changes() (put []Row, drop []int64) {
	for _, r := range c.rows {
		if c.dirty[r.Seq] {
			put = append(put, r)
		}
	}
	drop = c.gone
	c.dirty, c.gone = map[int64]bool{}, nil
	return put, drop
}

// unsaved marks changes as not written.
func (c *conversation) unsaved(put []Row, drop []int64) {
	for _, r := range put {
		if c.index(r.Seq) >= 0 {
			c.dirty[r.Seq] = true
		}
	}
	c.gone = append(c.gone, drop...)
}

// allUnsaved marks every row as not written, for a copy.
func (c *conversation) allUnsaved() {
	c.gone = nil
	for _, r := range c.rows {
		c.dirty[r.Seq] = true
	}
}

// open returns the calls of the last answer that have no result.
func (c *conversation) open() []llm.ToolCall {
	done := map[string]bool{}
	for _, r := range slices.Backward(c.rows) {
		switch r.Message.Role {
		case llm.RoleTool:
			for _, p := range r.Message.Parts {
				done[p.Result.CallID] = true
			}
		case llm.RoleAssistant:
			return slices.DeleteFunc(r.Message.Calls(), func(call llm.ToolCall) bool { return done[call.ID] })
		default:
			return nil
		}
	}
	return nil
}

// messages returns the conversation for models and people: the results of an
// answer are one message, in the order of its calls.
func (c *conversation) messages() []llm.Message {
	var all []llm.Message
	order := map[string]int{}
	for _, r := range c.rows {
		m := r.Message
		n := len(all)
		switch {
		case m.Role == llm.RoleTool && n > 0 && all[n-1].Role == llm.RoleTool:
			all[n-1].Parts = append(slices.Clone(all[n-1].Parts), m.Parts...)
			slices.SortStableFunc(all[n-1].Parts, func(a, b llm.Part) int { return order[a.Result.CallID] - order[b.Result.CallID] })
			continue
		case m.Role == llm.RoleAssistant:
			order = map[string]int{}
			for i, call := range m.Calls() {
				order[call.ID] = i
			}
		}
		all = append(all, m)
	}
	return all
}

// handles are kept results, and which of them differ from those in the store.
type handles struct {
	all   map[string]kept
	dirty map[string]bool
}

func newHandles() handles { return handles{map[string]kept{}, map[string]bool{}} }

func (h *handles) set(name string, k kept) {
	h.all[name] = k
	h.dirty[name] = true
}

func (h *handles) allUnsaved() {
	for name := range maps.Keys(h.all) {
		h.dirty[name] = true
	}
}
