package expr

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/itchyny/gojq"
)

// What a function of texts may make of one text in a single step.
const (
	maxChars   = 1_000_000 // characters that become numbers
	maxPieces  = 250_000   // pieces of a text
	maxMatches = 100_000   // matches with their places
	maxDigits  = 1000      // of a number
	maxSteps   = 20_000    // of a regular expression
)

// textDefs replaces functions of jq whose time grows with the square of a text, or whose
// memory with many times its size. Each has the results of the one that it replaces.
var textDefs = sync.OnceValue(func() []*gojq.FuncDef {
	return parsed(`
def match($re; $flags): tenon_match($re; $flags)[];
def match($re): match($re; null);
def test($re; $flags): tenon_test($re; $flags);
def test($re): test($re; null);
def capture($re; $flags): match($re; $flags) | reduce .captures[] as $c ({}; if $c.name == null then . else .[$c.name] = $c.string end);
def capture($re): capture($re; null);
def scan($re; $flags): match($re; $flags + "g") | if (.captures | length) == 0 then .string else [.captures[].string] end;
def scan($re): scan($re; null);
def splits($re; $flags): tenon_pieces($re; $flags)[];
def splits($re): splits($re; null);
def split($re; $flags): tenon_pieces($re; $flags);
def split($text): tenon_split($text);
def sub($re; f; $flags): tenon_cut($re; $flags) as $cut | [$cut.found[] | [.before, (.named | f)]] as $rows | $cut | tenon_join($rows)[];
def sub($re; f): sub($re; f; null);
def gsub($re; f; $flags): sub($re; f; $flags + "g");
def gsub($re; f): sub($re; f; "g");
def fromjson: tenon_fromjson;
.`).FuncDefs
})

// checkedTexts are functions of jq whose input is checked, with the number of their
// arguments.
var checkedTexts = []struct {
	name  string
	args  int
	check string
}{{"explode", 0, "tenon_short"}, {"indices", 1, "tenon_short"}, {"index", 1, "tenon_short"}, {"rindex", 1, "tenon_short"}, {"tonumber", 0, "tenon_digits"}}

// checkText makes a call of one of checkedTexts check its input: f becomes check | f.
func checkText(q *gojq.Query) {
	for _, one := range checkedTexts {
		if f := function(q.Term, one.name, one.args); f != nil {
			checked := parsed(one.check + " | .")
			checked.Right.Term = &gojq.Term{Type: gojq.TermTypeFunc, Func: f}
			q.Term = &gojq.Term{Type: gojq.TermTypeQuery, Query: checked, SuffixList: q.Term.SuffixList}
			return
		}
	}
}

// addTextDefs defines the functions of textDefs that a query may call.
func addTextDefs(q *gojq.Query, source string) {
	var used []*gojq.FuncDef
	add := func(name string) {
		for _, d := range textDefs() {
			if d.Name == name && !slices.Contains(used, d) {
				used = append(used, d)
			}
		}
	}
	for _, d := range textDefs() {
		if !strings.Contains(source, d.Name) {
			continue
		}
		switch d.Name { // what it needs first
		case "capture", "scan":
			add("match")
		case "gsub":
			add("sub")
		}
		add(d.Name)
	}
	q.FuncDefs = append(used, q.FuncDefs...)
}

