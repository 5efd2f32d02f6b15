// Package audit writes down what was done, in a file that can only grow: one
// JSON object on each line, each with the hash of the line before, so that a
// line that was changed, taken out or put in is found by [Verify].
//
// How many lines there are, and the hash of the last, stand in a second file
// beside the log (its name ends in .head), so that lines that were cut off the
// end are missed. With [Options].Key that file is signed.
//
// Without a key, Verify finds accidents and clumsy changes: somebody who may
// write both files can make up a log that verifies. With a key that they do not
// have, they cannot change or cut off lines that were signed; they can still
// put back an older copy of both files, or delete both. Keep the number and the
// hash that Verify returns on another machine where that matters.
package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Options are those of a log; nil means the defaults.
type Options struct {
	// Key signs the head. Nil: it is not signed.
	Key []byte
}

func (o *Options) key() []byte {
	if o == nil || len(o.Key) == 0 {
		return nil
	}
	return o.Key
}

// A Log appends to one file. Several processes may append to the same file:
// each append takes a lock on it.
type Log struct {
	name string
	key  []byte

	mu   sync.Mutex // one append at a time
	file *os.File
	last Line
	end  int64 // where the last line that is known ends
}

// Open opens a log, or begins one. The file can be read by its owner only. Open
// reads the end of the log and no more: [Verify] reads it whole. A log that is
// shorter than its head says, or ends with another line, is refused. What a crash
// has left of a last line that was never whole, and so was never acknowledged, is
// cut off, and a new line says so.
func Open(file string, o *Options) (*Log, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	l := &Log{name: file, key: o.key(), file: f}
	if err := l.resume(); err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

// resume finds the end of the log, puts right what a crash has left, and notes in
// the log whatever keeps the lines before from being proven.
func (l *Log) resume() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	unlock, err := lock(l.file)
	if err != nil {
		return err
	}
	defer unlock()
	info, err := l.file.Stat()
	if err != nil {
		return err
	}
	h, noHead := readHead(l.name)
	if noHead != nil && !errors.Is(noHead, errNoHead) {
		return fmt.Errorf("%w. %s", noHead, moveAway(l.name))
	}
	torn, err := unfinished(l.file, info.Size())
	if err != nil {
		return err
	}
	end := info.Size() - torn
	if err := l.find(h, end); err != nil {
		return err
	}
	if err := l.checkSignature(h); err != nil {
		return err
	}
	notes := l.notes(h, noHead != nil)
	if torn > 0 {
		if err := l.file.Truncate(end); err != nil {
			return err
		}
		notes = append(notes, tornNote(torn))
	}
	if len(notes) == 0 && (h.Seq == l.last.Seq && noHead == nil && (l.key == nil || h.Signed != nil && h.Signed.Seq == h.Seq)) {
		return nil // as it should be
	}
	if err := l.writeHead(h); err != nil {
		return err
	}
	for _, n := range notes {
		if err := l.append(n); err != nil {
			return err
		}
	}
	return nil
}

// notes are what the log has to say about the lines that it has already.
func (l *Log) notes(h head, noHead bool) (list []note) {
	if l.last.Seq == 0 {
		return nil
	}
	switch {
	case noHead:
		list = append(list, headMissing)
	case l.last.Seq > h.Seq+1: // one line more is what a crash leaves
		list = append(list, note{What: noteBehind, Why: fmt.Sprintf("the head file counted %d lines, and the log had %d", h.Seq, l.last.Seq)})
	}
	switch {
	case l.key == nil:
	case h.Signed == nil:
		list = append(list, note{What: noteUnsigned, Why: "the log was not signed before this line"})
	case h.Signed.Key != keyID(l.key):
		list = append(list, note{What: noteKey, Why: "the log was signed with the key " + h.Signed.Key + " before this line, which was not checked"})
	}
	return list
}

// checkSignature refuses a head whose signature is wrong: to sign it again would
// make it right.
func (l *Log) checkSignature(h head) error {
	s := h.Signed
	if l.key == nil || s == nil || s.Key != keyID(l.key) {
		return nil
	}
	line, err := Line{}, error(nil)
	if s.End > 0 && s.End <= l.end {
		line, err = lineBefore(l.file, s.End)
	}
	if !s.good(l.key) || err != nil || line.Seq != s.Seq || line.Hash != s.Hash {
		return fmt.Errorf("%s is not the log that was signed: it or its head file was changed. %s", l.name, moveAway(l.name))
	}
	return nil
}

// find sets the last line, by the head and what follows it. It reads nothing of
// the log before the line that the head names.
func (l *Log) find(h head, end int64) error {
	from := h.End
	if h.Seq == 0 {
		from = end // there is no head, or it was written before the first line
	}
	if from > end {
		return fmt.Errorf("%s has %d bytes of whole lines, and had %d: lines were cut off its end. %s", l.name, end, h.End, moveAway(l.name))
	}
	if from == 0 {
		return nil
	}
	last, err := lineBefore(l.file, from)
	if err == nil && h.Seq > 0 && (last.Seq != h.Seq || last.Hash != h.Hash) {
		err = fmt.Errorf("line %d is not the one that its head file names", h.Seq)
	}
	if err != nil {
		return fmt.Errorf("%s: %w. %s", l.name, err, moveAway(l.name))
	}
	l.last, l.end = last, from
	return l.catchUp(end)
}

