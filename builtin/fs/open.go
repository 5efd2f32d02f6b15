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

// A denial is an access error with the wording of the reference server.
type denial string

func (d denial) Error() string { return "Access denied - " + string(d) }

func denied(format string, args ...any) error { return denial(fmt.Sprintf(format, args...)) }

// isKernelPath reports whether a path is in a kernel file system. Reading there
// may have side effects, never end, or reveal secrets of processes.
func isKernelPath(name string) bool {
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

// inKernelFS reports whether p is in a kernel file system, which only happens
// below the root "/".
func (p location) inKernelFS() bool {
	return p.root.real == string(filepath.Separator) && isKernelPath(p.String())
}

// kind names the type of a file for error messages.
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

// regular returns an error unless info describes a regular file.
func (f *files) regular(name string, info fs.FileInfo) error {
	if info.IsDir() {
		return fmt.Errorf("%s is a directory; use list_directory or directory_tree", name)
	}
	if !info.Mode().IsRegular() {
		return denied("%s is %s, not a regular file", name, kind(info.Mode()))
	}
	if f.DenyHardLinks && links(info) > 1 {
		return denied("%s has %d hard links, and this server refuses such files (hardlinks=deny)", name, links(info))
	}
	return nil
}

// beforeOpen runs between the check of a file and opening it. Tests replace
// it to simulate another process.
var beforeOpen = func() {}

// openFile opens a regular file for reading. It never blocks on a pipe and
// never opens a device: it checks the type before opening and again
// afterwards.
func (f *files) openFile(name string, p location) (*os.File, fs.FileInfo, error) {
	info, err := p.root.dir.Lstat(p.rel)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, plain(err))
	}
	if err := f.regular(name, info); err != nil {
		return nil, nil, err
	}
	beforeOpen()
	file, err := p.root.dir.OpenFile(p.rel, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, plain(err))
	}
	info, err = file.Stat()
	if err == nil {
		err = f.regular(name, info)
	}
	if err == nil && kernelFile(file) {
		err = denied("%s is in a kernel file system", name)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// readDir lists a directory sorted by name, without the temporary files of
// this server.
func readDir(p location) ([]fs.DirEntry, error) {
	info, err := p.root.dir.Lstat(p.rel)
	if err != nil {
		return nil, plain(err)
	}
	if !info.IsDir() { // opening a pipe would wait
		return nil, fmt.Errorf("it is %s, not a directory", kind(info.Mode()))
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
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return isReserved(e.Name()) })
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// target returns the info of a directory entry with links followed, or nil
// for a link that is broken or leads outside.
func (c *call) target(dir location, e fs.DirEntry) fs.FileInfo {
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

// mimeType returns the MIME type for the extension of a file name.
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
