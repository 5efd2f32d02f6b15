package validate

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/schema/internal/words"
)

// A pattern is a regular expression, parsed with its schema and compiled when
// first needed.
type pattern struct {
	source string
	size   int // about how many instructions
	ours   string
	once   sync.Once
	re     *regexp.Regexp
}

const (
	maxProgram     = 10_000 // instructions in one pattern
	maxAllPrograms = 50_000 // in those of a schema
)

// pattern reads a regular expression of a schema.
func (c *compiler) pattern(source string) *pattern {
	if c.judging || c.err != nil {
		return nil
	}
	if len(source) > c.limits.PatternBytes {
		c.fail("the pattern %s has %d bytes; at most %d are allowed", words.Quote(source), len(source), c.limits.PatternBytes)
		return nil
	}
	p := &pattern{source: source}
	var err error
	if p.ours, err = translate(source); err == nil {
		err = c.measure(p)
	}
	if err != nil {
		c.fail("the pattern %s is not supported: %w", words.Quote(source), err)
	}
	return p
}

// measure parses a pattern and holds it to the limits. Sets of thousands of
// characters are paid for before: parsing merges them, which takes longer than
// the result would show.
func (c *compiler) measure(p *pattern) (err error) {
	sets := strings.Count(p.ours, `\p`) + strings.Count(p.ours, `\P`)
	if p.size = len(p.ours)/32 + 50*sets; p.size <= maxProgram {
		var program int
		if program, err = programSize(p.ours); err != nil {
			return err
		}
		p.size += program
	}
	if c.program += p.size; p.size > maxProgram || c.program > maxAllPrograms {
		return errors.New("it is too large, or repeats too much")
	}
	return nil
}

// programSize says how large an expression becomes when it is compiled,
// without doing it.
func programSize(expr string) (int, error) {
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		var e *syntax.Error
		if !errors.As(err, &e) {
			return 0, err
		}
		if e.Code == syntax.ErrInvalidRepeatSize {
			return 0, fmt.Errorf("%s repeats more than 1000 times", words.Quote(e.Expr))
		}
		return 0, fmt.Errorf("%s: %s", e.Code, words.Quote(e.Expr))
	}
	return sizeOf(tree), nil
}

func sizeOf(tree *syntax.Regexp) int {
	n := 1 + len(tree.Rune)/8
	if tree.Op == syntax.OpLiteral {
		n = len(tree.Rune)
	}
	for _, sub := range tree.Sub {
		n = min(n+sizeOf(sub)+1, maxAllPrograms+1)
	}
	if tree.Op == syntax.OpRepeat {
		n *= max(tree.Min, tree.Max, 1)
	}
	return min(n, maxAllPrograms+1)
}

// matches looks for a pattern in a text.
func (r *run) matches(p *pattern, text []byte) bool {
	r.spend(1 + (p.size+8)*len(text)/128)
	p.once.Do(func() { p.re, _ = regexp.Compile(p.ours) })
	return p.re != nil && p.re.Match(text)
}
