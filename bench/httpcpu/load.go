package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// load sends requests on raw sockets and checks every answer. It knows no SDK.
type load struct {
	addr        string
	era         string
	connections int
	conns       []*conn
}

type conn struct {
	net.Conn
	r       *bufio.Reader
	request []byte
}

const (
	modernBody = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":20,"b":22},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"load","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	legacyBody = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":20,"b":22}}}`
	initBody   = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"load","version":"1"}}}`
	readyBody  = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	expected   = `"structuredContent":{"sum":42}`
)

func post(addr, body string, headers ...string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n", addr, len(body))
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	b.WriteString("\r\n" + body)
	return b.Bytes()
}

func (l *load) open() error {
	for range l.connections {
		c, err := net.Dial("tcp", l.addr)
		if err != nil {
			return err
		}
		k := &conn{Conn: c, r: bufio.NewReader(c)}
		l.conns = append(l.conns, k)
		if l.era == "modern" {
			k.request = post(l.addr, modernBody, "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: add")
			continue
		}
		session, err := k.initialize(l.addr)
		if err != nil {
			return err
		}
		k.request = post(l.addr, legacyBody, "MCP-Protocol-Version: 2025-11-25", "Mcp-Session-Id: "+session)
	}
	return nil
}

func (k *conn) initialize(addr string) (session string, err error) {
	header, _, err := k.exchange(post(addr, initBody))
	if err != nil {
		return "", err
	}
	for line := range strings.SplitSeq(header, "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.EqualFold(name, "Mcp-Session-Id") {
			session = strings.TrimSpace(value)
		}
	}
	_, _, err = k.exchange(post(addr, readyBody, "Mcp-Session-Id: "+session))
	return session, err
}

func (l *load) close() {
	for _, k := range l.conns {
		k.Close()
	}
}

// run sends as much as it can for a while and returns how much that was.
func (l *load) run(length time.Duration) (int64, error) {
	var n atomic.Int64
	var wg sync.WaitGroup
	errs := make(chan error, len(l.conns))
	deadline := time.Now().Add(length)
	for _, k := range l.conns {
		wg.Go(func() {
			for time.Now().Before(deadline) {
				_, body, err := k.exchange(k.request)
				if err == nil && !bytes.Contains(body, []byte(expected)) {
					err = fmt.Errorf("unexpected answer: %s", body)
				}
				if err != nil {
					errs <- err
					return
				}
				n.Add(1)
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return 0, err
	default:
		return n.Load(), nil
	}
}

// exchange sends a request and reads an answer that has a length.
func (k *conn) exchange(request []byte) (header string, body []byte, err error) {
	if _, err := k.Write(request); err != nil {
		return "", nil, err
	}
	var head strings.Builder
	length := 0
	for {
		line, err := k.r.ReadSlice('\n')
		if err != nil {
			return "", nil, err
		}
		if len(line) <= 2 {
			break
		}
		head.Write(line)
		if name, value, ok := bytes.Cut(line, []byte(":")); ok && bytes.EqualFold(name, []byte("Content-Length")) {
			length, _ = strconv.Atoi(string(bytes.TrimSpace(value)))
		}
	}
	body = make([]byte, length)
	_, err = io.ReadFull(k.r, body)
	return head.String(), body, err
}

func reachable(addr string) error {
	for range 200 {
		if c, err := net.Dial("tcp", addr); err == nil {
			return c.Close()
		}
		time.Sleep(10 * time.Millisecond)
	}
	return errors.New("the server did not start")
}
