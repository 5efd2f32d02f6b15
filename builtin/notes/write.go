package notes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/tenon-mcp/tenon/internal/safefile"
	"github.com/tenon-mcp/tenon/mcp"
)

type createArgs struct {
	Path        string                     `json:"path" doc:"the path of the new note, such as Projects/Garden.md; folders are created as needed" schema:"minLength=1,maxLength=1024"`
	Text        string                     `json:"text" doc:"the text of the note, in Markdown" schema:"maxLength=4000000"`
	Frontmatter map[string]json.RawMessage `json:"frontmatter,omitzero" doc:"properties to put at the top of the note, such as {\"tags\":[\"garden\"]}"`
}

// A written is the result of a change to a note.
type written struct {
	Path    string `json:"path"`
	URI     string `json:"uri"`
	Version string `json:"version" doc:"the new version of the note"`
	Size    int    `json:"size" doc:"size in bytes"`
	Changed bool   `json:"changed" doc:"false if the note had this content already"`
	what    string
}

// MCPText returns the text that a model reads.
func (w written) MCPText() string {
	return fmt.Sprintf("%s %s: %d bytes, version %s.", w.what, w.Path, w.Size, w.Version)
}

func (v *vault) create(ctx context.Context, c *mcp.Call, in createArgs) (written, error) {
	name, err := cleanPath(in.Path)
	if err == nil {
		err = checkNew(name)
	}
	if err != nil {
		return written{}, err
	}
	a := v.access(&c.Caller)
	if !a.writes(name) {
		return written{}, fmt.Errorf("you may not write %q; you may write in %s", clip(name), a.writable())
	}
	text := in.Text
	if len(in.Frontmatter) > 0 {
		if text, err = patchFront(text, in.Frontmatter); err != nil {
			return written{}, err
		}
	}
	if len(text) > maxNote {
		return written{}, fmt.Errorf("write the note: %w", errTooLarge)
	}
	if err := v.wait(ctx, c); err != nil { // the index finds names that differ only in case
		return written{}, err
	}
	if err := v.createFile(ctx, a, name, []byte(text)); err != nil {
		return written{}, err
	}
	v.refresh(name)
	return written{name, uriOf(name), versionOf([]byte(text)).String(), len(text), true, "Created"}, nil
}

func (v *vault) createFile(ctx context.Context, a access, name string, b []byte) error {
	exists := func(as string) error {
		return fmt.Errorf("note %q exists already; change it with update_note, or choose another path", as)
	}
	k := key(name)
	if same := v.visible(a, func(n *note) bool { return key(n.path) == k }); len(same) > 0 {
		return exists(same[0].path)
	}
	if err := v.checkLinks(name); err != nil {
		return fileError(name, err)
	}
	if dir := path.Dir(name); dir != "." {
		if err := v.root.MkdirAll(dir, 0o777); err != nil {
			return fileError(name, err)
		}
	}
	unlock, err := v.lock(ctx, name)
	if err != nil {
		return fileError(name, err)
	}
	defer unlock()
	err = safefile.Create(v.root, name, b, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return exists(name)
	}
	if err != nil {
		return fileError(name, err)
	}
	return nil
}

type updateArgs struct {
	Path        string                     `json:"path" doc:"the path of the note in the vault" schema:"minLength=1,maxLength=1024"`
	Mode        string                     `json:"mode" doc:"append, prepend: add text to the note or the section. replace_section: replace the text under the heading, or the whole note below its frontmatter if section is empty. replace_text: replace old_text by text. frontmatter: set properties. add_tags, remove_tags: change the tags of the frontmatter; remove_tags also removes them from the text" schema:"enum=append|prepend|replace_section|replace_text|frontmatter|add_tags|remove_tags"`
	Version     string                     `json:"version,omitzero" doc:"the version from read_note; if the note has another version now, it is not changed. Required except for append, prepend and tags" schema:"maxLength=64"`
	Section     string                     `json:"section,omitzero" doc:"the heading of a section; if there are several, put the parent heading before it, as in Project#Tasks" schema:"maxLength=1000"`
	Text        string                     `json:"text,omitzero" doc:"the new text, in Markdown" schema:"maxLength=4000000"`
	OldText     string                     `json:"old_text,omitzero" doc:"the text to replace; it must occur exactly once" schema:"maxLength=4000000"`
	Frontmatter map[string]json.RawMessage `json:"frontmatter,omitzero" doc:"properties to set; null removes one; others are kept"`
	Tags        []string                   `json:"tags,omitzero" doc:"for add_tags and remove_tags" schema:"maxItems=50"`
	Confirm     bool                       `json:"confirm,omitzero" doc:"the user agreed to replace the whole note; set it only after a result asked for it"`
}

