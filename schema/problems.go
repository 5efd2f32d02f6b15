package schema

import (
	"errors"
	"fmt"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/internal/typo"
	"github.com/tenon-mcp/tenon/schema/internal/validate"
	"github.com/tenon-mcp/tenon/schema/internal/words"
)

// maxProblems is the number of problems that are listed; others are counted.
const maxProblems = validate.MaxProblems

// A Problem is one thing that is wrong with a value.
type Problem struct {
	// Path is the position: "count", "items[2].name", or "" for the value
	// itself.
	Path string
	// Message says what is wrong and what is expected.
	Message string
}

// String returns the problem as one line.
func (p Problem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// Problems is the error of an invalid value: a list of problems of limited
// length.
type Problems struct {
	List []Problem // at most 20
	More int       // number of further problems
}

// Error returns one line for each problem. The length is limited, and the text
// is suitable for a model.
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

// addf adds a problem, or counts it if the list is full.
func (p *Problems) addf(path, format string, args ...any) {
	if len(p.List) >= maxProblems {
		p.More++
		return
	}
	p.List = append(p.List, Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

// count returns the number of problems, listed or not.
func (p *Problems) count() int { return len(p.List) + p.More }

// under prepends a step to the paths of all problems from the given one on.
// Paths are built from the inside out, so that a valid value costs nothing.
func (p *Problems) under(step string, from int) {
	for i := from; i < len(p.List); i++ {
		p.List[i].Path = words.Path(step, p.List[i].Path)
	}
}

// short returns the text of a foreign error as one line of limited length,
// without the Go types that json v2 mentions.
func short(err error) string {
	var semantic *jsonv2.SemanticError
	if errors.As(err, &semantic) && semantic.Err != nil {
		err = semantic.Err
	}
	return words.OneLine(err.Error())
}

// didYouMean returns "; did you mean …?" if one of the known names is close
// to name, else "".
func didYouMean(name string, known []string) string {
	const longest = 64
	if len(name) > longest {
		return ""
	}
	best, bestDistance := "", 3
	for _, k := range known {
		if len(k) > longest {
			continue
		}
		d := typo.Distance(fold(name), fold(k), bestDistance)
		if d < bestDistance && d*2 < max(len(k), 2) {
			best, bestDistance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// allowed lists the allowed properties.
func allowed(names []string) string {
	if len(names) == 0 {
		return "no properties are allowed"
	}
	return "allowed are " + words.List(names)
}

// fold normalizes differences that do not make another name.
func fold(name string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
}