// textFunctions returns the functions that textDefs uses.
func textFunctions() []gojq.CompilerOption {
	one := func(name string, args int, f func(in any, args []any) any) gojq.CompilerOption {
		return gojq.WithFunction(name, args, args, f)
	}
	return []gojq.CompilerOption{
		one("tenon_match", 2, func(in any, args []any) any { return withText("match", in, args, matches) }),
		one("tenon_test", 2, func(in any, args []any) any {
			return withText("test", in, args, func(text string, re *regexp.Regexp, _ bool) any { return re.MatchString(text) })
		}),
		one("tenon_pieces", 2, func(in any, args []any) any {
			return withText("split", in, args, func(text string, re *regexp.Regexp, _ bool) any { return pieces(text, re) })
		}),
		one("tenon_cut", 2, func(in any, args []any) any { return withText("sub", in, args, cut) }),
		one("tenon_join", 1, func(in any, args []any) any { return join(in, args[0]) }),
		one("tenon_split", 1, func(in any, args []any) any { return split(in, args[0]) }),
		one("tenon_short", 0, func(in any, _ []any) any {
			if text, ok := in.(string); ok && len(text) > maxChars && utf8.RuneCountInString(text) > maxChars {
				return fmt.Errorf("a text may have at most %d characters here", maxChars)
			}
			return in
		}),
		one("tenon_digits", 0, func(in any, _ []any) any {
			if text, ok := in.(string); ok && len(text) > maxDigits {
				return fmt.Errorf("a number may have at most %d digits", maxDigits)
			}
			return in
		}),
		one("tenon_fromjson", 0, func(in any, _ []any) any {
			text, ok := in.(string)
			if !ok {
				return fmt.Errorf("fromjson cannot be applied to: %s", gojq.TypeOf(in))
			}
			v, err := Decode([]byte(text))
			if err != nil {
				return fmt.Errorf("fromjson: %w", err)
			}
			return v
		}),
	}
}

// expressions has compiled regular expressions. A response can bring new ones.
var expressions struct {
	sync.Mutex
	known map[[2]string]*regexp.Regexp
}

const maxExpressions = 200

func compileRegexp(source, flags string) (*regexp.Regexp, error) {
	key := [2]string{source, flags}
	expressions.Lock()
	re := expressions.known[key]
	expressions.Unlock()
	if re != nil {
		return re, nil
	}
	for _, flag := range flags {
		switch flag {
		case 'g':
		case 'i':
			source = "(?i)" + source
		case 'm':
			source = "(?s)" + source
		default:
			return nil, fmt.Errorf("unsupported regular expression flag: %q", flags)
		}
	}
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("invalid regular expression: %w", err)
	}
	if steps(tree, maxSteps) > maxSteps {
		return nil, fmt.Errorf("a regular expression may have at most %d steps", maxSteps)
	}
	if re, err = regexp.Compile(source); err != nil {
		return nil, fmt.Errorf("invalid regular expression: %w", err)
	}
	expressions.Lock()
	defer expressions.Unlock()
	if len(expressions.known) >= maxExpressions || expressions.known == nil {
		expressions.known = map[[2]string]*regexp.Regexp{}
	}
	expressions.known[key] = re
	return re, nil
}

// steps returns about how many steps a regular expression has when repetitions are
// written out, or more than limit.
func steps(re *syntax.Regexp, limit int) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		if n += steps(sub, limit); n > limit {
			return n
		}
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n
}

// withText calls f with a text and the regular expression and flags of the arguments.
func withText(name string, in any, args []any, f func(text string, re *regexp.Regexp, all bool) any) any {
	text, ok := in.(string)
	source, isText := args[0].(string)
	flags, isFlags := args[1].(string)
	if !ok || !isText || !isFlags && args[1] != nil {
		return fmt.Errorf("%s needs texts: it was called with %s, %s and %s", name, gojq.TypeOf(in), gojq.TypeOf(args[0]), gojq.TypeOf(args[1]))
	}
	re, err := compileRegexp(source, flags)
	if err != nil {
		return err
	}
	return f(text, re, strings.ContainsRune(flags, 'g'))
}

// find returns the places of matches, and fails if there are more than limit.
func find(text string, re *regexp.Regexp, all bool, limit int) ([][]int, error) {
	n := 1
	if all {
		n = limit + 1
	}
	found := re.FindAllStringSubmatchIndex(text, n)
	if len(found) > limit {
		return nil, fmt.Errorf("a regular expression may match at most %d times", limit)
	}
	return found, nil
}

