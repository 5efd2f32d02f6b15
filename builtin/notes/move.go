package notes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/safefile"
	"github.com/tenon-mcp/tenon/mcp"
)

type moveArgs struct {
	Path string `json:"path" doc:"the full path of the note or attachment in the vault" schema:"minLength=1,maxLength=1024"`
	To   string `json:"to" doc:"the new path, such as Archive/Garden.md, which must not exist; a path that ends with / is a folder and keeps the name. Folders are created as needed" schema:"minLength=1,maxLength=1024"`
}

// A moved is the result of move_note.
type moved struct {
	Path       string   `json:"path" doc:"the new path"`
	Links      int      `json:"links" doc:"number of links updated"`
	Notes      []string `json:"notes" doc:"the notes whose links were updated"`
	NotUpdated []string `json:"not_updated,omitempty" doc:"the notes whose links still point to the old path, with the reasons"`
	from       string
}

// MCPText returns the text that a model reads.
func (m moved) MCPText() string {
	text := fmt.Sprintf("Moved %s to %s; %s changed in %s.", m.from, m.Path, plural(m.Links, "link"), plural(len(m.Notes), "note"))
	for _, why := range m.NotUpdated {
		text += "\nNot updated: " + why
	}
	return text
}

func (v *vault) move(ctx context.Context, c *mcp.Call, in moveArgs) (moved, error) {
	from, to, err := movePaths(in)
	if err != nil {
		return moved{}, err
	}
	a := v.access(&c.Caller)
	switch {
	case !a.reads(from):
		return moved{}, noFile(from)
	case !a.writes(from) || !a.writes(to):
		return moved{}, fmt.Errorf("you may not move %q to %q; you may write in %s", from, clip(to), a.writable())
	}
	if err := v.wait(ctx, c); err != nil { // the index has the links to it
		return moved{}, err
	}
	linking := v.linking(a, from)
	if err := v.moveFile(ctx, from, to); err != nil {
		return moved{}, err
	}
	if isNote(path.Base(from)) {
		v.refresh(from)
		v.refresh(to)
	}
	out := moved{Path: to, Notes: []string{}, from: from}
	unique := v.uniqueName(a, to)
	for _, l := range linking {
		name := l.from.path
		r := &relinker{from: from, to: to, unique: unique, hits: func(k string) bool { return slices.Contains(l.keys, k) }, old: path.Dir(name), now: path.Dir(name)}
		if name == from { // its self relative links change too
			name, r.now = to, path.Dir(to)
		}
		n, err := v.relink(ctx, a, name, r)
		if err != nil {
			out.NotUpdated = append(out.NotUpdated, fmt.Sprintf("%s: %v", name, err))
		} else if n > 0 {
			out.Links += n
			out.Notes = append(out.Notes, name)
		}
	}
	return out, nil
}

// movePaths parses both paths. Both must be notes, or have the same other
// extension.
func movePaths(in moveArgs) (from, to string, err error) {
	if from, err = cleanFile(in.Path); err != nil {
		return "", "", err
	}
	input := in.To
	if strings.HasSuffix(input, "/") {
		input += path.Base(from)
	}
	if to, err = cleanFile(input); err != nil {
		return "", "", err
	}
	switch {
	case from == to:
		return "", "", fmt.Errorf("%q has this path already; choose another path", from)
	case isNote(path.Base(from)) != isNote(path.Base(to)):
		return "", "", fmt.Errorf("a note cannot become an attachment or the reverse: %q and %q", from, to)
	}
	return from, to, checkNew(to)
}

// cleanFile returns the path of a note or an attachment. A path without an
// extension is a note.
func cleanFile(input string) (string, error) {
	name, err := cleanFolder(input)
	if err == nil && path.Ext(name) == "" {
		name += extension
	}
	return name, err
}

func noFile(name string) error {
	if isNote(path.Base(name)) {
		return noNote(name)
	}
	return fmt.Errorf("no file %q; use list_folder to find files", clip(name))
}

// moveFile renames a file to a path that must not exist.
func (v *vault) moveFile(ctx context.Context, from, to string) error {
	for _, name := range []string{from, to} {
		if err := v.checkLinks(name); err != nil {
			return fileError(name, err)
		}
	}
	info, err := v.root.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return noFile(from)
	}
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a file")
	}
	if err == nil {
		err = v.root.MkdirAll(path.Dir(to), 0o777)
	}
	if err != nil {
		return fileError(from, err)
	}
	unlock, err := v.lock(ctx, from, to)
	if err != nil {
		return fileError(from, err)
	}
	defer unlock()
	err = safefile.Move(v.root, from, to)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("file %q exists already; choose another path", to)
	}
	if err != nil {
		return fileError(from, err)
	}
	return nil
}

// linking returns the notes whose links may change when a file moves: those
// that link to it, and the file itself if it is a note.
func (v *vault) linking(a access, file string) []backlink {
	all := v.visible(a, nil)
	target := v.get(file)
	if target == nil { // an attachment; links to it include the extension
		var found []backlink
		full, unique := key(file), v.uniqueName(a, file)
		for _, n := range all {
			var by []string
			for _, k := range n.links {
				if k == attached+full || k[0] != attached[0] && endsWith(full, k) && (unique || strings.Contains(k, "/")) {
					by = append(by, k)
				}
			}
			if by != nil {
				found = append(found, backlink{n, by})
			}
		}
		return found
	}
	found := linksTo(target, all)
	self := backlink{from: target}
	for _, k := range target.links {
		if endsWith(key(file), k) {
			self.keys = append(self.keys, k)
		}
	}
	return append(found, self)
}

// uniqueName reports whether no other file that the caller may read has the
// same name. Attachments are not in the index, so it walks the folders.
func (v *vault) uniqueName(a access, file string) bool {
	base := key(path.Base(file))
	same := func(name string) bool { return name != file && key(path.Base(name)) == base && a.reads(name) }
	if isNote(path.Base(file)) {
		return len(v.visible(a, func(n *note) bool { return same(n.path) })) == 0
	}
	found := errors.New("found")
	return fs.WalkDir(v.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || e.IsDir() && strings.HasPrefix(e.Name(), ".") && name != ".":
			return fs.SkipDir
		case !e.IsDir() && same(name):
			return found
		}
		return nil
	}) == nil
}

// relink rewrites the links of one note.
func (v *vault) relink(ctx context.Context, a access, name string, r *relinker) (n int, err error) {
	if !a.writes(name) {
		return 0, errors.New("you may not change this note")
	}
	_, err = safefile.Retry(ctx, func() (written, error) {
		return v.change(ctx, name, "", func(text string) (string, error) {
			var now string
			now, n = r.rewrite(text)
			return now, nil
		})
	})
	return n, err
}
