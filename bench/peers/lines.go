package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"time"
)

// A lineLoad asks a server on its stdin and reads its stdout, with a number of
// requests on their way at once.
type lineLoad struct {
	in       io.Writer
	out      *bufio.Reader
	work     work
	modern   bool
	inFlight int
	lastID   int64
}

// meet does the handshake.
func (l *lineLoad) meet() error {
	if l.modern {
		return nil
	}
	if _, err := io.WriteString(l.in, initBody+"\n"); err != nil {
		return err
	}
	line, err := l.line()
	if err == nil && !bytes.Contains(line, []byte(`"serverInfo"`)) {
		err = fmt.Errorf("unexpected answer to initialize: %.300s", line)
	}
	if err == nil {
		_, err = io.WriteString(l.in, readyBody+"\n")
	}
	return err
}

func (l *lineLoad) line() ([]byte, error) {
	line, err := l.out.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		long := bytes.Clone(line)
		for err == bufio.ErrBufferFull {
			line, err = l.out.ReadSlice('\n')
			long = append(long, line...)
		}
		return long, err
	}
	return line, err
}

// run asks for a while. With one in flight it returns how long each took, and
// otherwise only how many there were.
func (l *lineLoad) run(length time.Duration) ([]time.Duration, error) {
	head, tail, _ := bytes.Cut(append(l.work.body(l.modern, false), '\n'), []byte(`"id":1,`))
	expect := []byte(l.work.expect)
	var took []time.Duration
	var buf []byte
	deadline := time.Now().Add(length)
	send := func(n int) error {
		buf = buf[:0]
		for range n { // what is on its way at the same time needs ids of its own
			l.lastID++
			buf = append(append(buf, head...), `"id":`...)
			buf = append(strconv.AppendInt(buf, l.lastID, 10), ',')
			buf = append(buf, tail...)
		}
		_, err := l.in.Write(buf)
		return err
	}
	if err := send(l.inFlight); err != nil {
		return nil, err
	}
	open := l.inFlight
	last := time.Now()
	for open > 0 {
		answered := 0
		for first := true; open > 0 && (first || l.out.Buffered() > 0); first = false {
			line, err := l.line()
			if err != nil {
				return nil, err
			}
			if !bytes.Contains(line, expect) {
				return nil, fmt.Errorf("unexpected answer: %.300s", line)
			}
			open--
			answered++
			now := time.Now()
			took = append(took, now.Sub(last))
			if l.inFlight == 1 {
				last = now
			}
		}
		if time.Now().Before(deadline) {
			last = time.Now()
			if err := send(answered); err != nil {
				return nil, err
			}
			open += answered
		}
	}
	return took, nil
}
