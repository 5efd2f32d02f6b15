package fs

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A glob is a path pattern in minimatch syntax: * and ? within an element,
// ** for any number of directories, [sets], {choices,and} {1..3} ranges,
// +(several|parts), and a leading ! to negate. Names that begin with a dot
// match like others.
type glob struct {
	re     *regexp.Regexp // nil matches nothing
	negate bool
}

func (g *glob) match(rel string) bool { return (g.re != nil && g.re.MatchString(rel)) != g.negate }

const (
	maxPattern = 1 << 10  // bytes
	maxChoices = 200      // patterns after brace expansion
	maxSpelled = 16 << 10 // bytes of all of them
)

func newGlob(pattern string) (*glob, error) {
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("the pattern has %d bytes; the maximum is %d", len(pattern), maxPattern)
	}
	g := &glob{}
	if strings.HasPrefix(pattern, "#") {
		return g, nil
	}
	rest := pattern
	for strings.HasPrefix(rest, "!") && !strings.HasPrefix(rest, "!(") {
		g.negate = !g.negate
		rest = rest[1:]
	}
	choices, err := braces(rest)
	if err != nil {
		return nil, fmt.Errorf("the pattern %q %w", pattern, err)
	}
	var parts []string
	spelled := 0
	for _, c := range choices {
		if spelled += len(c); spelled > maxSpelled {
			return nil, fmt.Errorf("the pattern %.40q… is too long after brace expansion; use fewer braces", pattern)
		}
		re, err := pathExpression(c, true)
		if err != nil {
			return nil, fmt.Errorf("the pattern %q %w", pattern, err)
		}
		parts = append(parts, re)
	}
	g.re, err = regexp.Compile(`^(?s:` + strings.Join(parts, "|") + `)$`)
	if err != nil {
		return nil, fmt.Errorf("the pattern %q is invalid: %w", pattern, err)
	}
	return g, nil
}

func newGlobs(patterns []string) ([]*glob, error) {
	var all []*glob
	for _, p := range patterns {
		g, err := newGlob(p)
		if err != nil {
			return nil, err
		}
		all = append(all, g)
	}
	return all, nil
}

func anyMatches(globs []*glob, rel string) bool {
	return slices.ContainsFunc(globs, func(g *glob) bool { return g.match(rel) })
}

// pathExpression returns the regular expression of a pattern without braces.
func pathExpression(pattern string, extended bool) (string, error) {
	var b strings.Builder
	names := strings.Split(pattern, "/")
	for i, name := range names {
		last := i == len(names)-1
		switch {
		case name == "**" && last:
			b.WriteString(`.+`)
			continue
		case name == "**":
			b.WriteString(`(?:[^/]+/)*`)
			continue
		case name != "" && strings.Trim(name, "*") == "":
			b.WriteString(`[^/]+`)
		default:
			re, err := nameExpression(name, extended)
			if err != nil {
				return "", err
			}
			b.WriteString(re)
		}
		if !last {
			b.WriteByte('/')
		}
	}
	return b.String(), nil
}

// nameExpression returns the regular expression of one path element.
func nameExpression(name string, extended bool) (string, error) {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if extended && i+1 < len(name) && name[i+1] == '(' && strings.IndexByte("?*+@!", name[i]) >= 0 {
			if end := closing(name, i+1, '(', ')'); end > 0 {
				re, err := partsExpression(name[i], name[i+2:end])
				if err != nil {
					return "", err
				}
				b.WriteString(re)
				i = end
				continue
			}
		}
		switch ch := name[i]; ch {
		case '*':
			b.WriteString(`[^/]*`)
		case '?':
			b.WriteString(`[^/]`)
		case '[':
			set, n := setExpression(name[i:])
			b.WriteString(set)
			i += n - 1
		case '\\':
			if i+1 < len(name) {
				i++
			}
			fallthrough
		default:
			_, size := utf8.DecodeRuneInString(name[i:])
			b.WriteString(regexp.QuoteMeta(name[i : i+size]))
			i += size - 1
		}
	}
	return b.String(), nil
}

