package notes

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// maxNote is the maximum size of a note in bytes. Larger files are found by
// name only.
const maxNote = 8 << 20

// A version identifies the content of a note: the first bytes of its SHA-256.
type version [8]byte

func versionOf(b []byte) version {
	sum := sha256.Sum256(b)
	return version(sum[:])
}

func (v version) String() string { return hex.EncodeToString(v[:]) }

var errTooLarge = fmt.Errorf("larger than %d MiB, the maximum for a note", maxNote>>20)

// checkLinks refuses a path that contains a symbolic link. The root prevents
// links out of the vault; this prevents links into folders of other users. A
// path that does not exist is allowed.
func (v *vault) checkLinks(name string) error {
	for i := 0; i <= len(name); i++ {
		if i < len(name) && name[i] != '/' {
			continue
		}
		info, err := v.root.Lstat(name[:i])
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return errLink
		}
	}
	return nil
}

// openNote opens an existing note.
func (v *vault) openNote(name string) (*os.File, fs.FileInfo, error) {
	// An indexed note was no link when it was indexed. Without grants, a
	// link would give access to nothing new.
	if v.grants != nil || v.get(name) == nil {
		if err := v.checkLinks(name); err != nil {
			return nil, nil, err
		}
	}
	// Do not block on a named pipe.
	f, err := v.root.OpenFile(name, os.O_RDONLY|dontWait, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: name, Err: errors.New("not a regular file")}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// readNote reads a note into buf, which it grows as needed. With errTooLarge
// it still returns the info of the file.
func (v *vault) readNote(name string, buf []byte) ([]byte, fs.FileInfo, error) {
	f, info, err := v.openNote(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if info.Size() > maxNote {
		return nil, info, errTooLarge
	}
	buf = buf[:0]
	if size := int(info.Size()) + 1; cap(buf) < size { // one more byte, to detect the end
		buf = make([]byte, 0, max(size, min(2*size, 64<<10)))
	}
	for {
		n, err := f.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case err == io.EOF:
			return buf, info, nil
		case err != nil:
			return nil, nil, err
		case len(buf) > maxNote:
			return nil, info, errTooLarge
		case len(buf) == cap(buf):
			buf = append(buf, 0)[:len(buf)]
		}
	}
}

// A state is a note with its content.
type state struct {
	name     string
	bytes    []byte
	version  version
	modified time.Time
}

// load reads a note for a tool call.
func (v *vault) load(name string) (*state, error) {
	b, info, err := v.readNote(name, nil)
	if err != nil {
		return nil, fileError(name, err)
	}
	return &state{name, b, versionOf(b), info.ModTime()}, nil
}

// fileError returns a file error without the path of the vault.
func fileError(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return noNote(name)
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		err = le.Err
	}
	return fmt.Errorf("note %q: %w", name, err)
}

type notFound struct{ name string }

func (e *notFound) Error() string {
	return fmt.Sprintf("no note %q; find its path with search_notes or get_recent_notes", clip(e.name))
}

func (*notFound) Is(target error) bool { return target == fs.ErrNotExist }

func noNote(name string) error { return &notFound{name} }

// isText returns an error if the bytes are not text.
func isText(b []byte) error {
	head := b[:min(len(b), 8<<10)]
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return errors.New("it is UTF-16; save it as UTF-8")
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return errors.New("it is binary")
	}
	return nil
}

func isNote(base string) bool {
	return strings.EqualFold(path.Ext(base), extension) && !strings.HasPrefix(base, ".") && len(base) > len(extension)
}
