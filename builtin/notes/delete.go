package notes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/tenon-mcp/tenon/internal/safefile"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// trash is the folder for deleted notes in the vault. Obsidian can use the
// same folder.
const trash = ".trash"

type deleteArgs struct {
	Path    string `json:"path" doc:"the full path of the note in the vault" schema:"minLength=1,maxLength=1024"`
	Version string `json:"version,omitzero" doc:"the version from read_note; if the note has another version now, it is not deleted" schema:"maxLength=64"`
	Confirm bool   `json:"confirm,omitzero" doc:"the user agreed; set it only after a result asked for it"`
}

type deleted struct {
	Path  string `json:"path"`
	Trash string `json:"trash" doc:"the new path of the note; move it back to restore it"`
}

// MCPText returns the text that a model reads.
func (d deleted) MCPText() string { return fmt.Sprintf("Moved %s to %s.", d.Path, d.Trash) }

func (v *vault) delete(ctx context.Context, c *mcp.Call, in deleteArgs) (deleted, error) {
	name, err := cleanPath(in.Path)
	if err != nil {
		return deleted{}, err
	}
	a := v.access(&c.Caller)
	if !a.reads(name) {
		return deleted{}, noNote(name)
	}
	st, err := v.load(name)
	if err != nil {
		return deleted{}, err
	}
	if !a.writes(name) {
		return deleted{}, fmt.Errorf("you may read %q but not delete it; you may write in %s", name, a.writable())
	}
	if in.Version != "" {
		if err := st.checkVersion(in.Version); err != nil {
			return deleted{}, err
		}
	}
	if err := v.confirm(c, name, st.version.String(), in.Confirm, "Move to the trash:"); err != nil {
		return deleted{}, err
	}
	to, err := v.toTrash(ctx, st)
	if err != nil {
		return deleted{}, err
	}
	v.refresh(name)
	return deleted{name, to}, nil
}

// toTrash moves a note to a free name in the trash, unless it has changed.
func (v *vault) toTrash(ctx context.Context, st *state) (string, error) {
	to := path.Join(trash, st.name)
	err := v.checkLinks(path.Dir(to))
	if err == nil {
		err = v.root.MkdirAll(path.Dir(to), 0o777)
	}
	if err != nil {
		return "", fileError(st.name, err)
	}
	unlock, err := v.lock(ctx, st.name, to)
	if err != nil {
		return "", fileError(st.name, err)
	}
	defer unlock()
	now, err := v.load(st.name)
	if err == nil {
		err = now.checkVersion(st.version.String())
	}
	if err != nil {
		return "", err
	}
	base := to[:len(to)-len(path.Ext(to))]
	for i := 2; i < 10_000; i++ {
		err := safefile.Move(v.root, st.name, to)
		if err == nil {
			return to, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", fileError(st.name, err)
		}
		to = fmt.Sprintf("%s %d%s", base, i, extension)
	}
	return "", errors.New("the trash has too many notes of that name; empty it")
}

// confirmation is the form that asks the user for confirmation.
type confirmation struct {
	Confirm bool `json:"confirm" doc:"yes, do it" schema:"title=Confirm"`
}

// confirm asks the user to confirm a change. If the client cannot ask the
// user, sure must be set. It must run before anything is changed. The
// request is for one version of a note: if the note changes meanwhile, the
// user is asked again.
func (v *vault) confirm(c *mcp.Call, name, version string, sure bool, what string) error {
	// The key binds the response to the version that the user was asked about.
	answer, err := server.Elicit[confirmation](c, "confirm-"+version, fmt.Sprintf("%s the note %q?", what, name))
	if e, ok := errors.AsType[*mcp.Error](err); ok && e.Code == mcp.CodeMissingCapability {
		if sure {
			return nil
		}
		return fmt.Errorf("this needs the user's confirmation; ask the user, then call again with confirm=true")
	}
	if err != nil {
		return err
	}
	if !answer.Confirm {
		return fmt.Errorf("the user declined; %q was not changed", name)
	}
	return nil
}