// partsExpression returns the regular expression of an extended pattern such
// as +(a|b).
func partsExpression(kind byte, inside string) (string, error) {
	if kind == '!' {
		return "", fmt.Errorf("contains !(…), which is not supported; use excludePatterns")
	}
	var parts []string
	for part := range strings.SplitSeq(inside, "|") {
		re, err := nameExpression(part, true)
		if err != nil {
			return "", err
		}
		parts = append(parts, re)
	}
	group := "(?:" + strings.Join(parts, "|") + ")"
	if kind == '@' {
		return group, nil
	}
	return group + string(kind), nil
}

// setExpression returns the regular expression of a set such as [a-z] and
// the length of the set in the pattern. A bracket without a set stands for
// itself.
func setExpression(from string) (re string, n int) {
	i := 1
	negate := i < len(from) && (from[i] == '!' || from[i] == '^')
	if negate {
		i++
	}
	start := i
	if i < len(from) && from[i] == ']' {
		i++
	}
	for i < len(from) && from[i] != ']' {
		if strings.HasPrefix(from[i:], "[:") {
			if end := strings.Index(from[i:], ":]"); end > 0 {
				i += end + 2
				continue
			}
		}
		if from[i] == '\\' {
			i++
		}
		i++
	}
	if i >= len(from) {
		return `\[`, 1
	}
	inside := strings.NewReplacer(`[:`, `[:`, `[`, `\[`, `&&`, `&`, `^`, `\^`).Replace(from[start:i])
	if strings.HasPrefix(inside, "]") {
		inside = `\` + inside
	}
	set := "[" + inside + "]"
	if negate {
		set = "[^/" + inside + "]"
	}
	if _, err := regexp.Compile(set); err != nil {
		return `\[`, 1
	}
	return set, i + 1
}

// closing returns the position of the matching close, or 0 if there is none.
func closing(s string, at int, open, close byte) int {
	depth := 0
	for i := at; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case open:
			depth++
		case close:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return 0
}

// braces expands the braces of a pattern.
func braces(pattern string) ([]string, error) {
	for from := 0; ; {
		open := strings.IndexByte(pattern[from:], '{')
		if open < 0 {
			return []string{pattern}, nil
		}
		open += from
		if open > 0 && pattern[open-1] == '\\' {
			from = open + 1
			continue
		}
		end := closing(pattern, open, '{', '}')
		choices := choicesIn(pattern, open, end)
		if choices == nil {
			from = open + 1
			continue
		}
		var all []string
		for _, c := range choices {
			more, err := braces(pattern[:open] + c + pattern[end+1:])
			if err != nil {
				return nil, err
			}
			if all = append(all, more...); len(all) > maxChoices {
				return nil, fmt.Errorf("expands to more than %d patterns; use fewer braces", maxChoices)
			}
		}
		return all, nil
	}
}

// choicesIn returns the choices between two braces, or nil if there are none.
func choicesIn(pattern string, open, end int) []string {
	if end == 0 {
		return nil
	}
	inside := pattern[open+1 : end]
	if from, to, ok := strings.Cut(inside, ".."); ok && !strings.Contains(inside, ",") {
		a, err1 := strconv.Atoi(from)
		b, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil || max(a-b, b-a) > maxChoices {
			return nil
		}
		var all []string
		for i := a; ; {
			all = append(all, strconv.Itoa(i))
			switch {
			case i < b:
				i++
			case i > b:
				i--
			default:
				return all
			}
		}
	}
	var choices []string
	depth, start := 0, 0
	for i := 0; i < len(inside); i++ {
		switch inside[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			depth--
		case ',':
			if depth == 0 {
				choices = append(choices, inside[start:i])
				start = i + 1
			}
		}
	}
	if choices == nil {
		return nil
	}
	return append(choices, inside[start:])
}
