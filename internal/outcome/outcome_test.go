package outcome

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

func TestOf(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx    context.Context
		method string
		body   string
		err    error
		want   Outcome
	}{
		{t.Context(), mcp.MethodToolsCall, `{}`, nil, OK},
		{t.Context(), mcp.MethodToolsCall, `{"content":[],"isError":true}`, nil, ToolError},
		{t.Context(), mcp.MethodResourcesRead, `{"isError":true}`, nil, OK},
		{t.Context(), mcp.MethodToolsCall, ``, fmt.Errorf("x: %w", &mcp.InputRequired{}), InputRequired},
		{t.Context(), mcp.MethodToolsCall, ``, fmt.Errorf("x: %w", mcp.Refusal(429, time.Second, "too many")), Limited},
		{t.Context(), mcp.MethodToolsCall, ``, mcp.Refusal(503, time.Second, "later"), Error},
		{ended, mcp.MethodToolsCall, ``, context.Canceled, Cancelled},
		{t.Context(), mcp.MethodToolsCall, ``, errors.New("no"), Error},
	} {
		got := Of(c.ctx, &mcp.Call{Method: c.method}, &mcp.Result{Body: []byte(c.body)}, c.err)
		text, _ := got.MarshalText()
		var back Outcome
		if err := back.UnmarshalText(text); got != c.want || err != nil || back != got {
			t.Errorf("%s %q %v: %v, want %v (%v %v)", c.method, c.body, c.err, got, c.want, back, err)
		}
	}
	if new(Outcome).UnmarshalText([]byte("toolError")) == nil {
		t.Error("an unknown word is an outcome")
	}
}
