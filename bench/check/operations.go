package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/schema"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
)

type (
	addIn struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	addOut struct {
		Sum int `json:"sum"`
	}
	lengthIn struct {
		Text string `json:"text"`
	}
)

const mb = 1 << 20

var (
	text    = strings.Repeat("Measure it, said the first, and wrote 0123456789 down on a line of text.\n", mb/64+1)[:mb]
	escaped = strings.ReplaceAll(text, "\n", `\n`)
)

const (
	envelope   = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"check","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"check","version":"1"}}}`
)

func call(name, arguments string, modern bool) string {
	return message("tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, name, arguments), modern)
}

func message(method, params string, modern bool) string {
	if modern {
		params += envelope
		params = strings.TrimPrefix(params, ",")
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`, method, params)
}

const sum = `{"a":20,"b":22}`

var operations = []operation{
	{"decode-message", 20000, decodeMessage},
	{"decode-arguments", 20000, decodeArguments},
	{"http-call-modern", 4000, overHTTP(0, "tools/call", "add", call("add", sum, true), true, `"sum":42`)},
	{"http-call-legacy", 4000, overHTTP(0, "tools/call", "add", call("add", sum, false), false, `"sum":42`)},
	{"http-stream-modern", 4000, overHTTP(0, "tools/call", "steps", strings.Replace(call("steps", `{}`, true), `"_meta":{`, `"_meta":{"progressToken":1,`, 1), true, `"done"`)},
	{"http-list-1000-modern", 200, overHTTP(1000, "tools/list", "", message("tools/list", "", true), true, `"tool_999"`)},
	{"http-list-1000-legacy", 200, overHTTP(1000, "tools/list", "", message("tools/list", "", false), false, `"tool_999"`)},
	{"http-result-1mb-modern", 40, overHTTP(0, "tools/call", "blob", call("blob", `{}`, true), true, "Measure it")},
	{"http-result-1mb-legacy", 40, overHTTP(0, "tools/call", "blob", call("blob", `{}`, false), false, "Measure it")},
	{"http-argument-1mb-modern", 40, overHTTP(0, "tools/call", "length", call("length", `{"text":"`+escaped+`"}`, true), true, "1048576")},
	{"http-argument-1mb-legacy", 40, overHTTP(0, "tools/call", "length", call("length", `{"text":"`+escaped+`"}`, false), false, "1048576")},
	{"stream-call-modern", 4000, overStream(call("add", sum, true), true)},
	{"stream-call-legacy", 4000, overStream(call("add", sum, false), false)},
	{"client-call-modern", 4000, withClient(mcp.Rev20260728)},
	{"client-call-legacy", 4000, withClient(mcp.Rev20251125)},
	{"register-1000-tools", 5, register},
}

func decodeMessage() (func(), error) {
	body := []byte(call("add", sum, true))
	return func() {
		if _, err := jsonrpc.Decode(body); err != nil {
			panic(err)
		}
	}, nil
}

func decodeArguments() (func(), error) {
	plan, err := schema.Compile[addIn]()
	if err != nil {
		return nil, err
	}
	raw := []byte(sum)
	var in addIn
	return func() {
		if err := plan.Decode(raw, &in); err != nil || in.A != 20 {
			panic(fmt.Sprint(in, err))
		}
	}, nil
}

func features(tools int) *server.Server {
	s := server.New(mcp.Implementation{Name: "check", Version: "1"}, nil)
	add := func(_ context.Context, _ *mcp.Call, in addIn) (addOut, error) { return addOut{in.A + in.B}, nil }
	server.AddTool(s, "add", "adds two integers", add, nil)
	server.AddTool(s, "steps", "reports progress once", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		server.Progress(c, 1, 2, "")
		return "done", nil
	}, nil)
	server.AddTool(s, "blob", "returns 1 MB", func(context.Context, *mcp.Call, struct{}) (string, error) { return text, nil }, nil)
	server.AddTool(s, "length", "counts bytes", func(_ context.Context, _ *mcp.Call, in lengthIn) (int, error) { return len(in.Text), nil }, nil)
	for i := 4; i < tools; i++ {
		server.AddTool(s, fmt.Sprintf("tool_%d", i), "adds two integers", add, nil)
	}
	return s
}

func register() (func(), error) { return func() { features(1000) }, nil }

// An answer is a ResponseWriter that keeps what was written and allocates
// nothing once it has grown.
type answer struct {
	header http.Header
	status int
	body   []byte
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(b []byte) (int, error) { a.body = append(a.body, b...); return len(b), nil }
func (a *answer) Flush()                      {}

// A body is one that can be read again.
type body struct{ bytes.Reader }

func (*body) Close() error { return nil }

// overHTTP is a request to the Handler, without what net/http adds.
func overHTTP(tools int, method, name, message string, modern bool, expect string) func() (func(), error) {
	return func() (func(), error) {
		h, err := streamable.NewHandler(features(tools), &streamable.Options{TakeOver: true}) // as Serve does
		if err != nil {
			return nil, err
		}
		post := func(message string) (*http.Request, *body) {
			b := &body{}
			r, err := http.NewRequest("POST", "http://127.0.0.1/mcp", b)
			if err != nil {
				panic(err)
			}
			r.ContentLength = int64(len(message))
			r.Header["Content-Type"] = []string{"application/json"}
			r.Header["Accept"] = []string{"application/json, text/event-stream"}
			return r, b
		}
		w := &answer{header: http.Header{}}
		do := func(r *http.Request, b *body, message string) {
			clear(w.header)
			w.status, w.body = 200, w.body[:0]
			b.Reset([]byte(message))
			h.ServeHTTP(w, r)
			if w.status/100 != 2 {
				panic(fmt.Sprintf("status %d: %s", w.status, w.body))
			}
		}
		r, b := post(message)
		if modern {
			r.Header["Mcp-Protocol-Version"] = []string{"2026-07-28"}
			r.Header["Mcp-Method"] = []string{method}
			if name != "" {
				r.Header["Mcp-Name"] = []string{name}
			}
		} else {
			first, fb := post(initialize)
			do(first, fb, initialize)
			r.Header["Mcp-Session-Id"] = w.header["Mcp-Session-Id"]
			r.Header["Mcp-Protocol-Version"] = []string{"2025-11-25"}
		}
		want, raw := []byte(expect), []byte(message)
		do(r, b, message)
		if !bytes.Contains(w.body, want) {
			return nil, fmt.Errorf("unexpected answer: %.300s", w.body)
		}
		return func() {
			clear(w.header)
			w.status, w.body = 200, w.body[:0]
			b.Reset(raw)
			h.ServeHTTP(w, r)
			if w.status != 200 {
				panic(fmt.Sprintf("status %d: %s", w.status, w.body))
			}
		}, nil
	}
}

// overStream is a request over a stream in memory, as on stdio.
func overStream(message string, modern bool) func() (func(), error) {
	return func() (func(), error) {
		door, err := era.NewServer(features(0), nil)
		if err != nil {
			return nil, err
		}
		near, far := jsonrpc.Pipe()
		go door.ServeStream(context.Background(), far)
		ask := func(m []byte) []byte {
			if err := near.Write(m); err != nil {
				panic(err)
			}
			frame, err := near.Read()
			if err != nil {
				panic(err)
			}
			return frame
		}
		if !modern {
			ask([]byte(initialize + "\n"))
		}
		raw, want := []byte(message+"\n"), []byte(`"sum":42`)
		return func() {
			if got := ask(raw); !bytes.Contains(got, want) {
				panic(string(got))
			}
		}, nil
	}
}

// withClient is a typed call of a client in the same process.
func withClient(rev mcp.Revision) func() (func(), error) {
	return func() (func(), error) {
		door, err := era.NewServer(features(0), nil)
		if err != nil {
			return nil, err
		}
		near, far := jsonrpc.Pipe()
		go door.ServeStream(context.Background(), far)
		var o client.Options
		ctx := context.Background()
		peer, err := era.Dial(ctx, near, o.Profile(), &era.DialOptions{Known: rev})
		if err != nil {
			return nil, err
		}
		c := client.New(peer, &o)
		if _, err := client.All(c.Tools(ctx)); err != nil { // from now on outputs are checked
			return nil, err
		}
		return func() {
			out, err := client.Call[addOut](ctx, c, "add", addIn{20, 22}, nil)
			if err != nil || out.Sum != 42 {
				panic(fmt.Sprint(out, err))
			}
		}, nil
	}
}
