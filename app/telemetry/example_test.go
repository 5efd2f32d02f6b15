package telemetry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/app/telemetry"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A server that counts its calls for Prometheus. Serve t at /metrics.
func ExampleTelemetry_Middleware() {
	s := server.New(mcp.Implementation{Name: "clock", Version: "1"}, nil)
	defer s.Close()
	server.AddTool(s, "time", "Say the time", func(context.Context, *mcp.Call, struct{}) (string, error) {
		return "noon", nil
	}, nil)

	t, err := telemetry.New(nil) // with Options.Getenv: os.LookupEnv it exports traces, too
	if err != nil {
		fmt.Println(err)
		return
	}
	defer t.Close(context.Background())
	h := mcp.Chain(s, t.Middleware(nil))

	h.Serve(context.Background(), &mcp.Call{Method: mcp.MethodToolsCall, Params: json.RawMessage(`{"name":"time","arguments":{}}`)})
	for line := range strings.Lines(string(t.Text())) {
		if strings.HasPrefix(line, "tenon_gateway_calls_total") {
			fmt.Print(line)
		}
	}
	// Output:
	// tenon_gateway_calls_total{method="tools/call",server="",tool="",outcome="ok"} 1
}
