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
	Path string `json:"path" doc:"the whole path of the note or attachment in the vault" schema:"minLength=1,maxLength=1024"`
	To   string `json:"to" doc:"its new path, as Archive/Garden.md; a folder that ends with / keeps the name. Nothing may be there; folders are made as needed" schema:"minLength=1,maxLength=1024"`
}

// A moved is a file at its new place.
type moved struct {
	Path       string   `json:"path" doc:"where it is now"`
	Links      int      `json:"links" doc:"how many links were changed"`
	Notes      []string `json:"notes" doc:"the notes whose links were changed"`
	NotUpdated []string `json:"not_updated,omitempty" doc:"the notes whose links still lead to the old place, and why"`
	from       string
}

// MCPText is what a model reads.
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
		return moved{}, fmt.Errorf("you may not move %q to %q: you may write in %s", from, clip(to), a.writable())
	}
	if err := v.wait(ctx, c); err != nil { // to know who links to it
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
		if name == from { // its own links: those that are relative lead elsewhere now
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

// movePaths reads the two paths. Both are notes, or both have the same other
// extension.
func movePaths(in moveArgs) (from, to string, err error) {
	if from, err = cleanFile(in.Path); err != nil {
		return "", "", err
	}
	said := in.To
	if strings.HasSuffix(said, "/") {
		said += path.Base(from)
	}
	if to, err = cleanFile(said); err != nil {
		return "", "", err
	}
	switch {
	case from == to:
		return "", "", fmt.Errorf("%q is there already: say another path", from)
	case isNote(path.Base(from)) != isNote(path.Base(to)):
		return "", "", fmt.Errorf("a note stays a note, and an attachment one: %q and %q", from, to)
	}
	return from, to, checkNew(to)
}

// cleanFile makes the path of a note or an attachment: what has no extension is
// a note.
func cleanFile(said string) (string, error) {
	name, err := cleanFolder(said)
	if err == nil && path.Ext(name) == "" {
		name += extension
	}
	return name, err
}

func noFile(name string) error {
	if isNote(path.Base(name)) {
		return noNote(name)
	}
	return fmt.Errorf("there is no file %q: list_folder shows what there is", clip(name))
}

// moveFile moves a file to a free name.
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
		return fmt.Errorf("there is a file %q already: choose another path", to)
	}
	if err != nil {
		return fileError(from, err)
	}
	return nil
}

// linking finds the notes whose links may have to change when a file moves: those
// that link to it, and the file itself if it is a note.
func (v *vault) linking(a access, file string) []backlink {
	all := v.visible(a, nil)
	target := v.get(file)
	if target == nil { // an attachment, which is named with its extension
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
	own := backlink{from: target}
	for _, k := range target.links {
		if endsWith(key(file), k) {
			own.keys = append(own.keys, k)
		}
	}
	return append(found, own)
}

// uniqueName reports whether no other file that the caller may read has the name
// of a file. Attachments are not in the index, so folders are looked through.
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
		return 0, errors.New("you may not change it")
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
