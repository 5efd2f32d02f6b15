package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/outcome"
	"github.com/tenon-mcp/tenon/mcp"
)

var quiet = slog.New(slog.DiscardHandler)

// twoServers resolves server__name for the servers a and b.
type twoServers struct{}

func (twoServers) Resolve(_ context.Context, _ *mcp.Caller, _, name string) (server, own string, ok bool) {
	server, own, ok = strings.Cut(name, "__")
	return server, own, ok && (server == "a" || server == "b")
}

// answer serves calls as their tool's name says.
func answer(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	switch name := string(c.Params); {
	case strings.Contains(name, "broken"):
		return mcp.Result{}, mcp.Errorf(mcp.CodeInternal, "it is broken")
	case strings.Contains(name, "busy"):
		return mcp.Result{}, mcp.Refusal(http.StatusTooManyRequests, time.Second, "too many calls")
	case strings.Contains(name, "wrong"):
		return mcp.Result{Body: json.RawMessage(`{"content":[],"isError":true}`)}, nil
	case strings.Contains(name, "asks"):
		return mcp.Result{}, &mcp.InputRequired{}
	case strings.Contains(name, "panics"):
		panic("oh")
	}
	return mcp.Result{Body: json.RawMessage(`{"content":[]}`)}, nil
}

func toolCall(name string) *mcp.Call {
	return &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":` + fmt.Sprintf("%q", name) + `,"arguments":{}}`)}
}

// observed returns a handler with telemetry that env configures.
func observed(t *testing.T, env map[string]string, h mcp.HandlerFunc) (*Telemetry, mcp.Handler) {
	t.Helper()
	tel, err := New(&Options{Version: "1.2.3", Log: quiet, Getenv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tel.Close(t.Context()) })
	return tel, mcp.Chain(h, tel.Middleware(twoServers{}))
}

func TestMetricsText(t *testing.T) {
	tel, h := observed(t, nil, answer)
	for _, name := range []string{"a__x", "a__x", "b__x", "a__wrong", "a__broken", "a__asks", "b__busy", "c__x", "nonsense"} {
		h.Serve(t.Context(), toolCall(name))
	}
	func() {
		defer func() { recover() }()
		h.Serve(t.Context(), toolCall("a__panics"))
	}()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h.Serve(ctx, toolCall("b__broken"))
	h.Serve(t.Context(), &mcp.Call{Method: "evil/method"})
	h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodResourcesRead, Params: json.RawMessage(`{"uri":"a__u"}`)})
	tel.AddGauge(Gauge{Name: "test_up", Help: "A test.", Values: func() []Value {
		return []Value{{[]string{"server", "a\"\\\n\xff"}, 1}}
	}})
	text := string(tel.Text())
	for _, want := range []string{
		`tenon_gateway_calls_total{method="tools/call",server="a",tool="x",outcome="ok"} 2`,
		`tenon_gateway_calls_total{method="tools/call",server="b",tool="x",outcome="ok"} 1`,
		`tenon_gateway_calls_total{method="tools/call",server="a",tool="wrong",outcome="tool_error"} 1`,
		`tenon_gateway_calls_total{method="tools/call",server="a",tool="broken",outcome="error"} 1`,
		`tenon_gateway_calls_total{method="tools/call",server="a",tool="panics",outcome="error"} 1`,
		`tenon_gateway_calls_total{method="tools/call",server="a",tool="asks",outcome="input_required"} 1`,
		`tenon_gateway_calls_total{method="tools/call",server="b",tool="broken",outcome="cancelled"} 1`,
		`tenon_gateway_calls_total{method="tools/call",server="b",tool="busy",outcome="limited"} 1`,
		`tenon_gateway_calls_total{method="tools/call",server="",tool="",outcome="ok"} 2`,
		`tenon_gateway_calls_total{method="other",server="",tool="",outcome="ok"} 1`,
		`tenon_gateway_calls_total{method="resources/read",server="a",tool="",outcome="ok"} 1`,
		`tenon_gateway_call_duration_seconds_bucket{method="tools/call",server="a",le="+Inf"} 6`,
		`tenon_gateway_call_duration_seconds_count{method="tools/call",server="a"} 6`,
		`tenon_gateway_calls_in_flight{server="a"} 0`,
		`tenon_build_info{version="1.2.3"} 1`,
		"test_up{server=\"a\\\"\\\\\\n\uFFFD\"} 1",
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
	line := regexp.MustCompile(`^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z]+="([^"\\\n]|\\[\\"n])*"(,[a-z]+="([^"\\\n]|\\[\\"n])*")*\})? [0-9.e+-]+)$`)
	for l := range strings.Lines(text) {
		if !line.MatchString(strings.TrimSuffix(l, "\n")) {
			t.Errorf("not a line of the text format: %q", l)
		}
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (Debian: prometheus)")
	}
	cmd := exec.Command(promtool, "check", "metrics")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s\n%s", err, out, text)
	}
}

