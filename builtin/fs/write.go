package fs

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"runtime"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/internal/safefile"
)

// A file is written beside its name, forced to the disk, and then given its
// name in one step: a reader always finds the old file or the new one. Between
// reading a file and giving its new content that name, the directory is locked
// against other processes (lock), and programs that do not know the lock are
// noticed (safefile.Swap). What a killed process leaves beside the file is
// removed by the next one (sweep).

// unfinished fits the names of files that are being written.
var unfinished = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\.tenon-[0-9a-f]{24}\.part$`) })

// isOurs reports whether a name is one that this server uses while it writes.
func isOurs(name string) bool { return unfinished().MatchString(name) || safefile.IsTemp(name) }

func unfinishedName() string {
	var b [12]byte
	rand.Read(b[:])
	return ".tenon-" + hex.EncodeToString(b[:]) + ".part"
}

var errExists = errors.New("it exists already")

// lock locks the directories that places lie in, so that no other call, of this
// server or of another process, changes a file in them meanwhile.
func (c *call) lock(ctx context.Context, places ...place) (unlock func(), err error) {
	var dirs []*os.File
	defer func() {
		if err != nil {
			closeAll(dirs)
		}
	}()
	for _, p := range places {
		d, err := p.root.dir.Open(path.Dir(p.rel))
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, d)
	}
	release, err := safefile.Lock(ctx, dirs...)
	if err != nil {
		return nil, err
	}
	return func() { release(); closeAll(dirs) }, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// replace writes a file. old is what is there now, whose permissions are kept;
// if it is nil, nothing may be there. The caller holds the lock.
func replace(p place, data []byte, old fs.FileInfo) error {
	finish := renameInto
	if old != nil {
		finish = func(dir *os.Root, part, name string) error { return dir.Rename(part, name) }
	}
	return replaceBy(p, old, bytesTo(data), finish)
}

// replaceSame is replace for what was made of the old content: the error is a
// [safefile.ErrChanged] if the file has another one by now.
func replaceSame(p place, data []byte, old fs.FileInfo, content []byte) error {
	return replaceBy(p, old, bytesTo(data), func(dir *os.Root, part, name string) error {
		return safefile.Swap(dir, part, name, content)
	})
}

func bytesTo(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

// replaceBy writes a file piece by piece, with the owner and permissions of
// another one if there is one, and has finish give it its name.
func replaceBy(p place, like fs.FileInfo, write func(io.Writer) error, finish func(dir *os.Root, part, name string) error) (err error) {
	dir, err := p.root.dir.OpenRoot(path.Dir(p.rel))
	if err != nil {
		return err
	}
	defer dir.Close()
	part := unfinishedName()
	f, err := dir.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		f.Close()
		if err != nil {
			dir.Remove(part)
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if like != nil {
		keep(f, like)
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := finish(dir, part, p.name()); err != nil {
		return err
	}
	return syncDir(dir)
}

// keep gives a file the owner and the permissions of the one whose place it
// takes. An owner that cannot be kept is no reason not to write, as with any
// editor.
func keep(f *os.File, old fs.FileInfo) {
	if uid, gid, ok := owner(old); ok {
		f.Chown(uid, gid)
	}
	f.Chmod(old.Mode().Perm())
}

// renameInto names a file that must not be there yet, in the same directory.
func renameInto(dir *os.Root, part, name string) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	return renameNewOr(d, part, d, name, func() error {
		// A second name is given before the first is taken: that never
		// replaces anything either.
		if err := dir.Link(part, name); err == nil {
			return dir.Remove(part)
		} else if errors.Is(err, fs.ErrExist) {
			return errExists
		}
		if _, err := dir.Lstat(name); err == nil {
			return errExists
		}
		return dir.Rename(part, name)
	})
}

// renameNewOr renames without replacing, or does the next best where the
// system or the file system cannot.
func renameNewOr(from *os.File, oldName string, to *os.File, newName string, next func() error) error {
	err := safefile.RenameNew(from, oldName, to, newName)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		return errExists
	case errors.Is(err, errors.ErrUnsupported) || isInvalid(err):
		return next()
	}
	return err
}

// syncDir forces the names in a directory to the disk. Some file systems cannot,
// and the file has its name by then.
func syncDir(dir *os.Root) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := dir.Open(".")
	if err != nil {
		return nil
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !isInvalid(err) && !errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("the file was written, but the disk does not confirm it: %w", plain(err))
	}
	return nil
}

// sweep removes the unfinished files that processes left which are gone.
func sweep(ctx context.Context, r *root) {
	todo := []place{{r, "."}}
	for len(todo) > 0 && ctx.Err() == nil {
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if dir.rel != "." && dir.ofKernel() {
			continue
		}
		f, err := r.dir.OpenFile(dir.rel, os.O_RDONLY|nonblock, 0)
		if err != nil {
			continue
		}
		for ctx.Err() == nil {
			entries, err := f.ReadDir(512)
			for _, e := range entries {
				if e.IsDir() && strings.Count(dir.rel, "/") < maxWalked {
					todo = append(todo, dir.join(e.Name()))
				} else if e.Type().IsRegular() && unfinished().MatchString(e.Name()) {
					discard(ctx, dir.join(e.Name()))
				}
			}
			if err != nil { // io.EOF, mostly
				break
			}
		}
		f.Close()
	}
}

// discard removes an unfinished file. While it is locked, nobody writes it.
func discard(ctx context.Context, p place) {
	unlock, err := safefile.LockRoot(ctx, p.root.dir, path.Dir(p.rel))
	if err != nil {
		return
	}
	defer unlock()
	p.root.dir.Remove(p.rel)
}
