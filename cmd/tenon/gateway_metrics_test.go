package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
	"github.com/tenon-mcp/tenon/transport/streamable"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// TestGatewayTelemetry sends a call with a trace context through a gateway: the
// server gets the span of the gateway as its parent, a collector gets the span,
// and the metrics count the call.
func TestGatewayTelemetry(t *testing.T) {
	var mu sync.Mutex
	var spans string
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path == "/v1/traces" {
			spans += string(body)
		}
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "10")

	parents := make(chan string, 1)
	s := server.New(mcp.Implementation{Name: "traced", Version: "1"}, nil)
	defer s.Close()
	server.AddTool(s, "look", "Return the parent", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		parents <- string(c.Meta[mcp.MetaTraceparent])
		return "", nil
	}, nil)
	h, err := streamable.NewHandler(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	upstream := httptest.NewServer(h)
	defer upstream.Close()
	defer h.Shutdown()
	dir := t.TempDir()
	configured(t, dir, `{"mcpServers":{"up":{"url":"`+upstream.URL+`"}}}`)
	url, _ := servingWith(t, "gateway", "--config-dir", dir, "--project", t.TempDir(), "--addr", "127.0.0.1:0")

	const trace, fromHeader = "4bf92f3577b34da6a3ce929d0e0e4736", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	for _, revision := range []mcp.Revision{mcp.Rev20260728, mcp.Rev20250618} {
		e := &streamclient.Endpoint{URL: url, Header: http.Header{"Traceparent": {"00-" + fromHeader + "-00f067aa0ba902b7-01"}}}
		e.Era.Known = revision
		conn, err := e.Dial(t.Context(), (&client.Options{}).Profile())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for want, meta := range map[string]mcp.Meta{trace: {mcp.MetaTraceparent: json.RawMessage(`"00-` + trace + `-00f067aa0ba902b7-01"`)}, fromHeader: nil} {
			if _, err := conn.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"up__look","arguments":{}}`), Meta: meta}); err != nil {
				t.Fatal(err)
			}
			parent := <-parents
			if !strings.HasPrefix(parent, `"00-`+want+"-") || strings.Contains(parent, "00f067aa0ba902b7") {
				t.Errorf("%s: the server's parent is %s, not the gateway's span in %s", revision, parent, want)
				continue
			}
			id := strings.Split(parent, "-")[2]
			eventually(t, func() bool {
				mu.Lock()
				defer mu.Unlock()
				return strings.Contains(spans, `"spanId":"`+id+`"`)
			})
		}
	}
	_, text := get(t, strings.TrimSuffix(url, "/mcp")+"/metrics", "")
	for _, want := range []string{
		`tenon_gateway_calls_total{method="tools/call",server="up",tool="look",outcome="ok"} 4`,
		`tenon_gateway_server_up{server="up"} 1`, `tenon_gateway_sessions 1`, `tenon_gateway_held_back{server="up"} 0`, `tenon_gateway_reloads_total{result="used"} 0`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s is missing in the metrics:\n%s", want, text)
		}
	}
}

// TestGatewayMetricsOfRefusedCalls counts calls that a limit refuses as such, and
// invented names without a label of their own.
func TestGatewayMetricsOfRefusedCalls(t *testing.T) {
	dir := t.TempDir()
	configured(t, dir, `{"mcpServers":{"calc":{"builtin":"calc"}},"gateway":{"limits":[{"tool":"add","rate":"1/h"}]}}`)
	url, _ := servingWith(t, "gateway", "--config-dir", dir, "--project", t.TempDir(), "--addr", "127.0.0.1:0")
	conn, err := (&streamclient.Endpoint{URL: url}).Dial(t.Context(), (&client.Options{}).Profile())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, tool := range []string{"calc__add", "calc__add", "calc__add", "calc__invented1", "calc__invented2"} {
		conn.Serve(t.Context(), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"` + tool + `","arguments":{"a":1,"b":2}}`)})
	}
	_, text := get(t, strings.TrimSuffix(url, "/mcp")+"/metrics", "")
	for _, want := range []string{
		`tenon_gateway_calls_total{method="tools/call",server="calc",tool="add",outcome="ok"} 1`,
		`tenon_gateway_calls_total{method="tools/call",server="calc",tool="add",outcome="limited"} 2`,
		`tenon_gateway_calls_total{method="tools/call",server="calc",tool="",outcome="error"} 2`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s is missing in the metrics:\n%s", want, text)
		}
	}
	if strings.Contains(text, "invented") {
		t.Errorf("an invented name is in the metrics:\n%s", text)
	}
}