// TestSeriesAreBounded calls tools that no server has, and more tools than there
// may be series.
func TestSeriesAreBounded(t *testing.T) {
	tel, h := observed(t, nil, answer)
	for i := range 1000 {
		h.Serve(t.Context(), toolCall(fmt.Sprint("none", i)))
	}
	if n := len(tel.registry.all()); n != 1 {
		t.Errorf("%d series for tools that do not exist", n)
	}
	tel.registry.mu.Lock()
	full := map[labels]*series{}
	for i := range maxSeries {
		l := labels{mcp.MethodToolsCall, "a", fmt.Sprint(i)}
		full[l] = &series{labels: l}
	}
	tel.registry.byLabel.Store(&full)
	tel.registry.mu.Unlock()
	h.Serve(t.Context(), toolCall("a__one-more"))
	h.Serve(t.Context(), toolCall("a__another"))
	if n := len(tel.registry.all()); n != maxSeries+1 {
		t.Errorf("%d series", n)
	}
}

// TestMeasuringAllocatesLittle keeps the price of a hop.
func TestMeasuringAllocatesLittle(t *testing.T) {
	_, h := observed(t, nil, func(context.Context, *mcp.Call) (mcp.Result, error) { return mcp.Result{}, nil })
	c := toolCall("a__x")
	h.Serve(t.Context(), c)
	if n := testing.AllocsPerRun(100, func() { h.Serve(t.Context(), c) }); n > 0 {
		t.Errorf("%v allocations for each call", n)
	}
}

// A collector is a receiver of OTLP that keeps what it got.
type collector struct {
	url string
	mu  sync.Mutex
	got map[string][]map[string]any // by path
	hdr http.Header
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{got: map[string][]map[string]any{}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var message map[string]any
		if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || json.Unmarshal(body, &message) != nil {
			t.Errorf("not OTLP: %s %s %s", r.Method, r.Header, body)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.got[r.URL.Path] = append(c.got[r.URL.Path], message)
		c.hdr = r.Header
		io.WriteString(w, "{}")
	}))
	t.Cleanup(s.Close)
	c.url = s.URL
	return c
}

