package audit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// A Report is the result of [Verify].
type Report struct {
	Lines int64  // that are valid
	Hash  string // of the last of them

	// Signed is the number of lines, from the first, that the signature proves.
	// Key names its key; empty means that there is no signature.
	Signed int64
	Key    string

	// Notes are findings that do not prove a change, as sentences.
	Notes []string
}

// Verify checks a log from its beginning, then against its head file, and the
// signature if there is a key. The error says what is wrong and what to do; the
// report has how far the log was valid.
func Verify(file string, o *Options) (Report, error) {
	f, err := os.Open(file)
	if err != nil {
		return Report{}, err
	}
	defer f.Close()
	if unlock, err := lock(f); err == nil { // so that the last line has its head, unless there was a crash
		defer unlock()
	}
	v := &verifier{file: file, key: o.key(), at: map[int64]string{}}
	var noHead error
	if v.head, noHead = readHead(file); noHead == nil {
		v.wanted = append(v.wanted, v.head.Seq)
		if v.head.Signed != nil {
			v.wanted = append(v.wanted, v.head.Signed.Seq)
		}
	}
	if err := v.lines(f); err != nil {
		return v.Report, fmt.Errorf("%s, %w", file, err)
	}
	switch {
	case errors.Is(noHead, errNoHead) && v.Lines == 0:
		return v.Report, nil
	case errors.Is(noHead, errNoHead) && v.moved != nil: // its last line stands for the head
		v.head = head{Seq: v.Lines, Hash: v.Hash, Signed: v.moved.Signed}
		v.at[v.Lines] = v.Hash
	case errors.Is(noHead, errNoHead):
		return v.Report, fmt.Errorf("%s is missing, so lines may have been cut off the end of the log. If you did not remove it, compare the log with a copy; the next start of tenon notes in the log that the file was missing, and begins it again", HeadFile(file))
	case noHead != nil:
		return v.Report, fmt.Errorf("%w. Compare the log with a copy; then delete that file: the next start of tenon notes it in the log, and begins it again", noHead)
	}
	if err := v.checkHead(); err != nil {
		return v.Report, err
	}
	return v.Report, v.checkSignature()
}

type verifier struct {
	Report
	file   string
	key    []byte
	head   head
	wanted []int64          // numbers of lines
	at     map[int64]string // their hashes
	moved  *note            // in the last line, if that ends the file
}

// lines checks that each line follows the previous one.
func (v *verifier) lines(f io.Reader) error {
	last, _, err := readEach(f, Line{}, func(l *Line) {
		for _, n := range v.wanted {
			if l.Seq == n {
				v.at[n] = l.Hash
			}
		}
		n, ok := l.note()
		v.moved = nil
		if ok && n.What == noteMoved {
			v.moved, v.at[l.Seq-1] = &n, l.Prev
		}
		if ok {
			v.Notes = append(v.Notes, fmt.Sprintf("Line %d of %s says: %s.", l.Seq, l.At.Format("2006-01-02 15:04"), n.Why))
		}
	})
	v.Lines, v.Hash = last.Seq, last.Hash
	return err
}

// checkHead compares the log with its head file.
func (v *verifier) checkHead() error {
	h := v.head
	switch {
	case v.Lines < h.Seq:
		return fmt.Errorf("%s has %s, and its head file counts %d: the last %d were cut off, or this is an older copy. Find the newer file, or move both files away to begin a new log", v.file, count(v.Lines), h.Seq, h.Seq-v.Lines)
	case h.Seq > 0 && v.at[h.Seq] != h.Hash:
		return fmt.Errorf("line %d of %s is not the one that its head file names: lines were changed and their hashes made to fit, or the two files do not belong together. Compare the log with a copy", h.Seq, v.file)
	case v.Lines > h.Seq+h.ahead():
		return fmt.Errorf("%s has %s, and its head file counts %d: a crash leaves at most %s too many, so the last %d were added by something else, or the head file is an older copy. Compare the log with a copy", v.file, count(v.Lines), h.Seq, count(h.ahead()), v.Lines-h.Seq)
	case v.Lines == h.Seq+1:
		v.Notes = append(v.Notes, "The last line is not in the head file yet: tenon was stopped between writing the two. The next start mends it.")
	case v.Lines > h.Seq:
		v.Notes = append(v.Notes, fmt.Sprintf("The last %d lines are not in the head file yet: tenon was stopped between writing the two. The next start mends it.", v.Lines-h.Seq))
	}
	return nil
}

// checkSignature checks the signature of the head, if there is a key.
func (v *verifier) checkSignature() error {
	s := v.head.Signed
	if s != nil {
		v.Key = s.Key
	}
	base := filepath.Base(HeadFile(v.file))
	switch {
	case v.key == nil && s == nil:
		v.Notes = append(v.Notes, "The log is not signed: no key is in the keyring, or there is no keyring. Somebody who may write both files could have made it up.")
	case v.key == nil:
		v.Notes = append(v.Notes, fmt.Sprintf("The signature was not checked: its key %s is not in a keyring that can be reached from here.", s.Key))
	case s == nil && v.Lines == 0:
	case s == nil:
		return fmt.Errorf("%s is not signed, though the keyring has the key: the signature was removed, or the log was only ever written where the keyring cannot be reached. Compare the log with a copy; the next start of tenon signs it as it is", base)
	case s.Key != keyID(v.key):
		return fmt.Errorf("%s was signed with the key %s, and the keyring has another one (%s): it was signed on another machine, or by somebody else. Compare the log with a copy", base, s.Key, keyID(v.key))
	case !s.good(v.key):
		return fmt.Errorf("the signature in %s is wrong: the file was changed. Compare the log with a copy", base)
	case v.at[s.Seq] != s.Hash:
		return fmt.Errorf("line %d of %s is not the one that was signed: lines were changed or cut off. Compare the log with a copy", s.Seq, v.file)
	default:
		v.Signed = s.Seq
		if rest := v.Lines - s.Seq; rest > v.head.ahead() {
			v.Notes = append(v.Notes, fmt.Sprintf("The last %d lines were written without the key, and are not proven by the signature.", rest))
		}
	}
	return nil
}

func count(lines int64) string {
	if lines == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", lines)
}
