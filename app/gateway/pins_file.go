package gateway

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/tenon-mcp/tenon/internal/safefile"
)

// A pinStore is where pins are kept as one document of JSON. Several processes
// may share it.
type pinStore interface {
	// read returns the document, nil if there is none.
	read() ([]byte, error)
	// changed reports whether the document is another than the one that was
	// read. existed says that there was one.
	changed(existed bool) bool
	// update replaces the document by the one that change returns. No other
	// process changes it meanwhile; change may be called several times. If
	// change fails, update returns its error and changes nothing.
	update(change func(old []byte) ([]byte, error)) error
	// String says where the document is, for errors.
	String() string
}

// pinFile is a pinStore in a file.
type pinFile struct {
	path string

	mu    sync.Mutex
	stamp fs.FileInfo // of the file when it was read; nil if it did not exist
}

func (f *pinFile) String() string { return f.path }

func (f *pinFile) update(change func([]byte) ([]byte, error)) error {
	return safefile.Update(f.path, 0o644, change)
}

func (f *pinFile) changed(existed bool) bool {
	now, err := os.Stat(f.path)
	f.mu.Lock()
	defer f.mu.Unlock()
	if errors.Is(err, fs.ErrNotExist) {
		return existed
	}
	if err != nil || f.stamp == nil {
		return true
	}
	return !os.SameFile(now, f.stamp) || !now.ModTime().Equal(f.stamp.ModTime()) || now.Size() != f.stamp.Size()
}

func (f *pinFile) read() ([]byte, error) {
	data, stamp, err := readPinFile(f.path)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stamp = stamp
	return data, err
}

// readPinFile returns the content of a file and its info, both nil if it does not
// exist.
func readPinFile(name string) ([]byte, fs.FileInfo, error) {
	stamp, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	case !stamp.Mode().IsRegular():
		return nil, stamp, errors.New("not a regular file")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, stamp, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPinFile+1))
	if err == nil && len(data) > maxPinFile {
		err = fmt.Errorf("larger than %d MiB", maxPinFile>>20)
	}
	return data, stamp, err
}
