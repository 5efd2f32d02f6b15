// Package audit writes an append-only log: one JSON object on each line, each
// with the hash of the previous line, so that [Verify] finds changed, removed and
// inserted lines.
//
// A second file beside the log (its name ends in .head) has the number of lines
// and the hash of the last, so that lines cut off at the end are noticed. With
// [Options].Key that file is signed.
//
// Without a key, Verify finds accidents and simple changes: somebody who can
// write both files can create a log that verifies. With a key that they do not
// have, they cannot change or cut off signed lines; they can still restore an
// older copy of both files, or delete both. If that matters, keep the number and
// the hash that Verify returns on another machine.
package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/safefile"
)

// Options configure a log; nil means the defaults.
type Options struct {
	// Key signs the head. Nil: it is not signed.
	Key []byte
	// Rotate lets the file be renamed, or copied and emptied, while the log is
	// open and between two times: a new file begins with a line that says so.
	// Without it, such a log is refused.
	Rotate bool
}

func (o *Options) key() []byte {
	if o == nil || len(o.Key) == 0 {
		return nil
	}
	return o.Key
}

// A Log appends to one file. Several processes may append to the same file: each
// append locks it.
type Log struct {
	name   string
	key    []byte
	rotate bool

	mu   sync.Mutex // one append at a time
	file *os.File
	last Line
	end  int64 // where the last known line ends
}

