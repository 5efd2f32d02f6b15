package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A conn is one connection that speaks just enough HTTP/1.1.
type conn struct {
	net.Conn
	r    *bufio.Reader
	body []byte // of the last answer
}

func dial(addr string) (*conn, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, r: bufio.NewReaderSize(c, 64<<10)}, nil
}

// exchange sends a request and reads its answer. Header lines are returned only
// if wanted.
func (c *conn) exchange(request []byte, want string) (header string, err error) {
	if _, err := c.Write(request); err != nil {
		return "", err
	}
	length, chunked := 0, false
	for first := true; ; first = false {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return "", err
		}
		if first && !bytes.Contains(line, []byte(" 20")) {
			rest := make([]byte, min(c.r.Buffered(), 600))
			io.ReadFull(c.r, rest)
			return "", fmt.Errorf("the server answers %s %s", bytes.TrimSpace(line), rest)
		}
		if len(line) <= 2 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case len(name) == len("Content-Length") && bytes.EqualFold(name, []byte("Content-Length")):
			length, _ = strconv.Atoi(string(bytes.TrimSpace(value)))
		case len(name) == len("Transfer-Encoding") && bytes.EqualFold(name, []byte("Transfer-Encoding")):
			chunked = true
		case want != "" && strings.EqualFold(string(name), want):
			header = string(bytes.TrimSpace(value))
		}
	}
	c.body = c.body[:0]
	if !chunked {
		return header, c.more(length)
	}
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return "", err
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 32)
		if err != nil {
			return "", err
		}
		if err := c.more(int(n)); err != nil {
			return "", err
		}
		if _, err := c.r.Discard(2); err != nil {
			return "", err
		}
		if n == 0 {
			return header, nil
		}
	}
}

// more reads n bytes of the body.
func (c *conn) more(n int) error {
	at := len(c.body)
	if cap(c.body) < at+n {
		grown := make([]byte, at, 2*at+n)
		copy(grown, c.body)
		c.body = grown
	}
	c.body = c.body[:at+n]
	_, err := io.ReadFull(c.r, c.body[at:])
	return err
}

// initialize opens a session of 2025-11-25.
func (c *conn) initialize(addr string) (session string, err error) {
	session, err = c.exchange(post(addr, []byte(initBody)), "Mcp-Session-Id")
	if err == nil {
		_, err = c.exchange(post(addr, []byte(readyBody), "MCP-Protocol-Version: 2025-11-25", "Mcp-Session-Id: "+session), "")
	}
	return session, err
}

// An httpLoad is a number of connections that ask for the same again and again.
type httpLoad struct {
	addr     string
	work     work
	modern   bool
	progress bool // ask for progress, which makes the answer a stream
	conns    []*conn
	requests [][]byte
}

func (l *httpLoad) open(connections int) error {
	for range connections {
		c, err := dial(l.addr)
		if err != nil {
			return err
		}
		l.conns = append(l.conns, c)
		session := ""
		if !l.modern {
			if session, err = c.initialize(l.addr); err != nil {
				return fmt.Errorf("initialize: %w", err)
			}
		}
		l.requests = append(l.requests, l.work.request(l.addr, l.modern, l.progress, session))
	}
	return nil
}

func (l *httpLoad) close() {
	for _, c := range l.conns {
		c.Close()
	}
}

// run asks as often as it can for a while, and once at least, and returns how
// long each took.
func (l *httpLoad) run(length time.Duration) ([]time.Duration, error) {
	deadline := time.Now().Add(length)
	took := make([][]time.Duration, len(l.conns))
	errs := make([]error, len(l.conns))
	expect := []byte(l.work.expect)
	var wg sync.WaitGroup
	for i, c := range l.conns {
		wg.Go(func() {
			for last, first := time.Now(), true; first || last.Before(deadline); first = false {
				_, err := c.exchange(l.requests[i], "")
				if err == nil && !bytes.Contains(c.body, expect) {
					err = fmt.Errorf("unexpected answer: %.300s", c.body)
				}
				if err != nil {
					errs[i] = err
					return
				}
				now := time.Now()
				took[i] = append(took[i], now.Sub(last))
				last = now
			}
		})
	}
	wg.Wait()
	var all []time.Duration
	for i := range took {
		if errs[i] != nil {
			return nil, errs[i]
		}
		all = append(all, took[i]...)
	}
	return all, nil
}
