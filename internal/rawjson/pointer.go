package rawjson

import (
	"strconv"
	"strings"
)

// At returns the value at a JSON pointer in valid JSON.
func At(raw []byte, pointer string) (value []byte, ok bool) {
	if pointer == "" {
		return raw, raw != nil
	}
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		switch {
		case IsObject(raw):
			raw = Lookup(raw, step)
		case IsArray(raw):
			raw = element(raw, step)
		default:
			raw = nil
		}
		if raw == nil {
			return nil, false
		}
	}
	return raw, true
}

func element(raw []byte, step string) []byte {
	n, err := strconv.Atoi(step)
	if err != nil || n < 0 {
		return nil
	}
	for e := Array(raw); e.Next(); n-- {
		if n == 0 {
			return e.Value
		}
	}
	return nil
}

// EscapePointer escapes a member's name for use as a step of a JSON pointer.
func EscapePointer(name string) string {
	if !strings.ContainsAny(name, "~/") {
		return name
	}
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
