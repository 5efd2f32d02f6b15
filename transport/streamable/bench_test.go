package streamable_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

// A sink takes an answer and keeps nothing of it.
type sink struct{ header http.Header }

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }
func (s *sink) WriteHeader(int)             {}

func (s *sink) SetReadDeadline(time.Time) error  { return nil }
func (s *sink) SetWriteDeadline(time.Time) error { return nil }

// BenchmarkCall is what a tools/call costs in the handler, without what net/http
// itself does.
func BenchmarkCall(b *testing.B) {
	type pair struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	type sum struct {
		Sum int `json:"sum"`
	}
	s := server.New(mcp.Implementation{Name: "bench", Version: "1"}, nil)
	server.AddTool(s, "add", "adds", func(_ context.Context, _ *mcp.Call, v pair) (sum, error) { return sum{v.A + v.B}, nil }, nil)
	h, err := streamable.NewHandler(s, &streamable.Options{TakeOver: true})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Shutdown()
	post := func(headers ...string) *http.Request {
		r := httptest.NewRequest("POST", "http://127.0.0.1/mcp", nil)
		ctx, cancel := context.WithCancel(b.Context()) // as net/http has one
		b.Cleanup(cancel)
		r = r.WithContext(ctx)
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		return r
	}
	send := func(r *http.Request, w *sink, reader *bytes.Reader, body []byte) {
		reader.Reset(body)
		r.Body, r.ContentLength = io.NopCloser(reader), int64(len(body))
		h.ServeHTTP(w, r)
	}
	call := func(b *testing.B, r *http.Request, meta string) {
		body := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":20,"b":22}` + meta + `}}`)
		w, reader := &sink{http.Header{}}, bytes.NewReader(nil)
		b.ReportAllocs()
		for b.Loop() {
			send(r, w, reader, body)
		}
	}
	b.Run("modern", func(b *testing.B) {
		call(b, post("MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "add"),
			`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"load","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`)
	})
	b.Run("legacy", func(b *testing.B) {
		w := &sink{http.Header{}}
		send(post(), w, bytes.NewReader(nil), []byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"load","version":"1"}}}`))
		call(b, post("MCP-Protocol-Version", "2025-11-25", "Mcp-Session-Id", w.header.Get("Mcp-Session-Id")), "")
	})
}