func matches(text string, re *regexp.Regexp, all bool) any {
	found, err := find(text, re, all, maxMatches)
	if err != nil {
		return err
	}
	out, names := make([]any, len(found)), re.SubexpNames()
	at, chars := 0, 0 // the same place in bytes and characters
	for i, place := range found {
		chars += utf8.RuneCountInString(text[at:place[0]])
		at = place[0]
		captures := make([]any, len(names)-1)
		for j := range captures {
			from, to := place[2*j+2], place[2*j+3]
			one := map[string]any{"name": nil, "offset": -1, "length": 0, "string": nil}
			if name := names[j+1]; name != "" {
				one["name"] = name
			}
			if from >= 0 {
				one["offset"] = chars + utf8.RuneCountInString(text[at:from])
				one["length"], one["string"] = utf8.RuneCountInString(text[from:to]), text[from:to]
			}
			captures[j] = one
		}
		whole := text[place[0]:place[1]]
		out[i] = map[string]any{"offset": chars, "length": utf8.RuneCountInString(whole), "string": whole, "captures": captures}
	}
	return out
}

// pieces returns what is between all matches.
func pieces(text string, re *regexp.Regexp) any {
	found, err := find(text, re, true, maxPieces)
	if err != nil {
		return err
	}
	out := make([]any, 0, len(found)+1)
	next := 0
	for _, place := range found {
		out = append(out, text[next:place[0]])
		next = place[1]
	}
	return append(out, text[next:])
}

// cut returns what is before each match with the captures that have names, and what is
// after the last one.
func cut(text string, re *regexp.Regexp, all bool) any {
	found, err := find(text, re, all, maxPieces)
	if err != nil {
		return err
	}
	names := re.SubexpNames()
	rows := make([]any, len(found))
	next := 0
	for i, place := range found {
		named := map[string]any{}
		for j, name := range names {
			if name == "" {
				continue
			}
			if named[name] = nil; place[2*j] >= 0 {
				named[name] = text[place[2*j]:place[2*j+1]]
			}
		}
		rows[i] = map[string]any{"before": text[next:place[0]], "named": named}
		next = place[1]
	}
	return map[string]any{"text": text, "found": rows, "rest": text[next:]}
}

// join returns the texts that rows of replacements make. A row is what is before a
// match, and the replacements for it: with several of them there are several texts.
func join(in, list any) any {
	of, _ := in.(map[string]any)
	whole, _ := of["text"].(string)
	rest, _ := of["rest"].(string)
	rows, _ := list.([]any)
	var texts []*strings.Builder
	total := 0
	for _, one := range rows {
		row, _ := one.([]any)
		before, _ := row[0].(string)
		for i, replacement := range row[1:] {
			text, ok := replacement.(string)
			if !ok {
				return fmt.Errorf("sub needs texts as replacements, got %s", gojq.TypeOf(replacement))
			}
			if i == len(texts) {
				texts = append(texts, &strings.Builder{})
			}
			if total += len(before) + len(text); total > maxSize {
				return fmt.Errorf("sub: more than %d MiB of results", maxSize>>20)
			}
			texts[i].WriteString(before)
			texts[i].WriteString(text)
		}
	}
	if texts == nil {
		return []any{whole}
	}
	out := make([]any, len(texts))
	for i, b := range texts {
		b.WriteString(rest)
		out[i] = b.String()
	}
	return out
}

// split splits a text at another one.
func split(in, at any) any {
	text, ok := in.(string)
	sep, isText := at.(string)
	if !ok || !isText {
		return fmt.Errorf("split cannot be applied to: %s and %s", gojq.TypeOf(in), gojq.TypeOf(at))
	}
	if strings.Count(text, sep) > maxPieces {
		return fmt.Errorf("a text may be split into at most %d pieces", maxPieces)
	}
	list := strings.Split(text, sep)
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}
