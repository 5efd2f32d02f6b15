package script

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	json "github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// byRequest picks the turn recorded for this request; equal requests are answered
// in order. The caller holds p.mu.
func (p *Player) byRequest(r *llm.Request) (*turn, error) {
	recorded := 0
	now := canonical(r)
	equal, nearest, least := 0, -1, 0
	for i := range p.file.turns {
		t := &p.file.turns[i]
		if t.request == nil {
			continue
		}
		recorded++
		d := differences(canonical(t.request), now, p.file.head.Ignore)
		if len(d) == 0 {
			equal++
			if !p.used[i] {
				p.used[i] = true
				return t, nil
			}
		}
		if size := weigh(d); !p.used[i] && (nearest < 0 || size < least) {
			nearest, least = i, size
		}
	}
	if recorded == 0 {
		return p.inOrder(r)
	}
	if equal > 0 && p.file.head.Repeat {
		p.used = map[int]bool{}
		return p.byRequest(r)
	}
	if equal > 0 {
		return nil, fmt.Errorf("%s: this request was recorded %d times and is made once more; record again, or add \"repeat\":true to the header", p.file.name, equal)
	}
	if nearest < 0 {
		return nil, fmt.Errorf("%s: this request was not recorded, and all %d recorded turns were played; record again", p.file.name, recorded)
	}
	t := &p.file.turns[nearest]
	d := differences(canonical(t.request), now, p.file.head.Ignore)
	return nil, fmt.Errorf("%s: this request was not recorded. The most similar one, on line %d, differs in:\n  %s\nRecord again, or add what may differ to \"ignore\" in the header", p.file.name, t.at, strings.Join(shorten(d), "\n  "))
}

// canonical returns a request without cache marks as canonical JSON.
func canonical(r *llm.Request) []byte {
	copied := *r
	copied.Messages = make([]llm.Message, len(r.Messages))
	for i, m := range r.Messages {
		copied.Messages[i] = llm.Message{Role: m.Role, Parts: unmarked(m.Parts)}
	}
	raw, err := json.Marshal(&copied, json.Deterministic(true))
	if err != nil {
		return []byte("null")
	}
	return rawjson.AppendCanonical(nil, raw)
}

func unmarked(parts []llm.Part) []llm.Part {
	out := make([]llm.Part, len(parts))
	for i, p := range parts {
		p.CacheMark = false
		if p.Result != nil {
			r := *p.Result
			r.Parts, r.Made = unmarked(r.Parts), nil
			p.Result = &r
		}
		out[i] = p
	}
	return out
}

// differences describes where two JSON values differ.
func differences(recorded, now []byte, ignore []string) []string {
	var all []string
	compare("", recorded, now, func(path string, a, b []byte) {
		for _, i := range ignore {
			if rest, ok := strings.CutPrefix(path, i); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				return
			}
		}
		switch {
		case a == nil:
			all = append(all, path+": now "+clip(b)+", not recorded")
		case b == nil:
			all = append(all, path+": recorded "+clip(a)+", now missing")
		default:
			all = append(all, path+": "+textual(a, b))
		}
	})
	return all
}

func compare(path string, a, b []byte, differ func(path string, a, b []byte)) {
	switch {
	case bytes.Equal(a, b):
	case rawjson.IsObject(a) && rawjson.IsObject(b):
		for m := rawjson.Object(a); m.Next(); {
			compare(join(path, string(m.Name)), m.Value, rawjson.Lookup(b, string(m.Name)), differ)
		}
		for m := rawjson.Object(b); m.Next(); {
			if rawjson.Lookup(a, string(m.Name)) == nil {
				differ(join(path, string(m.Name)), nil, m.Value)
			}
		}
	case rawjson.IsArray(a) && rawjson.IsArray(b):
		x, y := rawjson.Array(a), rawjson.Array(b)
		for i := 0; ; i++ {
			moreA, moreB := x.Next(), y.Next()
			at := path + "[" + strconv.Itoa(i) + "]"
			switch {
			case moreA && moreB:
				compare(at, x.Value, y.Value, differ)
			case moreA:
				differ(at, x.Value, nil)
			case moreB:
				differ(at, nil, y.Value)
			default:
				return
			}
		}
	default:
		differ(path, a, b)
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// textual shows two values; of long strings only the part where they differ.
func textual(a, b []byte) string {
	s, okA := rawjson.String(a)
	t, okB := rawjson.String(b)
	if !okA || !okB {
		return "recorded " + clip(a) + ", now " + clip(b)
	}
	x, y := []rune(s), []rune(t)
	i := 0
	for i < len(x) && i < len(y) && x[i] == y[i] {
		i++
	}
	from := max(0, i-20)
	before := ""
	if from > 0 {
		before = fmt.Sprintf(" (from character %d)", from)
	}
	return fmt.Sprintf("recorded %q, now %q%s", window(x, from), window(y, from), before)
}

func window(r []rune, from int) string {
	if len(r) > from+120 {
		return string(r[from:from+120]) + "…"
	}
	return string(r[min(from, len(r)):])
}

func clip(raw []byte) string {
	if r := []rune(string(raw)); len(r) > 160 {
		return string(r[:160]) + "…"
	}
	return string(raw)
}

func shorten(d []string) []string {
	if len(d) > 8 {
		return append(d[:8:8], fmt.Sprintf("and %d more", len(d)-8))
	}
	return d
}

// weigh returns a distance between two requests. A difference in the first
// message counts most.
func weigh(d []string) int {
	n := 0
	for _, s := range d {
		n += 10
		if strings.HasPrefix(s, "messages[0]") {
			n += 50
		}
	}
	return n
}
