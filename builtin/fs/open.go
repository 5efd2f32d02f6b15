package fs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A denial is the error of what is refused, in the words of the reference
// server.
type denial string

func (d denial) Error() string { return "Access denied - " + string(d) }

func denied(format string, args ...any) error { return denial(fmt.Sprintf(format, args...)) }

// ofKernel reports whether a path lies where a kernel shows itself as files.
// Reading there may have effects, never ends, or tells secrets of processes.
func ofKernel(name string) bool {
	if runtime.GOOS == "windows" {
		return false
	}
	for _, dir := range []string{"/proc", "/sys", "/dev"} {
		if _, in := within(dir, name); in {
			_, memory := within("/dev/shm", name)
			return !memory
		}
	}
	return false
}

// ofKernel reports whether a place lies there. Only the root of everything has
// such places in it.
func (p place) ofKernel() bool {
	return p.root.real == string(filepath.Separator) && ofKernel(p.String())
}

// kind says what something is that is no regular file.
func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	case m&fs.ModeSymlink != 0:
		return "a symlink"
	case m.IsRegular():
		return "a file"
	}
	return "a special file"
}

// regular refuses what is not a file with bytes in it.
func (f *files) regular(name string, info fs.FileInfo) error {
	if info.IsDir() {
		return fmt.Errorf("%s is a directory: use list_directory or directory_tree", name)
	}
	if !info.Mode().IsRegular() {
		return denied("%s is %s and not a regular file", name, kind(info.Mode()))
	}
	if f.DenyHardLinks && links(info) > 1 {
		return denied("%s has %d names (hard links), and this server was told to refuse such files", name, links(info))
	}
	return nil
}

// inBetween happens between a look at a file and its opening; tests put there
// what somebody else might do at that moment.
var inBetween = func() {}

// openFile opens a regular file for reading. It never waits for a pipe and never
// opens a device: what is there is looked at before, and again once it is open.
func (f *files) openFile(name string, p place) (*os.File, fs.FileInfo, error) {
	info, err := p.root.dir.Lstat(p.rel)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, plain(err))
	}
	if err := f.regular(name, info); err != nil {
		return nil, nil, err
	}
	inBetween()
	file, err := p.root.dir.OpenFile(p.rel, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, plain(err))
	}
	info, err = file.Stat()
	if err == nil {
		err = f.regular(name, info)
	}
	if err == nil && kernelFile(file) {
		err = denied("%s is in a file system of the kernel", name)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// readDir lists a directory by name, without what this server is just writing.
func readDir(p place) ([]fs.DirEntry, error) {
	info, err := p.root.dir.Lstat(p.rel)
	if err != nil {
		return nil, plain(err)
	}
	if !info.IsDir() { // opening a pipe would wait
		return nil, fmt.Errorf("it is %s and not a directory", kind(info.Mode()))
	}
	dir, err := p.root.dir.OpenFile(p.rel, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, plain(err)
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return nil, plain(err)
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return isOurs(e.Name()) })
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// target looks at what an entry of a directory is behind its links: nil where a
// link leads out, or nowhere.
func (c *call) target(dir place, e fs.DirEntry) fs.FileInfo {
	if e.Type()&fs.ModeSymlink == 0 {
		info, err := e.Info()
		if err != nil {
			return nil
		}
		return info
	}
	p, info, err := c.follow(dir.join(e.Name()))
	if err != nil || info == nil || !c.covers(p) {
		return nil
	}
	return info
}

// mimeType guesses what is in a file from its name.
func mimeType(name string) string {
	if t, ok := mimeTypes[strings.ToLower(filepath.Ext(name))]; ok {
		return t
	}
	return "application/octet-stream"
}

var mimeTypes = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".bmp": "image/bmp", ".svg": "image/svg+xml", ".avif": "image/avif", ".ico": "image/x-icon", ".tif": "image/tiff", ".tiff": "image/tiff",
	".mp3": "audio/mpeg", ".wav": "audio/wav", ".ogg": "audio/ogg", ".flac": "audio/flac", ".m4a": "audio/mp4", ".aac": "audio/aac", ".opus": "audio/opus",
	".pdf": "application/pdf", ".zip": "application/zip", ".gz": "application/gzip", ".mp4": "video/mp4", ".webm": "video/webm",
	".txt": "text/plain", ".log": "text/plain", ".md": "text/markdown", ".html": "text/html", ".htm": "text/html", ".css": "text/css",
	".csv": "text/csv", ".xml": "application/xml", ".json": "application/json", ".yaml": "application/yaml", ".yml": "application/yaml",
	".js": "text/javascript", ".mjs": "text/javascript", ".go": "text/x-go", ".py": "text/x-python", ".toml": "application/toml",
}
