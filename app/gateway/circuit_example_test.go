package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/app/gateway"
	"github.com/tenon-mcp/tenon/mcp"
)

// A server that has gone away is not called again and again: after three failures
// calls fail at once, and the error says when the server is tried again.
func ExampleCircuit() {
	calls := 0
	gone := mcp.HandlerFunc(func(context.Context, *mcp.Call) (mcp.Result, error) {
		calls++
		return mcp.Result{}, errors.New("connection refused")
	})
	h := mcp.Chain(gone, gateway.Circuit(&gateway.CircuitOptions{Server: "weather"}))
	for range 10 {
		_, err := h.Serve(context.Background(), &mcp.Call{Method: mcp.MethodToolsCall})
		text, _, _ := strings.Cut(err.Error(), " in ")
		fmt.Println(text)
	}
	fmt.Println(calls, "calls, one of them a ping")
	// Output:
	// server weather: connection refused (-32603)
	// server weather: connection refused (-32603)
	// server weather: connection refused (-32603)
	// server weather is not available and is tried again
	// server weather is not available and is tried again
	// server weather is not available and is tried again
	// server weather is not available and is tried again
	// server weather is not available and is tried again
	// server weather is not available and is tried again
	// server weather is not available and is tried again
	// 4 calls, one of them a ping
}
