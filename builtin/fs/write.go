package fs

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"runtime"
	"strings"
	"sync"
)

// A file is written beside its name, forced to the disk, and then given its
// name in one step: whoever looks, and whatever happens, finds the old file or
// the new one. What a process that was killed has left beside it is removed by
// the next one (sweep).

// unfinished fits the names of files that are being written.
var unfinished = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\.tenon-[0-9a-f]{24}\.part$`) })

func unfinishedName() string {
	var b [12]byte
	rand.Read(b[:])
	return ".tenon-" + hex.EncodeToString(b[:]) + ".part"
}

var (
	errExists  = errors.New("it exists already")
	errChanged = errors.New("somebody else has changed it just now")
)

// editing keeps those apart who edit the same file, and seldom others.
type editing [64]sync.Mutex

// lock waits for its turn at a file, and returns what ends it.
func (e *editing) lock(p place) (unlock func()) {
	h := fnv.New32a()
	h.Write([]byte(p.String()))
	m := &e[h.Sum32()%uint32(len(e))]
	m.Lock()
	return m.Unlock
}

// replace writes a file. old is what is there now, whose permissions are kept;
// if it is nil, nothing may be there.
func replace(p place, data []byte, old fs.FileInfo) error {
	return replaceBy(p, old, old, bytesTo(data), nil)
}

// replaceSame is replace for what was made of the old file: it is called off if
// somebody else has changed that since old was looked at.
func replaceSame(p place, data []byte, old fs.FileInfo) error {
	return replaceBy(p, old, old, bytesTo(data), func() error {
		now, err := p.root.dir.Lstat(p.rel)
		if err != nil || !os.SameFile(now, old) || now.Size() != old.Size() || !now.ModTime().Equal(old.ModTime()) {
			return errChanged
		}
		return nil
	})
}

func bytesTo(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

// replaceBy is replace for what is written piece by piece, and like another
// file. write may be called twice. still, if it is there, is asked when nothing
// but the name is left to give, and its error calls that off.
func replaceBy(p place, old, like fs.FileInfo, write func(io.Writer) error, still func() error) error {
	err := replaceOnce(p, old, like, write, still)
	if errors.Is(err, fs.ErrNotExist) {
		// Another server may have taken the unfinished file for one that was
		// left behind, in the moment before it was held.
		err = replaceOnce(p, old, like, write, still)
	}
	return err
}

func replaceOnce(p place, old, like fs.FileInfo, write func(io.Writer) error, still func() error) (err error) {
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
	hold(f)
	if err := write(f); err != nil {
		return err
	}
	if like != nil {
		keep(f, like)
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if runtime.GOOS == "windows" {
		f.Close() // a file that is open cannot be renamed there
	}
	if still != nil {
		if err := still(); err != nil {
			return err
		}
	}
	if old != nil {
		err = dir.Rename(part, p.name())
	} else {
		err = renameInto(dir, part, p.name())
	}
	if err != nil {
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
	err := renameNew(from, oldName, to, newName)
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

// sweep removes the unfinished files that no living process holds.
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
					discard(dir.join(e.Name()))
				}
			}
			if err != nil { // io.EOF, mostly
				break
			}
		}
		f.Close()
	}
}

// discard removes an unfinished file if nobody writes it.
func discard(p place) {
	f, err := p.root.dir.OpenFile(p.rel, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return
	}
	free := hold(f)
	f.Close()
	if free {
		p.root.dir.Remove(p.rel)
	}
}
