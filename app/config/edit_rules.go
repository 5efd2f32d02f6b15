package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// RemoveRule removes a rule from the file that it is from, and preserves the rest of
// the file byte by byte. It fails if the file no longer has it.
func RemoveRule(r Rule) error {
	return changeRule(r, func(list node, all []node, i int) ([]byte, error) {
		var spans []span
		for _, e := range all {
			spans = append(spans, span{e.off, e.off + len(e.raw)})
		}
		return removeSpan(list, spans, i), nil
	})
}

// SetRuleEffect changes the effect of a rule in the file that it is from.
func SetRuleEffect(r Rule, effect Effect) error {
	return changeRule(r, func(list node, all []node, i int) ([]byte, error) {
		at, ok := all[i].member("effect")
		if !ok {
			return nil, fmt.Errorf("the rule in line %d has no effect", r.Line)
		}
		text := list.doc.text
		return slices.Concat(text[:at.off], rawjson.AppendString(nil, string(effect)), text[at.off+len(at.raw):]), nil
	})
}

// changeRule edits the file of a rule. Edit gets the list of rules and the position
// of the rule in it: the one in the same line, or the only one that is equal.
func changeRule(r Rule, edit func(list node, all []node, i int) ([]byte, error)) error {
	if r.File == "" {
		return fmt.Errorf("the rule is not from a file")
	}
	return change(r.File, func(root node) ([]byte, error) {
		list, _ := root.member("permissions")
		if list.doc == nil {
			return nil, fmt.Errorf("%s has no permissions any more", r.File)
		}
		all, err := list.list()
		if err != nil {
			return nil, err
		}
		found := -1
		for i, e := range all {
			now, err := readRule(e)
			if err != nil || !r.same(now) {
				continue
			}
			if found < 0 || now.Line == r.Line {
				found = i
			}
		}
		if found < 0 {
			return nil, fmt.Errorf("%s no longer has this rule; it was in line %d", r.File, r.Line)
		}
		return edit(list, all, found)
	})
}

// same reports whether two rules decide the same calls in the same way.
func (r Rule) same(o Rule) bool {
	return r.Effect == o.Effect && r.Server == o.Server && r.Tool == o.Tool && maps.Equal(r.Args, o.Args) && r.Folder == o.Folder && r.Project == o.Project
}
