package mcp_test

import (
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

func TestSessionEndsOnce(t *testing.T) {
	s := mcp.NewSession("1")
	var calls []string
	s.AfterEnd(func() { calls = append(calls, "a") })
	stop := s.AfterEnd(func() { calls = append(calls, "b") })
	stop()
	s.End()
	s.End()
	s.AfterEnd(func() { calls = append(calls, "c") })()
	if len(calls) != 2 || calls[0] != "a" || calls[1] != "c" {
		t.Errorf("calls %q", calls)
	}
}