// dig returns what is at a path in a message; numbers select from lists.
func dig(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

// attributeOf returns the value of an attribute.
func attributeOf(of any, key string) any {
	list, _ := dig(of, "attributes").([]any)
	for _, a := range list {
		if dig(a, "key") == key {
			return dig(a, "value", "stringValue")
		}
	}
	return nil
}

// spans returns the spans that the collector got, by name.
func (c *collector) spans() map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string]any{}
	for _, m := range c.got["/v1/traces"] {
		list, _ := dig(m, "resourceSpans", 0, "scopeSpans", 0, "spans").([]any)
		for _, s := range list {
			all[dig(s, "name").(string)] = s
		}
	}
	return all
}

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestSpans(t *testing.T) {
	c := newCollector(t)
	var onward mcp.Meta
	tel, h := observed(t, map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": c.url + "/", "OTEL_SERVICE_NAME": "gate", "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment=test%201,service.name=other",
		"OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20b",
	}, func(ctx context.Context, c *mcp.Call) (mcp.Result, error) { onward = c.Meta; return answer(ctx, c) })
	call := toolCall("a__x")
	call.Meta = mcp.Meta{mcp.MetaTraceparent: json.RawMessage(`"` + parent + `"`), mcp.MetaTracestate: json.RawMessage(`"v=1"`), mcp.MetaBaggage: json.RawMessage(`"k=v"`), "other": json.RawMessage(`1`)}
	call.Caller = mcp.Caller{Revision: mcp.Rev20251125, Principal: &mcp.Principal{ID: "ada"}}
	if _, err := h.Serve(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	if string(call.Meta[mcp.MetaTraceparent]) != `"`+parent+`"` {
		t.Error("the call of the client was changed")
	}
	passed := onward
	h.Serve(t.Context(), toolCall("b__broken"))
	h.Serve(t.Context(), toolCall("b__wrong"))
	if err := tel.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	spans := c.spans()
	s := spans["tools/call x"]
	for path, want := range map[string]any{"traceId": parent[3:35], "parentSpanId": parent[36:52], "traceState": "v=1", "kind": 2.0} {
		if got := dig(s, path); got != want {
			t.Errorf("%s is %v, not %v", path, got, want)
		}
	}
	id, _ := dig(s, "spanId").(string)
	if want := `"00-` + parent[3:35] + "-" + id + `-01"`; len(id) != 16 || string(passed[mcp.MetaTraceparent]) != want || string(passed[mcp.MetaTracestate]) != `"v=1"` || string(passed[mcp.MetaBaggage]) != `"k=v"` || string(passed["other"]) != "1" {
		t.Errorf("the server gets %s, not the span %s as its parent", passed, id)
	}
	for key, want := range map[string]any{"mcp.method.name": "tools/call", "gen_ai.tool.name": "x", "gen_ai.operation.name": "execute_tool", "mcp.protocol.version": "2025-11-25", "tenon.server": "a", "error.type": nil} {
		if got := attributeOf(s, key); got != want {
			t.Errorf("%s is %v, not %v", key, got, want)
		}
	}
	if dig(s, "status", "code") != nil {
		t.Errorf("status %v", dig(s, "status"))
	}
	broken := spans["tools/call broken"]
	if dig(broken, "status", "code") != 2.0 || dig(broken, "status", "message") != "it is broken" || attributeOf(broken, "error.type") != "-32603" || dig(broken, "parentSpanId") != nil {
		t.Errorf("the failed call: %v", broken)
	}
	if wrong := spans["tools/call wrong"]; dig(wrong, "status", "code") != 2.0 || attributeOf(wrong, "error.type") != "tool_error" {
		t.Errorf("the failed tool: %v", wrong)
	}
	resource := dig(c.got["/v1/traces"][0], "resourceSpans", 0, "resource")
	if attributeOf(resource, "service.name") != "gate" || attributeOf(resource, "deployment.environment") != "test 1" || c.hdr.Get("X-Key") != "a b" {
		t.Errorf("resource %v, headers %v", resource, c.hdr)
	}
	metrics, _ := dig(c.got["/v1/metrics"][0], "resourceMetrics", 0, "scopeMetrics", 0, "metrics").([]any)
	point := dig(metrics[0], "histogram", "dataPoints", 0)
	buckets, _ := dig(point, "bucketCounts").([]any)
	limits, _ := dig(point, "explicitBounds").([]any)
	if dig(metrics[0], "name") != "mcp.server.operation.duration" || dig(point, "count") != "1" || len(buckets) != len(limits)+1 || attributeOf(point, "mcp.method.name") != "tools/call" {
		t.Errorf("metrics %v", metrics[0])
	}
}

// TestTraceContextOfHTTP uses the headers of a request only if _meta has no
// context.
func TestTraceContextOfHTTP(t *testing.T) {
	c := newCollector(t)
	var got mcp.Meta
	_, h := observed(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.url}, func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		got = c.Meta
		return mcp.Result{}, nil
	})
	const other = "00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbb-00"
	for name, c := range map[string]struct {
		meta, header, trace, flags string
	}{
		"header":       {"", parent, parent[3:35], "01"},
		"meta":         {other, parent, other[3:35], "00"},
		"invalid meta": {"00-zz", parent, parent[3:35], "01"},
		"version ff":   {"ff" + parent[2:], "", "", "01"},
		"zero id":      {"00-00000000000000000000000000000000-00f067aa0ba902b7-01", "", "", "01"},
		"upper case":   {strings.ToUpper(parent), "", "", "01"},
		"later":        {"01" + parent[2:] + "-more", "", parent[3:35], "01"},
	} {
		t.Run(name, func(t *testing.T) {
			call := toolCall("a__x")
			if c.meta != "" {
				call.Meta = mcp.Meta{mcp.MetaTraceparent: json.RawMessage(`"` + c.meta + `"`)}
			}
			r := httptest.NewRequest("POST", "/mcp", nil)
			if c.header != "" {
				r.Header.Set("traceparent", c.header)
				r.Header.Set("baggage", "k=v")
			}
			HTTP(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { h.Serve(r.Context(), call) })).ServeHTTP(nil, r)
			var text string
			json.Unmarshal(got[mcp.MetaTraceparent], &text)
			s := parseTraceparent(text)
			if !s.valid() || c.trace != "" && text[3:35] != c.trace || c.trace == "" && strings.Contains(c.meta, text[3:35]) || text[53:] != c.flags {
				t.Errorf("the server gets %s", text)
			}
			if fromHeader := c.trace == parent[3:35] && name != "later"; fromHeader != (got[mcp.MetaBaggage] != nil) {
				t.Errorf("baggage %s", got[mcp.MetaBaggage])
			}
		})
	}
}

