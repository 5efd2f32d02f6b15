package fs

import (
	"bufio"
	"bytes"
	"io"
	"path"
	"regexp"
	"strings"
)

// ignores are the rules for a directory: those of its own .gitignore, then
// those of its parents.
type ignores struct {
	above *ignores
	base  string // path of the directory in its root
	rules []rule
}

// A rule is one line of a .gitignore.
type rule struct {
	name    string         // set for a plain name
	suffix  string         // set for a pattern such as *.o
	re      *regexp.Regexp // otherwise: matches the path below base
	negate  bool
	dirOnly bool
}

// ignoring returns the rules for a directory and its parents within the root.
func (f *files) ignoring(dir location) *ignores {
	var above *ignores
	if dir.rel != "." {
		above = f.ignoring(dir.parent())
	} else if rules := f.rulesOf(dir.join(".git/info/exclude")); rules != nil {
		above = &ignores{base: ".", rules: rules}
	}
	return f.within(above, dir)
}

// within adds the rules of a directory to those of its parents.
func (f *files) within(above *ignores, dir location) *ignores {
	if rules := f.rulesOf(dir.join(".gitignore")); rules != nil {
		return &ignores{above, dir.rel, rules}
	}
	return above
}

// maxRules is the number of bytes read from a .gitignore.
const maxRules = 256 << 10

func (f *files) rulesOf(p location) []rule {
	file, _, err := f.openFile(p.rel, p)
	if err != nil {
		return nil
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxRules))
	if err != nil {
		return nil
	}
	var rules []rule
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		if r, ok := newRule(lines.Text()); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

func newRule(line string) (rule, bool) {
	line = strings.TrimSuffix(line, "\r")
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	if line == "" || line[0] == '#' {
		return rule{}, false
	}
	var r rule
	if line[0] == '!' {
		r.negate, line = true, line[1:]
	}
	if strings.HasSuffix(line, "/") {
		r.dirOnly, line = true, line[:len(line)-1]
	}
	if line == "" {
		return rule{}, false
	}
	anchored := strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if !anchored {
		if !strings.ContainsAny(line, `*?[\`) {
			r.name = line
			return r, true
		}
		if rest := line[1:]; line[0] == '*' && rest != "" && !strings.ContainsAny(rest, `*?[\`) {
			r.suffix = rest
			return r, true
		}
	}
	re, err := pathExpression(line, false)
	if err != nil {
		return rule{}, false
	}
	if !anchored {
		re = `(?:.*/)?` + re
	}
	if r.re, err = regexp.Compile("^(?s:" + re + ")$"); err != nil {
		return rule{}, false
	}
	return r, true
}

func (r *rule) match(below, name string, dir bool) bool {
	switch {
	case r.dirOnly && !dir:
		return false
	case r.name != "":
		return r.name == name
	case r.suffix != "":
		return strings.HasSuffix(name, r.suffix)
	}
	return r.re.MatchString(below)
}

// ignored reports whether the rules exclude a path. The nearest .gitignore
// decides, and in it the last line that matches.
func (g *ignores) ignored(rel string, dir bool) bool {
	name := path.Base(rel)
	if name == ".git" {
		return true
	}
	for ; g != nil; g = g.above {
		below := rel
		if g.base != "." {
			below = strings.TrimPrefix(rel, g.base+"/")
		}
		for i := len(g.rules) - 1; i >= 0; i-- {
			if g.rules[i].match(below, name, dir) {
				return !g.rules[i].negate
			}
		}
	}
	return false
}
