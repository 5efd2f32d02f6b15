package streamable_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/transport/streamable"
)

// twoWays runs a test over HTTP/2 with TLS and without.
func twoWays(t *testing.T, test func(t *testing.T, f *fort, client *http.Client, url string)) {
	for _, secure := range []bool{true, false} {
		t.Run(map[bool]string{true: "h2", false: "h2c"}[secure], func(t *testing.T) {
			f := &fort{t: t, fixture: newFixture(t)}
			var err error
			if f.h, err = streamable.NewHandler(f.fixture.Server, nil); err != nil {
				t.Fatal(err)
			}
			web := httptest.NewUnstartedServer(nil)
			web.Config = streamable.NewHTTPServer(f.h)
			web.Config.ErrorLog = log.New(io.Discard, "", 0)
			var client *http.Client
			if secure {
				web.EnableHTTP2 = true
				web.StartTLS()
				client = web.Client()
			} else {
				web.Start()
				only := new(http.Protocols)
				only.SetUnencryptedHTTP2(true)
				client = &http.Client{Transport: &http.Transport{Protocols: only}}
			}
			f.addr = web.Listener.Addr().String()
			t.Cleanup(func() {
				f.h.Shutdown()
				client.CloseIdleConnections()
				web.Close()
			})
			test(t, f, client, web.URL)
		})
	}
}

