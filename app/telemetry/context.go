package telemetry

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

type (
	traceID [16]byte
	spanID  [8]byte
)

// A spanContext is what travels with a call: the W3C trace context.
type spanContext struct {
	trace   traceID
	span    spanID
	sampled bool
	state   string // tracestate
}

func (s spanContext) valid() bool { return s.trace != traceID{} && s.span != spanID{} }

// traceparent returns the header of version 00.
func (s spanContext) traceparent() string {
	flags := "00"
	if s.sampled {
		flags = "01"
	}
	return "00-" + hex.EncodeToString(s.trace[:]) + "-" + hex.EncodeToString(s.span[:]) + "-" + flags
}

// parseTraceparent reads a traceparent. An invalid one counts as none.
func parseTraceparent(text string) (s spanContext) {
	// version 2, trace id 32, parent id 16, flags 2; later versions may have more
	if len(text) < 55 || text[2] != '-' || text[35] != '-' || text[52] != '-' || strings.ToLower(text) != text {
		return spanContext{}
	}
	var version, flags [1]byte
	for _, part := range []struct {
		to   []byte
		from string
	}{{version[:], text[:2]}, {s.trace[:], text[3:35]}, {s.span[:], text[36:52]}, {flags[:], text[53:55]}} {
		if _, err := hex.Decode(part.to, []byte(part.from)); err != nil {
			return spanContext{}
		}
	}
	if version[0] == 0xff || version[0] == 0 && len(text) != 55 || len(text) > 55 && text[55] != '-' {
		return spanContext{}
	}
	s.sampled = flags[0]&1 != 0
	if !s.valid() {
		return spanContext{}
	}
	return s
}

// maxState bounds the length of a tracestate that is passed on.
const maxState = 512

// headers are the trace context of an HTTP request.
type headers struct{ traceparent, tracestate, baggage string }

type headersKey struct{}

// HTTP keeps the trace context in the headers of requests, for calls whose _meta
// has none.
func HTTP(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if parent := r.Header.Get("Traceparent"); parent != "" {
			h := headers{parent, strings.Join(r.Header.Values("Tracestate"), ","), strings.Join(r.Header.Values("Baggage"), ",")}
			r = r.WithContext(context.WithValue(r.Context(), headersKey{}, h))
		}
		next.ServeHTTP(w, r)
	})
}

// parentOf returns the trace context of a call, and the baggage of its HTTP
// request if the context is from there.
func parentOf(ctx context.Context, c *mcp.Call) (parent spanContext, baggage string) {
	if raw := c.Meta[mcp.MetaTraceparent]; raw != nil {
		text, _ := rawjson.String(raw)
		if parent = parseTraceparent(text); parent.valid() {
			parent.state, _ = rawjson.String(c.Meta[mcp.MetaTracestate])
			return parent, ""
		}
	}
	h, ok := ctx.Value(headersKey{}).(headers)
	if !ok {
		return spanContext{}, ""
	}
	parent = parseTraceparent(h.traceparent)
	parent.state = h.tracestate
	return parent, h.baggage
}

// child returns the context of a new span below parent, or of a new trace.
func (s sampler) child(parent spanContext) spanContext {
	c := parent
	if !parent.valid() {
		c = spanContext{}
		for c.trace == (traceID{}) {
			fill(c.trace[:])
		}
	}
	c.span = spanID{}
	for c.span == (spanID{}) {
		fill(c.span[:])
	}
	c.sampled = s.sample(parent, c.trace)
	return c
}

func fill(b []byte) {
	for i := 0; i < len(b); i += 8 {
		n := rand.Uint64()
		for j := range 8 {
			b[i+j] = byte(n >> (8 * j))
		}
	}
}

// withContext returns a copy of a call whose _meta has the context of a span, for
// the server that the call is passed on to.
func withContext(c *mcp.Call, s spanContext, baggage string) *mcp.Call {
	onward := *c
	onward.Meta = make(mcp.Meta, len(c.Meta)+3)
	maps.Copy(onward.Meta, c.Meta)
	onward.Meta[mcp.MetaTraceparent] = json.RawMessage(`"` + s.traceparent() + `"`)
	delete(onward.Meta, mcp.MetaTracestate)
	if s.state != "" && len(s.state) <= maxState {
		onward.Meta[mcp.MetaTracestate] = rawjson.AppendString(nil, s.state)
	}
	if baggage != "" && c.Meta[mcp.MetaBaggage] == nil {
		onward.Meta[mcp.MetaBaggage] = rawjson.AppendString(nil, baggage)
	}
	return &onward
}
