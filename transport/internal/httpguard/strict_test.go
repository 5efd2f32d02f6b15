package httpguard

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A cutter is a listener whose connections hand out what comes in two parts.
type cutter struct {
	net.Listener
	at atomic.Int64 // how long the first part of the next connection is; 0 means no cut
}

func (l *cutter) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if at := l.at.Load(); at > 0 {
		c = &cutConn{c, at}
	}
	return c, nil
}

type cutConn struct {
	net.Conn
	left int64
}

func (c *cutConn) Read(p []byte) (int, error) {
	if c.left > 0 {
		p = p[:min(int64(len(p)), c.left)]
	}
	n, err := c.Conn.Read(p)
	c.left -= int64(n)
	return n, err
}

// strictServer says of each request what it was: verb, path, length of the
// body, and Mcp-Name.
func strictServer(t *testing.T) (addr string, cut *cutter) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			w.Header().Set("Connection", "close")
			http.Error(w, "no body", 400)
			return
		}
		fmt.Fprintf(w, "%s %s %d %s", r.Method, r.URL.Path, n, r.Header.Get("Mcp-Name"))
	}))
	cut = &cutter{Listener: s.Listener}
	s.Listener = Strict(s.Config, cut)
	s.Start()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), cut
}

// converse sends bytes and returns the answers until the server ends the
// connection; an answer of the status 200 is its body.
func converse(t *testing.T, addr, send string) (all []string) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	wrote := make(chan bool)
	go func() { io.WriteString(c, send); wrote <- true }() // the server may hang up before it has read all
	defer func() { <-wrote }()
	r := bufio.NewReader(c)
	for {
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			return all
		}
		text, err := io.ReadAll(res.Body)
		switch {
		case res.StatusCode != 200: // net/http hangs up on what it has not read, so not all of the text may come
			all = append(all, fmt.Sprint(res.StatusCode))
		case err != nil:
			return append(all, "cut off")
		default:
			all = append(all, string(text))
		}
	}
}

const (
	goodHead = "Host: localhost\r\nMcp-Name: echo\r\n"
	last     = "GET /last HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
)

