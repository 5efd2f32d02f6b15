package telemetry

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/outcome"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/internal/textclip"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Telemetry has the measurements of the calls that pass its Middleware, and
// exports them if it is configured to. It is an [http.Handler] that serves them
// to Prometheus.
type Telemetry struct {
	opts     Options
	started  time.Time
	registry registry
	export   *exporter // nil: nothing is exported
	subs     atomic.Int64

	mu     sync.Mutex
	gauges []Gauge
}

// New returns a Telemetry. It fails if the environment is invalid. The caller
// calls Close.
func New(o *Options) (*Telemetry, error) {
	t := &Telemetry{started: time.Now()}
	if o != nil {
		t.opts = *o
	}
	t.opts.Service = cmp.Or(t.opts.Service, "tenon-gateway")
	if t.opts.Log == nil {
		t.opts.Log = slog.Default()
	}
	if t.opts.Getenv == nil {
		return t, nil
	}
	c, err := environment(t.opts.Getenv).read(&t.opts)
	if err != nil || c == nil {
		return t, err
	}
	t.export = newExporter(t, c)
	return t, nil
}

// Traces reports whether traces are exported.
func (t *Telemetry) Traces() bool { return t.export != nil && t.export.traces() }

// Close exports what is left until ctx ends, and stops.
func (t *Telemetry) Close(ctx context.Context) error {
	if t.export == nil {
		return nil
	}
	return t.export.close(ctx)
}

// Forget drops what is known about names. Call it when the names that clients use
// may belong to other servers than before.
func (t *Telemetry) Forget() { t.registry.forget() }

// Middleware measures calls, and traces them if traces are exported: the call that
// it passes on has the context of the new span in its _meta. Names says whose the
// names in calls are; without it measurements have no server and no tool.
func (t *Telemetry) Middleware(names Resolver) mcp.Middleware {
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			if c.IsNotification {
				return next.Serve(ctx, c)
			}
			m := measurement{t: t, series: t.registry.of(ctx, c, names), began: time.Now()}
			onward := c
			if t.Traces() {
				onward = m.trace(ctx, c)
			}
			if c.Method == mcp.MethodSubscriptionsListen {
				return t.listen(ctx, next, onward, &m)
			}
			m.series.inFlight.Add(1)
			ended := false
			defer func() {
				m.series.inFlight.Add(-1)
				if !ended { // the handler has panicked
					m.end(ctx, c, &mcp.Result{}, errPanic)
				}
			}()
			res, err := next.Serve(ctx, onward)
			ended = true
			m.end(ctx, c, &res, err)
			return res, err
		})
	}
}

var errPanic = errors.New("panic")

// listen counts a subscription until it ends.
func (t *Telemetry) listen(ctx context.Context, next mcp.Handler, c *mcp.Call, m *measurement) (mcp.Result, error) {
	t.subs.Add(1)
	res, err := outcome.Subscribe(ctx, c, next, func() { t.subs.Add(-1) })
	switch {
	case err == nil:
		m.series.record(outcome.OK, 0)
	case c.Detach != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
		// The caller has tried whether the Handler detaches, and subscribes again.
	default:
		m.end(ctx, c, &res, err)
	}
	return res, err
}

// A measurement is a call that is being measured.
type measurement struct {
	t      *Telemetry
	series *series
	began  time.Time
	span   *span // nil: not traced
}

// A span is a call in a trace.
type span struct {
	spanContext
	parent     spanID
	name       string
	start, end time.Time
	attributes []attribute
	failed     bool
	message    string
}

// An attribute of a span or a resource.
type attribute struct{ key, value string }

// trace begins a span and returns the call to pass on.
func (m *measurement) trace(ctx context.Context, c *mcp.Call) *mcp.Call {
	parent, baggage := parentOf(ctx, c)
	sc := m.t.export.sampler.child(parent)
	if sc.sampled {
		m.span = &span{spanContext: sc, parent: parent.span, start: m.began}
	}
	return withContext(c, sc, baggage)
}

