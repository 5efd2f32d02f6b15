package recording

import (
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// volatileNames are members whose values change with every run.
var volatileNames = map[string]bool{
	"_meta": true, "requestState": true, "nextCursor": true, "taskId": true, "elicitationId": true,
	"createdAt": true, "lastUpdatedAt": true, "lastModified": true,
}

// volatile reports whether a place of two responses is not compared.
func (p *player) volatile(pointer string, a, b []byte) bool {
	if pointer == "/id" {
		return true
	}
	last := pointer[strings.LastIndexByte(pointer, '/')+1:]
	if volatileNames[last] {
		return true
	}
	for _, pattern := range p.opts.Ignore {
		if matchPointer(pattern, pointer) {
			return true
		}
	}
	return isTime(a) && isTime(b)
}

func isTime(raw []byte) bool {
	if len(raw) < len(`"2006-01-02T15:04:05Z"`) || len(raw) > 40 || !rawjson.IsString(raw) {
		return false
	}
	s, _ := rawjson.String(raw)
	_, err := time.Parse(time.RFC3339Nano, s)
	return err == nil
}

// matchPointer compares a pointer with a pattern, step by step.
func matchPointer(pattern, pointer string) bool {
	want, got := strings.Split(pattern, "/"), strings.Split(pointer, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != "*" && want[i] != got[i] {
			return false
		}
	}
	return true
}

// learn records values that the server chose, for later messages to it.
func (p *player) learn(then, now []byte) {
	for _, path := range [][]string{
		{"result", "requestState"}, {"result", "nextCursor"}, {"result", "taskId"}, {"result", "task", "taskId"},
	} {
		a, b := lookAt(then, path), lookAt(now, path)
		if a != nil && b != nil {
			p.given[string(a)] = b
		}
	}
}