func (v *vault) update(ctx context.Context, c *mcp.Call, in updateArgs) (written, error) {
	name, err := v.find(ctx, c, in.Path)
	if err != nil {
		return written{}, err
	}
	if a := v.access(&c.Caller); !a.writes(name) {
		return written{}, fmt.Errorf("you may read %q but not change it; you may write in %s", name, a.writable())
	}
	if err := in.check(); err != nil {
		return written{}, err
	}
	if in.Mode == "replace_section" && in.Section == "" {
		st, err := v.load(name) // check the version before asking the user
		if err == nil {
			err = st.checkVersion(in.Version)
		}
		if err != nil {
			return written{}, err
		}
		if err := v.confirm(c, name, in.Version, in.Confirm, "Replace the whole text of"); err != nil {
			return written{}, err
		}
	}
	if in.Version != "" || !in.adds() && !in.tagging() {
		return v.change(ctx, name, in.Version, in.apply)
	}
	// Added text and tags apply to any version of the note.
	return safefile.Retry(ctx, func() (written, error) { return v.change(ctx, name, "", in.apply) })
}

// change reads a note and writes the text that apply returns, under the lock
// of the note. If version is not empty, the note must have it. The error is
// [safefile.ErrChanged] if another program changed the note meanwhile.
func (v *vault) change(ctx context.Context, name, version string, apply func(text string) (string, error)) (written, error) {
	unlock, err := v.lock(ctx, name)
	if err != nil {
		return written{}, fileError(name, err)
	}
	defer unlock()
	st, err := v.load(name)
	if err == nil && version != "" {
		err = st.checkVersion(version)
	}
	if err != nil {
		return written{}, err
	}
	now, err := apply(string(st.bytes))
	if err != nil {
		return written{}, err
	}
	if len(now) > maxNote {
		return written{}, fmt.Errorf("change the note: %w", errTooLarge)
	}
	out := written{name, uriOf(name), st.version.String(), len(now), now != string(st.bytes), "No change in"}
	if out.Changed {
		if err := v.replace(st, []byte(now)); err != nil {
			return written{}, err
		}
		out.Version, out.what = versionOf([]byte(now)).String(), "Updated"
	}
	return out, nil
}

// lock locks the folders of notes against other processes.
func (v *vault) lock(ctx context.Context, names ...string) (unlock func(), err error) {
	dirs := make([]string, len(names))
	for i, name := range names {
		dirs[i] = path.Dir(name)
	}
	return safefile.LockRoot(ctx, v.root, dirs...)
}

// adds reports whether the update only adds text.
func (in *updateArgs) adds() bool { return in.Mode == "append" || in.Mode == "prepend" }

// tagging reports whether the update changes tags.
func (in *updateArgs) tagging() bool { return in.Mode == "add_tags" || in.Mode == "remove_tags" }

// check returns an error for arguments that do not go together.
func (in *updateArgs) check() error {
	switch {
	case in.tagging() != (len(in.Tags) > 0):
		return errors.New("tags must be set for the modes add_tags and remove_tags, and only for these")
	case !in.adds() && !in.tagging() && in.Version == "":
		return fmt.Errorf("%s needs the version of the note; pass the version from read_note", in.Mode)
	case in.Mode == "frontmatter" && len(in.Frontmatter) == 0:
		return errors.New("frontmatter is empty; name the properties to set")
	case in.Mode != "frontmatter" && len(in.Frontmatter) > 0:
		return errors.New(`frontmatter needs the mode "frontmatter", in a separate call`)
	case in.adds() && strings.TrimSpace(in.Text) == "":
		return errors.New("text is empty")
	case in.Mode != "replace_text" && in.OldText != "":
		return errors.New(`old_text needs the mode "replace_text"`)
	}
	return nil
}

func (in *updateArgs) apply(text string) (string, error) {
	switch in.Mode {
	case "append", "prepend":
		return insert(text, in.Section, in.Text, in.Mode == "append")
	case "replace_text":
		return replaceText(text, in.OldText, in.Text)
	case "frontmatter":
		return patchFront(text, in.Frontmatter)
	case "add_tags", "remove_tags":
		tags, err := cleanTags(in.Tags)
		if err != nil {
			return "", err
		}
		if in.Mode == "add_tags" {
			return addTags(text, tags)
		}
		return removeTags(text, tags)
	}
	if in.Section != "" {
		return replaceSection(text, in.Section, in.Text)
	}
	_, body := splitFront(text)
	eol := newlineOf(text)
	now := withNewlines(in.Text, eol)
	if now != "" && !strings.HasSuffix(now, "\n") {
		now += eol
	}
	return text[:body] + now, nil
}

// checkVersion returns an error unless the note has the version that the caller read.
func (st *state) checkVersion(input string) error {
	if input == st.version.String() {
		return nil
	}
	return fmt.Errorf("%q changed since version %s and is now version %s; nothing was written. Read it again with read_note, then apply your change to the new version", st.name, clip(input), st.version)
}

// replace writes a note unless another program changed it since it was read.
// The caller holds the lock.
func (v *vault) replace(st *state, b []byte) error {
	err := safefile.ReplaceSame(v.root, st.name, b, st.bytes)
	v.refresh(st.name)
	if errors.Is(err, safefile.ErrChanged) {
		return fmt.Errorf("%q was not changed: %w. Read it again with read_note, then apply your change to the new version", st.name, err)
	}
	if err != nil {
		return fileError(st.name, err)
	}
	return nil
}
