package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

func (p *program) gatewayStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status [URL]",
		Short: "Show what a gateway is doing",
		Long: `Show the version, the servers and their states of the gateway at a URL; the default
is http://127.0.0.1:7070. A gateway that requires authorization shows its status
at the address of --ops-addr only.

Of replicas it shows the version and a digest of the configuration, and warns if they
differ.

The exit code is 0 if all servers and the Redis of the replicas are available, 1 if
one is not, and 4 if no gateway answers.`,
		Example: "  tenon gateway status\n  tenon gateway status http://127.0.0.1:9090 --format json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("unexpected argument %q", args[1])
			}
			return p.gatewayStatus(cmd.Context(), args)
		},
	}
}

func (p *program) gatewayStatus(ctx context.Context, args []string) error {
	out, err := p.printer()
	if err != nil {
		return err
	}
	at := "http://" + gatewayAddress
	if len(args) == 1 {
		at = args[0]
	}
	s, err := p.fetchStatus(ctx, at)
	if err != nil {
		return err
	}
	down := 0
	for _, one := range s.Servers {
		if !one.available() {
			down++
		}
	}
	if out.Format != show.Text {
		err = out.Value(s)
	} else {
		err = p.printStatus(s)
	}
	if err == nil && (down > 0 || s.Cluster != nil && s.Cluster.Error != "") {
		err = errFound
	}
	return err
}

// fetchStatus reads the status of the gateway at a URL.
func (p *program) fetchStatus(ctx context.Context, at string) (*gatewayStatus, error) {
	u, err := url.Parse(at)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, usagef("%q must be a URL, such as http://127.0.0.1:7070", at)
	}
	u.Path, u.RawQuery, u.Fragment = statusPath, "", ""
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(p.timeout, 10*time.Second))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, usageError{err}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("no gateway answers at %s: %w", u.Host, errors.Unwrap(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("no status at %s: %s; a gateway that requires authorization shows it at its --ops-addr only", u, resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	if err != nil {
		return nil, fmt.Errorf("read the status at %s: %w", u, err)
	}
	var s gatewayStatus
	if mcp.Unmarshal(body, &s) != nil || s.Version == "" {
		return nil, fmt.Errorf("what answers at %s is not a gateway", u)
	}
	return &s, nil
}

func (p *program) printStatus(s *gatewayStatus) error {
	fmt.Fprintf(p.out, "tenon %s, process %d, %s for %s, %d calls in flight\n\n", visible.Line(s.Version), s.PID, visible.Line(s.State), since(s.Started), s.InFlight)
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	unread := map[string]bool{}
	fmt.Fprintln(w, "SERVER\tSTATE\tSINCE\tREVISION\tTOOLS\tHELD BACK\tCONNECTIONS\tUSERS\tCALLS\tFAILED\t")
	for _, one := range s.Servers {
		tools, users := "?", "-"
		if one.Users != nil {
			users = fmt.Sprint(*one.Users)
		}
		if one.Tools != nil {
			tools = fmt.Sprint(*one.Tools)
		} else {
			unread[one.noTools()] = true
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\t%d\t%d\t%s\n", visible.Line(one.Name), visible.Line(one.State), since(one.Since), cmp.Or(string(one.Revision), "-"), tools, one.HeldBack, one.Connections, users, one.Calls, one.Errors, visible.Line(one.Why))
	}
	for _, why := range slices.Sorted(maps.Keys(unread)) {
		fmt.Fprintln(w, why)
	}
	if len(s.Callers) > 0 {
		fmt.Fprintln(w, "\nCLIENT\tPRINCIPAL\tREVISION\tCALLS\tLAST CALL\t")
	}
	for _, c := range s.Callers {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s ago\t\n", visible.Line(cmp.Or(strings.TrimSpace(c.Client+" "+c.Version), "?")), visible.Line(cmp.Or(c.Principal, "-")), cmp.Or(string(c.Revision), "-"), c.Calls, since(c.Last))
	}
	printReplicas(w, s.Cluster)
	if err := w.Flush(); err != nil {
		return err
	}
	for i, text := range s.Warnings {
		if i == 0 {
			fmt.Fprintln(p.out)
		}
		fmt.Fprintln(p.out, "warning:", visible.Line(text))
	}
	return nil
}

// printReplicas prints the replicas of a gateway; none if it is alone.
func printReplicas(w io.Writer, c *cluster.Status) {
	if c == nil {
		return
	}
	fmt.Fprintln(w, "\nREPLICA\tNAME\tADDRESS\tSINCE\tVERSION\tCONFIGURATION\t")
	for _, m := range c.Members {
		note := ""
		switch {
		case m.ID == c.Self.ID:
			note = "this one"
		case m.Info != nil && (m.Info[infoVersion] != c.Self.Info[infoVersion] || m.Info[infoConfig] != c.Self.Info[infoConfig]):
			note = "differs"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", visible.Line(m.ID), visible.Line(m.Name), visible.Line(m.Addr), since(m.Started),
			visible.Line(cmp.Or(m.Info[infoVersion], "-")), visible.Line(cmp.Or(m.Info[infoConfig], "-")), note)
	}
	if c.Error != "" {
		fmt.Fprintf(w, "\nRedis does not answer: %s\nClients of 2026-07-28 are served, older ones get status 503 until it is back. The replicas are those that were last known.\n", visible.Line(c.Error))
	}
}

// noTools says why the number of a server's tools is not known.
func (s gatewayServerStatus) noTools() string {
	switch {
	case !s.available():
		return "?: the server is not available, and its tools were not listed before"
	case s.State == onDemand:
		return "?: no client has a connection to the server now; each has its own"
	}
	return "?: no client has listed the tools since the gateway started"
}

// since returns how long ago a time was, in at most two units.
func since(t time.Time) string {
	const day = 24 * time.Hour
	switch d := time.Since(t); {
	case d >= day:
		return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
	case d >= time.Hour:
		return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%dm%ds", d/time.Minute, d%time.Minute/time.Second)
	default:
		return fmt.Sprintf("%ds", d/time.Second)
	}
}
