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

// A file is written to a temporary file in its directory, synced, and
// renamed in one step, so that readers see the old content or the new. The
// directory is locked (lock) between reading a file and replacing it;
// changes by programs that do not use the lock are detected (safefile.Swap).
// Temporary files of killed processes are removed by the next one (sweep).

// unfinished matches the names of temporary files.
var unfinished = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\.tenon-[0-9a-f]{24}\.part$`) })

// isReserved reports whether name is reserved for temporary files.
func isReserved(name string) bool { return unfinished().MatchString(name) || safefile.IsTemp(name) }

func unfinishedName() string {
	var b [12]byte
	rand.Read(b[:])
	return ".tenon-" + hex.EncodeToString(b[:]) + ".part"
}

var errExists = errors.New("the file exists already")

// lock locks the directories of files against changes by other calls and
// other processes.
func (c *call) lock(ctx context.Context, places ...location) (unlock func(), err error) {
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

// replace writes a file. old is the current file, whose permissions are
// kept; nil means that the file must not exist. The caller holds the lock.
func replace(p location, data []byte, old fs.FileInfo) error {
	finish := renameInto
	if old != nil {
		finish = func(dir *os.Root, part, name string) error { return dir.Rename(part, name) }
	}
	return replaceBy(p, old, bytesTo(data), finish)
}

// replaceSame replaces a file whose content must still be content; otherwise
// the error is [safefile.ErrChanged].
func replaceSame(p location, data []byte, old fs.FileInfo, content []byte) error {
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

// replaceBy writes a temporary file with the owner and permissions of like,
// if it is not nil, and calls finish to rename it.
func replaceBy(p location, like fs.FileInfo, write func(io.Writer) error, finish func(dir *os.Root, part, name string) error) (err error) {
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
		copyAttributes(f, like)
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

// copyAttributes copies the owner and the permissions of old to f. A failed chown is
// ignored.
func copyAttributes(f *os.File, old fs.FileInfo) {
	if uid, gid, ok := owner(old); ok {
		f.Chown(uid, gid)
	}
	f.Chmod(old.Mode().Perm())
}

// renameInto renames part to name in the same directory, unless name exists.
func renameInto(dir *os.Root, part, name string) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	return renameNewOr(d, part, d, name, func() error {
		// Link and remove never replace a file either.
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

// renameNewOr renames without replacing, or calls next if the system or the
// file system does not support it.
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

// syncDir syncs a directory. It ignores file systems that cannot.
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
		return fmt.Errorf("the file was written, but syncing its directory failed: %w", plain(err))
	}
	return nil
}

// sweep removes the temporary files that killed processes left in a root.
func sweep(ctx context.Context, r *root) {
	todo := []location{{r, "."}}
	for len(todo) > 0 && ctx.Err() == nil {
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if dir.rel != "." && dir.inKernelFS() {
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

// discard removes a temporary file under the lock of its directory.
func discard(ctx context.Context, p location) {
	unlock, err := safefile.LockRoot(ctx, p.root.dir, path.Dir(p.rel))
	if err != nil {
		return
	}
	defer unlock()
	p.root.dir.Remove(p.rel)
}
