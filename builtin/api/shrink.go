package api

import (
	"fmt"
	"sort"
	"unicode/utf8"
)

// shrink returns a value whose JSON has at most about budget bytes, and a sentence
// about what is missing. It shortens the longest arrays and texts; the form of the
// value stays the same.
func shrink(value any, budget int) (any, string) {
	note := "The result was shortened."
	if list, total := mainList(value); list != nil {
		small := shrinkTo(value, budget)
		if left, _ := mainList(small); left != nil && len(left) < total {
			note = fmt.Sprintf("The result was shortened: %d of %d items are shown.", len(left), total)
		}
		return small, note
	}
	return shrinkTo(value, budget), note
}

// mainList returns the array that a value is or has as items or results.
func mainList(value any) ([]any, int) {
	switch v := value.(type) {
	case []any:
		return v, len(v)
	case map[string]any:
		for _, name := range []string{"items", "results"} {
			if list, ok := v[name].([]any); ok {
				return list, len(list)
			}
		}
	}
	return nil, 0
}

// shrinkTo shares the budget out to the members of a value: small ones keep what
// they have, large ones share the rest.
func shrinkTo(value any, budget int) any {
	if jsonSize(value) <= budget {
		return value
	}
	switch v := value.(type) {
	case string:
		return cutText(v, budget-8)
	case []any:
		return shrinkList(v, budget)
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		sizes := make(map[string]int, len(v))
		for _, name := range names {
			sizes[name] = jsonSize(v[name])
		}
		sort.Slice(names, func(i, j int) bool { return sizes[names[i]] < sizes[names[j]] })
		left, out := budget-2, make(map[string]any, len(v))
		for _, name := range names {
			left -= len(name) + 4
		}
		for i, name := range names {
			share := max(0, left/(len(names)-i))
			out[name] = shrinkTo(v[name], share)
			left -= min(share, sizes[name])
		}
		return out
	}
	return value
}

// shrinkList keeps the first items that fit, and at least a shortened first one.
func shrinkList(list []any, budget int) []any {
	out, used := []any{}, 2
	for _, item := range list {
		size := jsonSize(item) + 1
		if used+size > budget {
			break
		}
		out, used = append(out, item), used+size
	}
	if len(out) == 0 && len(list) > 0 {
		out = append(out, shrinkTo(list[0], budget-2))
	}
	return out
}

func cutText(s string, limit int) string {
	if limit < 0 {
		limit = 0
	}
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}

// jsonSize returns about how many bytes the JSON of a value has.
func jsonSize(v any) int {
	switch v := v.(type) {
	case nil:
		return 4
	case bool:
		return 5
	case string:
		n := 2
		for i := 0; i < len(v); i++ {
			if c := v[i]; c == '"' || c == '\\' || c == '\n' || c == '\t' || c == '\r' {
				n++
			} else if c < ' ' {
				n += 5
			}
		}
		return n + len(v)
	case []any:
		n := 2
		for _, item := range v {
			n += jsonSize(item) + 1
		}
		return n
	case map[string]any:
		n := 2
		for name, item := range v {
			n += len(name) + 4 + jsonSize(item)
		}
		return n
	}
	return len(fmt.Sprint(v))
}