// Open opens or creates a log that only its owner can read. It reads only the end
// of the log; [Verify] reads all of it. A log that is shorter than its head says,
// or ends with another line, is refused. A last line that a crash left
// incomplete, and that was never acknowledged, is cut off, and a new line says
// so.
func Open(file string, o *Options) (*Log, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	l := &Log{name: file, key: o.key(), rotate: o != nil && o.Rotate, file: f}
	if err := l.resume(); err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

// resume finds the end of the log, repairs what a crash left, and records in the
// log what keeps earlier lines from being proven. l.mu is held, or nobody else has
// the log yet.
func (l *Log) resume() error {
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
		return l.broken(noHead)
	}
	if l.rotate && h.Seq > 0 {
		if info.Size() == 0 {
			return l.beginAfter(h)
		}
		if isBegunAfter(l.file, info.Size(), h) {
			h = head{}
		}
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
		return nil // nothing to repair
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

// notes returns the notes to append about the existing lines.
func (l *Log) notes(h head, noHead bool) (list []note) {
	if l.last.Seq == 0 {
		return nil
	}
	switch {
	case noHead:
		list = append(list, headMissing)
	case l.last.Seq > h.Seq+h.ahead(): // more than a crash leaves
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

// checkSignature refuses a head with a wrong signature: signing it again would
// make it valid.
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

// find sets the last line, by the head and the lines after it. It reads nothing
// before the line of the head.
func (l *Log) find(h head, end int64) error {
	from := h.End
	if h.Seq == 0 {
		from = end // no head, or one written before the first line
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
		return l.broken(fmt.Errorf("%s: %w", l.name, err))
	}
	l.last, l.end = last, from
	return l.catchUp(end)
}

// broken adds advice to an error about the content of a file. One of the system, such
// as too many open files, says nothing about it.
func (l *Log) broken(err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return err
	}
	return fmt.Errorf("%w. %s", err, moveAway(l.name))
}

func moveAway(log string) string {
	base := filepath.Base(log)
	return fmt.Sprintf("Look at it with tenon audit verify; move %s and %s away to begin a new log", base, filepath.Base(HeadFile(log)))
}

// Append writes a record and returns when it is on disk. If that fails, nothing
// of it stays, or the error says that the record is in the log. A last line that another process left incomplete is cut off, and a
// line says so. In a record above 64 KiB, the largest members are replaced by
// their size and SHA-256 digest.
func (l *Log) Append(record any) error { return l.AppendAll([]any{record}) }

// AppendAll is Append for several records, at most 1000, which reach the disk
// together: all of them stay, or none.
func (l *Log) AppendAll(records []any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.follow(); err != nil {
		return err
	}
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
	batch := len(records) > 1 && h.Ahead < maxBatch // the first
	if batch {
		h.Ahead = maxBatch
	}
	if batch || err == nil && h.Seq < l.last.Seq { // or its writer was killed
		if err := l.writeHead(h); err != nil {
			return err
		}
	}
	if torn > 0 {
		if err := l.append(tornNote(torn)); err != nil {
			return err
		}
	}
	return l.append(records...)
}

// cutTorn reads the lines that other processes appended to a file, and cuts off
// an incomplete last line, whose writer has crashed: both locks are held. It
// returns the number of bytes cut.
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

// stat checks that the open file is still the one with this name.
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

// append writes lines and then the head. Both locks are held, and the last line
// is known.
func (l *Log) append(records ...any) error {
	h, err := readHead(l.name)
	if err != nil && !errors.Is(err, errNoHead) {
		return err
	}
	return l.appendTo(h, records...)
}

// appendTo is append after a head.
func (l *Log) appendTo(h head, records ...any) error {
	last, end := l.last, l.end
	data, line, err := encodeAll(records, last)
	if err != nil {
		return err
	}
	before, _ := os.ReadFile(HeadFile(l.name)) // nil if there is none
	if _, err = l.file.WriteAt(data, end); err == nil {
		err = l.file.Sync()
	}
	if err == nil {
		l.last, l.end = line, end+int64(len(data))
		err = l.writeHead(h)
	}
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s could not be written: %w", l.name, err)
	if !l.undoHead(line, before) {
		return fmt.Errorf("%w. The record is in the log, but a power failure may lose it", err)
	}
	l.last, l.end = last, end
	return errors.Join(err, l.file.Truncate(end))
}

// undoHead puts the head file of before back if it counts a line that was not
// acknowledged, because the file was replaced and then not synced: a head must
// not count a line that is cut off. It reports whether the line can be.
func (l *Log) undoHead(line Line, before []byte) bool {
	counts := func() bool {
		h, err := readHead(l.name)
		return err == nil && h.Seq == line.Seq && h.Hash == line.Hash
	}
	if !counts() {
		return true
	}
	if before == nil {
		_ = os.Remove(HeadFile(l.name)) // what is there then decides
	} else {
		_ = safefile.WritePath(HeadFile(l.name), before, 0o600) // likewise
	}
	return !counts()
}

// encodeAll returns the lines of records, and the last of them.
func encodeAll(records []any, last Line) (data []byte, line Line, err error) {
	for _, record := range records {
		raw, err := encodeRecord(record)
		if err != nil {
			return nil, line, err
		}
		if raw, err = bounded(raw); err != nil {
			return nil, line, err
		}
		line = Line{Seq: last.Seq + 1, At: time.Now().UTC().Round(0), Record: raw, Prev: last.Hash}
		line.Hash = line.hash()
		data, last = line.appendTo(data), line
	}
	return data, line, nil
}

// encodeRecord returns a record as encoding/json writes it. Most records are
// encoded already, and checking that costs a third of encoding them again.
func encodeRecord(record any) (json.RawMessage, error) {
	if raw, ok := record.(json.RawMessage); ok && isEncoded(raw) {
		return raw, nil
	}
	return json.Marshal(record)
}

// isEncoded reports whether raw is valid JSON as encoding/json writes it: without
// white space, and without the characters that it escapes for HTML.
func isEncoded(raw []byte) bool {
	inString := false
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			inString = !inString
		case '\\':
			i++
		case ' ', '\t', '\n', '\r':
			if !inString {
				return false
			}
		case '<', '>', '&', 0xe2: // 0xe2 begins the line separators, which are escaped too
			return false
		}
	}
	return rawjson.Check(raw) == nil
}

// writeHead writes the head of the last line, with the old signature unless there
// is a key.
func (l *Log) writeHead(before head) error {
	now := head{Seq: l.last.Seq, Hash: l.last.Hash, End: l.end, Ahead: before.Ahead, Signed: before.Signed}
	return now.write(l.name, l.key)
}

// Close closes the file.
func (l *Log) Close() error { return l.file.Close() }

// catchUp reads the lines that other processes appended. The file is locked.
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