// do sends a request that was made for a socket.
func do(t *testing.T, ctx context.Context, client *http.Client, url string, r *request) *http.Response {
	t.Helper()
	out, err := http.NewRequestWithContext(ctx, r.verb, url, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range r.lines {
		if name, value, _ := strings.Cut(line, ":"); name != "Host" {
			out.Header.Add(name, strings.TrimSpace(value))
		}
	}
	res, err := client.Do(out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	if res.ProtoMajor != 2 {
		t.Fatalf("it was spoken %s", res.Proto)
	}
	return res
}

// Streams come event by event over HTTP/2, many of them over one connection,
// and resetting one cancels its call and no other.
func TestHTTP2(t *testing.T) {
	twoWays(t, func(t *testing.T, f *fort, client *http.Client, url string) {
		listening := hear(t, do(t, t.Context(), client, url, ask("9", "subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`)).Body)
		listening.expect("acknowledged")

		gone, leave := context.WithCancel(t.Context())
		defer leave()
		go func() { f.gate <- true }()
		other := hear(t, do(t, gone, client, url, modernGated("2", "gone", 9)).Body)
		if got := <-f.began; got != "gone" {
			t.Fatal(got)
		}
		other.expect(`"progress":1`)
		leave()
		if got := <-f.cancelled; got != "gone" {
			t.Errorf("%s was cancelled", got)
		}

		go func() { f.gate <- true }()
		e := hear(t, do(t, t.Context(), client, url, modernGated("1", "stays", 2)).Body)
		<-f.began
		e.expect(`"progress":1`)
		addOne(f.fixture)
		listening.expect("notifications/tools/list_changed")
		f.gate <- true
		e.expect(`"progress":2`, `"id":1,"result"`)
		f.h.Shutdown()
		listening.expect(`"id":9,"result"`)
	})
}

// Sessions, and the news of one, over HTTP/2.
func TestHTTP2Session(t *testing.T) {
	twoWays(t, func(t *testing.T, f *fort, client *http.Client, url string) {
		r := &request{verb: "POST", lines: []string{"Content-Type: application/json", "Accept: application/json, text/event-stream"}}
		res := do(t, t.Context(), client, url, r.whole(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+rev2025+`","capabilities":{},"clientInfo":{"name":"p","version":"1"}}}`))
		io.Copy(io.Discard, res.Body)
		r.lines = append(r.lines, "Mcp-Session-Id: "+res.Header.Get("Mcp-Session-Id"))
		do(t, t.Context(), client, url, r.whole(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
		news := hear(t, do(t, t.Context(), client, url, r.whole("").method("GET").header("Accept", "Accept: text/event-stream")).Body)
		news.lines.Scan()
		addOne(f.fixture)
		news.expect("notifications/tools/list_changed")
	})
}

// H44: ten thousand streams that are opened and reset at once cost the server
// little, and others are served.
func TestHTTP2RapidReset(t *testing.T) {
	twoWays(t, func(t *testing.T, f *fort, client *http.Client, url string) {
		var c net.Conn
		var err error
		if strings.HasPrefix(url, "https:") {
			c, err = tls.Dial("tcp", f.addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
		} else {
			c, err = net.Dial("tcp", f.addr)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		go io.Copy(io.Discard, c)
		if _, err := c.Write(append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(4, 0, 0, nil)...)); err != nil {
			t.Fatal(err)
		}
		r := askTool("1", "held", "")
		head := headerBlock(append(r.lines, fmt.Sprint("content-length: ", len(r.body))), f.addr)
		for i := range uint32(10_000) {
			id := 2*i + 1
			var b bytes.Buffer
			b.Write(frame(1, 4, id, head))                                    // HEADERS, all of them
			b.Write(frame(0, 1, id, []byte(r.body)))                          // DATA, the last
			b.Write(frame(3, 0, id, binary.BigEndian.AppendUint32(nil, 0x8))) // RST_STREAM: cancelled
			if _, err := c.Write(b.Bytes()); err != nil {
				break // the server has had enough, which is fine
			}
		}
		good := hear(t, do(t, t.Context(), client, url, askTool("1", "count", `"n":1,"who":"me"`).swap(`"_meta":{`, `"_meta":{"progressToken":1,`)).Body)
		good.expect(`"progress":1`, `"id":1,"result"`)
		if n := f.max.Load(); n == 0 || n > 250 {
			t.Errorf("%d calls went on at once", n)
		}
		waitFor(t, "all of them end", func() bool { return f.held.Load() == 0 })
	})
}

// frame is one of HTTP/2.
func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	b := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	return append(binary.BigEndian.AppendUint32(b, stream), payload...)
}

// headerBlock is the header of a POST, written plainly: nothing is compressed
// or remembered.
func headerBlock(lines []string, host string) (b []byte) {
	put := func(name, value string) {
		b = append(b, 0, byte(len(name)))
		b = append(append(b, name...), byte(len(value)))
		b = append(b, value...)
	}
	put(":method", "POST")
	put(":scheme", "http")
	put(":authority", host)
	put(":path", "/mcp")
	for _, line := range lines {
		if name, value, _ := strings.Cut(line, ":"); name != "Host" {
			put(strings.ToLower(name), strings.TrimSpace(value))
		}
	}
	return b
}

// A Handler works wherever it is mounted.
func TestMounted(t *testing.T) {
	f := &fort{t: t, fixture: newFixture(t)}
	var err error
	if f.h, err = streamable.NewHandler(f.fixture.Server, nil); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "a page") })
	mux.Handle("/deep/{tenant}/mcp", f.h)
	mux.Handle("/stripped/", http.StripPrefix("/stripped", f.h))
	mux.Handle("POST /only/post", f.h)
	web := httptest.NewServer(mux)
	t.Cleanup(func() {
		f.h.Shutdown()
		web.Close()
	})
	f.addr = web.Listener.Addr().String()
	_, f.port, _ = net.SplitHostPort(f.addr)
	for _, f.path = range []string{"/deep/a/mcp", "/stripped/", "/stripped/any/thing"} {
		if a := f.raw(askEcho().on(f)); a.short() != "200 1 ok" {
			t.Errorf("%s: %s", f.path, a.short())
		}
		in := f.enter(rev2025, "")
		_, e := f.listen(in(""))
		e.lines.Scan()
		addOne(f.fixture)
		e.expect("notifications/tools/list_changed")
		stepByStep(t, f, modernGated("1", "a", 3))
	}
	f.path = "/only/post"
	if a := f.raw(askEcho().on(f)); a.short() != "200 1 ok" {
		t.Errorf("%s: %s", f.path, a.short())
	}
	f.path = "/elsewhere"
	if a := f.raw(askEcho().on(f)); a.Text != "a page" {
		t.Errorf("%s: %s", f.path, a.Text)
	}
}
