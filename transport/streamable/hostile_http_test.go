package streamable_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/racetest"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// A hostileRow is one request and what comes of it, see answer.short. The ids
// are those of the project's table of hostile cases.
type hostileRow struct {
	id   string
	send *request
	want string // several that are all right are separated by " or "
	dual string // of a server of both eras; empty means the same
	part string // must stand in the answer
}

// runHostile sends each row to a server of the newest era and to one of both,
// which must be alive afterwards.
func runHostile(t *testing.T, rows []hostileRow) {
	for name, modernOnly := range map[string]bool{"modern": true, "dual": false} {
		t.Run(name, func(t *testing.T) {
			f := newFort(t, modernOnly, nil)
			for _, row := range rows {
				want := row.want
				if !modernOnly && row.dual != "" {
					want = row.dual
				}
				a := f.raw(row.send.on(f))
				if got := a.short(); !slices.Contains(strings.Split(want, " or "), got) || !strings.Contains(a.Text, row.part) {
					t.Errorf("%s: %s, want %s %s: %.300s", row.id, got, want, row.part, a.Text)
				}
				a.hold(t, true)
				if alive := f.raw(askEcho().on(f)); alive.short() != "200 1 ok" {
					t.Fatalf("%s: afterwards %s: %s", row.id, alive.short(), alive.Text)
				}
			}
			if n := f.ran.Load(); n != 0 {
				t.Errorf("%d tools ran that never should", n)
			}
		})
	}
}

