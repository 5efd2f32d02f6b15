package fs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/tenon-mcp/tenon/internal/safefile"
)

func (f *files) addWriteTools() {
	addTool(f, "write_file", "Write File",
		"Create a text file, with its parent directories, or overwrite one; the user is asked before an existing file is overwritten. "+
			"The file is replaced atomically. To change a part of a file use edit_file.", writing(&yes, &yes), writeFile)
	addTool(f, "edit_file", "Edit File",
		"Replace parts of a text file. Each oldText must occur exactly once, unless replaceAll is set; if there is no exact match, lines that differ only in leading and trailing white space match. "+
			"Edits are applied in order, all or none. Line endings are kept. Returns a diff; with dryRun nothing is written.", writing(&yes, &no), editFile)
	addTool(f, "create_directory", "Create Directory",
		"Create a directory and its parents. If it exists already, nothing happens.", writing(&no, &yes), createDirectory)
	addTool(f, "move_file", "Move File",
		"Move or rename a file or directory. The destination must not exist.", writing(&yes, &no), moveFile)
	addTool(f, "delete_file", "Delete File",
		"Delete a file or an empty directory; with recursive, a directory and everything in it. The user is asked first. This cannot be undone.", writing(&yes, &yes), deleteFile)
}

type writeArgs struct {
	Path    string `json:"path" doc:"the file to write: an absolute path, or a path relative to an allowed directory"`
	Content string `json:"content" doc:"the complete new text of the file"`
	Confirm bool   `json:"confirm,omitzero" doc:"the user agreed; set it only after a result asked for it"`
}

// A changeResult is the result of a tool that changes files.
type changeResult struct {
	Path string `json:"path" doc:"absolute path, with links resolved"`
	text string
}

func (d changeResult) MCPText() string { return d.text }

// A written is the result of write_file.
type written struct {
	Path    string `json:"path" doc:"absolute path of the file, with links resolved"`
	Bytes   int    `json:"bytes" doc:"new size of the file in bytes"`
	Created bool   `json:"created" doc:"whether the file is new"`
	text    string
}

func (w written) MCPText() string { return w.text }

func writeFile(ctx context.Context, c *call, in writeArgs) (written, error) {
	p, old, err := c.forWriting(in.Path)
	if err != nil {
		return written{}, err
	}
	if old != nil {
		prompt := fmt.Sprintf("Overwrite %s (%d bytes) with %d bytes of new text?", printable(p.String()), old.Size(), len(in.Content))
		if err := c.confirm(AskBeforeLoss, in.Confirm, prompt); err != nil {
			return written{}, err
		}
	} else if err := p.root.dir.MkdirAll(path.Dir(p.rel), 0o777); err != nil {
		return written{}, fmt.Errorf("%s: create its parent directory: %w", in.Path, plain(err))
	}
	unlock, err := c.lock(ctx, p) // an edit may be under way
	if err != nil {
		return written{}, c.writeError(in.Path, err)
	}
	defer unlock()
	if err := replace(p, []byte(in.Content), old); err != nil {
		return written{}, c.writeError(in.Path, err)
	}
	c.changed(p, old == nil)
	return written{Path: p.String(), Bytes: len(in.Content), Created: old == nil, text: "Successfully wrote to " + in.Path}, nil
}

// forWriting resolves a path where a file may be written.
func (c *call) forWriting(name string) (location, fs.FileInfo, error) {
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

// writeError returns the error of a failed write, which changed nothing.
func (c *call) writeError(name string, err error) error {
	if errors.Is(err, errExists) {
		return fmt.Errorf("%s was created by another program just now and was not overwritten; read it, then call again", name)
	}
	if errors.Is(err, safefile.ErrChanged) {
		return fmt.Errorf("%s was not written: %w. Read it again, then edit its new content", name, err)
	}
	return fmt.Errorf("%s was not written; nothing was changed: %w", name, plain(err))
}

func createDirectory(_ context.Context, c *call, in pathArgs) (changeResult, error) {
	p, info, err := c.resolve(in.Path)
	if err != nil {
		return changeResult{}, err
	}
	if info == nil {
		err = c.guard(p)
		if err == nil {
			err = newName(p)
		}
	} else if !info.IsDir() {
		err = fmt.Errorf("%s is %s, not a directory; choose another name", in.Path, kind(info.Mode()))
	}
	if err != nil {
		return changeResult{}, err
	}
	if err := p.root.dir.MkdirAll(p.rel, 0o777); err != nil {
		return changeResult{}, fmt.Errorf("%s was not created: %w", in.Path, plain(err))
	}
	return changeResult{p.String(), "Successfully created directory " + in.Path}, nil
}
