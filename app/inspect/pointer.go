package inspect

import (
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// At returns the value that a JSON pointer leads to in JSON that was checked.
func At(raw []byte, pointer string) (value []byte, ok bool) {
	if pointer == "" {
		return raw, raw != nil
	}
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		switch {
		case rawjson.IsObject(raw):
			raw = rawjson.Lookup(raw, step)
		case rawjson.IsArray(raw):
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
	for e := rawjson.Array(raw); e.Next(); n-- {
		if n == 0 {
			return e.Value
		}
	}
	return nil
}
