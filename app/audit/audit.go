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
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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

// maxLine is the longest line that is read back.
const maxLine = 16 << 20

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
	last := make([]byte, min(info.Size(), maxLine))
	if _, err := l.file.ReadAt(last, info.Size()-int64(len(last))); err != nil && err != io.EOF {
		return 0, err
	}
	torn = int64(len(last) - (bytes.LastIndexByte(last, '\n') + 1))
	if torn > 0 && (torn < maxLine || torn == info.Size()) {
		if err := l.file.Truncate(info.Size() - torn); err != nil {
			return 0, err
		}
	}
	return torn, l.catchUp()
}

func decodeLine(data []byte, line *Line) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(line)
}

// Append writes a record and returns when it is on disk. If it cannot be
// written whole, nothing of it stays.
func (l *Log) Append(record any) error {
	raw, err := json.Marshal(record)
	if err != nil {
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
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 0, 64<<10), maxLine)
	in.Split(wholeLines)
	var end int64
	for in.Scan() {
		end += int64(len(in.Bytes())) + 1
		var line Line
		if err := decodeLine(in.Bytes(), &line); err != nil {
			return last, end, fmt.Errorf("line %d: it is no line of an audit log (%w)", last.Seq+1, err)
		}
		switch {
		case line.Seq != last.Seq+1:
			return last, end, fmt.Errorf("line %d: it is numbered %d; lines were taken out or put in before it", last.Seq+1, line.Seq)
		case line.Prev != last.Hash:
			return last, end, fmt.Errorf("line %d: the line before it is not the one it was written after", line.Seq)
		case line.hash() != line.Hash:
			return last, end, fmt.Errorf("line %d: it was changed after it was written", line.Seq)
		}
		last = line
	}
	return last, end, in.Err()
}

// wholeLines splits at line ends, and takes a last line without one for broken.
func wholeLines(data []byte, atEOF bool) (int, []byte, error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return 0, nil, errors.New("the last line has no end: it was not written whole")
	}
	return 0, nil, nil
}
