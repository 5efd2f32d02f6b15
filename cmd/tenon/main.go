// Tenon is the Model Context Protocol in one binary.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/tenon-mcp/tenon/internal/version"
)

// A command is one word after tenon.
type command struct {
	name, about string
	run         func(ctx context.Context, args []string, out io.Writer) error
}

// commands are listed in the order in which a newcomer meets them.
func commands() []command {
	return []command{
		{"demo", "drive a calculator server with our own client, in two eras, every message shown", demo},
		{"serve", "serve a builtin server on standard input and output: tenon serve calc", serve},
		{"version", "say which Tenon this is", func(_ context.Context, _ []string, out io.Writer) error {
			_, err := fmt.Fprintf(out, "tenon %s (%s %s/%s)\n", version.String(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		}},
	}
}

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "tenon:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		return usage(out)
	}
	name := args[0]
	if name == "--version" {
		name = "version"
	}
	for _, c := range commands() {
		if c.name == name {
			return c.run(ctx, args[1:], out)
		}
	}
	return fmt.Errorf("there is no command %q: tenon help lists those there are", args[0])
}

func usage(out io.Writer) error {
	fmt.Fprint(out, "Tenon is the Model Context Protocol, whole, in Go.\n\n")
	for _, c := range commands() {
		if _, err := fmt.Fprintf(out, "  tenon %-9s %s\n", c.name, c.about); err != nil {
			return err
		}
	}
	return nil
}
