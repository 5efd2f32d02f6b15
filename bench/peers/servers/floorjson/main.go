// Command floorjson answers the measured requests with net/http (or a loop over
// lines) and encoding/json into types of its own, and nothing else: no checks,
// no sessions, no protocol. It is what a careful hand with the standard library
// would reach if it needed only this.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"

	"github.com/tenon-mcp/tenon/bench/internal/counters"
	"github.com/tenon-mcp/tenon/bench/internal/side"
	"github.com/tenon-mcp/tenon/bench/internal/web"
)

func main() {
	f := side.Parse()
	counters.Serve()
	switch {
	case f.Call != "":
		calls(f.Call, f.Modern, f.N)
	case f.Upstream != "":
		to, err := url.Parse(f.Upstream)
		if err != nil {
			log.Fatal(err)
		}
		to.Path = ""
		web.Listen(f.HTTP, httputil.NewSingleHostReverseProxy(to))
	case f.HTTP != "":
		side.Prepare()
		s := newServer(&f)
		web.Listen(f.HTTP, http.HandlerFunc(s.serveHTTP))
	default:
		newServer(&f).serveLines()
	}
}

type request struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

type response struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result"`
}

type callParams struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

type result struct {
	ResultType string  `json:"resultType,omitempty"`
	Content    []block `json:"content"`
	Structured any     `json:"structuredContent,omitempty"`
}

type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type tool struct {
	Name         string `json:"name"`
	Description  string `json:"description"`
	InputSchema  schema `json:"inputSchema"`
	OutputSchema schema `json:"outputSchema"`
}

type schema struct {
	Type       string            `json:"type"`
	Properties map[string]schema `json:"properties,omitempty"`
	Required   []string          `json:"required,omitempty"`
}

type server struct{ tools []tool }

func newServer(f *side.Flags) *server {
	number := schema{Type: "integer"}
	in := schema{Type: "object", Properties: map[string]schema{"a": number, "b": number}, Required: []string{"a", "b"}}
	out := schema{Type: "object", Properties: map[string]schema{"sum": number}, Required: []string{"sum"}}
	s := &server{}
	for _, name := range append([]string{"add", "echo", "steps", "blob", "length"}, f.Many(5)...) {
		s.tools = append(s.tools, tool{name, "adds two integers", in, out})
	}
	return s
}

func (s *server) answer(req *request) (any, error) {
	switch req.Method {
	case "tools/call":
		return call(req.Params)
	case "tools/list":
		return map[string]any{"tools": s.tools, "resultType": "complete"}, nil
	case "initialize":
		return map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]string{"name": "floor", "version": "1"}}, nil
	}
	return map[string]any{}, nil
}

func call(params json.RawMessage) (*result, error) {
	var p callParams
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	switch p.Name {
	case "add":
		var in side.AddIn
		if err := json.Unmarshal(p.Arguments, &in); err != nil {
			return nil, err
		}
		return structured(side.AddOut{Sum: in.A + in.B})
	case "length":
		var in side.LengthIn
		if err := json.Unmarshal(p.Arguments, &in); err != nil {
			return nil, err
		}
		return structured(side.LengthOut{Length: len(in.Text)})
	case "blob":
		var in side.BlobIn
		if err := json.Unmarshal(p.Arguments, &in); err != nil {
			return nil, err
		}
		t, err := side.Text(in.Size)
		return &result{Content: []block{{"text", t}}}, err
	}
	return &result{Content: []block{{"text", "done"}}}, nil
}

func structured(v any) (*result, error) {
	text, err := json.Marshal(v)
	return &result{ResultType: "complete", Content: []block{{"text", string(text)}}, Structured: v}, err
}

const note = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"total":2}}`

func (s *server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		stream(w, r)
		return
	}
	var req request
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &req)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if req.Method == "initialize" {
		w.Header().Set("Mcp-Session-Id", "x")
	}
	if req.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if req.Method == "subscriptions/listen" {
		stream(w, r)
		return
	}
	res, err := s.answer(&req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	raw, err := json.Marshal(response{"2.0", req.ID, res})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if bytes.Contains(req.Params, []byte("progressToken")) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: message\ndata: %s\n\n", note)
		w.(http.Flusher).Flush()
		fmt.Fprintf(w, "event: message\ndata: %s\n\n", raw)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(raw)
}

// stream is a bare stream of net/http that has sent one event.
func stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, "id: 1\ndata: \n\n")
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

func (s *server) serveLines() {
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	out := bufio.NewWriterSize(os.Stdout, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var req request
		if err := json.Unmarshal(line, &req); err != nil {
			log.Fatal(err)
		}
		if req.ID != nil {
			res, err := s.answer(&req)
			if err != nil {
				log.Fatal(err)
			}
			raw, err := json.Marshal(response{"2.0", req.ID, res})
			if err != nil {
				log.Fatal(err)
			}
			out.Write(append(raw, '\n'))
		}
		if in.Buffered() == 0 {
			out.Flush()
		}
	}
}

// calls is the same for a client: net/http and encoding/json.
func calls(url string, modern bool, n int) {
	type params struct {
		Name      string         `json:"name"`
		Arguments side.AddIn     `json:"arguments"`
		Meta      map[string]any `json:"_meta,omitempty"`
	}
	var meta map[string]any
	if modern {
		meta = map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
	}
	side.Calls(n, func() error {
		body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params{"add", side.AddIn{A: 20, B: 22}, meta}})
		if err != nil {
			return err
		}
		req, err := http.NewRequest("POST", url, bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		var got struct {
			Result struct {
				Structured side.AddOut `json:"structuredContent"`
			} `json:"result"`
		}
		raw, err := io.ReadAll(res.Body)
		if err == nil {
			err = json.Unmarshal(raw, &got)
		}
		return side.Check(got.Result.Structured.Sum, err)
	})
}