// TestCollectorThatHangsBlocksNothing makes more calls than the queue holds while
// the collector does not answer.
func TestCollectorThatHangsBlocksNothing(t *testing.T) {
	hang := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer s.Close()
	defer close(hang)
	tel, h := observed(t, map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": s.URL, "OTEL_BSP_MAX_QUEUE_SIZE": "10", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "5"}, answer)
	for range 200 {
		if _, err := h.Serve(t.Context(), toolCall("a__x")); err != nil {
			t.Fatal(err)
		}
	}
	if n := tel.export.dropped.Load(); n < 150 {
		t.Errorf("%d spans were dropped", n)
	}
	if !bytes.Contains(tel.Text(), []byte("tenon_telemetry_dropped_spans_total")) {
		t.Error("the dropped spans are not counted")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := tel.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("close: %v", err)
	}
}

// TestCollectorThatIsAwayComesBack retries what the collector says may be retried.
func TestCollectorThatIsAwayComesBack(t *testing.T) {
	var mu sync.Mutex
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if n++; n == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer s.Close()
	tel, h := observed(t, map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": s.URL, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "1"}, answer)
	h.Serve(t.Context(), toolCall("a__x"))
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		mu.Lock()
		done := n == 2
		mu.Unlock()
		if done {
			break
		}
		if time.Now().After(end) {
			t.Fatal("it does not try again")
		}
	}
	if err := tel.Close(t.Context()); err != nil || tel.export.dropped.Load() != 0 {
		t.Errorf("%d spans were dropped; %v", tel.export.dropped.Load(), err)
	}
}

func TestSampling(t *testing.T) {
	for _, c := range []struct {
		name, arg     string
		root, on, off float64 // the share of sampled traces: without a parent, below a sampled one, below another
	}{
		{"", "", 1, 1, 0}, {"always_on", "", 1, 1, 1}, {"always_off", "", 0, 0, 0}, {"parentbased_always_off", "", 0, 1, 0},
		{"traceidratio", "0.25", 0.25, 0.25, 0.25}, {"parentbased_traceidratio", "0.25", 0.25, 1, 0},
	} {
		env := environment(func(name string) (string, bool) {
			return map[string]string{"OTEL_TRACES_SAMPLER": c.name, "OTEL_TRACES_SAMPLER_ARG": c.arg}[name], true
		})
		s, err := env.sampler()
		if err != nil {
			t.Fatal(err)
		}
		for what, of := range map[string]struct {
			parent spanContext
			want   float64
		}{"root": {spanContext{}, c.root}, "sampled": {parseTraceparent(parent), c.on}, "unsampled": {parseTraceparent(parent[:53] + "00"), c.off}} {
			n := 0
			for range 4000 {
				if of.parent.valid() {
					fill(of.parent.trace[:])
				}
				if s.child(of.parent).sampled {
					n++
				}
			}
			if got := float64(n) / 4000; got < of.want-0.05 || got > of.want+0.05 {
				t.Errorf("%s, %s: %v of the traces are sampled, not %v", c.name, what, got, of.want)
			}
		}
	}
}

func TestInvalidEnvironment(t *testing.T) {
	for name, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_TRACES_SAMPLER": "sometimes",
		"OTEL_EXPORTER_OTLP_TIMEOUT": "soon", "OTEL_EXPORTER_OTLP_HEADERS": "key=%zz",
	} {
		_, err := New(&Options{Log: quiet, Getenv: func(n string) (string, bool) {
			if n == name {
				return value, true
			}
			return "http://127.0.0.1:1", n == "OTEL_EXPORTER_OTLP_ENDPOINT"
		}})
		if err == nil {
			t.Errorf("%s=%s is accepted", name, value)
		}
	}
	off, err := New(&Options{Log: quiet, Getenv: func(n string) (string, bool) {
		return map[string]string{"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}[n], true
	}})
	if err != nil || off.export != nil {
		t.Errorf("OTEL_SDK_DISABLED: %v", err)
	}
}

// TestSubscriptionsAreCounted counts subscriptions that block and those that
// detach.
func TestSubscriptionsAreCounted(t *testing.T) {
	var stop func()
	tel, h := observed(t, nil, func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		c.Detach(func() {})
		return mcp.Result{}, nil
	})
	h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodSubscriptionsListen, Detach: func(s func()) { stop = s }})
	if n := tel.subs.Load(); n != 1 {
		t.Errorf("%d subscriptions are open", n)
	}
	stop()
	stop()
	if n := tel.subs.Load(); n != 0 {
		t.Errorf("%d subscriptions are open after the end", n)
	}
}

