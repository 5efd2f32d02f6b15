// Command floorscan answers the measured requests with net/http (or a loop over
// lines) and a scan for the bytes it needs. It checks nothing, keeps lists
// encoded, and takes the connections of streams over. Nobody could use it; it
// is what is left when everything that can be left out is left out.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/bench/internal/counters"
	"github.com/tenon-mcp/tenon/bench/internal/side"
	"github.com/tenon-mcp/tenon/bench/internal/web"
)

func main() {
	f := side.Parse()
	counters.Serve()
	s := &server{tools: tools(&f)}
	if f.HTTP != "" {
		side.Prepare()
		web.Listen(f.HTTP, http.HandlerFunc(s.serveHTTP))
	}
	s.serveLines()
}

type server struct{ tools []byte }

const spec = `{"name":%q,"description":"adds two integers","inputSchema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]},"outputSchema":{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]}}`

func tools(f *side.Flags) []byte {
	var all []string
	for _, name := range append([]string{"add", "echo", "steps", "blob", "length"}, f.Many(5)...) {
		all = append(all, fmt.Sprintf(spec, name))
	}
	return []byte(`"result":{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[` + strings.Join(all, ",") + `]}}`)
}

// The method of a message is found before anything that could look like it.
func method(b []byte) []byte {
	i := bytes.Index(b, []byte(`"method":"`))
	if i < 0 {
		return nil
	}
	rest := b[i+len(`"method":"`):]
	return rest[:bytes.IndexByte(rest, '"')]
}

// answer appends the answer to a request, or nothing to a note.
func (s *server) answer(dst, b []byte) []byte {
	m := method(b)
	if bytes.HasPrefix(m, []byte("notifications/")) {
		return dst
	}
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id(b)...)
	dst = append(dst, ',')
	switch string(m) {
	case "tools/call":
		return call(dst, b)
	case "tools/list":
		return append(dst, s.tools...)
	case "initialize":
		return append(dst, `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"floor","version":"1"}}}`...)
	case "server/discover":
		return append(dst, `"result":{"resultType":"complete","ttlMs":0,"cacheScope":"public","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}`...)
	}
	return append(dst, `"result":{}}`...)
}

// id returns the bytes of the id, up to what follows it.
func id(b []byte) []byte {
	b = b[bytes.Index(b, []byte(`"id":`))+5:]
	return b[:bytes.IndexAny(b, ",}")]
}

func call(dst, b []byte) []byte {
	switch {
	case bytes.Contains(b[:min(len(b), 300)], []byte(`"name":"add"`)):
		return structured(dst, "sum", number(b, `"a":`)+number(b, `"b":`))
	case bytes.Contains(b[:min(len(b), 300)], []byte(`"name":"length"`)):
		return structured(dst, "length", length(b))
	case bytes.Contains(b[:min(len(b), 300)], []byte(`"name":"blob"`)):
		t, _ := side.Text(number(b, `"size":`))
		dst = append(dst, `"result":{"resultType":"complete","content":[{"type":"text","text":"`...)
		dst = escape(dst, t)
		return append(dst, `"}]}}`...)
	}
	return append(dst, `"result":{"resultType":"complete","content":[{"type":"text","text":"done"}]}}`...)
}

func structured(dst []byte, name string, n int) []byte {
	dst = append(dst, `"result":{"resultType":"complete","structuredContent":{"`...)
	dst = append(dst, name...)
	dst = append(dst, `":`...)
	dst = strconv.AppendInt(dst, int64(n), 10)
	dst = append(dst, `},"content":[{"type":"text","text":"{\"`...)
	dst = append(dst, name...)
	dst = append(dst, `\":`...)
	dst = strconv.AppendInt(dst, int64(n), 10)
	return append(dst, `}"}]}}`...)
}

func number(b []byte, name string) (n int) {
	i := bytes.Index(b, []byte(name))
	if i < 0 {
		return 0
	}
	for i += len(name); i < len(b) && '0' <= b[i] && b[i] <= '9'; i++ {
		n = n*10 + int(b[i]-'0')
	}
	return n
}

// length counts the bytes of the text, a pair of a backslash and what follows
// as one.
func length(b []byte) (n int) {
	b = b[bytes.Index(b, []byte(`"text":"`))+8:]
	for {
		back := bytes.IndexByte(b, '\\')
		if back < 0 {
			return n + bytes.IndexByte(b, '"')
		}
		if i := bytes.IndexByte(b[:back], '"'); i >= 0 {
			return n + i
		}
		n += back + 1
		b = b[back+2:]
	}
}

func escape(dst []byte, s string) []byte {
	start := 0
	for i := 0; i < len(s); i++ {
		if c := s[i]; c != '"' && c != '\n' {
			continue
		}
		dst = append(dst, s[start:i]...)
		if s[i] == '\n' {
			dst = append(dst, '\\', 'n')
		} else {
			dst = append(dst, '\\', '"')
		}
		start = i + 1
	}
	return append(dst, s[start:]...)
}

var buffers = sync.Pool{New: func() any { return new(pair) }}

type pair struct{ in, out []byte }

const note = "event: message\ndata: " + `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"total":2}}` + "\n\n"

func (s *server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		stream(w)
		return
	}
	p := buffers.Get().(*pair)
	defer buffers.Put(p)
	n := int(r.ContentLength)
	if cap(p.in) < n {
		p.in = make([]byte, n)
	}
	p.in = p.in[:n]
	if _, err := io.ReadFull(r.Body, p.in); err != nil {
		return
	}
	h := w.Header()
	m := method(p.in)
	switch {
	case bytes.HasPrefix(m, []byte("notifications/")):
		w.WriteHeader(http.StatusAccepted)
		return
	case string(m) == "subscriptions/listen":
		stream(w)
		return
	case string(m) == "initialize":
		h["Mcp-Session-Id"] = []string{"x"}
	}
	if bytes.Contains(p.in[:min(n, 700)], []byte("progressToken")) {
		h["Content-Type"] = []string{"text/event-stream"}
		io.WriteString(w, note)
		w.(http.Flusher).Flush()
		p.out = append(p.out[:0], "event: message\ndata: "...)
		p.out = append(s.answer(p.out, p.in), '\n', '\n')
		w.Write(p.out)
		return
	}
	h["Content-Type"] = []string{"application/json"}
	p.out = s.answer(p.out[:0], p.in)
	w.Write(p.out)
}

// stream takes the connection over and waits for its end.
func stream(w http.ResponseWriter) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nid: 1\ndata: \n\n")
	go func() {
		defer c.Close()
		var one [1]byte
		c.Read(one[:])
	}()
}

func (s *server) serveLines() {
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	var out, long []byte
	for {
		line, err := in.ReadSlice('\n')
		for long = long[:0]; err == bufio.ErrBufferFull; line, err = in.ReadSlice('\n') {
			long = append(long, line...)
		}
		if err != nil {
			return
		}
		if len(long) > 0 {
			long = append(long, line...)
			line = long
		}
		before := len(out)
		if out = s.answer(out, line); len(out) > before {
			out = append(out, '\n')
		}
		if in.Buffered() == 0 || len(out) > 64<<10 {
			os.Stdout.Write(out)
			out = out[:0]
		}
	}
}
