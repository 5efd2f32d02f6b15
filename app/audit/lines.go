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
	"strconv"
	"time"
)

// A Line is one entry of the log.
type Line struct {
	Seq    int64           `json:"seq"` // from 1, without gaps
	At     time.Time       `json:"at"`
	Record json.RawMessage `json:"record"` // of the caller
	Prev   string          `json:"prev"`   // hash of the line before; empty in the first
	Hash   string          `json:"hash"`   // of everything above
}

// hash returns the hash of everything else in a line.
func (l Line) hash() string {
	text := make([]byte, 0, 128+len(l.Record))
	text = append(strconv.AppendInt(text, l.Seq, 10), '\n')
	text = append(l.At.UTC().AppendFormat(text, time.RFC3339Nano), '\n')
	text = append(append(append(text, l.Prev...), '\n'), l.Record...)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// decodeLine parses a line, which must be spelled exactly as Append writes it: no
// other, doubled or differently cased members, and nothing around the object.
func decodeLine(data []byte, line *Line) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(line); err != nil {
		return err
	}
	written, err := line.encode()
	if err == nil && !bytes.Equal(written, data) {
		err = errors.New("it is not spelled as the log spells its lines")
	}
	return err
}

// encode returns the line as in the file, with its end.
func (l *Line) encode() ([]byte, error) {
	data, err := json.Marshal(l)
	return append(data, '\n'), err
}

// appendTo is encode for a line that this package has made: its record is as
// encoding/json writes it, and its hashes are hexadecimal.
func (l *Line) appendTo(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"seq":`...), l.Seq, 10)
	dst = l.At.AppendFormat(append(dst, `,"at":"`...), time.RFC3339Nano)
	dst = append(append(dst, `","record":`...), l.Record...)
	dst = append(append(dst, `,"prev":"`...), l.Prev...)
	dst = append(append(dst, `","hash":"`...), l.Hash...)
	return append(dst, "\"}\n"...)
}

// unfinished returns the number of bytes after the last line end of a file.
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

// lineBefore returns the line that ends at a position of a file, and reads only
// that line.
func lineBefore(f io.ReaderAt, end int64) (line Line, err error) {
	size, err := unfinished(f, end-1)
	if err != nil {
		return line, err
	}
	data := make([]byte, size+1)
	if _, err := f.ReadAt(data, end-size-1); err != nil && err != io.EOF {
		return line, err
	}
	if err := decodeLine(data, &line); err != nil {
		return line, fmt.Errorf("the last line is no line of an audit log (%w)", err)
	}
	if line.hash() != line.Hash {
		return line, fmt.Errorf("line %d was changed after it was written", line.Seq)
	}
	return line, nil
}

// read checks lines that follow a known good one.
func read(r io.Reader, last Line) (Line, int64, error) { return readEach(r, last, func(*Line) {}) }

// readEach is read with a function that is called with each line.
func readEach(r io.Reader, last Line, see func(*Line)) (Line, int64, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	var end int64
	for {
		data, err := in.ReadBytes('\n')
		end += int64(len(data))
		switch {
		case err == io.EOF && len(data) == 0:
			return last, end, nil
		case err == io.EOF:
			return last, end, errors.New("the last line has no end: it was not written whole, as after a power failure. The next line that tenon writes cuts it off and notes it in the log")
		case err != nil:
			return last, end, err
		}
		line, err := next(data, &last)
		if err != nil {
			return last, end, err
		}
		see(&line)
		last = line
	}
}

// next parses a line and checks that it follows the previous one.
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

// A note is a record of the log itself: what Open repaired or found missing, or how
// files follow each other.
type note struct {
	What   string     `json:"what"`
	Bytes  int64      `json:"bytes,omitzero"`
	Lines  int64      `json:"lines,omitzero"`  // of the file before, without its last
	Hash   string     `json:"hash,omitzero"`   // of the last of these
	Signed *signature `json:"signed,omitzero"` // of the lines before, in the last line of a file
	Why    string     `json:"why"`
}

// The subjects of notes.
const (
	noteTorn     = "repaired"
	noteHead     = "head missing"
	noteBehind   = "head behind"
	noteUnsigned = "unsigned before"
	noteKey      = "another key before"
	noteRotated  = "rotated"     // the first line of a file
	noteMoved    = "moved"       // the last line of a file
	noteOpenEnd  = "open end"    // the file before has no last line
	noteGap      = "not written" // records before may be missing
)

func tornNote(bytes int64) note {
	return note{What: noteTorn, Bytes: bytes, Why: "the last line was not written whole, and was cut off"}
}

// headMissing is written if lines may have been cut off unnoticed.
var headMissing = note{What: noteHead, Why: "the head file was not there: whether lines were cut off before this one is not known"}

// note returns the note in a line, if it is one.
func (l *Line) note() (n note, ok bool) {
	if json.Unmarshal(l.Record, &n) != nil {
		return n, false
	}
	switch n.What {
	case noteTorn, noteHead, noteBehind, noteUnsigned, noteKey, noteRotated, noteMoved, noteOpenEnd, noteGap:
		return n, true
	}
	return n, false
}
