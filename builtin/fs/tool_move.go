package fs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"github.com/tenon-mcp/tenon/server"
)

type moveArgs struct {
	Source      string `json:"source" doc:"the file or directory to move"`
	Destination string `json:"destination" doc:"the new path, including the new name; it must not exist"`
	Confirm     bool   `json:"confirm,omitzero" doc:"the user agreed; set it only after a result asked for it"`
}

// A moved is the result of move_file.
type moved struct {
	From string `json:"from"`
	To   string `json:"to"`
	text string
}

func (m moved) MCPText() string { return m.text }

func moveFile(ctx context.Context, c *call, in moveArgs) (moved, error) {
	from, info, err := c.source(in.Source)
	if err != nil {
		return moved{}, err
	}
	to, err := c.destination(in.Destination)
	if err != nil {
		return moved{}, err
	}
	if info.IsDir() {
		if from.root == to.root && strings.HasPrefix(to.rel+"/", from.rel+"/") {
			return moved{}, fmt.Errorf("%s is in %s: a directory cannot be moved into itself", in.Destination, in.Source)
		}
		if err := c.guardMove(from, to); err != nil {
			return moved{}, err
		}
	}
	if err := c.confirm(AskBeforeChange, in.Confirm, fmt.Sprintf("Move %s to %s?", printable(from.String()), printable(to.String()))); err != nil {
		return moved{}, err
	}
	if err := c.moveLocked(ctx, from, to, info); err != nil {
		if errors.Is(err, errExists) {
			return moved{}, fmt.Errorf("Destination already exists: %s", to) //lint:ignore ST1005 the words of the reference server
		}
		return moved{}, fmt.Errorf("%s was not moved: %w", in.Source, plain(err))
	}
	c.changed(from, true)
	c.changed(to, true)
	return moved{from.String(), to.String(), fmt.Sprintf("Successfully moved %s to %s", in.Source, in.Destination)}, nil
}

// source resolves a path that is to be moved or deleted. It follows links in
// the directory but not the last element: a link itself is moved or deleted.
func (c *call) source(name string) (location, fs.FileInfo, error) {
	p, err := c.entry(name)
	if err != nil {
		return p, nil, err
	}
	info, err := p.root.dir.Lstat(p.rel)
	if errors.Is(err, fs.ErrNotExist) {
		if p, info, err = c.existing(name); err != nil { // the name may be in another Unicode form
			return p, nil, err
		}
	} else if err != nil {
		return p, nil, fmt.Errorf("%s: %w", name, plain(err))
	}
	if err := c.guard(p); err != nil {
		return p, nil, err
	}
	if m := info.Mode(); !m.IsDir() && !m.IsRegular() && m&fs.ModeSymlink == 0 {
		return p, nil, denied("%s is %s, not a regular file", name, kind(m))
	}
	return p, info, nil
}

// entry resolves the directory of a path and keeps its last element.
func (c *call) entry(name string) (location, error) {
	at, err := c.find(name)
	if err != nil {
		return location{}, err
	}
	if at.rel == "." {
		return at, nil
	}
	dir, info, err := c.resolve(at.parent().String())
	if err != nil {
		return location{}, err
	}
	if info == nil {
		return location{}, fmt.Errorf("%s does not exist, nor does its directory", name)
	}
	if !info.IsDir() {
		return location{}, fmt.Errorf("%s: %w", name, errNotDir)
	}
	p := dir.join(at.name())
	if !c.covers(p) {
		return location{}, c.outside(p.String())
	}
	return p, nil
}

func (c *call) destination(name string) (location, error) {
	at, err := c.find(name)
	if err != nil {
		return location{}, err
	}
	dir, info, err := c.resolve(at.parent().String())
	if err == nil && info == nil {
		err = fmt.Errorf("Parent directory does not exist: %s", dir) //lint:ignore ST1005 the words of the reference server
	}
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s: %w", name, errNotDir)
	}
	if err != nil {
		return location{}, err
	}
	p := dir.join(at.name())
	if !c.covers(p) {
		return location{}, c.outside(p.String())
	}
	if err := c.guard(p); err != nil {
		return location{}, err
	}
	if _, err := p.root.dir.Lstat(p.rel); err == nil {
		return location{}, fmt.Errorf("Destination already exists: %s", p) //lint:ignore ST1005 the words of the reference server
	}
	return p, newName(p)
}

