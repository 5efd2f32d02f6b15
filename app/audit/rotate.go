package audit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// With [Options].Rotate a log may be rotated while it is open. There are two ways:
//
//   - The file is renamed. The next append, or Reopen, writes a last line to the old
//     file that says so, with a signature if there is a key, so that Verify needs no
//     head file for it, and begins a new file.
//   - The file is copied and then emptied. The next append, or Reopen, begins again
//     in the same file. The copy has no last line, and lines that were written
//     between copying and emptying are lost.
//
// The first line of a file that is begun after another one has the number and the
// hash of the last record of the other one.

// Reopen follows a rotation now instead of with the next append.
func (l *Log) Reopen() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.follow()
}

// follow begins a new file if the log was rotated. l.mu is held.
func (l *Log) follow() error {
	if !l.rotate {
		return nil
	}
	open, err := l.file.Stat()
	if err != nil {
		return err
	}
	there, err := os.Stat(l.name)
	switch {
	case err == nil && os.SameFile(open, there):
		if there.Size() == l.end || there.Size() > l.end && l.isAt(l.end) {
			return nil
		}
		l.last, l.end = Line{}, 0
		return l.resume()
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	closed := l.finish()
	f, err := os.OpenFile(l.name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	next := &Log{name: l.name, key: l.key, rotate: true, file: f}
	if err := next.resume(); err != nil {
		f.Close()
		return err
	}
	l.file.Close()
	l.file, l.last, l.end = next.file, next.last, next.end
	if closed != nil {
		return l.appendLocked(note{What: noteOpenEnd, Why: fmt.Sprintf("the file before this one has no last line that says that it was moved: %v", closed)})
	}
	return nil
}

// isAt reports whether the last known line still ends at a position: another
// process may have begun the file again.
func (l *Log) isAt(end int64) bool {
	if end == 0 {
		return true
	}
	line, err := lineBefore(l.file, end)
	return err == nil && line.Hash == l.last.Hash
}

// appendLocked locks the file and appends a record.
func (l *Log) appendLocked(record any) error {
	unlock, err := lock(l.file)
	if err != nil {
		return err
	}
	defer unlock()
	return l.append(record)
}

// finish writes the last line of a file that was renamed, unless another process
// has done so. It does not change the head, which may belong to the new file.
func (l *Log) finish() error {
	unlock, err := lock(l.file)
	if err != nil {
		return err
	}
	defer unlock()
	info, err := l.file.Stat()
	if err != nil {
		return err
	}
	if _, err := l.cutTorn(info.Size()); err != nil {
		return err
	}
	if n, ok := l.last.note(); l.last.Seq == 0 || ok && n.What == noteMoved {
		return nil
	}
	n := note{What: noteMoved, Why: "the file was moved, and the log goes on in another one"}
	if l.key != nil {
		n.Signed = sign(l.last.Seq, l.last.Hash, l.key)
	}
	data, line, err := encodeAll([]any{n}, l.last)
	if err != nil {
		return err
	}
	if _, err = l.file.WriteAt(data, l.end); err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		return errors.Join(err, l.file.Truncate(l.end))
	}
	l.last, l.end = line, l.end+int64(len(data))
	return nil
}

// beginAfter begins a file that is empty after another one, which has this head.
// Both locks are held.
func (l *Log) beginAfter(h head) error {
	l.last, l.end = Line{}, 0
	why := fmt.Sprintf("the log goes on from another file, whose line %d has the hash %s", h.Seq, h.Hash)
	return l.appendTo(head{}, note{What: noteRotated, Lines: h.Seq, Hash: h.Hash, Why: why})
}

// isBegunAfter reports whether a file was begun after the one that a head belongs
// to, as a crash leaves it if the head was not replaced yet.
func isBegunAfter(f io.ReaderAt, size int64, h head) bool {
	data, err := bufio.NewReaderSize(io.NewSectionReader(f, 0, size), 4<<10).ReadBytes('\n')
	if err != nil {
		return false
	}
	var first Line
	if decodeLine(data, &first) != nil {
		return false
	}
	n, ok := first.note()
	return ok && n.What == noteRotated && n.Lines == h.Seq && n.Hash == h.Hash
}