func TestHostileHTTP(t *testing.T) {
	const good, forbidden, mismatch = "200 1 ok", "403 - -32603", "400 1 -32020"
	echo := askEcho
	routed := func(args string, lines ...string) *request {
		r := askTool("1", "routed", args)
		r.lines = append(r.lines, lines...)
		return r
	}
	read := func() *request { return ask("1", "resources/read", "test://one", `"uri":"test://one"`) }
	prompt := func() *request { return ask("1", "prompts/get", "greet", `"name":"greet","arguments":{"who":"me"}`) }
	rows := []hostileRow{
		{"good", echo(), good, "", `"text":"hi"`},
		{"good, header names in another case", echo().header("Mcp-Name", "mCP-nAME: \t echo \t"), good, "", ""},
		{"H02 Origin null", echo().header("Origin", "Origin: null"), forbidden, "", ""},
		{"§4 Origin alone", echo().header("Origin", "Origin: http://evil.example"), forbidden, "", ""},
		{"two Origins", echo().header("Origin", "Origin: http://localhost:PORT", "Origin: http://localhost:PORT"), forbidden, "", ""},
		{"Origin that only begins well", echo().header("Origin", "Origin: http://localhost.evil.example"), forbidden, "", ""},
		{"H04 Origin localhost", echo().header("Origin", "Origin: http://localhost:PORT"), good, "", ""},
		{"H04 Origin [::1]", echo().header("Origin", "Origin: http://[::1]:PORT"), good, "", ""},
		{"H06 Host", echo().header("Host", "Host: evil.example"), forbidden, "", ""},
		{"H06 Host and Origin", echo().header("Host", "Host: evil.example:PORT", "Origin: http://evil.example:PORT"), forbidden, "", ""},
		{"H06 Host that only begins well", echo().header("Host", "Host: 127.0.0.1.evil.example:PORT"), forbidden, "", ""},
		{"H08 GET", echo().whole("").method("GET").header("Host", "Host: evil.example"), forbidden, "", ""},
		{"H08 DELETE", echo().whole("").method("DELETE").header("Origin", "Origin: http://evil.example"), forbidden, "", ""},
		{"H08 OPTIONS", echo().whole("").method("OPTIONS").header("Origin", "Origin: http://evil.example"), forbidden, "", ""},
		{"H10 two Hosts", echo().header("Host", "Host: 127.0.0.1:PORT", "Host: 127.0.0.1:PORT"), "400 text", "", ""},
		{"H10 Host empty", echo().header("Host", "Host:"), "400 - -32600", "", ""},
		{"H10 no Host", echo().header("Host"), "400 text", "", ""},
		{"H10 Host with a user", echo().header("Host", "Host: localhost@evil"), "400 - -32600 or 400 text", "", ""},
		{"H34 odd Last-Event-ID", echo().header("Last-Event-ID", "Last-Event-ID: 99999999999999999999_-1"), good, "", ""},
		{"H36 notification", echo().whole(`{"jsonrpc":"2.0","method":"notifications/progress","params":{` + modernMeta + `}}`), "202", "", ""},
		{"H18 no version", echo().header("MCP-Protocol-Version"), mismatch, "", ""},
		{"H18 another version", echo().header("MCP-Protocol-Version", "MCP-Protocol-Version: 2025-11-25"), mismatch, "", ""},
		{"H18 version twice", echo().header("MCP-Protocol-Version", "MCP-Protocol-Version: 2026-07-28", "MCP-Protocol-Version: 2026-07-28"), mismatch, "", ""},
		{"H20 no method", echo().header("Mcp-Method"), mismatch, "", ""},
		{"H20 another method", echo().header("Mcp-Method", "Mcp-Method: tools/list"), mismatch, "", ""},
		{"H20 another case", ask("1", "tools/list", "", "").header("Mcp-Method", "Mcp-Method: Tools/List"), mismatch, "", ""},
		{"H22 no name, tool", echo().header("Mcp-Name"), mismatch, "", ""},
		{"H22 no name, prompt", prompt().header("Mcp-Name"), mismatch, "", ""},
		{"H22 no name, resource", read().header("Mcp-Name"), mismatch, "", ""},
		{"H22 name of a prompt", prompt(), good, "", ""},
		{"H22 name of a resource", read(), good, "", ""},
		{"H22 another name", echo().header("Mcp-Name", "Mcp-Name: admin"), mismatch, "", ""},
		{"H22 another case", echo().header("Mcp-Name", "Mcp-Name: Echo"), mismatch, "", ""},
		{"H22 another resource", read().header("Mcp-Name", "Mcp-Name: test://other"), mismatch, "", ""},
		{"H22 empty", echo().header("Mcp-Name", "Mcp-Name:"), mismatch, "", ""},
		{"§4 name in Base64", echo().header("Mcp-Name", "Mcp-Name: =?base64?ZWNobw==?="), good, "", ""},
		{"H24 not Base64", echo().header("Mcp-Name", "Mcp-Name: =?base64?!!!?="), mismatch, "", ""},
		{"H24 no padding", echo().header("Mcp-Name", "Mcp-Name: =?base64?ZWNobw?="), mismatch, "", ""},
		{"H24 markers in capitals", echo().header("Mcp-Name", "Mcp-Name: =?BASE64?ZWNobw==?="), mismatch, "", ""},
		{"H24 loose last bits", echo().header("Mcp-Name", "Mcp-Name: =?base64?ZWNobx==?="), mismatch, "", ""},
		{"H24 not UTF-8", echo().header("Mcp-Name", "Mcp-Name: =?base64?//4=?="), mismatch, "", ""},
		{"H26 two names", echo().header("Mcp-Name", "Mcp-Name: echo", "Mcp-Name: admin"), mismatch, "", ""},
		{"H26 a name twice", echo().header("Mcp-Name", "Mcp-Name: echo", "Mcp-Name: echo"), mismatch, "", ""},
		{"H26 two methods", echo().header("Mcp-Method", "Mcp-Method: tools/call", "Mcp-Method: tools/list"), mismatch, "", ""},
		{"H26 a list of names", echo().header("Mcp-Name", "Mcp-Name: echo, admin"), mismatch, "", ""},
		{"H28 control character", echo().header("Mcp-Name", "Mcp-Name: echo\x01"), "400 text", "", ""},
		{"H28 delete", echo().header("Mcp-Name", "Mcp-Name: echo\x7f"), "400 text", "", ""},
		{"H28 folded", echo().header("Mcp-Name", "Mcp-Name: ec\r\n ho"), "400 text", "", ""},
		{"H28 folded after the colon", echo().header("Mcp-Name", "Mcp-Name:\r\n echo"), "400 text", "", ""},
		{"H28 carriage return", echo().header("Mcp-Name", "Mcp-Name: echo\r"), "400 text", "", ""},
		{"H28 raw UTF-8", askTool("1", "é", ""), mismatch, "", ""},
		{"H28 raw UTF-8 in a parameter", routed(`"region":"é"`, "Mcp-Param-Region: é"), mismatch, "", ""},
		{"H30 42", routed(`"shard":42`, "Mcp-Param-Shard: 42"), good, "", ""},
		{"H30 42.0", routed(`"shard":42`, "Mcp-Param-Shard: 42.0"), good, "", ""},
		{"H30 body 42.0", routed(`"shard":42.0`, "Mcp-Param-Shard: 42"), good, "", ""},
		{"H30 042", routed(`"shard":42`, "Mcp-Param-Shard: 042"), mismatch, "", ""},
		{"H30 4.2e1", routed(`"shard":42`, "Mcp-Param-Shard: 4.2e1"), mismatch, "", ""},
		{"H30 +42", routed(`"shard":42`, "Mcp-Param-Shard: +42"), mismatch, "", ""},
		{"H30 43", routed(`"shard":42`, "Mcp-Param-Shard: 43"), mismatch, "", ""},
		{"H30 twice", routed(`"shard":42`, "Mcp-Param-Shard: 42", "Mcp-Param-Shard: 42"), mismatch, "", ""},
		{"a parameter that is missing", routed(`"shard":42`), mismatch, "", ""},
		{"a boolean", routed(`"live":true`, "Mcp-Param-Live: true"), good, "", ""},
		{"a boolean in capitals", routed(`"live":true`, "Mcp-Param-Live: True"), mismatch, "", ""},
		{"null needs no header", routed(`"live":null`), good + " or 200 1 failed", "", ""},
		{"an empty string needs one", routed(`"region":""`, "Mcp-Param-Region:"), good, "", ""},
		{"an empty string without one", routed(`"region":""`), mismatch, "", ""},
		{"deep inside", routed(`"where":{"zone":"a"}`, "Mcp-Param-Zone: a"), good, "", ""},
		{"deep inside, another", routed(`"where":{"zone":"a"}`, "Mcp-Param-Zone: b"), mismatch, "", ""},
		{"deep inside, missing", routed(`"where":{"zone":"a"}`), mismatch, "", ""},
		{"a literal that looks encoded", routed(`"region":"=?base64?x?="`, "Mcp-Param-Region: =?base64?PT9iYXNlNjQ/eD89?="), good, "", ""},
		{"a literal that looks encoded, as it is", routed(`"region":"=?base64?x?="`, "Mcp-Param-Region: =?base64?x?="), mismatch, "", ""},
		{"half a marker is a literal", routed(`"region":"=?base64?x"`, "Mcp-Param-Region: =?base64?x"), good, "", ""},
		{"spaces inside", routed(`"region":"a  b"`, "Mcp-Param-Region: a  b"), good, "", ""},
		{"§4 unknown method", ask("1", "tools/steal", "", ""), "404 1 -32601", "", ""},
		{"§4 unknown tool", askTool("1", "nobody", ""), "400 1 -32602", "", ""},
		{"§4 bad cursor", ask("1", "tools/list", "", `"cursor":"x"`), "400 1 -32602", "", ""},
		{"§4 argument of another type", askTool("1", "strict", `"n":"x"`), "200 1 failed", "", ""},
		{"§4 log level that is none", echo().swap(`"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"loud",`), "400 1 -32602", "", ""},
		{"§4 discover in an older version", ask("1", "server/discover", "", "").header("MCP-Protocol-Version", "MCP-Protocol-Version: 2025-11-25").swap("2026-07-28", "2025-11-25"), "400 1 -32022", "400 - -32600", ""},
		{"compressed", echo().header("Content-Encoding", "Content-Encoding: gzip"), "415 - -32600", "", ""},
		{"Accept nothing we have", echo().header("Accept", "Accept: text/html"), good + " or 406 - -32600", "", ""},
	}
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json-patch+json", "application/jsonx"} {
		rows = append(rows, hostileRow{"H12/H14 " + kind, echo().header("Content-Type", "Content-Type: "+kind), "415 - -32600", "", ""})
	}
	rows = append(rows, hostileRow{"H12 no type", echo().header("Content-Type"), "415 - -32600", "", ""},
		hostileRow{"H12 two types", echo().header("Content-Type", "Content-Type: text/plain", "Content-Type: application/json"), "415 - -32600", "", ""})
	for _, verb := range []string{"GET", "DELETE", "PUT", "PATCH", "TRACE"} {
		rows = append(rows, hostileRow{"H32 " + verb, echo().whole("").method(verb), "405 - -32600", "", ""})
	}
	runHostile(t, rows)
}

