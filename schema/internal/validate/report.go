package validate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/schema/internal/words"
)

// A Problem is a schema.Problem.
type Problem struct{ Path, Message string }

// MaxProblems is the number of problems that are listed.
const MaxProblems = 20

// A step is a member or an element on the path to a value. For an element, name
// and value are the same item.
type step struct {
	name, value int32
	number      int
}

func (r *run) where() string {
	r.spend(4 + len(r.path))
	path := make([]byte, 0, 64)
	for _, s := range r.path {
		next := ""
		if s.name == s.value {
			next = words.Index(s.number)
		} else {
			next = words.Member(r.doc.string(s.name))
		}
		if len(path) > 0 && next[0] != '[' {
			path = append(path, '.')
		}
		path = append(path, next...)
	}
	const half = 120
	if len(path) <= 2*half {
		return string(path)
	}
	return strings.ToValidUTF8(string(path[:half]), "") + "…" + strings.ToValidUTF8(string(path[len(path)-half:]), "")
}

// addf records a problem, or counts it if the list is full.
func (r *run) addf(format string, args ...any) {
	if r.isFull() {
		return
	}
	r.add(r.where(), fmt.Sprintf(format, args...))
}

// add records a problem once. The caller has called isFull.
func (r *run) add(path, message string) {
	if p := (Problem{path, message}); !slices.Contains(r.found, p) {
		r.found = append(r.found, p)
	}
}

// isFull reports whether the list of problems is full, and counts one more if
// so.
func (r *run) isFull() bool {
	if len(r.found) < MaxProblems {
		return false
	}
	r.more++
	return true
}

// wrongf records a problem if problems are reported. It returns false, for the
// caller to return.
func (r *run) wrongf(format string, args ...any) bool {
	if r.loud {
		r.addf(format, args...)
	}
	return false
}

func (r *run) wrongType(n *node, got kind) bool {
	if r.loud {
		r.addf("expected %s, got %s", strings.Join(typeNames(n.types), " or "), got)
	}
	return false
}

func (r *run) wrongChoice(c *choice, i int32) bool {
	if r.loud && !r.isFull() {
		texts := make([]string, 0, len(c.values))
		for _, v := range c.values {
			if texts = append(texts, ""); len(texts) <= 20 { // only so many are shown
				texts[len(texts)-1] = valueText(v)
			}
		}
		r.addf("%s is not allowed; use one of %s", valueText(place{&r.doc, i}), words.List(texts))
	}
	return false
}

// wrongMember records a problem of the member whose name is at an item.
func (r *run) wrongMember(at int32, message string) bool {
	if r.loud && !r.isFull() {
		r.add(words.Path(r.where(), words.Member(r.doc.string(at))), message)
	}
	return false
}

func (r *run) wrongDependency(name string, without []string) bool {
	if r.loud {
		r.addf("%s requires %s", words.Quote(name), words.Clip(strings.Join(without, ", ")))
	}
	return false
}

// missing records the required members that are absent.
func (r *run) missing(o *objectRules, i int32) bool {
	if !r.loud {
		return false
	}
	there := map[string]bool{}
	for at := i + 1; at < r.doc.items[i].next; at = r.doc.items[at+1].next {
		there[r.doc.string(at)] = true
	}
	var names []string
	for name, p := range o.named {
		if p.required && !there[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	r.spend(len(o.named) + len(there))
	for _, name := range names {
		if r.isFull() {
			continue
		}
		r.add(words.Path(r.where(), words.Member(name)), "is required but missing")
	}
	return false
}

// wrongAlternatives records why a value fits none of several schemas.
func (r *run) wrongAlternatives(subs []*node, i int32) bool {
	if !r.loud {
		return false
	}
	if r.isFull() {
		return false
	}
	const most = 4
	var reasons []string
	for _, sub := range subs[:min(len(subs), most)] {
		aside := *r
		aside.found, aside.more = nil, 0
		aside.check(sub, i, nil)
		r.left = aside.left
		if len(aside.found) > 0 {
			first := aside.found[0].Message
			if aside.found[0].Path != "" {
				first = aside.found[0].Path + ": " + first
			}
			reasons = append(reasons, words.Clip(strings.ReplaceAll(first, "\n", " ")))
		}
	}
	rest := ""
	if len(subs) > most {
		rest = fmt.Sprintf("; and %d more", len(subs)-most)
	}
	r.addf("matches none of the alternatives (%s%s)", strings.Join(reasons, "; "), rest)
	return false
}

func tooManySteps(steps int) string {
	return fmt.Sprintf("checking this value against its schema takes more than %d steps", steps)
}

// shown is a value that is written out only when a problem is told.
type shown struct{ place }

func (s shown) String() string { return valueText(s.place) }

// quoted is a text that is quoted only when a problem is told.
type quoted []byte

func (q quoted) String() string { return words.Quote(string(q[:min(len(q), 200)])) }

// valueText writes a value as JSON of bounded length.
func valueText(p place) string {
	if p.doc.items[p.at].kind == isString {
		return quoted(p.doc.bytes(p.at)).String()
	}
	raw := p.doc.raw(p.at)
	return words.Clip(string(rawjson.AppendCompact(nil, raw[:min(len(raw), 200)])))
}
