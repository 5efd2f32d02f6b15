// Package audit writes down what was done, in a file that can only grow: one
// JSON object on each line, each with the hash of the line before, so that a
// line that was changed, taken out or put in is found by [Verify].
//
// Lines taken from the end cannot be missed by the file alone. Whoever needs to
// notice that, too, notes down now and then the number and the hash that Verify
// returns.
package audit

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Line is one entry of the log.
type Line struct {
	Seq    int64           `json:"seq"` // from 1, without gaps
	At     time.Time       `json:"at"`
	Record json.RawMessage `json:"record"` // what the caller wanted written
	Prev   string          `json:"prev"`   // hash of the line before; empty in the first
	Hash   string          `json:"hash"`   // of everything above
}

// hash covers all of a line but the hash itself.
func (l Line) hash() string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%d\n%s\n%s\n", l.Seq, l.At.UTC().Format(time.RFC3339Nano), l.Prev)
	sum.Write(l.Record)
	return hex.EncodeToString(sum.Sum(nil))
}

// maxRecord is the size in bytes above which the largest values of a record are
// replaced by their size and digest.
const maxRecord = 64 << 10

// A Log appends to one file. Several processes may append to the same file:
// each append takes a lock on it.
type Log struct {
	mu   sync.Mutex
	file *os.File
	last Line
	end  int64 // where the last line that we know of ends
}

// Open opens a log, or begins one. The file can be read by its owner only. A
// log with a broken line in it is refused: see Verify. Only what a crash has left
// of a last line that was never whole, and so was never acknowledged, is cut
// off, and a new line says so.
func Open(file string) (*Log, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	l := &Log{file: f}
	torn, err := l.resume()
	if err == nil && torn > 0 {
		err = l.Append(map[string]any{"what": "repaired", "bytes": torn, "why": "the last line was not written whole, and was cut off"})
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

// resume reads what is there, and cuts off a last line that has no end.
func (l *Log) resume() (torn int64, err error) {
	unlock, err := lock(l.file)
	if err != nil {
		return 0, err
	}
	defer unlock()
	info, err := l.file.Stat()
	if err != nil {
		return 0, err
	}
	if torn, err = unfinished(l.file, info.Size()); err != nil {
		return 0, err
	}
	if torn > 0 {
		if err := l.file.Truncate(info.Size() - torn); err != nil {
			return 0, err
		}
	}
	return torn, l.catchUp()
}

// unfinished returns how many bytes at the end of a file of some size follow its
// last line end.
func unfinished(f io.ReaderAt, size int64) (int64, error) {
	block := make([]byte, 64<<10)
	for end := size; end > 0; {
		b := block[:min(int64(len(block)), end)]
		if _, err := f.ReadAt(b, end-int64(len(b))); err != nil && err != io.EOF {
			return 0, err
		}
		end -= int64(len(b))
		if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
			return size - end - int64(i) - 1, nil
		}
	}
	return size, nil
}

func decodeLine(data []byte, line *Line) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(line)
}

// Append writes a record and returns when it is on disk. If it cannot be
// written whole, nothing of it stays. Of a record above 64 KiB, the largest
// members are replaced by their size and SHA-256 digest.
func (l *Log) Append(record any) error {
	raw, err := json.Marshal(record)
	if err != nil {
		return err
	}
	if raw, err = bounded(raw); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	unlock, err := lock(l.file)
	if err != nil {
		return err
	}
	defer unlock()
	if err := l.catchUp(); err != nil {
		return err
	}
	line := Line{Seq: l.last.Seq + 1, At: time.Now().UTC().Round(0), Record: raw, Prev: l.last.Hash}
	line.Hash = line.hash()
	data, err := json.Marshal(line)
	if err != nil {
		return err
	}
	data = append(data, '\n')
	_, err = l.file.WriteAt(data, l.end)
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s could not be written: %w", l.file.Name(), err), l.file.Truncate(l.end))
	}
	l.last, l.end = line, l.end+int64(len(data))
	return nil
}

// bounded returns a record that is small enough for the log. It replaces the
// largest members of an object first, and any other value whole.
func bounded(record json.RawMessage) (json.RawMessage, error) {
	if len(record) <= maxRecord {
		return record, nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(record, &members) != nil {
		return digest(record)
	}
	names := slices.SortedFunc(maps.Keys(members), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(members[b]), len(members[a])), strings.Compare(a, b))
	})
	size := len(record)
	for _, name := range names {
		if size <= maxRecord {
			break
		}
		short, err := digest(members[name])
		if err != nil {
			return nil, err
		}
		size += len(short) - len(members[name])
		members[name] = short
	}
	if size > maxRecord { // very many members, or very long names
		return digest(record)
	}
	return json.Marshal(members)
}

// digest is the entry for a value that is too large to be kept.
func digest(value json.RawMessage) (json.RawMessage, error) {
	sum := sha256.Sum256(value)
	return json.Marshal(map[string]any{"omitted": "too large for the audit log", "bytes": len(value), "sha256": hex.EncodeToString(sum[:])})
}

// Close closes the file.
func (l *Log) Close() error { return l.file.Close() }

// catchUp reads what other processes have appended. The file is locked.
func (l *Log) catchUp() error {
	info, err := l.file.Stat()
	if err != nil {
		return err
	}
	switch {
	case info.Size() == l.end:
		return nil
	case info.Size() < l.end:
		return fmt.Errorf("%s has become shorter: somebody has taken lines out of it. Move it away to begin a new one", l.file.Name())
	}
	last, end, err := read(io.NewSectionReader(l.file, l.end, info.Size()-l.end), l.last)
	if err != nil {
		return fmt.Errorf("%s, %w", l.file.Name(), err)
	}
	l.last, l.end = last, l.end+end
	return nil
}

// Verify checks a log from its beginning, and returns how many lines it has and
// the hash of the last. The error names the first line that is wrong.
func Verify(file string) (lines int64, hash string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	last, _, err := read(f, Line{})
	if err != nil {
		return last.Seq, last.Hash, fmt.Errorf("%s, %w", file, err)
	}
	return last.Seq, last.Hash, nil
}

// read checks lines that follow on one that is known to be good.
func read(r io.Reader, last Line) (Line, int64, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	var end int64
	for {
		data, err := in.ReadBytes('\n')
		end += int64(len(data))
		switch {
		case err == io.EOF && len(data) == 0:
			return last, end, nil
		case err == io.EOF:
			return last, end, errors.New("the last line has no end: it was not written whole")
		case err != nil:
			return last, end, err
		}
		line, err := next(data, &last)
		if err != nil {
			return last, end, err
		}
		last = line
	}
}

// next decodes a line and checks that it follows on the one before it.
func next(data []byte, last *Line) (line Line, err error) {
	if err := decodeLine(data, &line); err != nil {
		return line, fmt.Errorf("line %d: it is no line of an audit log (%w)", last.Seq+1, err)
	}
	switch {
	case line.Seq != last.Seq+1:
		return line, fmt.Errorf("line %d: it is numbered %d; lines were taken out or put in before it", last.Seq+1, line.Seq)
	case line.Prev != last.Hash:
		return line, fmt.Errorf("line %d: the line before it is not the one it was written after", line.Seq)
	case line.hash() != line.Hash:
		return line, fmt.Errorf("line %d: it was changed after it was written", line.Seq)
	}
	return line, nil
}
