package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/internal/eraconn"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

func (p *program) discoverCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "discover SERVER",
		Short: "Show name, protocol revision and features of a server",
		RunE: p.with(func(ctx context.Context, s *session, out *show.Printer, _ []string) error {
			about, err := s.about(ctx)
			if err != nil {
				return err
			}
			return out.Discovery(about)
		}),
	}
}

// about collects the identity, capabilities and counts of a server. A list that
// fails is recorded and is not an error.
func (s *session) about(ctx context.Context) (*show.Server, error) {
	d, err := s.Discover(ctx)
	if err != nil {
		return nil, err
	}
	state := s.server.State()
	about := &show.Server{
		Name: s.server.Name(), Transport: s.transport(), Revision: state.Revision, Era: eraOf(state.Revision),
		Server: d.Server, Instructions: d.Instructions, Capabilities: d.Capabilities, Counts: map[string]int{},
	}
	if d.Capabilities.Tools != nil {
		counted(about, "tools", s.Tools(ctx))
	}
	if d.Capabilities.Resources != nil {
		counted(about, "resources", s.Resources(ctx))
		counted(about, "templates", s.ResourceTemplates(ctx))
	}
	if d.Capabilities.Prompts != nil {
		counted(about, "prompts", s.Prompts(ctx))
	}
	return about, ctx.Err()
}

// maxCounted bounds the items of a list that are counted.
const maxCounted = 1000

// counted counts a list, up to maxCounted: the pages after that are not fetched.
func counted[T any](about *show.Server, what string, list iter.Seq2[*T, error]) {
	n := 0
	for _, err := range list {
		if err != nil {
			about.Unanswered = append(about.Unanswered, fmt.Sprintf("list %s: %v", what, err))
			return
		}
		if n == maxCounted {
			about.AtLeast = append(about.AtLeast, what)
			break
		}
		n++
	}
	about.Counts[what] = n
}

func eraOf(r mcp.Revision) string {
	if modern, _ := eraconn.Eras(r); modern {
		return "stateless (server/discover)"
	}
	return "with a handshake (initialize)"
}

func (p *program) pingCommand() *cobra.Command {
	count := 1
	c := &cobra.Command{
		Use:   "ping SERVER",
		Short: "Measure the response time of a server",
		RunE: p.with(func(ctx context.Context, s *session, out *show.Printer, _ []string) error {
			if count < 1 {
				return usagef("--count must be at least 1")
			}
			one := count > 1 && (out.Format == show.JSON || out.Format == show.YAML) // one document for all
			all := []any{}
			for i := range count {
				took, method, err := s.ping(ctx)
				if err != nil {
					return err
				}
				if out.Format != show.Text {
					answer := map[string]any{"server": s.server.Name(), "method": method, "ms": float64(took.Microseconds()) / 1000}
					if all = append(all, answer); !one {
						err = out.Value(answer)
					}
				} else {
					_, err = fmt.Fprintf(p.out, "%s responded to %s in %v\n", s.server.Name(), method, took.Round(10*time.Microsecond))
				}
				if err != nil {
					return err
				}
				if i < count-1 {
					select {
					case <-time.After(time.Second):
					case <-ctx.Done():
						return ctx.Err()
					}
				}
			}
			if one {
				return out.Value(map[string]any{"pings": all})
			}
			return nil
		}),
	}
	c.Flags().IntVarP(&count, "count", "c", 1, "number of requests")
	return c
}

// ping sends the cheapest request of the server's revision.
func (s *session) ping(ctx context.Context) (time.Duration, string, error) {
	method := mcp.MethodPing
	if modern, _ := eraconn.Eras(s.server.State().Revision); modern {
		method = mcp.MethodDiscover
	}
	began := time.Now()
	_, err := s.server.Serve(ctx, &mcp.Call{Method: method})
	return time.Since(began), method, err
}

func (p *program) rawCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "raw SERVER METHOD [JSON|@file|-]",
		Short: "Send any request and show its result",
		Long: `Send a request with any method and parameters, add the metadata that the
protocol revision requires, and show the result. --trace shows the messages.`,
		Example: "  tenon raw builtin:calc tools/list\n  tenon raw builtin:calc tools/call '{\"name\":\"add\",\"arguments\":{\"a\":1,\"b\":2}}'",
		RunE: p.with(func(ctx context.Context, s *session, out *show.Printer, rest []string) error {
			if len(rest) == 0 || len(rest) > 2 {
				return usagef("missing METHOD; parameters are one JSON object")
			}
			var params json.RawMessage
			if len(rest) == 2 {
				var err error
				if params, err = p.document("the parameters", rest[1]); err != nil {
					return err
				}
			}
			bar := p.progress()
			r, err := s.Do(ctx, rest[0], params, &client.CallOptions{Progress: bar.show})
			bar.done()
			if err != nil {
				return err
			}
			if out.Format == show.Text {
				out.Format = show.JSON
			}
			return out.Value(r.Body)
		}),
	}
}

func (p *program) listenCommand() *cobra.Command {
	var uris []string
	c := &cobra.Command{
		Use:     "listen SERVER",
		Short:   "Print change notifications until interrupted",
		Long:    "Print notifications about changes to the server's lists, and to the resources given with --resource, until interrupted.",
		Example: "  tenon listen 'builtin:notes?vault=notes' --resource obsidian://note/Plan.md",
		RunE: p.with(func(ctx context.Context, s *session, out *show.Printer, _ []string) error {
			filter := mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true, ResourceSubscriptions: uris}
			err := s.Listen(ctx, filter, func(n mcp.Notification) { p.printNotification(out, n) })
			if ctx.Err() != nil {
				return nil // an interrupt is the normal end
			}
			return err
		}),
	}
	c.Flags().StringArrayVar(&uris, "resource", nil, "also subscribe to the resource with this `URI` (repeatable)")
	return c
}

func (p *program) printNotification(out *show.Printer, n mcp.Notification) {
	if out.Format != show.Text {
		out.Format = show.JSONL
		note := map[string]any{"at": time.Now().UTC().Format(time.RFC3339Nano), "method": n.Method}
		if n.Params != nil {
			note["params"] = n.Params
		}
		out.Value(note)
		return
	}
	fmt.Fprintf(out.W, "%s  %s  %s\n", time.Now().Format(time.TimeOnly), visible.Line(n.Method), visible.Line(string(n.Params)))
}

func (p *program) versionCommand() *cobra.Command {
	asJSON := false
	c := &cobra.Command{Use: "version", Short: "Print the version", Args: noArgs, RunE: func(*cobra.Command, []string) error {
		if asJSON {
			p.format = "json"
		}
		return p.printVersion()
	}}
	c.Flags().BoolVar(&asJSON, "json", false, "the same as --format json")
	return c
}