// end records the end of a call.
func (m *measurement) end(ctx context.Context, c *mcp.Call, res *mcp.Result, err error) {
	took := time.Since(m.began)
	how := outcome.Of(ctx, c, res, err)
	m.series.record(how, took)
	if log := m.t.opts.Log; log.Enabled(ctx, slog.LevelDebug) {
		m.log(ctx, log, c, how, took, err)
	}
	if m.span == nil {
		return
	}
	m.describe(c, how, err)
	m.span.end = m.began.Add(took)
	m.t.export.add(m.span)
}

// log writes a line about a call.
func (m *measurement) log(ctx context.Context, log *slog.Logger, c *mcp.Call, how outcome.Outcome, took time.Duration, err error) {
	attrs := []slog.Attr{slog.String("method", m.series.method), slog.String("server", m.series.server), slog.String("name", m.series.tool), slog.String("outcome", how.String()), slog.Duration("took", took)}
	if c.Caller.Principal != nil {
		attrs = append(attrs, slog.String("principal", c.Caller.Principal.ID))
	}
	if m.span != nil {
		attrs = append(attrs, slog.String("trace_id", hex.EncodeToString(m.span.trace[:])), slog.String("span_id", hex.EncodeToString(m.span.span[:])))
	}
	if err != nil && (how == outcome.Error || how == outcome.Limited) {
		attrs = append(attrs, slog.String("error", withoutURI(err.Error(), c)))
	}
	log.LogAttrs(ctx, slog.LevelDebug, "call", attrs...)
}

// maxText bounds the length of the texts of a span in bytes.
const maxText = 1000

// uriOf returns the URI that a call reads; empty if it reads none.
func uriOf(c *mcp.Call) string {
	if c.Method != mcp.MethodResourcesRead {
		return ""
	}
	uri, _ := rawjson.String(rawjson.Lookup(c.Params, "uri"))
	return uri
}

// withoutURI returns a text without the secrets of the URI that a call reads, which
// errors repeat, and without what looks like a secret.
func withoutURI(text string, c *mcp.Call) string {
	for uri := uriOf(c); uri != ""; _, uri, _ = strings.Cut(uri, "+") { // also as the server names it
		text = strings.ReplaceAll(text, uri, redact.URI(uri))
	}
	return secrets.Text(text)
}

// secrets finds secrets by how they look.
var secrets = redact.New()

// describe names a span and sets its attributes, as the semantic conventions of
// OpenTelemetry for MCP say.
func (m *measurement) describe(c *mcp.Call, how outcome.Outcome, err error) {
	s := m.span
	add := func(key, value string) {
		if value != "" {
			s.attributes = append(s.attributes, attribute{key, value})
		}
	}
	s.name = m.series.method
	add("mcp.method.name", c.Method)
	add("mcp.protocol.version", string(c.Caller.Revision))
	switch c.Method {
	case mcp.MethodToolsCall:
		add("gen_ai.operation.name", "execute_tool")
		add("gen_ai.tool.name", m.series.tool)
	case mcp.MethodPromptsGet:
		add("gen_ai.prompt.name", m.series.tool)
	case mcp.MethodResourcesRead:
		add("mcp.resource.uri", textclip.Clip(redact.URI(uriOf(c)), maxText))
	}
	if m.series.tool != "" {
		s.name += " " + m.series.tool
	}
	add("tenon.server", m.series.server)
	add("tenon.outcome", how.String())
	if p := c.Caller.Principal; p != nil {
		add("enduser.id", textclip.Clip(p.ID, maxLabel))
	}
	switch how {
	case outcome.ToolError:
		s.failed = true
		add("error.type", "tool_error")
	case outcome.Cancelled:
		add("error.type", "cancelled")
		s.failed = true
	case outcome.Limited, outcome.Error:
		s.failed = true
		kind := "_OTHER"
		if e, ok := errors.AsType[*mcp.Error](err); ok {
			kind = strconv.Itoa(e.Code)
			add("rpc.response.status_code", kind)
			s.message = textclip.Clip(withoutURI(e.Message, c), maxText)
		}
		add("error.type", kind)
	}
}
