package main

import (
	"fmt"
	"runtime"

	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/internal/version"
	"github.com/tenon-mcp/tenon/mcp"
)

func (p *program) printVersion() error {
	out, err := p.printer()
	if err != nil {
		return err
	}
	if out.Format != show.Text {
		return out.Value(map[string]any{"version": version.String(), "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH, "revisions": mcp.Revisions()})
	}
	_, err = fmt.Fprintf(p.out, "tenon %s (%s %s/%s)\n", version.String(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
