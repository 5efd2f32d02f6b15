package keyword

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// A property is an argument of a tool.
type property struct {
	name     string
	kind     string // string, number, integer, boolean, array; empty for anything else
	format   string
	enum     []string
	required bool
}

// maxWord is the maximum length in bytes of a name or value that is searched for
// in a sentence. It bounds the size of regular expressions.
const maxWord = 200

// properties returns the arguments in a schema in order.
func properties(schema json.RawMessage) []property {
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if mcp.Unmarshal(schema, &s) != nil || !rawjson.IsObject(s.Properties) {
		return nil
	}
	var all []property
	for m := rawjson.Object(s.Properties); m.Next(); {
		p := property{name: string(m.Name)}
		if len(p.name) > maxWord {
			continue
		}
		var one struct {
			Type   any    `json:"type"`
			Format string `json:"format"`
			Enum   []any  `json:"enum"`
		}
		if mcp.Unmarshal(m.Value, &one) == nil {
			p.kind, _ = one.Type.(string)
			p.format = one.Format
			for _, e := range one.Enum {
				if text, ok := e.(string); ok && text != "" && len(text) <= maxWord {
					p.enum = append(p.enum, text)
				}
			}
		}
		p.required = slices.Contains(s.Required, p.name)
		all = append(all, p)
	}
	return all
}

// A reading holds the values found in a sentence. Each value is used once.
type reading struct {
	text    string   // the rest of the sentence
	quoted  []string // texts in quotes, in order
	numbers []string
	pairs   map[string]string // name=value and name: value
}

var (
	quotes = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`"([^"]*)"|'([^']*)'|“([^”]*)”|„([^“]*)“`)
	})
	pairsRE = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([A-Za-z_][A-Za-z0-9_]*)=(\S+)`) })
	number  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:^|[\s(])(-?\d+(?:\.\d+)?)(?:$|[\s),;?!]|\.(?:\s|$))`)
	})
	// lead matches a word before a value.
	lead = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:called|named|titled|for|about|from|to|in|of|at|with|saying|that says|matching|containing)\s+(.+)$`)
	})
)

// fill finds the arguments of a tool in a sentence.
func fill(sentence string, t llm.Tool) (args map[string]any, missing []string) {
	r := read(sentence)
	args = map[string]any{}
	all := properties(t.Schema)
	for _, p := range all {
		if v, ok := r.pairs[strings.ToLower(p.name)]; ok {
			args[p.name] = value(p, v)
		}
	}
	for _, p := range all {
		if _, done := args[p.name]; !done {
			if v, ok := r.find(p); ok {
				args[p.name] = v
			}
		}
	}
	for _, p := range all { // the rest of the sentence fills a required text
		if _, done := args[p.name]; !done && p.required && (p.kind == "string" || p.kind == "array") && len(p.enum) == 0 {
			if v := r.rest(t.Name); v != "" {
				args[p.name] = value(p, v)
			}
		}
	}
	for _, p := range all {
		if _, done := args[p.name]; !done && p.required {
			missing = append(missing, p.name)
		}
	}
	return args, missing
}

func read(sentence string) *reading {
	r := &reading{text: sentence, pairs: map[string]string{}}
	for _, m := range pairsRE().FindAllStringSubmatch(r.text, -1) {
		r.pairs[strings.ToLower(m[1])] = strings.Trim(m[2], `"',;`)
	}
	r.text = pairsRE().ReplaceAllString(r.text, " ")
	for _, m := range quotes().FindAllStringSubmatch(r.text, -1) {
		r.quoted = append(r.quoted, strings.Join(m[1:], ""))
	}
	r.text = quotes().ReplaceAllString(r.text, " ")
	for rest := r.text; ; { // numbers may share the space between them
		at := number().FindStringSubmatchIndex(rest)
		if at == nil {
			break
		}
		r.numbers = append(r.numbers, rest[at[2]:at[3]])
		rest = rest[at[3]:]
	}
	return r
}