// H32: what may be used instead.
func TestHostileMethodsAllow(t *testing.T) {
	for _, modernOnly := range []bool{true, false} {
		f := newFort(t, modernOnly, nil)
		for _, verb := range []string{"GET", "DELETE", "PUT", "PATCH", "TRACE"} {
			if a := f.raw(askEcho().whole("").method(verb).on(f)); a.Status != 405 || !strings.Contains(a.Header.Get("Allow"), "POST") {
				t.Errorf("%s: %d, Allow %q", verb, a.Status, a.Header.Get("Allow"))
			}
		}
	}
}

// H38: a body without end.
func TestHostileEndlessBody(t *testing.T) {
	f := newFort(t, false, &streamable.Options{BodyLimit: 64 << 10})
	s := f.dial()
	r := askEcho()
	head := strings.ReplaceAll("POST /mcp HTTP/1.1\r\n"+strings.Join(r.lines, "\r\n")+"\r\nTransfer-Encoding: chunked\r\n\r\n", "PORT", f.port)
	s.write(head)
	sent := make(chan error, 1)
	go func() {
		chunk := "400\r\n" + strings.Repeat(" ", 1024) + "\r\n"
		for {
			if _, err := io.WriteString(s.c, chunk); err != nil {
				sent <- err
				return
			}
		}
	}()
	if a := s.head(); a.Status != 413 && a.Status != 0 { // 0: the rest of what was sent has reset the connection
		t.Errorf("status %d", a.Status)
	}
	if err := <-sent; err == nil {
		t.Error("the server reads for ever")
	}
	if a := f.raw(askEcho().on(f)); a.short() != "200 1 ok" {
		t.Errorf("afterwards %s", a.short())
	}
}

