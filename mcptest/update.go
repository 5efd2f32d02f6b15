package mcptest

import (
	"maps"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/mcp"
)

// rewritten returns a conversation of calls as it actually went in all of its
// revisions. Correct lines are unchanged.
func (s *section) rewritten(in map[mcp.Revision]seen) []line {
	extras := s.extras(in)
	var out []line
	var last string // the call that the lines belong to has these after it
	flush := func() {
		if last != "" {
			n := len(out) // before the blank lines and comments that lead over to the next call
			for n > 0 && out[n-1].word == "" {
				n--
			}
			out = slices.Insert(out, n, line{text: last})
			last = ""
		}
	}
	for i, l := range s.lines {
		if l.word == "call" {
			flush()
			last = extras[i]
		}
		if (l.word == "result" || l.word == "error") && last != "" && !strings.Contains("\n"+last, "\nresult ") {
			out = append(out, line{text: last}) // notifications precede the outcome
			last = ""
		}
		out = append(out, s.rewrite(i, in)...)
	}
	flush()
	return out
}

// extras formats the missing lines, by the call that they belong to.
func (s *section) extras(in map[mcp.Revision]seen) map[int]string {
	out := map[int]string{}
	for i, l := range s.lines {
		if l.word != "call" {
			continue
		}
		groups := map[string][]mcp.Revision{}
		everywhere, single := true, true // in every revision, and one line in each
		for rev, saw := range in {
			text := strings.Join(saw.extra[i], "\n")
			if everywhere = everywhere && text != ""; text != "" {
				groups[text] = append(groups[text], rev)
				single = single && len(saw.extra[i]) == 1
			}
		}
		var lines []string
		for n, text := range byNewest(groups) {
			brackets := inBrackets(groups[text]) + " "
			if everywhere && n == 0 && (single || len(groups) == 1) {
				brackets = ""
			}
			var some []string
			for one := range strings.SplitSeq(text, "\n") {
				some = append(some, brackets+one)
			}
			lines = append(some, lines...) // the newest is the lowest
		}
		out[i] = strings.Join(lines, "\n")
	}
	return out
}

// rewrite returns the replacement of one line: the line itself, or lines in
// brackets for the revisions in which it was wrong, followed by one for the
// others.
func (s *section) rewrite(i int, in map[mcp.Revision]seen) []line {
	l := s.lines[i]
	groups := map[string][]mcp.Revision{} // of revisions, by what the line should say there
	var absent []mcp.Revision
	wrong := false
	for rev, saw := range in {
		sight, looked := saw.lines[i]
		switch {
		case !looked:
		case sight.ok:
			groups[l.text] = append(groups[l.text], rev)
		case sight.text == "":
			absent, wrong = append(absent, rev), true
		default:
			groups[sight.text], wrong = append(groups[sight.text], rev), true
		}
	}
	if !wrong {
		return []line{l}
	}
	texts := byNewest(groups)
	var out []line
	for n, text := range texts {
		if _, after, ok := strings.Cut(text, "]"); ok && text[0] == '[' {
			groups[strings.TrimSpace(after)] = groups[text]
			text = strings.TrimSpace(after)
		}
		if n > 0 || l.only != nil || len(absent) > 0 {
			out = append([]line{{text: inBrackets(groups[text]) + " " + text, word: l.word}}, out...)
		} else {
			out = append(out, line{text: text, word: l.word})
		}
	}
	return out
}

// byNewest sorts texts by their newest revision, newest first.
func byNewest(groups map[string][]mcp.Revision) []string {
	rank := func(text string) int {
		return slices.IndexFunc(mcp.Revisions(), func(r mcp.Revision) bool { return slices.Contains(groups[text], r) })
	}
	return slices.SortedFunc(maps.Keys(groups), func(a, b string) int { return rank(a) - rank(b) })
}

// inBrackets formats revisions as in a line.
func inBrackets(revs []mcp.Revision) string {
	all := mcp.Revisions()
	slices.Reverse(all)
	var names []string
	for i := 0; i < len(all); i++ {
		if !slices.Contains(revs, all[i]) {
			continue
		}
		j := i
		for j+1 < len(all) && slices.Contains(revs, all[j+1]) {
			j++
		}
		switch {
		case i == j:
			names = append(names, string(all[i]))
		case i == 0:
			names = append(names, ".."+string(all[j]))
		case j == len(all)-1:
			names = append(names, string(all[i])+"..")
		default:
			names = append(names, string(all[i])+".."+string(all[j]))
		}
		i = j
	}
	return "[" + strings.Join(names, " ") + "]"
}
