package audit

import (
	"encoding/json"
	"testing"
	"time"
)

// Lines are written as they are compared when they are read.
func TestLinesAreSpelledAlike(t *testing.T) {
	var last Line
	for _, record := range []any{map[string]any{"a": "<&>\u2028\x00ü\"", "b": []int{1}}, json.RawMessage(` { "x" : "<b>" } `), "text", nil, 1.5} {
		raw, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		line := Line{Seq: last.Seq + 1, At: time.Date(2026, 1, 2, 3, 4, 5, 600_000, time.UTC), Record: raw, Prev: last.Hash}
		line.Hash = line.hash()
		want, err := line.encode()
		if got := line.appendTo(nil); err != nil || string(got) != string(want) {
			t.Errorf("%s, want %s, %v", got, want, err)
		}
		last = line
	}
}
