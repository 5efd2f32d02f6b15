package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/repl"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/mcp"
)

// Every class of outcome has its exit code, however deep it is wrapped.
func TestExitCodes(t *testing.T) {
	refused := mcp.Errorf(mcp.CodeInvalidParams, "no")
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errFound, 1},
		{&client.ToolError{Tool: "t", Result: &mcp.CallToolResult{}}, 1},
		{usagef("x"), 2},
		{&repl.UsageError{Err: errors.New("x")}, 2},
		{usagef("x: %w", refused), 2},
		{refused, 3},
		{&connect.UnavailableError{}, 4},
		{&connect.UnavailableError{Cause: refused}, 4},
		{&client.TimeoutError{}, 4},
		{errors.New("connection reset"), 4},
		{&llm.Error{Kind: llm.ErrAuth}, 5},
		{host.ErrNoModel, 5},
		{&llm.Error{Kind: llm.ErrContextLength}, 7},
		{&host.LimitError{Stop: "timeout"}, 7},
		{&host.FormError{}, 1},
		{context.Canceled, 130},
		{exitWith(77), 77},
	} {
		for _, err := range []error{c.err, wrapped(c.err), errors.Join(c.err, errors.New("and closing failed"))} {
			if c.err == nil && err != nil {
				continue
			}
			if got := exitCode(err); got != c.want {
				t.Errorf("%T (%v): %d, not %d", c.err, err, got, c.want)
			}
		}
	}
}

func wrapped(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("on the way: %w", err)
}
