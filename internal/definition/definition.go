// Package definition compares definitions of tools and prompts that a user or an
// operator has approved with what a server has now, and finds texts in them that
// try to direct a model.
package definition

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/visible"
)

// A Change is a difference between what was approved and what is there now. The
// texts are safe to show.
type Change struct {
	What   string `json:"what"` // such as "command", "description" or "inputSchema/properties/path"
	Before string `json:"before"`
	After  string `json:"after"`
}

// Nothing is the text of a value that is missing.
const Nothing = "(nothing)"

// Compare lists the differences between two definitions, by place. The order of
// members does not matter.
func Compare(before, after json.RawMessage) []Change {
	if before == nil || bytes.Equal(before, after) {
		return nil
	}
	var changes []Change
	compare("", decode(before), decode(after), &changes)
	return changes
}

func decode(raw json.RawMessage) any {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return string(raw)
	}
	return v
}

func compare(at string, a, b any, changes *[]Change) {
	x, isX := a.(map[string]any)
	y, isY := b.(map[string]any)
	if isX && isY {
		for _, name := range names(x, y) {
			compare(strings.TrimPrefix(at+"/"+name, "/"), x[name], y[name], changes)
		}
		return
	}
	before, after := text(a), text(b)
	if before != after {
		*changes = append(*changes, Change{What: at, Before: before, After: after})
	}
}

func names(x, y map[string]any) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(x)), maps.Keys(y))
	slices.Sort(all)
	return slices.Compact(all)
}

// text formats a value so that different values look different.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return Nothing
	case string:
		return visible.Text(v)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return visible.Text(string(raw))
}