// moveLocked moves while it holds the locks of both directories.
func (c *call) moveLocked(ctx context.Context, from, to location, info fs.FileInfo) error {
	unlock, err := c.lock(ctx, from, to)
	if err != nil {
		return err
	}
	defer unlock()
	return c.move(from, to, info)
}

// move renames atomically where the system can, and never replaces a file.
func (c *call) move(from, to location, info fs.FileInfo) error {
	fromDir, err := from.root.dir.Open(path.Dir(from.rel))
	if err != nil {
		return err
	}
	defer fromDir.Close()
	toDir, err := to.root.dir.Open(path.Dir(to.rel))
	if err != nil {
		return err
	}
	defer toDir.Close()
	err = renameNewOr(fromDir, from.name(), toDir, to.name(), func() error {
		if _, err := to.root.dir.Lstat(to.rel); err == nil {
			return errExists
		}
		if from.root != to.root {
			return syscall.EXDEV
		}
		return from.root.dir.Rename(from.rel, to.rel)
	})
	if errors.Is(err, syscall.EXDEV) {
		return c.moveAcross(from, to, info)
	}
	if err == nil {
		toDir.Sync()
		fromDir.Sync()
	}
	return err
}

// moveAcross moves a file to another disk: it removes the original once the
// copy is complete.
func (c *call) moveAcross(from, to location, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("it is %s, and the destination is on another disk; move its files one by one", kind(info.Mode()))
	}
	file, info, err := c.openFile(from.String(), from)
	if err != nil {
		return err
	}
	defer file.Close()
	err = replaceBy(to, info, func(w io.Writer) error {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		_, err := io.Copy(w, file)
		return err
	}, renameInto)
	if err != nil {
		return err
	}
	return from.root.dir.Remove(from.rel)
}

type deleteArgs struct {
	Path      string `json:"path" doc:"the file or directory to delete"`
	Recursive bool   `json:"recursive,omitzero" doc:"delete a directory and everything in it"`
	Confirm   bool   `json:"confirm,omitzero" doc:"the user agreed; set it only after a result asked for it"`
}

func deleteFile(ctx context.Context, c *call, in deleteArgs) (changeResult, error) {
	p, info, err := c.source(in.Path)
	if err != nil {
		return changeResult{}, err
	}
	prompt := fmt.Sprintf("Delete %s (%s, %d bytes)?", printable(p.String()), kind(info.Mode()), info.Size())
	remove := func() error { return p.root.dir.Remove(p.rel) }
	if info.IsDir() {
		n, err := c.inside(ctx, p)
		switch {
		case err != nil:
			return changeResult{}, err
		case n > 0 && !in.Recursive:
			return changeResult{}, fmt.Errorf("%s is a directory and not empty; to delete everything in it set recursive", in.Path)
		}
		prompt = fmt.Sprintf("Delete the directory %s with %d files and directories in it?", printable(p.String()), n)
		remove = func() error { return p.root.dir.RemoveAll(p.rel) }
	}
	if err := c.confirm(AskBeforeLoss, in.Confirm, prompt); err != nil {
		return changeResult{}, err
	}
	unlock, err := c.lock(ctx, p)
	if err != nil {
		return changeResult{}, fmt.Errorf("%s was not deleted: %w", in.Path, plain(err))
	}
	defer unlock()
	if err := remove(); err != nil {
		return changeResult{}, fmt.Errorf("%s was not deleted: %w", in.Path, plain(err))
	}
	c.changed(p, true)
	return changeResult{p.String(), "Successfully deleted " + in.Path}, nil
}

// inside counts the entries below a directory and fails if one of them is
// sensitive.
func (c *call) inside(ctx context.Context, dir location) (n int, err error) {
	for todo := []location{dir}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		entries, err := readDir(at)
		if err != nil {
			return n, fmt.Errorf("%s: %w", at, err)
		}
		for _, e := range entries {
			if n++; n%1000 == 0 {
				server.Progress(c.Call, float64(n), 0, fmt.Sprintf("counting the files in %s", dir))
			}
			if err := c.guard(at.join(e.Name())); err != nil {
				return n, err
			}
			if e.IsDir() {
				todo = append(todo, at.join(e.Name()))
			}
		}
		if ctx.Err() != nil {
			return n, ctx.Err()
		}
	}
	return n, nil
}
