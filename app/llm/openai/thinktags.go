package openai

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/app/llm/internal/wire"

	json "github.com/go-json-experiment/json"
)

// tags are the names of the tags: Gemini's is thought.
var tags = []string{"think", "thought"}

// thinkTags separates thinking from text where a server sends it between tags at
// the start of the text. Chunks may split the tags.
type thinkTags struct {
	off   bool
	state int    // 0 before the text, 1 inside the tags, 2 after
	close string // the tag that ends the thinking
	held  string // a possible start of a tag
}

// split calls give with the pieces that are known to be text or thinking.
func (t *thinkTags) split(s string, give func(piece string, thinking bool)) {
	if t.off || t.state == 2 {
		give(s, false)
		return
	}
	t.held += s
	if t.state == 0 {
		start := strings.TrimLeft(t.held, " \n\r\t")
		found := false
		for _, name := range tags {
			open := "<" + name + ">"
			if strings.HasPrefix(open, start) {
				return // undecided
			}
			if rest, ok := strings.CutPrefix(start, open); ok {
				found, t.state, t.close, t.held = true, 1, "</"+name+">", strings.TrimLeft(rest, "\n")
				break
			}
		}
		if !found {
			t.state = 2
			t.flush(give)
			return
		}
	}
	if before, after, ok := strings.Cut(t.held, t.close); ok {
		t.state, t.held = 2, ""
		giveSome(before, true, give)
		giveSome(strings.TrimLeft(after, "\n"), false, give)
		return
	}
	safe := len(t.held) - overlap(t.held, t.close)
	piece := t.held[:safe]
	t.held = t.held[safe:]
	giveSome(piece, true, give)
}

// flush calls give with the rest at the end of the text.
func (t *thinkTags) flush(give func(piece string, thinking bool)) {
	piece := t.held
	t.held = ""
	giveSome(piece, t.state == 1, give)
}

func giveSome(piece string, thinking bool, give func(string, bool)) {
	if piece != "" {
		give(piece, thinking)
	}
}

// overlap returns the length of the longest suffix of s that is a prefix of tag.
func overlap(s, tag string) int {
	for n := min(len(s), len(tag)-1); n > 0; n-- {
		if strings.HasSuffix(s, tag[:n]) {
			return n
		}
	}
	return 0
}

// joinDetails merges streamed pieces of reasoning_details that have the same
// index and type.
func joinDetails(pieces []jsontext.Value) jsontext.Value {
	type detail = map[string]any
	var all []detail
	for _, raw := range pieces {
		var d detail
		if wire.Unmarshal(raw, &d) != nil {
			continue
		}
		if n := len(all); n > 0 && d["index"] != nil && all[n-1]["index"] == d["index"] && all[n-1]["type"] == d["type"] {
			for k, v := range d {
				start, isText := all[n-1][k].(string)
				more, moreText := v.(string)
				if isText && moreText && (k == "text" || k == "summary" || k == "data") {
					all[n-1][k] = start + more
				} else if v != nil {
					all[n-1][k] = v
				}
			}
			continue
		}
		all = append(all, d)
	}
	out, err := json.Marshal(all, json.Deterministic(true))
	if err != nil {
		return jsontext.Value("[]")
	}
	return out
}
