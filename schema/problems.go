package schema

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxProblems is how many problems are told; the rest are counted.
const maxProblems = 20

// A Problem is one thing that is wrong with a value.
type Problem struct {
	// Path is where: "count", "items[2].name", or "" for the value itself.
	Path string
	// Message is what is wrong there and what is expected instead.
	Message string
}

// String gives the problem as one line.
func (p Problem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// Problems is the error of a value that does not fit: everything that is wrong
// with it, up to a bound.
type Problems struct {
	List []Problem // at most 20
	More int       // how many further problems there were
}

// Error gives one line for each problem. The text is bounded whatever the
// value was, and fit to be shown to a model.
func (p *Problems) Error() string {
	var b strings.Builder
	for i, one := range p.List {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(one.String())
	}
	if p.More > 0 {
		fmt.Fprintf(&b, "\nand %d more", p.More)
	}
	return b.String()
}

// add notes a problem, or counts it if there are enough.
func (p *Problems) add(path, format string, args ...any) {
	if len(p.List) >= maxProblems {
		p.More++
		return
	}
	p.List = append(p.List, Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

// count says how many problems there are, told or not.
func (p *Problems) count() int { return len(p.List) + p.More }

// under puts a step in front of the paths of all problems from the given one
// on. Paths are made this way, from the inside out, so that a value without
// problems costs nothing.
func (p *Problems) under(step string, from int) {
	for i := from; i < len(p.List); i++ {
		p.List[i].Path = joinPath(step, p.List[i].Path)
	}
}

func joinPath(step, rest string) string {
	if step == "" || rest == "" || rest[0] == '[' {
		return step + rest
	}
	return step + "." + rest
}

func indexStep(i int) string { return fmt.Sprintf("[%d]", i) }

// memberStep writes a property name as a step of a path: as it is if it reads
// well there, else quoted and cut to a bearable length.
func memberStep(name string) string {
	plain := name != "" && len(name) <= 64
	for i := 0; plain && i < len(name); i++ {
		c := name[i]
		plain = c == '_' || c == '-' || c == '$' || c >= utf8.RuneSelf ||
			c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	if plain {
		return name
	}
	return "[" + shown(name) + "]"
}

// shown quotes text that somebody else chose, at a length fit for an error.
func shown(text string) string {
	const most = 60
	if len(text) <= most {
		return fmt.Sprintf("%q", text)
	}
	cut := most
	for cut > most-utf8.UTFMax && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return fmt.Sprintf("%q…", text[:cut])
}
