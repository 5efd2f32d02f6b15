package fs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/tenon-mcp/tenon/internal/safefile"
)

func (f *files) addWriting() {
	addTool(f, "write_file", "Write File",
		"Write a text file: a new one, with the directories above it, or in place of an existing one, which the person is asked about. "+
			"The file is replaced in one step and is never half written. To change a part of a file use edit_file.", writing(&yes, &yes), writeFile)
	addTool(f, "edit_file", "Edit File",
		"Replace pieces of a text file. Each oldText must be there exactly once (or say replaceAll); if it is not found as it is, lines that differ only in leading and trailing white space count. "+
			"Edits are made in order, and all or none of them. Line endings stay as they are. Returns a diff; with dryRun nothing is written.", writing(&yes, &no), editFile)
	addTool(f, "create_directory", "Create Directory",
		"Make a directory, with those above it. One that is there already is fine.", writing(&no, &yes), createDirectory)
	addTool(f, "move_file", "Move File",
		"Move or rename a file or directory. Nothing may be at the destination.", writing(&yes, &no), moveFile)
	addTool(f, "delete_file", "Delete File",
		"Delete a file, an empty directory, or with recursive a directory with everything in it. The person is asked first; it cannot be undone.", writing(&yes, &yes), deleteFile)
}

type writeArgs struct {
	Path    string `json:"path" doc:"where to write, as an absolute path or relative to an allowed directory"`
	Content string `json:"content" doc:"the whole new text"`
	Confirm bool   `json:"confirm,omitzero" doc:"says that the person wants this, for clients that cannot ask them; only needed where the answer says so"`
}

// A done is what a tool says that has changed something.
type done struct {
	Path string `json:"path" doc:"where it really is"`
	text string
}

func (d done) MCPText() string { return d.text }

// A written is a file that was written.
type written struct {
	Path    string `json:"path" doc:"where the file really is"`
	Bytes   int    `json:"bytes" doc:"how many it has now"`
	Created bool   `json:"created" doc:"whether it was not there before"`
	text    string
}

func (w written) MCPText() string { return w.text }

func writeFile(ctx context.Context, c *call, in writeArgs) (written, error) {
	p, old, err := c.forWriting(in.Path)
	if err != nil {
		return written{}, err
	}
	if old != nil {
		question := fmt.Sprintf("Overwrite %s (%d bytes) with %d bytes of new text?", printable(p.String()), old.Size(), len(in.Content))
		if err := c.agree(AskBeforeLoss, in.Confirm, question); err != nil {
			return written{}, err
		}
	} else if err := p.root.dir.MkdirAll(path.Dir(p.rel), 0o777); err != nil {
		return written{}, fmt.Errorf("%s: the directory above it cannot be made: %w", in.Path, plain(err))
	}
	unlock, err := c.lock(ctx, p) // not in the middle of an edit
	if err != nil {
		return written{}, c.unwritten(in.Path, err)
	}
	defer unlock()
	if err := replace(p, []byte(in.Content), old); err != nil {
		return written{}, c.unwritten(in.Path, err)
	}
	c.changed(p, old == nil)
	return written{Path: p.String(), Bytes: len(in.Content), Created: old == nil, text: "Successfully wrote to " + in.Path}, nil
}

// forWriting resolves a path at which a file may be written.
func (c *call) forWriting(name string) (place, fs.FileInfo, error) {
	p, info, err := c.resolve(name)
	if err != nil {
		return p, nil, err
	}
	if err := c.guard(p); err != nil {
		return p, nil, err
	}
	if info != nil {
		return p, info, c.regular(name, info)
	}
	return p, nil, newName(p)
}

// unwritten says that writing failed, and that nothing was lost by it.
func (c *call) unwritten(name string, err error) error {
	if errors.Is(err, errExists) {
		return fmt.Errorf("%s was made by somebody else just now, and was not overwritten: look at it, then call again", name)
	}
	if errors.Is(err, safefile.ErrChanged) {
		return fmt.Errorf("%s was not written: %w. Read it again, then make your edits to what it says now", name, err)
	}
	return fmt.Errorf("%s was not written, and everything is as it was: %w", name, plain(err))
}

func createDirectory(_ context.Context, c *call, in pathArgs) (done, error) {
	p, info, err := c.resolve(in.Path)
	if err != nil {
		return done{}, err
	}
	if info == nil {
		err = c.guard(p)
		if err == nil {
			err = newName(p)
		}
	} else if !info.IsDir() {
		err = fmt.Errorf("%s is %s and not a directory: choose another name", in.Path, kind(info.Mode()))
	}
	if err != nil {
		return done{}, err
	}
	if err := p.root.dir.MkdirAll(p.rel, 0o777); err != nil {
		return done{}, fmt.Errorf("%s was not made: %w", in.Path, plain(err))
	}
	return done{p.String(), "Successfully created directory " + in.Path}, nil
}
