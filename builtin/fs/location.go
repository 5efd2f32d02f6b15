package fs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/text/unicode/norm"
)

// A root is an allowed directory.
type root struct {
	given string // as configured, absolute
	real  string // given with its links resolved
	dir   *os.Root
}

// An area is a root, or the part of it that the client may reach.
type area struct {
	root *root
	rel  string
}

func (a area) String() string { return location(a).String() }

// A location is a file or directory in a root. Its path had no links when it
// was resolved.
type location struct {
	root *root
	rel  string // with slashes; "." is the root itself
}

func (p location) String() string { return filepath.Join(p.root.real, filepath.FromSlash(p.rel)) }

func (p location) uri() string { return toURI(p.String()) }

func (p location) join(name string) location { return location{p.root, path.Join(p.rel, name)} }

func (p location) parent() location { return location{p.root, path.Dir(p.rel)} }

func (p location) name() string { return path.Base(p.rel) }

func openRoots(names []string) ([]*root, error) {
	var roots []*root
	for _, name := range names {
		r, err := openRoot(name)
		if err != nil {
			for _, r := range roots {
				r.dir.Close()
			}
			return nil, err
		}
		if slices.ContainsFunc(roots, func(other *root) bool { return other.real == r.real }) {
			r.dir.Close()
			continue
		}
		roots = append(roots, r)
	}
	return roots, nil
}

func openRoot(name string) (*root, error) {
	clean, err := readPath(name)
	if err != nil {
		return nil, fmt.Errorf("root %q: %w", name, err)
	}
	given, err := filepath.Abs(clean)
	if err != nil {
		return nil, fmt.Errorf("root %q: %w", name, err)
	}
	real, err := filepath.EvalSymlinks(given)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("root %q does not exist: create it, or name another directory", name)
		}
		return nil, fmt.Errorf("open root %q: %w", name, err)
	}
	if isKernelPath(real) {
		return nil, fmt.Errorf("root %q is a kernel file system, which cannot be served", name)
	}
	dir, err := os.OpenRoot(real)
	if err != nil {
		if info, e := os.Stat(real); e == nil && !info.IsDir() {
			return nil, fmt.Errorf("root %q is not a directory: name the one that it is in", name)
		}
		return nil, fmt.Errorf("open root %q: %w", name, err)
	}
	return &root{given: given, real: real, dir: dir}, nil
}

// allowed lists the areas of the caller for error messages.
func (c *call) allowed() string {
	names := make([]string, len(c.areas))
	for i, a := range c.areas {
		names[i] = a.String()
	}
	return strings.Join(names, ", ")
}

func (c *call) outside(name string) error {
	if len(c.areas) == 0 {
		return denied("path outside allowed directories: %s. None of the client's roots is within the directories of this server", name)
	}
	return denied("path outside allowed directories: %s not in %s", name, c.allowed())
}

// find returns the location of a path. A relative path belongs to the first
// area that contains such a file, or else to the first area.
func (c *call) find(name string) (location, error) {
	clean, err := readPath(name)
	if err != nil {
		return location{}, err
	}
	if filepath.IsAbs(clean) {
		if p, ok := c.rootOf(clean); ok {
			return p, nil
		}
		if strings.HasPrefix(name, "~") { // do not reveal the home directory in the error
			return location{}, c.outside(name)
		}
		return location{}, c.outside(clean)
	}
	if len(c.areas) == 0 || !filepath.IsLocal(clean) {
		return location{}, c.outside(name)
	}
	rel := filepath.ToSlash(clean)
	for _, a := range c.areas {
		p := location(a).join(rel)
		if _, err := p.root.dir.Lstat(p.rel); err == nil {
			return p, nil
		}
	}
	return location(c.areas[0]).join(rel), nil
}

// rootOf returns the innermost root that contains an absolute path.
func (f *files) rootOf(name string) (location, bool) {
	var best location
	found := -1
	for _, r := range f.roots {
		for _, dir := range []string{r.given, r.real} {
			if rel, ok := within(dir, name); ok && len(dir) > found {
				best, found = location{r, rel}, len(dir)
			}
		}
	}
	return best, found >= 0
}

// covers reports whether the client may reach p.
func (c *call) covers(p location) bool {
	return slices.ContainsFunc(c.areas, func(a area) bool {
		return a.root == p.root && (a.rel == "." || a.rel == p.rel || strings.HasPrefix(p.rel, a.rel+"/"))
	})
}

// resolve follows a path link by link. A path that does not exist is not an
// error: its info is nil, and the location is where the file would be
// created.
func (c *call) resolve(name string) (location, fs.FileInfo, error) {
	from, err := c.find(name)
	if err != nil {
		return location{}, nil, err
	}
	p, info, err := c.follow(from)
	switch {
	case err != nil:
		return location{}, nil, fmt.Errorf("%s: %w", name, err)
	case !c.covers(p) && !c.covers(from):
		return location{}, nil, c.outside(from.String())
	case !c.covers(p):
		return location{}, nil, c.linkOutside(name)
	}
	return p, info, nil
}