// find returns the value of one argument.
func (r *reading) find(p property) (any, bool) {
	for _, e := range p.enum {
		if at := regexp.MustCompile(`(?i)(?:\b(?:in|as|with|using)\s+)?\b` + regexp.QuoteMeta(e) + `\b`).FindStringIndex(r.text); at != nil {
			r.text = r.text[:at[0]] + " " + r.text[at[1]:]
			return e, true
		}
	}
	if len(p.enum) > 0 {
		return nil, false
	}
	switch p.kind {
	case "number", "integer":
		if v, ok := r.after(p.name, `-?\d+(?:\.\d+)?`); ok {
			r.numbers = slices.DeleteFunc(r.numbers, func(n string) bool { return n == v })
			return json.Number(v), true
		}
		if p.required && len(r.numbers) > 0 {
			v := r.numbers[0]
			r.numbers = r.numbers[1:]
			return json.Number(v), true
		}
	case "boolean":
		if regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(p.name) + `\b`).MatchString(r.text) {
			return true, true
		}
	case "string":
		return r.findText(p)
	}
	return nil, false
}

func (r *reading) findText(p property) (any, bool) {
	if v, ok := r.after(p.name, `\S+`); ok {
		return strings.Trim(v, ",;"), true
	}
	if p.required && len(r.quoted) > 0 {
		v := r.quoted[0]
		r.quoted = r.quoted[1:]
		return v, true
	}
	shape := ""
	switch {
	case p.format == "uri" || strings.Contains(p.name, "url") || strings.Contains(p.name, "uri"):
		shape = `[a-z][a-z0-9+.-]*://\S+`
	case p.format == "email" || p.name == "email":
		shape = `[^\s@]+@[^\s@]+\.[a-z]+`
	case strings.Contains(p.name, "path") || strings.Contains(p.name, "file"):
		shape = `(?:[~.]?/)?[\w.-]+(?:/[\w.-]*)+|[\w-]+\.[a-z0-9]{1,5}`
	default:
		return nil, false
	}
	at := regexp.MustCompile(`(?i)(?:^|\s)(` + shape + `)(?:$|[\s,;?!])`).FindStringSubmatchIndex(r.text)
	if at == nil {
		return nil, false
	}
	v := r.text[at[2]:at[3]]
	r.text = r.text[:at[2]] + r.text[at[3]:]
	return v, true
}

// after returns the value that follows an argument's name, as in "limit 5".
func (r *reading) after(name, shape string) (string, bool) {
	words := strings.NewReplacer("_", "[_ ]", "-", "[- ]").Replace(regexp.QuoteMeta(name))
	m := regexp.MustCompile(`(?i)\b` + words + `(?:\s+is|\s+of)?\s*[:=]?\s+(` + shape + `)(?:$|[\s,;?!])`).FindStringSubmatchIndex(r.text)
	if m == nil || len(name) < 2 {
		return "", false
	}
	v := r.text[m[2]:m[3]]
	r.text = r.text[:m[0]] + " " + r.text[m[1]:]
	return v, true
}

// rest returns the text after a lead word, or the sentence without the words of
// the tool's name.
func (r *reading) rest(tool string) string {
	text := strings.TrimSpace(r.text)
	if m := lead().FindStringSubmatch(text); m != nil {
		text = m[1]
	} else {
		text = without(text, tool)
	}
	text = strings.TrimRight(strings.TrimSpace(text), ".?!")
	r.text = ""
	return text
}

// stopWords are ignored when matching.
var stopWords = []string{"a", "an", "the", "please", "me", "my", "all", "show", "give", "tell", "what", "is", "are", "i", "want", "can", "you",
	"of", "to", "in", "for", "and", "by", "on", "at", "with", "from", "it", "be", "do", "how", "who", "this", "that"}

// without removes stop words and the words of the tool's name from a sentence.
func without(text, tool string) string {
	name := wordsOf(strings.ReplaceAll(tool, "__", " "))
	var left []string
	for _, w := range strings.Fields(text) {
		plain := strings.ToLower(strings.Trim(w, ",.;:?!"))
		if slices.Contains(stopWords, plain) || slices.ContainsFunc(name, func(n string) bool { return sameStem(n, plain) }) {
			continue
		}
		left = append(left, w)
	}
	return strings.Join(left, " ")
}

// value converts a text to the type of an argument.
func value(p property, text string) any {
	switch p.kind {
	case "number", "integer":
		if _, err := strconv.ParseFloat(text, 64); err == nil && json.Valid([]byte(text)) {
			return json.Number(text)
		}
	case "boolean":
		if b, err := strconv.ParseBool(text); err == nil {
			return b
		}
	case "array":
		var all []string
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				all = append(all, part)
			}
		}
		return all
	}
	return text
}
