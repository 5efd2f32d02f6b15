package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/builtin/calc"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/internal/eraconn"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/textclip"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/stdio"
)

// demoCommand starts this program as a server process and connects to it, first
// with the newest revision and then with an older one. It prints every message.
func (p *program) demoCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "demo",
		Short: "Show a client and a calculator server talk, message by message",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			self, err := os.Executable()
			if err != nil {
				return err
			}
			for _, known := range []mcp.Revision{"", eraconn.LatestWithHandshake()} {
				if err := converse(cmd.Context(), self, known, p.out); err != nil {
					return err
				}
			}
			fmt.Fprintln(p.out, "The same server and client code, in the modern and the legacy era of the protocol.")
			return nil
		},
	}
	c.AddCommand(p.demoOrdersCommand())
	return c
}

// converse runs one session. If revision is empty, the client negotiates it.
func converse(ctx context.Context, self string, known mcp.Revision, out io.Writer) error {
	show := &transcript{out: out}
	o := &client.Options{
		Client: mcp.Implementation{Name: "tenon-demo", Version: "1.0"},
		Elicit: func(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
			show.say("The server asks: %s  The client answers 10 and 32.", e.Message)
			return e.Accept(calc.Numbers{A: 10, B: 32})
		},
	}
	show.say("— Starting a server process: tenon serve calc —")
	command := &stdio.Command{Path: self, Args: []string{"serve", "calc"}, Era: era.DialOptions{Known: known, Tap: show.frame}}
	conn, err := stdio.Dial(ctx, command, o.Profile())
	if err != nil {
		return err
	}
	defer conn.Close()
	show.say("Both sides use revision %s.", conn.Revision())
	c := client.New(conn, o)

	tools, err := client.All(c.Tools(ctx))
	if err != nil {
		return err
	}
	show.say("The server has %d tools. Add 20 and 22:", len(tools))
	sum, err := client.Call[calc.Result](ctx, c, "add", calc.Numbers{A: 20, B: 22}, nil)
	if err != nil {
		return err
	}
	show.say("20 + 22 = %v. Now with invalid arguments:", sum.Result)
	var wrong *client.ToolError
	if _, err := client.Call[calc.Result](ctx, c, "add", map[string]any{"a": "twenty", "c": 1}, nil); !errors.As(err, &wrong) {
		return fmt.Errorf("call with invalid arguments: %w", err)
	}
	show.say("A tool that asks the user first:")
	mean, err := client.Call[calc.Result](ctx, c, "average", nil, nil)
	if err != nil {
		return err
	}
	show.say("The average is %v. Now read a resource:", mean.Result)
	res, err := c.ReadResource(ctx, "welcome://ada")
	if err != nil {
		return err
	}
	show.say("It contains %q.\n", res.Contents[0].Text)
	return nil
}

// A transcript prints what happens and the messages between client and server.
type transcript struct {
	mu  sync.Mutex
	out io.Writer
}

func (t *transcript) printf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.out, format, args...)
}

func (t *transcript) say(format string, args ...any) { t.printf("\n"+format+"\n", args...) }

func (t *transcript) frame(d jsonrpc.Direction, frame []byte) {
	arrow := "→"
	if d == jsonrpc.In {
		arrow = "←"
	}
	t.printf("  client %s server  %s\n", arrow, textclip.Clip(string(rawjson.AppendCompact(nil, frame)), 600))
}
