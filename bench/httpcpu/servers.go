package main

import (
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// serveTenon serves as most programs do, with streamable.Serve.
func serveTenon(addr string) {
	log.Fatal(streamable.Serve(context.Background(), listen(addr), adder(), nil, nil))
}

// serveMounted serves with a handler in an http.Server of one's own, which keeps
// its connections.
func serveMounted(addr string) {
	h, err := streamable.NewHandler(adder(), nil)
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	web := streamable.NewHTTPServer(mux)
	log.Fatal(web.Serve(streamable.StrictListener(web, listen(addr))))
}

func adder() *server.Server {
	type in struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	type out struct {
		Sum int `json:"sum"`
	}
	s := server.New(mcp.Implementation{Name: "bench", Version: "1"}, nil)
	server.AddTool(s, "add", "adds", func(_ context.Context, _ *mcp.Call, v in) (out, error) { return out{v.A + v.B}, nil }, nil)
	return s
}

func listen(addr string) net.Listener {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		log.Fatal(err)
	}
	return l
}

// serveFloor answers the same requests with the least that can be done on
// net/http: it checks nothing and finds the numbers by looking for their names.
func serveFloor(addr string) {
	bodies := sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		buf := bodies.Get().(*[]byte)
		defer bodies.Put(buf)
		b := *buf
		if cap(b) < int(r.ContentLength) {
			b = make([]byte, 0, r.ContentLength)
		}
		b = b[:r.ContentLength]
		*buf = b
		if _, err := io.ReadFull(r.Body, b); err != nil {
			return
		}
		h := w.Header()
		if bytes.Contains(b, []byte(`"initialize"`)) {
			h.Set("Mcp-Session-Id", "x")
		}
		if bytes.Contains(b, []byte(`"notifications/`)) {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		h["Content-Type"] = []string{"application/json"}
		sum := number(b, `"a":`) + number(b, `"b":`)
		var out [512]byte
		o := append(out[:0], `{"jsonrpc":"2.0","id":`...)
		o = strconv.AppendInt(o, int64(number(b, `"id":`)), 10)
		o = append(o, `,"result":{"resultType":"complete","structuredContent":{"sum":`...)
		o = strconv.AppendInt(o, int64(sum), 10)
		o = append(o, `},"content":[{"type":"text","text":"{\"sum\":`...)
		o = strconv.AppendInt(o, int64(sum), 10)
		o = append(o, `}"}]}}`...)
		w.Write(o)
	})
	log.Fatal(http.ListenAndServe(addr, mux))
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
