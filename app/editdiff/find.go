package editdiff

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// The names of arguments by meaning, in the spellings of servers in use. They are
// compared in lower case and without _ and -.
var (
	pathNames    = []string{"path", "filepath", "filename", "file", "targetfile", "absolutepath"}
	contentNames = []string{"content", "contents", "filetext", "newcontent", "text"}
	oldNames     = []string{"oldtext", "oldstring", "oldstr", "old", "search", "find"}
	newNames     = []string{"newtext", "newstring", "newstr", "new", "replace", "replacement"}
	allNames     = []string{"replaceall"}

	// harmless arguments do not change what is written.
	harmless = []string{"confirm", "overwrite", "createparents", "createdirs", "description", "explanation", "instructions", "reason"}

	writeWords  = []string{"write", "create", "save", "overwrite", "put", "update", "edit", "replace", "modify"}
	editWords   = []string{"edit", "replace", "modify", "update", "str", "patch", "change"}
	appendWords = []string{"append"}
)

// Find recognizes a call that changes one text file, by the name of its tool and by
// its arguments: a path and the whole text, or a path and texts to replace. Ok is
// false for a call of another kind, or with an argument that it does not know.
func Find(tool *mcp.Tool, args json.RawMessage) (e Edit, ok bool) {
	if tool.Annotations.ReadOnly() || rawjson.Check(args) != nil || !rawjson.IsObject(args) {
		return Edit{}, false
	}
	c := call{}
	for m := rawjson.Object(args); m.Next(); {
		name := string(m.Name)
		if !c.take(plain(name), m.Value) {
			return Edit{}, false
		}
	}
	words := wordsOf(tool.Name)
	has := func(set []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(set, w) })
	}
	switch {
	case c.path == nil || c.dry:
		return Edit{}, false
	case c.content != nil && len(c.edits) == 0 && c.edit == (replacement{}) && has(appendWords):
		return Edit{*c.path, func(before string, _ bool) (string, error) { return before + *c.content, nil }}, true
	case c.content != nil && len(c.edits) == 0 && c.edit == (replacement{}) && has(writeWords):
		return Edit{*c.path, func(string, bool) (string, error) { return *c.content, nil }}, true
	case c.content == nil && len(c.edits) == 0 && c.edit.complete() && has(editWords):
		c.edits = []replacement{c.edit}
	case c.content == nil && len(c.edits) > 0 && c.edit == (replacement{}) && has(editWords):
	default:
		return Edit{}, false
	}
	return Edit{*c.path, c.replaceAll}, true
}

// A call has the arguments of an edit.
type call struct {
	path, content *string
	edit          replacement
	edits         []replacement
	dry           bool
}

// A replacement replaces one text by another.
type replacement struct {
	old, new *string
	all      bool
}

func (r *replacement) complete() bool { return r.old != nil && r.new != nil }

// take stores an argument. It returns false if it does not know the argument, or
// has one with the same meaning.
func (c *call) take(name string, value []byte) bool {
	text, isText := rawjson.String(value)
	set := func(to **string) bool {
		if !isText || *to != nil {
			return false
		}
		*to = &text
		return true
	}
	switch {
	case slices.Contains(pathNames, name):
		return set(&c.path)
	case slices.Contains(contentNames, name):
		return set(&c.content)
	case name == "edits" && c.edits == nil && rawjson.IsArray(value):
		for e := rawjson.Array(value); e.Next(); {
			var r replacement
			if !rawjson.IsObject(e.Value) {
				return false
			}
			for m := rawjson.Object(e.Value); m.Next(); {
				name := string(m.Name)
				if !r.take(plain(name), m.Value) {
					return false
				}
			}
			if !r.complete() {
				return false
			}
			c.edits = append(c.edits, r)
		}
		return len(c.edits) > 0
	case name == "dryrun":
		c.dry = string(value) == "true"
		return true
	case slices.Contains(harmless, name):
		return true
	case name == "command": // of text editors with one tool for all
		return isText && (text == "create" || text == "str_replace")
	}
	return c.edit.take(name, value)
}

// take stores a member of a replacement.
func (r *replacement) take(name string, value []byte) bool {
	text, isText := rawjson.String(value)
	switch {
	case slices.Contains(oldNames, name) && isText && r.old == nil:
		r.old = &text
	case slices.Contains(newNames, name) && isText && r.new == nil:
		r.new = &text
	case slices.Contains(allNames, name) && (string(value) == "true" || string(value) == "false"):
		r.all = string(value) == "true"
	default:
		return false
	}
	return true
}

// replaceAll applies the replacements in order.
func (c *call) replaceAll(before string, exists bool) (string, error) {
	if !exists {
		if one := c.edits[0]; len(c.edits) == 1 && *one.old == "" {
			return *one.new, nil // some editors create a file in this way
		}
		return "", errors.New("the file does not exist")
	}
	text := before
	for _, r := range c.edits {
		switch n := strings.Count(text, *r.old); {
		case *r.old == "":
			return "", errors.New("the text to replace is empty")
		case n == 0:
			return "", errors.New("the file does not have the text to replace")
		case n > 1 && !r.all:
			return "", fmt.Errorf("the text to replace occurs %d times", n)
		case len(text)+n*(len(*r.new)-len(*r.old)) > 4*maxFile:
			return "", errors.New("the new text is too large to compare")
		}
		text = strings.ReplaceAll(text, *r.old, *r.new)
	}
	return text, nil
}

// plain returns a name in lower case and without _ and -.
func plain(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// wordsOf returns the words of a name such as edit_file, edit-file or editFile.
func wordsOf(name string) []string {
	var b strings.Builder
	for i, r := range name {
		if r >= 'A' && r <= 'Z' && i > 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return strings.FieldsFunc(strings.ToLower(b.String()), func(r rune) bool { return strings.ContainsRune(" _-./", r) })
}
