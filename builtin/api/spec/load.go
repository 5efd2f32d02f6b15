package spec

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/schema"
)

// A Problem is a mistake in a file.
type Problem struct {
	Line, Column int
	// Path is the place in the file, such as tools.get_user.request.path; empty
	// for a mistake in the syntax.
	Path    string
	Message string
}

// Problems are all mistakes in a file.
type Problems struct {
	File string
	List []Problem
}

// MaxShown is the number of mistakes that [Problems.Error] shows.
const MaxShown = 100

// Error returns one line for each mistake: FILE:LINE:COLUMN: path: message. After
// [MaxShown] of them it has the number of the others.
func (p *Problems) Error() string {
	var b strings.Builder
	for i, one := range p.List {
		if i > 0 {
			b.WriteByte('\n')
		}
		if i == MaxShown {
			what := "mistakes are"
			if len(p.List)-i == 1 {
				what = "mistake is"
			}
			fmt.Fprintf(&b, "%s: %d more %s not shown", p.File, len(p.List)-i, what)
			break
		}
		fmt.Fprintf(&b, "%s:%d:%d: ", p.File, one.Line, one.Column)
		if one.Path != "" {
			b.WriteString(one.Path + ": ")
		}
		b.WriteString(one.Message)
	}
	return b.String()
}

// Permanent reports true: only another file helps.
func (*Problems) Permanent() bool { return true }

// source is the tree of a file, for positions and the order of names.
type source struct {
	name   string
	root   *node
	broken broken
}

// plan compiles the format once.
var plan = sync.OnceValues(schema.Compile[File])

// Load reads a file. name is the name of the file for messages. If the file has
// mistakes, the error is a *Problems with all of them; the File then has what is
// right, so that the caller can look for further mistakes, or is nil. See
// [File.Broken].
func Load(name string, data []byte) (*File, error) {
	p, err := plan()
	if err != nil {
		return nil, err
	}
	root, found := read(data)
	problems := &Problems{File: name, List: found}
	if root == nil || root.kind != object {
		return nil, problems
	}
	r, err := newRepair(p, root)
	if err != nil {
		return nil, err
	}
	r.names(root, r.format, "")
	for _, one := range normalize(root) {
		r.found = append(r.found, one)
		r.broken.add(one.Path)
	}
	f := r.decode(p)
	problems.List = append(problems.List, r.found...)
	if f != nil {
		f.source = &source{name: name, root: root, broken: r.broken}
	}
	if len(problems.List) > 0 {
		problems.sort()
		return f, problems
	}
	return f, nil
}

func (p *Problems) sort() {
	slices.SortStableFunc(p.List, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	seen := map[string]bool{}
	p.List = slices.DeleteFunc(p.List, func(one Problem) bool {
		// A part that is used in several places has its mistake once.
		last := one.Path[strings.LastIndexAny(one.Path, ".[")+1:]
		key := fmt.Sprintf("%d %d %s %s", one.Line, one.Column, last, one.Message)
		again := seen[key]
		seen[key] = true
		return again
	})
}

// Problems returns the error for problems of which only the path and the message
// are known, together with those of an earlier error; nil if there are none. It
// leaves out those that follow from an earlier one.
func (f *File) Problems(earlier error, found []Problem) error {
	all := &Problems{File: f.source.name}
	if before, ok := errors.AsType[*Problems](earlier); ok {
		all.List = slices.Clone(before.List)
	}
	for _, one := range found {
		if f.Broken(one.Path) {
			continue
		}
		at, exact := f.source.root.find(one.Path)
		one.Line, one.Column = at.line, at.col
		if exact && at.kind == object && at.key[0] > 0 {
			one.Line, one.Column = at.key[0], at.key[1]
		}
		all.List = append(all.List, one)
	}
	if len(all.List) == 0 {
		return nil
	}
	all.sort()
	return all
}

// Has reports whether the file has a part at a path.
func (f *File) Has(path string) bool {
	_, exact := f.source.root.find(path)
	return exact
}

// Names returns the names of an object in the order of the file, such as those of
// "tools" or of "tools.x.params".
func (f *File) Names(path string) []string {
	n, exact := f.source.root.find(path)
	if !exact || n.kind != object {
		return nil
	}
	return n.names
}

// Broken reports whether the part at a path, or one above it, has a mistake that
// [Load] found. Such a part is absent or has a value that stands in for it, so that
// mistakes in it may follow from the first one.
func (f *File) Broken(path string) bool { return f.source.broken.at(path) }

// Damaged reports whether [Load] found a mistake in a member of the object at a
// path, so that the object may lack what its author meant to write.
func (f *File) Damaged(path string) bool { return f.source.broken.inside(path) }

// Path returns the path of a member, quoted where necessary.
func Path(parent, name string) string {
	plain := name != ""
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c != '_' && c != '$' && c != '-' && (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') {
			plain = false
		}
	}
	if !plain {
		return fmt.Sprintf("%s[%q]", parent, name)
	}
	if parent == "" {
		return name
	}
	return parent + "." + name
}

// Raw returns the JSON of the file, with its short forms written out.
func (f *File) Raw() json.RawMessage { return f.source.root.append(nil) }
