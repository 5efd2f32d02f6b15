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
	Path        string                     `json:"path" doc:"where the note shall be, as Projects/Garden.md; folders are made as needed" schema:"minLength=1,maxLength=1024"`
	Text        string                     `json:"text" doc:"the note, in Markdown" schema:"maxLength=4000000"`
	Frontmatter map[string]json.RawMessage `json:"frontmatter,omitzero" doc:"properties to put at the top of the note, such as {\"tags\":[\"garden\"]}"`
}

// A written is a note after a change.
type written struct {
	Path    string `json:"path"`
	URI     string `json:"uri"`
	Version string `json:"version" doc:"of the note as it is now"`
	Size    int    `json:"size" doc:"in bytes"`
	Changed bool   `json:"changed" doc:"false when the note was already like that"`
	what    string
}

// MCPText is what a model reads.
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
		return written{}, fmt.Errorf("you may not write %q: you may write in %s", clip(name), a.writable())
	}
	text := in.Text
	if len(in.Frontmatter) > 0 {
		if text, err = patchFront(text, in.Frontmatter); err != nil {
			return written{}, err
		}
	}
	if len(text) > maxNote {
		return written{}, fmt.Errorf("the note cannot be written: %w", errTooLarge)
	}
	if err := v.wait(ctx, c); err != nil { // to know names that differ in case alone
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
		return fmt.Errorf("there is a note %q already: change it with update_note, or choose another path", as)
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
	Mode        string                     `json:"mode" doc:"append or prepend: add text to the note, or to the section. replace_section: put text in the place of what is under the heading, or of the whole note below its frontmatter if no section is named. replace_text: put text in the place of old_text. frontmatter: set properties. add_tags, remove_tags: tags of the frontmatter, and when removing those in the text" schema:"enum=append|prepend|replace_section|replace_text|frontmatter|add_tags|remove_tags"`
	Version     string                     `json:"version,omitzero" doc:"the version that read_note told. The note is not changed if it is another one by now. Needed unless text is only added" schema:"maxLength=64"`
	Section     string                     `json:"section,omitzero" doc:"the heading of a section; name those above it too where there are several, as Project#Tasks" schema:"maxLength=1000"`
	Text        string                     `json:"text,omitzero" doc:"the new text, in Markdown" schema:"maxLength=4000000"`
	OldText     string                     `json:"old_text,omitzero" doc:"the text to replace; it must be in the note exactly once" schema:"maxLength=4000000"`
	Frontmatter map[string]json.RawMessage `json:"frontmatter,omitzero" doc:"properties to set; null removes one. Others stay as they are"`
	Tags        []string                   `json:"tags,omitzero" doc:"for add_tags and remove_tags" schema:"maxItems=50"`
	Confirm     bool                       `json:"confirm,omitzero" doc:"set it to replace a whole note where the client cannot ask the person"`
}

func (v *vault) update(ctx context.Context, c *mcp.Call, in updateArgs) (written, error) {
	name, err := v.find(ctx, c, in.Path)
	if err != nil {
		return written{}, err
	}
	if a := v.access(&c.Caller); !a.writes(name) {
		return written{}, fmt.Errorf("you may read %q and not change it: you may write in %s", name, a.writable())
	}
	if err := in.check(); err != nil {
		return written{}, err
	}
	if in.Mode == "replace_section" && in.Section == "" {
		st, err := v.load(name) // nobody is asked about what will not be done
		if err == nil {
			err = st.is(in.Version)
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
	// Text that is only added, and tags, fit whatever the note says by then.
	return safefile.Retry(ctx, func() (written, error) { return v.change(ctx, name, "", in.apply) })
}

// change reads a note and writes what apply makes of it, while no other process
// of ours can change it. If version is not empty the note must have it. The
// error is a [safefile.ErrChanged] if another program changed the note
// meanwhile.
func (v *vault) change(ctx context.Context, name, version string, apply func(text string) (string, error)) (written, error) {
	unlock, err := v.lock(ctx, name)
	if err != nil {
		return written{}, fileError(name, err)
	}
	defer unlock()
	st, err := v.load(name)
	if err == nil && version != "" {
		err = st.is(version)
	}
	if err != nil {
		return written{}, err
	}
	now, err := apply(string(st.bytes))
	if err != nil {
		return written{}, err
	}
	if len(now) > maxNote {
		return written{}, fmt.Errorf("the note cannot be changed: %w", errTooLarge)
	}
	out := written{name, uriOf(name), st.version.String(), len(now), now != string(st.bytes), "Nothing to change in"}
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

// tagging reports whether the update is about tags.
func (in *updateArgs) tagging() bool { return in.Mode == "add_tags" || in.Mode == "remove_tags" }

// check finds arguments that do not go together.
func (in *updateArgs) check() error {
	switch {
	case in.tagging() != (len(in.Tags) > 0):
		return errors.New("tags goes with the modes add_tags and remove_tags, which need it")
	case !in.adds() && !in.tagging() && in.Version == "":
		return fmt.Errorf("%s needs the version of the note: read it with read_note, and pass the version it tells", in.Mode)
	case in.Mode == "frontmatter" && len(in.Frontmatter) == 0:
		return errors.New("frontmatter is empty: say which properties to set")
	case in.Mode != "frontmatter" && len(in.Frontmatter) > 0:
		return errors.New(`frontmatter is set in a call of its own, with mode "frontmatter"`)
	case in.adds() && strings.TrimSpace(in.Text) == "":
		return errors.New("text is empty: say what to add")
	case in.Mode != "replace_text" && in.OldText != "":
		return errors.New(`old_text goes with mode "replace_text"`)
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

// is reports a conflict if the note is not what the caller has read.
func (st *state) is(said string) error {
	if said == st.version.String() {
		return nil
	}
	return fmt.Errorf("somebody has changed %q since version %s: it is version %s now, and nothing was written. Read it again with read_note, make your change to what it says now, and pass the new version", st.name, clip(said), st.version)
}

// replace writes a note, unless another program has changed it since it was
// read. The caller holds the lock.
func (v *vault) replace(st *state, b []byte) error {
	err := safefile.ReplaceSame(v.root, st.name, b, st.bytes)
	v.refresh(st.name)
	if errors.Is(err, safefile.ErrChanged) {
		return fmt.Errorf("%q was not changed: %w. Read it again with read_note, make your change to what it says now, and pass the new version", st.name, err)
	}
	if err != nil {
		return fileError(st.name, err)
	}
	return nil
}