// listed resolves names like twoServers, and lists the tool x only.
type listed struct{ twoServers }

func (listed) Lists(_ context.Context, _ *mcp.Caller, _, name string) bool {
	return strings.HasSuffix(name, "__x")
}

// TestInventedNamesAreNoLabels counts tools that no server lists without a name, in
// one series for each server.
func TestInventedNamesAreNoLabels(t *testing.T) {
	tel, err := New(&Options{Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	h := mcp.Chain(mcp.HandlerFunc(answer), tel.Middleware(listed{}))
	for i := range 5 {
		h.Serve(t.Context(), toolCall(fmt.Sprintf("a__invented%d", i)))
	}
	h.Serve(t.Context(), toolCall("a__x"))
	text := string(tel.Text())
	for _, want := range []string{`{method="tools/call",server="a",tool="",outcome="ok"} 5`, `{method="tools/call",server="a",tool="x",outcome="ok"} 1`} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %s:\n%s", want, text)
		}
	}
	if strings.Contains(text, "invented") {
		t.Errorf("an invented name is a label:\n%s", text)
	}
}

// TestSubscriptionAttemptsCountOnce does not count the attempt of a session to
// subscribe without blocking, if it subscribes again.
func TestSubscriptionAttemptsCountOnce(t *testing.T) {
	tel, h := observed(t, nil, func(ctx context.Context, _ *mcp.Call) (mcp.Result, error) { return mcp.Result{}, ctx.Err() })
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	h.Serve(ended, &mcp.Call{Method: mcp.MethodSubscriptionsListen, Detach: func(func()) {}})
	h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodSubscriptionsListen})
	if text := string(tel.Text()); !strings.Contains(text, `tenon_gateway_calls_total{method="subscriptions/listen",server="",tool="",outcome="ok"} 1`) || strings.Contains(text, `outcome="cancelled"`) {
		t.Error(text)
	}
}

// TestSpansHaveNoSecretsOfURIs leaves user information and queries out of spans,
// also where an error repeats the URI.
func TestSpansHaveNoSecretsOfURIs(t *testing.T) {
	const uri = "https://ada:hunter2@x.example/a?sig=opensesame"
	c := &mcp.Call{Method: mcp.MethodResourcesRead, Params: json.RawMessage(`{"uri":"notes+` + uri + `"}`)}
	for _, err := range []error{nil, mcp.ResourceNotFound("notes+" + uri), mcp.Errorf(mcp.CodeInternal, "cannot read %s", uri)} {
		m := measurement{series: &series{labels: labels{method: c.Method}}, span: &span{}}
		m.describe(c, outcome.Of(t.Context(), c, &mcp.Result{}, err), err)
		text := fmt.Sprint(m.span)
		if strings.Contains(text, "hunter2") || strings.Contains(text, "opensesame") || !strings.Contains(text, "notes+https://x.example/a") {
			t.Errorf("%v: %s", err, text)
		}
	}
}

func BenchmarkMiddleware(b *testing.B) {
	tel, err := New(&Options{Log: quiet})
	if err != nil {
		b.Fatal(err)
	}
	h := mcp.Chain(mcp.HandlerFunc(func(context.Context, *mcp.Call) (mcp.Result, error) {
		return mcp.Result{Body: json.RawMessage(`{"content":[{"type":"text","text":"hello"}]}`)}, nil
	}), tel.Middleware(twoServers{}))
	c := toolCall("a__x")
	b.ReportAllocs()
	for b.Loop() {
		h.Serve(b.Context(), c)
	}
}
