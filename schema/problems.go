package schema

import (
	"errors"
	"fmt"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/schema/internal/validate"
	"github.com/tenon-mcp/tenon/schema/internal/words"
)

// maxProblems is how many problems are told; the rest are counted.
const maxProblems = validate.MaxProblems

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

// addf notes a problem at a path, or counts it if there are enough.
func (p *Problems) addf(path, format string, args ...any) {
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
		p.List[i].Path = words.Path(step, p.List[i].Path)
	}
}

// short gives the text of an error that somebody else wrote on one bounded
// line, without what json v2 says about Go types.
func short(err error) string {
	var semantic *jsonv2.SemanticError
	if errors.As(err, &semantic) && semantic.Err != nil {
		err = semantic.Err
	}
	return words.OneLine(err.Error())
}