// framings are requests, each with what comes before and after it: a good
// request, and one that ends the connection.
var framings = []struct{ name, send, want string }{
	{"no body", "GET /x HTTP/1.1\r\n" + goodHead + "\r\n", "GET /x 0 echo"},
	{"a length", "POST /x HTTP/1.1\r\n" + goodHead + "Content-Length: 5\r\n\r\nG\n\r\n ", "POST /x 5 echo"},
	{"a length that is said twice", "POST /x HTTP/1.1\r\n" + goodHead + "Content-Length: 2\r\ncontent-length: 2\r\n\r\nhi", "POST /x 2 echo"},
	{"a length of nothing", "POST /x HTTP/1.1\r\n" + goodHead + "Content-Length:0\r\n\r\n", "POST /x 0 echo"},
	{"chunks", "POST /x HTTP/1.1\r\n" + goodHead + "transfer-encoding: Chunked\r\n\r\n5;a=b\r\nG\n\r\n \r\n0a\r\n0123456789\r\n0\r\n\r\n", "POST /x 15 echo"},
	{"a trailer", "POST /x HTTP/1.1\r\n" + goodHead + "Transfer-Encoding: chunked\r\nTrailer: A\r\n\r\n2\r\nhi\r\n0\r\nA: b\r\n\r\n", "POST /x 2 echo"},
	{"a long line", "GET /x HTTP/1.1\r\n" + goodHead + "Long: " + strings.Repeat("x", 200) + "\r\n\r\n", "GET /x 0 echo"},
	{"an empty line after a body", "POST /x HTTP/1.1\r\n" + goodHead + "Content-Length: 2\r\n\r\nhi\r\n", "POST /x 2 echo"},
	{"spaces around a value", "GET /x HTTP/1.1\r\nHost: localhost\r\nMcp-Name: \t echo \t\r\n\r\n", "GET /x 0 echo"},

	{"request line with a bare LF", "GET /x HTTP/1.1\n" + goodHead + "\r\n", "400"},
	{"header line with a bare LF", "GET /x HTTP/1.1\r\nHost: localhost\nMcp-Name: echo\r\n\r\n", "400"},
	{"last header line with a bare LF", "GET /x HTTP/1.1\r\nHost: localhost\r\nMcp-Name: echo\n\r\n", "400"},
	{"head that ends with a bare LF", "GET /x HTTP/1.1\r\n" + goodHead + "\n", "400"},
	{"bare LFs only", "GET /x HTTP/1.1\nHost: localhost\nMcp-Name: echo\n\n", "400"},
	{"empty line of a bare LF after a body", "POST /x HTTP/1.1\r\n" + goodHead + "Content-Length: 2\r\n\r\nhi\n", "POST /x 2 echo, 400"},
	{"CR in a value", "GET /x HTTP/1.1\r\nHost: localhost\r\nMcp-Name: ec\rho\r\n\r\n", "400"},
	{"CR CR LF", "GET /x HTTP/1.1\r\nHost: localhost\r\nMcp-Name: echo\r\r\n\r\n", "400"},
	{"CR in a request line", "GET /\rx HTTP/1.1\r\n" + goodHead + "\r\n", "400"},
	{"CR before a request line", "\rGET /x HTTP/1.1\r\n" + goodHead + "\r\n", "400"},
	{"CR before a colon", "GET /x HTTP/1.1\r\nHost: localhost\r\nMcp-Name\r: echo\r\n\r\n", "400"},
	{"fold after the colon", "GET /x HTTP/1.1\r\nHost: localhost\r\nMcp-Name:\r\n echo\r\n\r\n", "400"},
	{"fold in a value", "GET /x HTTP/1.1\r\nHost: localhost\r\nMcp-Name: ec\r\n\tho\r\n\r\n", "400"},
	{"fold of the first line", "GET /x HTTP/1.1\r\n Host: localhost\r\nMcp-Name: echo\r\n\r\n", "400"},
	{"fold to nothing", "GET /x HTTP/1.1\r\n" + goodHead + " \r\n\r\n", "400"},
	{"both lengths", "POST /x HTTP/1.1\r\n" + goodHead + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
	{"both lengths, the other way", "POST /x HTTP/1.1\r\n" + goodHead + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", "400"},
	{"lengths that differ", "POST /x HTTP/1.1\r\n" + goodHead + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi!", "400"},
	{"a list of lengths", "POST /x HTTP/1.1\r\n" + goodHead + "Content-Length: 2, 2\r\n\r\nhi", "400"},
	{"a length with a sign", "POST /x HTTP/1.1\r\n" + goodHead + "Content-Length: +2\r\n\r\nhi", "400"},
	{"a negative length", "POST /x HTTP/1.1\r\n" + goodHead + "Content-Length: -2\r\n\r\nhi", "400"},
	{"a length that is none", "POST /x HTTP/1.1\r\n" + goodHead + "Content-Length:\r\n\r\nhi", "400"},
	{"a length beyond all measure", "POST /x HTTP/1.1\r\n" + goodHead + "Content-Length: 18446744073709551618\r\n\r\nhi", "400"},
	{"a length far behind its name", "POST /x HTTP/1.1\r\n" + goodHead + "Content-Length: " + strings.Repeat(" ", 200) + "2\r\n\r\nhi", "400"},
	{"unknown coding", "POST /x HTTP/1.1\r\n" + goodHead + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "400"},
	{"two codings", "POST /x HTTP/1.1\r\n" + goodHead + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "400"},
	{"a coding twice", "POST /x HTTP/1.1\r\n" + goodHead + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
	{"chunks before there were any", "POST /x HTTP/1.0\r\nConnection: keep-alive\r\n" + goodHead + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
	{"space before the colon", "GET /x HTTP/1.1\r\nHost: localhost\r\nMcp-Name : echo\r\n\r\n", "400"},
	{"tab before the colon of a length", "POST /x HTTP/1.1\r\n" + goodHead + "Content-Length\t: 2\r\n\r\nhi", "400"},
	{"no name", "GET /x HTTP/1.1\r\n" + goodHead + ": x\r\n\r\n", "400"},
	{"no colon", "GET /x HTTP/1.1\r\n" + goodHead + "x\r\n\r\n", "400"},
	{"NUL in a value", "GET /x HTTP/1.1\r\nHost: localhost\r\nMcp-Name: ec\x00ho\r\n\r\n", "400"},
	{"0x01 in a value", "GET /x HTTP/1.1\r\nHost: localhost\r\nMcp-Name: ec\x01ho\r\n\r\n", "400"},
	{"0x7f in a value", "GET /x HTTP/1.1\r\nHost: localhost\r\nMcp-Name: echo\x7f\r\n\r\n", "400"},
	{"NUL in a name", "GET /x HTTP/1.1\r\nHost: localhost\r\nMcp\x00Name: echo\r\n\r\n", "400"},
	{"chunk size with a bare LF", "POST /x HTTP/1.1\r\n" + goodHead + "Transfer-Encoding: chunked\r\n\r\n2\nhi\r\n0\r\n\r\n", "400"},
	{"chunk that ends with a bare LF", "POST /x HTTP/1.1\r\n" + goodHead + "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\n0\r\n\r\n", "400"},
	{"chunk longer than it says", "POST /x HTTP/1.1\r\n" + goodHead + "Transfer-Encoding: chunked\r\n\r\n2\r\nhi!\r\n0\r\n\r\n", "400"},
	{"chunk size with a prefix", "POST /x HTTP/1.1\r\n" + goodHead + "Transfer-Encoding: chunked\r\n\r\n0x2\r\nhi\r\n0\r\n\r\n", "400"},
	{"chunk without a size", "POST /x HTTP/1.1\r\n" + goodHead + "Transfer-Encoding: chunked\r\n\r\n;\r\nhi\r\n0\r\n\r\n", "400"},
	{"length in a trailer", "POST /x HTTP/1.1\r\n" + goodHead + "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nContent-Length: 9\r\n\r\n", "400"},
	{"fold in a trailer", "POST /x HTTP/1.1\r\n" + goodHead + "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nA: b\r\n c\r\n\r\n", "400"},
	{"bare LF in a trailer", "POST /x HTTP/1.1\r\n" + goodHead + "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nA: b\n\r\n", "400"},
}

// H28 and H42: each alone, after a good request on the same connection, before
// another, and cut in two at every place.
func TestStrict(t *testing.T) {
	addr, cut := strictServer(t)
	const before = "POST /first HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\n\n\n\n"
	for _, c := range framings {
		want := c.want
		if !strings.HasSuffix(want, "400") {
			want += ", GET /last 0 "
		}
		try := func(what, send, want string) {
			t.Helper()
			if got := strings.Join(converse(t, addr, send), ", "); got != want {
				t.Errorf("%s, %s: %q, want %q", c.name, what, got, want)
			}
		}
		cut.at.Store(0)
		try("alone", c.send+last, want)
		try("pipelined", before+c.send+last, "POST /first 3 , "+want)
		for at := 1; at < len(c.send) && !testing.Short(); at++ {
			cut.at.Store(int64(at))
			try(fmt.Sprint("cut at ", at), c.send+last, want)
		}
	}
}

// However the bytes come, the verdict is the same.
func TestFramingInPieces(t *testing.T) {
	for _, c := range framings {
		all := []byte(c.send + last)
		var whole, single framing
		good := whole.check(all) == len(all)
		n := 0
		for n < len(all) && single.check(all[n:n+1]) == 1 {
			n++
		}
		if (n == len(all)) != good {
			t.Errorf("%s: good is %v as a whole, and %d of %d byte by byte", c.name, good, n, len(all))
		}
	}
}

// What is kept of a request, and what it costs.
func TestFramingIsFrugal(t *testing.T) {
	var f framing
	for range 100_000 {
		f.check([]byte("GET"))
	}
	if cap(f.partial) > 4*maxPartial {
		t.Errorf("%d bytes are kept of a request line", cap(f.partial))
	}
	f = framing{at: headerLine}
	for range 100_000 {
		f.check([]byte("Name"))
	}
	if cap(f.partial) > 4*maxPartial {
		t.Errorf("%d bytes are kept of a header line", cap(f.partial))
	}
	f = framing{}
	one := []byte("POST /x HTTP/1.1\r\n" + goodHead + "Content-Length: 5\r\n\r\nhello")
	if n := testing.AllocsPerRun(100, func() { f.check(one) }); n != 0 {
		t.Errorf("a request costs %v allocations", n)
	}
}

// Wherever we think that a request ends, net/http thinks so too, and we think
// the same of it in one piece, in two, and byte by byte.
// Found by FuzzFraming: white space after a name that is longer than what is stored of
// a line was refused only if the line came in one piece.
func TestLongHeaderNamesAreJudgedAlike(t *testing.T) {
	for n := maxPartial - 5; n < maxPartial+5; n++ {
		for _, end := range []string{": v", " : v", "\t: v", ""} {
			all := "GET / HTTP/1.1\r\n" + strings.Repeat("n", n) + end + "\r\n\r\n"
			var whole, single framing
			good := whole.check([]byte(all)) == len(all)
			for i := range len(all) {
				if single.check([]byte(all[i:i+1])) == 0 {
					if good {
						t.Errorf("name of %d bytes, then %q: refused byte by byte only", n, end)
					}
					good = true
					break
				}
				if i == len(all)-1 && !good {
					t.Errorf("name of %d bytes, then %q: refused as a whole only", n, end)
				}
			}
		}
	}
}

func FuzzFraming(f *testing.F) {
	for i, c := range framings {
		f.Add([]byte(c.send+last), 5*i)
	}
	f.Fuzz(func(t *testing.T, all []byte, cut int) {
		if len(all) == 0 || all[len(all)-1] != '\n' { // a line that is not complete is not judged as a whole
			return
		}
		cut = max(0, cut) % len(all)
		var whole, halves, single framing
		good := whole.check(all) == len(all)
		if inTwo := halves.check(all[:cut]) == cut && halves.check(all[cut:]) == len(all)-cut; inTwo != good {
			t.Fatalf("%q cut at %d: good is %v, and %v in two", all, cut, good, inTwo)
		}
		n := 0
		for n < len(all) && single.check(all[n:n+1]) == 1 {
			n++
		}
		if (n == len(all)) != good {
			t.Fatalf("%q: good is %v, and %d bytes of it are", all, good, n)
		}
		var s framing
		var ends []int
		for i := range all {
			if s.check(all[i:i+1]) == 0 {
				all = all[:i]
				break
			}
			if s.at == requestLine && !s.begun && s.used && (len(ends) == 0 || ends[len(ends)-1] < i-1 || all[i] != '\n') {
				ends = append(ends, i+1)
			}
		}
		if s.at == notHTTP1 {
			return
		}
		src := bytes.NewReader(all)
		r := bufio.NewReader(src)
		for i := 0; ; i++ {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			if _, err := io.Copy(io.Discard, req.Body); err != nil {
				return
			}
			at := len(all) - src.Len() - r.Buffered()
			found := false
			for _, end := range ends {
				found = found || end == at
			}
			if !found {
				t.Fatalf("net/http ends a request at %d of %q, we at %v", at, all, ends)
			}
		}
	})
}

// A body of any length passes, and connections are used again.
func TestStrictLongBodies(t *testing.T) {
	addr, _ := strictServer(t)
	long := strings.Repeat("\n \r", 1<<20)
	send := fmt.Sprintf("POST /x HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%s", goodHead, len(long), long)
	chunks := "POST /y HTTP/1.1\r\n" + goodHead + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat(fmt.Sprintf("%x\r\n%s\r\n", 30_000, long[:30_000]), 50) + "0\r\n\r\n"
	want := strings.Repeat("POST /x 3145728 echo, POST /y 1500000 echo, ", 3) + "GET /last 0 "
	if got := strings.Join(converse(t, addr, strings.Repeat(send+chunks, 3)+last), ", "); got != want {
		t.Errorf("%q", got)
	}
}

// Who takes a connection over gets every byte, whatever it is.
func TestStrictHijack(t *testing.T) {
	states := make(chan http.ConnState, 10)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		io.WriteString(c, "yours\n")
		line, _ := rw.ReadString('.')
		io.WriteString(c, line)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) { states <- state }
	s.Listener = Strict(s.Config, s.Listener)
	s.Start()
	defer s.Close()
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "GET /x HTTP/1.1\r\nHost: localhost\r\nUpgrade: x\r\n\r\n")
	r := bufio.NewReader(c)
	if line, _ := r.ReadString('\n'); line != "yours\n" {
		t.Fatalf("%q", line)
	}
	io.WriteString(c, "\n \x00\r\r.")
	if rest, _ := io.ReadAll(r); string(rest) != "\n \x00\r\r." {
		t.Errorf("%q came back", rest)
	}
	for _, want := range []http.ConnState{http.StateNew, http.StateActive, http.StateHijacked} {
		if got := <-states; got != want {
			t.Errorf("the server's own ConnState was told %v, not %v", got, want)
		}
	}
}

// TLS and HTTP/2 pass: above the listener, below it, and without TLS.
func TestStrictPasses(t *testing.T) {
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto, " ", r.TLS != nil) })
	for name, c := range map[string]struct {
		start func(*httptest.Server)
		want  string
	}{
		"TLS above": {func(s *httptest.Server) {
			s.Listener = Strict(s.Config, s.Listener)
			s.EnableHTTP2 = true
			s.StartTLS()
		}, "HTTP/2.0 true"},
		"TLS above, HTTP/1": {func(s *httptest.Server) {
			s.Listener = Strict(s.Config, s.Listener)
			s.StartTLS()
		}, "HTTP/1.1 true"},
		"HTTP/2 without TLS": {func(s *httptest.Server) {
			p := new(http.Protocols)
			p.SetHTTP1(true)
			p.SetUnencryptedHTTP2(true)
			s.Config.Protocols = p
			s.Listener = Strict(s.Config, s.Listener)
			s.Start()
			only := new(http.Protocols)
			only.SetUnencryptedHTTP2(true)
			s.Client().Transport.(*http.Transport).Protocols = only
		}, "HTTP/2.0 false"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewUnstartedServer(hello)
			c.start(s)
			defer s.Close()
			for range 3 {
				res, err := s.Client().Get(s.URL)
				if err != nil {
					t.Fatal(err)
				}
				text, _ := io.ReadAll(res.Body)
				res.Body.Close()
				if string(text) != c.want {
					t.Errorf("%q, want %q", text, c.want)
				}
			}
		})
	}
	// A listener of TLS connections hands them on as they are.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	secure := Strict(&http.Server{}, tls.NewListener(l, &tls.Config{}))
	go func() {
		if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
			c.Close()
		}
	}()
	c, err := secure.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, ok := c.(*tls.Conn); !ok {
		t.Errorf("net/http sees a %T", c)
	}
}

// Files are sent as before.
func TestStrictSendsFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), bytes.Repeat([]byte("x"), 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.FileServer(http.Dir(dir)))
	s.Listener = Strict(s.Config, s.Listener)
	s.Start()
	defer s.Close()
	res, err := s.Client().Get(s.URL + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if n, err := io.Copy(io.Discard, res.Body); n != 1<<20 || err != nil {
		t.Errorf("%d bytes came: %v", n, err)
	}
}

func BenchmarkFraming(b *testing.B) {
	one := []byte("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: 280\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: add\r\n\r\n" + strings.Repeat("x", 280))
	var f framing
	b.ReportAllocs()
	for b.Loop() {
		if f.check(one) != len(one) {
			b.Fatal("refused")
		}
	}
}
