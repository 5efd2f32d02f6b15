package main

import (
	"context"
	"fmt"
	"io"

	"github.com/tenon-mcp/tenon/builtin/calc"
	"github.com/tenon-mcp/tenon/transport/stdio"
)

// serve serves a builtin server until its input ends.
func serve(ctx context.Context, args []string, _ io.Writer) error {
	if len(args) != 1 || args[0] != "calc" {
		return fmt.Errorf("say which server to serve: there is calc, as in tenon serve calc")
	}
	s, err := calc.New(calc.Config{})
	if err != nil {
		return err
	}
	return stdio.Serve(ctx, s, nil)
}