// H40: a client that sends a byte and waits.
func TestHostileSlowBody(t *testing.T) {
	f := newFort(t, false, &streamable.Options{ReadIdle: 50 * time.Millisecond})
	s := f.dial()
	head, _, _ := strings.Cut(askEcho().on(f), "\r\n\r\n")
	s.write(head + "\r\n\r\n{")
	if a := s.read(); a.Status != 408 {
		t.Errorf("status %d", a.Status)
	}
	if !s.closed() {
		t.Error("the connection stays open")
	}
}

// H42: framing about which two readers could differ.
func TestHostileFraming(t *testing.T) {
	f := newFort(t, false, nil)
	body := askEcho().body
	good := askEcho().on(f)
	base := strings.Join(askEcho().lines, "\r\n")
	chunk := func(b string) string { return hex(len(b)) + "\r\n" + b + "\r\n0\r\n\r\n" }
	for _, c := range []struct{ name, send string }{
		{"both lengths", "POST /mcp HTTP/1.1\r\n" + base + "\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(body)},
		{"unknown coding", "POST /mcp HTTP/1.1\r\n" + base + "\r\nTransfer-Encoding: xchunked\r\n\r\n" + chunk(body)},
		{"two lengths", "POST /mcp HTTP/1.1\r\n" + base + "\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n{}"},
		{"a negative length", "POST /mcp HTTP/1.1\r\n" + base + "\r\nContent-Length: -1\r\n\r\n{}"},
		{"a space before the colon", "POST /mcp HTTP/1.1\r\n" + base + "\r\nContent-Length : 3\r\n\r\n{}"},
		{"a chunk that ends with a bare line feed", "POST /mcp HTTP/1.1\r\n" + base + "\r\nTransfer-Encoding: chunked\r\n\r\n2;x\n{}\r\n0\r\n\r\n"},
		{"bare line feeds", strings.ReplaceAll(good, "\r\n", "\n")},
		{"one bare line feed", strings.Replace(good, "\r\nMcp-Method", "\nMcp-Method", 1)},
		{"the last line feed is bare", strings.Replace(good, "\r\n\r\n", "\r\n\n", 1)},
	} {
		s := f.dial()
		go io.WriteString(s.c, strings.ReplaceAll(c.send, "PORT", f.port)+good)
		a := s.read()
		if a.Status != 400 {
			t.Errorf("%s: status %d: %s", c.name, a.Status, a.Text)
		}
		if !s.closed() {
			t.Errorf("%s: a second request was read", c.name)
		}
		s.c.Close()
	}
}

func hex(n int) string {
	const digits = "0123456789abcdef"
	if n < 16 {
		return digits[n : n+1]
	}
	return hex(n/16) + digits[n%16:n%16+1]
}

// H46: the headers of a stream are there before its first event.
func TestHostileStreamHeaders(t *testing.T) {
	f := newFort(t, false, nil)
	s := f.dial()
	s.write(ask("1", "subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`).on(f))
	a := s.head()
	for name, want := range map[string]string{"Content-Type": "text/event-stream", "X-Accel-Buffering": "no", "X-Content-Type-Options": "nosniff"} {
		if got := a.Header.Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if !strings.Contains(a.Header.Get("Cache-Control"), "no-cache") {
		t.Errorf("Cache-Control: %q", a.Header.Get("Cache-Control"))
	}
	in := f.enter("2025-11-25", "")
	s = f.dial()
	s.write(in("").on(f))
	if a := s.head(); a.Header.Get("X-Accel-Buffering") != "no" || a.Status != http.StatusOK {
		t.Errorf("GET: %d %v", a.Status, a.Header)
	}
}

// H48: a client that takes nothing is let go, and holds nobody up.
func TestHostileSlowReader(t *testing.T) {
	f := newFort(t, false, &streamable.Options{WriteIdle: 5 * time.Second}) // which must do for the others on a busy machine
	const size = 50_000_000
	before := resident(t)
	s := f.dial()
	s.write(askTool("1", "big", fmt.Sprintf(`"n":%d`, size)).on(f))
	if _, err := s.r.Peek(1); err != nil { // the answer is on its way
		t.Fatal(err)
	}
	if held := resident(t) - before; held > 2*size && !racetest.Enabled { // which has memory of its own
		t.Errorf("%d bytes are resident for an answer of %d", held, size)
	}
	for range 10 {
		if a := f.raw(askEcho().on(f)); a.short() != "200 1 ok" {
			t.Errorf("others are served %s", a.short())
		}
	}
	waitFor(t, "the connection is closed", func() bool { return f.open.Load() == 0 })
	if n, _ := io.Copy(io.Discard, s.r); n >= size {
		t.Error("all of it came")
	}
}

// resident is how many bytes of memory this process holds once it has given
// back what it does not need; 0 where there is nobody to ask.
func resident(t *testing.T) (bytes int) {
	t.Helper()
	debug.FreeOSMemory()
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, pages int
	if _, err := fmt.Sscan(string(raw), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// The same with small answers: a client that sends requests and never reads.
func TestHostileNeverReads(t *testing.T) {
	f := newFort(t, false, &streamable.Options{WriteIdle: 50 * time.Millisecond})
	for name, r := range map[string]*request{"answers": askTool("1", "big", `"n":1500`), "refusals": askEcho().header("Mcp-Method")} {
		s := f.dial()
		many := strings.Repeat(r.on(f), 100)
		for {
			if _, err := io.WriteString(s.c, many); err != nil {
				break // it was closed, or it would be filled for ever
			}
		}
		s.c.Close()
		waitFor(t, name+": the connection is closed", func() bool { return f.open.Load() == 0 })
	}
}