func moveAway(log string) string {
	base := filepath.Base(log)
	return fmt.Sprintf("Look at it with tenon audit verify; move %s and %s away to begin a new log", base, filepath.Base(HeadFile(log)))
}

// Append writes a record and returns when it is on disk. If it cannot be
// written whole, nothing of it stays. What another process that crashed has left
// of a last line is cut off, and a line says so. Of a record above 64 KiB, the largest
// members are replaced by their size and SHA-256 digest.
func (l *Log) Append(record any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	unlock, err := lock(l.file)
	if err != nil {
		return err
	}
	defer unlock()
	info, err := l.stat()
	if err != nil {
		return err
	}
	torn, err := l.cutTorn(info.Size())
	if err != nil {
		return err
	}
	h, err := readHead(l.name)
	switch {
	case errors.Is(err, errNoHead) && l.last.Seq > 0:
		if err := l.append(headMissing); err != nil {
			return err
		}
	case err != nil && !errors.Is(err, errNoHead):
		return err
	case h.Seq > l.last.Seq || h.Seq == l.last.Seq && h.Hash != l.last.Hash:
		return fmt.Errorf("%s is not the log that its head file belongs to: it was changed or replaced. %s", l.name, moveAway(l.name))
	}
	if err == nil && h.Seq < l.last.Seq { // its writer was killed; one line at most may be ahead of its head
		if err := l.writeHead(h); err != nil {
			return err
		}
	}
	if torn > 0 {
		if err := l.append(tornNote(torn)); err != nil {
			return err
		}
	}
	return l.append(record)
}

// cutTorn reads what other processes have appended to a file of some size, and
// cuts off a last line without an end. Both locks are held, so nobody is about
// to write its rest: its writer has crashed. It returns the number of bytes cut.
func (l *Log) cutTorn(size int64) (torn int64, err error) {
	if size > l.end {
		if torn, err = unfinished(l.file, size); err != nil {
			return 0, err
		}
	}
	if err := l.catchUp(size - torn); err != nil || torn == 0 {
		return 0, err
	}
	return torn, l.file.Truncate(l.end)
}

// stat looks whether the open file is still the one of this name.
func (l *Log) stat() (os.FileInfo, error) {
	open, err := l.file.Stat()
	if err != nil {
		return nil, err
	}
	if there, err := os.Stat(l.name); err != nil || !os.SameFile(open, there) {
		return nil, fmt.Errorf("%s was moved or replaced while it was open: start again to go on", l.name)
	}
	return open, nil
}

// append writes a line and then the head. Both locks are held, and the last line
// is known.
func (l *Log) append(record any) error {
	raw, err := json.Marshal(record)
	if err != nil {
		return err
	}
	if raw, err = bounded(raw); err != nil {
		return err
	}
	h, err := readHead(l.name)
	if err != nil && !errors.Is(err, errNoHead) {
		return err
	}
	line := Line{Seq: l.last.Seq + 1, At: time.Now().UTC().Round(0), Record: raw, Prev: l.last.Hash}
	line.Hash = line.hash()
	data, err := line.encode()
	if err != nil {
		return err
	}
	last, end := l.last, l.end
	if _, err = l.file.WriteAt(data, end); err == nil {
		err = l.file.Sync()
	}
	if err == nil {
		l.last, l.end = line, end+int64(len(data))
		err = l.writeHead(h)
	}
	if err != nil {
		l.last, l.end = last, end
		return errors.Join(fmt.Errorf("%s could not be written: %w", l.name, err), l.file.Truncate(end))
	}
	return nil
}

// writeHead writes the head of the last line, with the signature that it had
// unless there is a key to make a new one with.
func (l *Log) writeHead(before head) error {
	now := head{Seq: l.last.Seq, Hash: l.last.Hash, End: l.end, Signed: before.Signed}
	return now.write(l.name, l.key)
}

// Close closes the file.
func (l *Log) Close() error { return l.file.Close() }

// catchUp reads what other processes have appended, up to some place. The file
// is locked.
func (l *Log) catchUp(size int64) error {
	switch {
	case size == l.end:
		return nil
	case size < l.end:
		return fmt.Errorf("%s has become shorter: lines were cut off its end. %s", l.name, moveAway(l.name))
	}
	last, read, err := read(io.NewSectionReader(l.file, l.end, size-l.end), l.last)
	if err != nil {
		return fmt.Errorf("%s, %w", l.name, err)
	}
	l.last, l.end = last, l.end+read
	return nil
}
