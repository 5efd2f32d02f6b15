package gateway

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/schema"
)

// CheckHeaders returns a link that refuses calls of tools whose Mcp-Param headers
// differ from the arguments. The servers behind a gateway cannot do it: they get
// the headers that the gateway writes.
//
// The link learns from the lists of tools that pass it which arguments are
// repeated in headers, and reads the list itself for a tool that it does not know.
func CheckHeaders() mcp.Middleware {
	return func(next mcp.Handler) mcp.Handler {
		return &headerCheck{next: next, tools: map[string][]schema.Header{}}
	}
}

type headerCheck struct {
	next mcp.Handler

	mu    sync.Mutex
	tools map[string][]schema.Header // only tools with headers, by their lower-case names
	read  time.Time                  // when the list was read last
	last  []byte                     // the page that was learned last
}

const (
	maxHeaderTools = 20_000
	// headerListAge is how long a list counts as complete, so that calls of
	// unknown tools do not read it each time.
	headerListAge = 10 * time.Second
)

// Serve implements [mcp.Handler].
func (h *headerCheck) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	if c.Method == mcp.MethodToolsCall && c.Headers != nil {
		if err := h.check(ctx, c); err != nil {
			return mcp.Result{}, err
		}
	}
	res, err := h.next.Serve(ctx, c)
	if err == nil && c.Method == mcp.MethodToolsList {
		h.learn(res.Body)
	}
	return res, err
}

func (h *headerCheck) check(ctx context.Context, c *mcp.Call) error {
	name, args, err := mcp.DecodeCallToolParams(c.Params)
	if err != nil {
		return err
	}
	for _, header := range h.headers(ctx, c, name) {
		value, present := c.Headers[header.Name]
		if err := header.Match(value, present, args); err != nil {
			return mcp.Errorf(mcp.CodeHeaderMismatch, "%v", err)
		}
	}
	return nil
}

// headers returns the headers of a tool, which it may have to look up.
func (h *headerCheck) headers(ctx context.Context, c *mcp.Call, name string) []schema.Header {
	h.mu.Lock()
	headers, known := h.tools[name]
	recent := time.Since(h.read) < headerListAge
	if !known && !recent {
		h.read = time.Now()
	}
	h.mu.Unlock()
	if known || recent {
		return headers
	}
	h.readList(ctx, c)
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tools[name]
}

// readList reads all pages of the list. What cannot be read is left to the call.
func (h *headerCheck) readList(ctx context.Context, c *mcp.Call) {
	list := mcp.Call{Method: mcp.MethodToolsList, Caller: c.Caller}
	_ = readPages(ctx, list, maxSearched, h.next.Serve, func(res mcp.Result) error {
		h.learn(res.Body)
		return nil
	})
}

// learn remembers the headers of a page of tools. Most pages have none, which a
// search for the keyword shows without parsing, and most are the same as the last
// one.
func (h *headerCheck) learn(body []byte) {
	h.mu.Lock()
	none, same := len(h.tools) == 0, rawjson.Same(h.last, body)
	h.mu.Unlock()
	if same {
		return
	}
	found := map[string][]schema.Header{}
	if none && !bytes.Contains(body, []byte("x-mcp-header")) && !bytes.Contains(body, []byte(`\u`)) {
		h.learned(body, found)
		return
	}
	for e := rawjson.Array(rawjson.Lookup(body, "tools")); e.Next(); {
		name, _ := rawjson.String(rawjson.Lookup(e.Value, "name"))
		headers, _ := schema.Headers(rawjson.Lookup(e.Value, "inputSchema")) // clients send no headers of an invalid schema
		for i := range headers {
			headers[i].Name = strings.ToLower(headers[i].Name)
		}
		found[name] = headers
	}
	h.learned(body, found)
}

// learned records the headers of a page by tool; nil if a tool has none.
func (h *headerCheck) learned(body []byte, found map[string][]schema.Header) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = body
	for name, headers := range found {
		switch {
		case headers == nil:
			delete(h.tools, name)
		case len(h.tools) < maxHeaderTools:
			h.tools[name] = headers
		}
	}
}