// existing resolves a path that must exist.
func (c *call) existing(name string) (location, fs.FileInfo, error) {
	p, info, err := c.resolve(name)
	if err == nil && info == nil {
		err = fmt.Errorf("%s does not exist; use list_directory or search_files to find files", name)
	}
	return p, info, err
}

func (c *call) linkOutside(name string) error {
	return denied("symlink target outside allowed directories: %s leads out of %s", name, c.allowed())
}

var (
	errLinkOutside = error(denial("a symlink in the path leads outside the allowed directories"))
	errLoop        = errors.New("too many symlinks in the path, probably a loop")
	errDangling    = error(denial("the symlink target does not exist"))
	errKernel      = error(denial("the path is in a kernel file system"))
	errNotDir      = errors.New("a part of the path is not a directory")
)

// A trail is a path while it is being resolved.
type trail struct {
	at     location
	todo   []string
	linked int // number of leading elements of todo that come from a link
	hops   int
}

// follow resolves a path element by element. It follows absolute links,
// which os.Root refuses, if they lead into a root, and returns a clear error
// for links that lead elsewhere.
func (f *files) follow(from location) (location, fs.FileInfo, error) {
	t := &trail{at: location{from.root, "."}, todo: strings.Split(from.rel, "/")}
	info, err := t.at.root.dir.Lstat(".")
	if err != nil {
		return location{}, nil, plain(err)
	}
	for len(t.todo) > 0 {
		step := t.todo[0]
		t.todo, t.linked = t.todo[1:], t.linked-1
		switch step {
		case "", ".":
			continue
		case "..":
			if err := f.up(t); err != nil {
				return location{}, nil, err
			}
			info, err = t.at.root.dir.Lstat(t.at.rel)
		default:
			info, err = f.down(t, step)
		}
		if errors.Is(err, fs.ErrNotExist) {
			if t.linked >= 0 {
				return location{}, nil, errDangling
			}
			if slices.Contains(t.todo, "..") {
				return location{}, nil, errLinkOutside
			}
			return t.at.join(step).join(path.Join(t.todo...)), nil, nil
		}
		if err != nil {
			return location{}, nil, plain(err)
		}
	}
	return t.at, info, nil
}

// down enters one element. If the element is a link, its target is put
// before the remaining elements.
func (f *files) down(t *trail, step string) (fs.FileInfo, error) {
	next := t.at.join(step)
	info, err := next.root.dir.Lstat(next.rel)
	if errors.Is(err, fs.ErrNotExist) {
		if same, ok := equivalent(t.at, step); ok {
			next = t.at.join(same)
			info, err = next.root.dir.Lstat(next.rel)
		}
	}
	if err != nil {
		return nil, err
	}
	if next.inKernelFS() {
		return nil, errKernel
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		t.at = next
		return info, nil
	}
	if t.hops++; t.hops > 40 {
		return nil, errLoop
	}
	target, err := next.root.dir.Readlink(next.rel)
	if err != nil {
		return nil, err
	}
	if filepath.IsAbs(target) {
		if err := f.jump(t, filepath.Clean(target)); err != nil {
			return nil, err
		}
	} else {
		parts := strings.Split(filepath.ToSlash(target), "/")
		t.todo, t.linked = append(parts, t.todo...), max(t.linked, 0)+len(parts)
	}
	return t.at.root.dir.Lstat(t.at.rel)
}

// up goes to the parent directory, which may be in another root.
func (f *files) up(t *trail) error {
	if t.at.rel != "." {
		t.at = t.at.parent()
		return nil
	}
	above := filepath.Dir(t.at.root.real)
	rest := filepath.Join(t.todo[:max(t.linked, 0)]...)
	t.todo, t.linked = t.todo[max(t.linked, 0):], 0
	return f.jump(t, filepath.Join(above, rest))
}

// jump continues at an absolute path.
func (f *files) jump(t *trail, name string) error {
	p, ok := f.rootOf(name)
	if !ok {
		return errLinkOutside
	}
	parts := strings.Split(p.rel, "/")
	t.at, t.todo, t.linked = location{p.root, "."}, append(parts, t.todo...), max(t.linked, 0)+len(parts)
	return nil
}

// equivalent returns the only entry of a directory whose name equals name in
// another Unicode normalization form.
func equivalent(dir location, name string) (string, bool) {
	if isASCII(name) {
		return "", false
	}
	entries, err := readDir(dir)
	if err != nil {
		return "", false
	}
	found, want := "", norm.NFC.String(name)
	for _, e := range entries {
		if norm.NFC.String(e.Name()) == want {
			if found != "" {
				return "", false
			}
			found = e.Name()
		}
	}
	return found, found != ""
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}

// plain returns a system error without the system call and the path, which
// the caller adds.
func plain(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		err = e.Err
	}
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return errNotDir
	case errors.Is(err, syscall.ENAMETOOLONG):
		return errors.New("a name in the path is too long")
	case errors.Is(err, fs.ErrPermission):
		return errors.New("permission denied by the operating system")
	case errors.Is(err, syscall.ENOSPC):
		return errors.New("no space left on the disk")
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("does not exist")
	}
	return err
}
