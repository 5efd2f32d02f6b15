// Package collector has the receiver of the OpenTelemetry collector read what
// app/telemetry exports.
package collector

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configgrpc"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/tenon-mcp/tenon/app/telemetry"
	"github.com/tenon-mcp/tenon/internal/freeport"
	"github.com/tenon-mcp/tenon/mcp"
)

// receive starts the receiver of the collector and returns its URL and what it
// gets.
func receive(t *testing.T) (url string, spans *consumertest.TracesSink, metrics *consumertest.MetricsSink) {
	t.Helper()
	at := freeport.ForTest(t)
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig().(*otlpreceiver.Config)
	config.Protocols.GRPC = configoptional.None[configgrpc.ServerConfig]()
	config.Protocols.HTTP.GetOrInsertDefault().ServerConfig.NetAddr.Endpoint = at
	settings := receivertest.NewNopSettings(factory.Type())
	spans, metrics = new(consumertest.TracesSink), new(consumertest.MetricsSink)
	first, err := factory.CreateTraces(t.Context(), settings, config, spans)
	if err != nil {
		t.Fatal(err)
	}
	second, err := factory.CreateMetrics(t.Context(), settings, config, metrics)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []component.Component{first, second} {
		if err := r.Start(t.Context(), componenttest.NewNopHost()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Shutdown(context.Background()) })
	}
	return "http://" + at, spans, metrics
}

// names has all tools belong to one server.
type names struct{}

func (names) Resolve(_ context.Context, _ *mcp.Caller, _, name string) (server, own string, ok bool) {
	return "notes", name, true
}

func TestCollectorReadsWhatWeExport(t *testing.T) {
	url, spans, metrics := receive(t)
	tel, err := telemetry.New(&telemetry.Options{Version: "1.2.3", Getenv: func(name string) (string, bool) {
		return url, name == "OTEL_EXPORTER_OTLP_ENDPOINT"
	}})
	if err != nil {
		t.Fatal(err)
	}
	tel.AddGauge(telemetry.Gauge{Name: "test_total", Counter: true, Values: func() []telemetry.Value { return []telemetry.Value{{Labels: []string{"a", "b"}, Value: 7}} }})
	h := mcp.Chain(mcp.HandlerFunc(func(_ context.Context, c *mcp.Call) (mcp.Result, error) {
		if c.Method != mcp.MethodToolsCall {
			return mcp.Result{}, errors.New("no")
		}
		return mcp.Result{}, nil
	}), tel.Middleware(names{}))
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"search"}`),
		Meta: mcp.Meta{mcp.MetaTraceparent: json.RawMessage(`"` + parent + `"`), mcp.MetaTracestate: json.RawMessage(`"v=1"`)}})
	h.Serve(t.Context(), &mcp.Call{Method: mcp.MethodPing})
	if err := tel.Close(t.Context()); err != nil {
		t.Fatal(err)
	}

	byName := map[string]ptrace.Span{}
	for _, batch := range spans.AllTraces() {
		resource := batch.ResourceSpans().At(0)
		want(t, "service.name", resource.Resource().Attributes(), "tenon-gateway")
		all := resource.ScopeSpans().At(0).Spans()
		for i := range all.Len() {
			byName[all.At(i).Name()] = all.At(i)
		}
	}
	s, ok := byName["tools/call search"]
	if !ok || s.TraceID().String() != parent[3:35] || s.ParentSpanID().String() != parent[36:52] || s.TraceState().AsRaw() != "v=1" || s.Kind() != ptrace.SpanKindServer || s.EndTimestamp() < s.StartTimestamp() {
		t.Errorf("the span of the call: %v", s)
	}
	want(t, "gen_ai.tool.name", s.Attributes(), "search")
	if s, ok := byName["ping"]; !ok || s.Status().Code() != ptrace.StatusCodeError || s.TraceID().IsEmpty() {
		t.Errorf("the span of the failed call: %v", s)
	}

	if len(metrics.AllMetrics()) == 0 {
		t.Fatal("there are no metrics")
	}
	list := metrics.AllMetrics()[0].ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics()
	found := map[string]bool{}
	for i := range list.Len() {
		m := list.At(i)
		found[m.Name()] = true
		switch m.Name() {
		case "mcp.server.operation.duration":
			points := m.Histogram().DataPoints()
			if points.Len() != 2 || points.At(1).Count() != 1 || points.At(1).BucketCounts().Len() != points.At(1).ExplicitBounds().Len()+1 || points.At(1).BucketCounts().At(0) != 1 {
				t.Errorf("durations: %d points", points.Len())
			}
		case "test_total":
			if p := m.Sum().DataPoints().At(0); !m.Sum().IsMonotonic() || p.DoubleValue() != 7 {
				t.Errorf("the counter: %v", p.DoubleValue())
			}
		}
	}
	if !found["mcp.server.operation.duration"] || !found["test_total"] {
		t.Errorf("metrics %v", found)
	}
}

func want(t *testing.T, key string, in pcommon.Map, text string) {
	t.Helper()
	if v, _ := in.Get(key); v.AsString() != text {
		t.Errorf("%s is %q, not %q", key, v.AsString(), text)
	}
}
