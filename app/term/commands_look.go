package term

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// chosen returns the servers of a command: the named one, or all that are usable.
func (t *talk) chosen(words []string) ([]string, error) {
	if len(words) == 0 {
		return t.names(), nil
	}
	_, err := t.server(words[0])
	return words[:1], err
}

func runResources(ctx context.Context, t *talk, words []string, out *show.Printer) (outcome, error) {
	return t.each(ctx, words, out, func(has *listed) error {
		err := out.Resources(has.resources)
		if len(has.templates) > 0 {
			err = errors.Join(err, out.Templates(has.templates))
		}
		return err
	})
}

func runPrompts(ctx context.Context, t *talk, words []string, out *show.Printer) (outcome, error) {
	return t.each(ctx, words, out, func(has *listed) error { return out.Prompts(has.prompts) })
}

// each writes something of each server. One that does not respond does not affect
// the others.
func (t *talk) each(ctx context.Context, words []string, out *show.Printer, write func(*listed) error) (outcome, error) {
	names, err := t.chosen(words)
	if err != nil {
		return outcome{}, err
	}
	var a outcome
	for _, n := range names {
		has, err := t.list(ctx, n)
		if err != nil {
			a.notes = append(a.notes, n+": "+err.Error())
			continue
		}
		fmt.Fprintln(out.W, out.Bold(n))
		if err := write(has); err != nil {
			return a, err
		}
		fmt.Fprintln(out.W)
	}
	if len(names) == 0 {
		a.notes = append(a.notes, "No server is ready. /servers shows the state of each server.")
	}
	return a, nil
}

func runRead(ctx context.Context, t *talk, words []string, out *show.Printer) (outcome, error) {
	if len(words) == 1 {
		if server, uri, ok := strings.Cut(strings.TrimPrefix(words[0], "@"), ":"); ok {
			words = []string{server, uri}
		}
	}
	if len(words) != 2 {
		return outcome{}, errors.New("usage: /read server uri (/resources lists the resources)")
	}
	c, err := t.server(words[0])
	if err != nil {
		return outcome{}, err
	}
	params, err := mcp.Marshal(mcp.ReadResourceParams{URI: words[1]})
	if err != nil {
		return outcome{}, err
	}
	var r *mcp.ReadResourceResult
	err = t.w.Host.Direct(ctx, host.DirectRequest{Server: words[0], Method: mcp.MethodResourcesRead, Params: params, From: "the terminal"}, func() (o host.DirectOutcome, err error) {
		r, err = c.ReadResource(ctx, words[1])
		return o, err
	})
	if err != nil {
		return outcome{}, err
	}
	return outcome{}, out.Contents(r)
}

func runServers(_ context.Context, t *talk, _ []string, out *show.Printer) (outcome, error) {
	all := t.w.Fleet.All()
	if len(all) == 0 {
		return outcome{notes: []string{"No servers. Add one with tenon config add NAME -- COMMAND, or start with --server."}}, nil
	}
	for _, s := range all {
		st := s.State()
		fmt.Fprintf(out.W, "%-16s %s\n", line(s.Name()), serverLine(st))
		if st.Page != "" {
			fmt.Fprintf(out.W, "  log in at %s\n", line(st.Page))
		}
	}
	return outcome{}, nil
}

// serverLine returns the state of a server in one line.
func serverLine(s connect.State) string {
	parts := []string{string(s.Phase), string(s.Kind)}
	if s.Revision != "" {
		parts = append(parts, string(s.Revision))
	}
	if s.Latency > 0 {
		parts = append(parts, elapsed(s.Latency))
	}
	if s.Errors > 0 {
		parts = append(parts, count(s.Errors, "error", "errors"))
	}
	if s.Why != "" {
		parts = append(parts, line(s.Why))
	}
	return strings.Join(parts, " · ")
}

func runRestart(_ context.Context, t *talk, words []string, _ *show.Printer) (outcome, error) {
	return t.toServer(words, "restart", (*connect.Server).Restart)
}

func runDisable(_ context.Context, t *talk, words []string, _ *show.Printer) (outcome, error) {
	return t.toServer(words, "disable", (*connect.Server).Disable)
}

func runMute(_ context.Context, t *talk, words []string, _ *show.Printer) (outcome, error) {
	if _, err := t.toServer(words, "mute", func(s *connect.Server) error { t.w.Host.Mute(s.Name()); return nil }); err != nil {
		return outcome{}, err
	}
	return outcome{notes: []string{"Questions from " + line(words[0]) + " are declined until /unmute " + line(words[0]) + "."}}, nil
}

func runUnmute(_ context.Context, t *talk, words []string, _ *show.Printer) (outcome, error) {
	if _, err := t.toServer(words, "unmute", func(s *connect.Server) error { t.w.Host.Unmute(s.Name()); return nil }); err != nil {
		return outcome{}, err
	}
	return outcome{notes: []string{line(words[0]) + " may ask again."}}, nil
}

// runLogin opens the login page of a server.
func runLogin(_ context.Context, t *talk, words []string, _ *show.Printer) (outcome, error) {
	var page string
	if a, err := t.toServer(words, "login", func(s *connect.Server) error {
		page = s.State().Page
		return nil
	}); err != nil {
		return a, err
	}
	switch {
	case page == "":
		return outcome{}, fmt.Errorf("%s needs no login now; /restart %s connects again", words[0], words[0])
	case t.o.OpenPage == nil:
		return outcome{notes: []string{"Open this page: " + page}}, nil
	}
	if err := t.o.OpenPage(page); err != nil {
		return outcome{}, fmt.Errorf("open this page yourself: %s (%w)", page, err)
	}
	return outcome{notes: []string{"Opening " + page}}, nil
}

func (t *talk) toServer(words []string, name string, f func(*connect.Server) error) (outcome, error) {
	if len(words) != 1 {
		return outcome{}, fmt.Errorf("usage: /%s server", name)
	}
	s := t.w.Fleet.Get(words[0])
	if s == nil {
		return outcome{}, fmt.Errorf("unknown server %q: %s", words[0], t.servers())
	}
	if err := f(s); err != nil {
		return outcome{}, err
	}
	return outcome{notes: []string{words[0] + " is " + string(s.State().Phase)}}, nil
}

// runWire writes the latest messages; the screen has a pane for it.
func runWire(_ context.Context, t *talk, words []string, out *show.Printer) (outcome, error) {
	var q wirelog.Query
	if len(words) > 0 {
		q.Server = words[0]
	}
	ms, _ := t.w.Log.Filter(q, 0, 40)
	for i := len(ms) - 1; i >= 0; i-- {
		fmt.Fprintln(out.W, wireLine(&ms[i], columnsFor(ms)))
	}
	if len(ms) == 0 {
		return outcome{notes: []string{"No messages yet."}}, nil
	}
	return outcome{}, nil
}

// columnsFor returns the width of the column of server names.
func columnsFor(ms []speccheck.Message) int {
	n := 4
	for i := range ms {
		n = max(n, min(columns(line(ms[i].Server)), 14))
	}
	return n
}

// wireLine returns a message in one line: number, time, server, direction,
// method, duration and era.
func wireLine(m *speccheck.Message, server int) string {
	arrow := "→"
	if m.Dir == speccheck.FromServer {
		arrow = "←"
	}
	what := line(m.Method)
	if m.Tool != "" {
		what += " " + line(m.Tool)
	}
	switch m.Kind {
	case speccheck.KindRequest, speccheck.KindNotification:
	case speccheck.KindResponse:
		what += " = result"
		if r := rawjson.Lookup(m.Frame, "result"); rawjson.EqualString(rawjson.Lookup(r, "resultType"), "input_required") {
			what = strings.TrimSuffix(what, "result") + "asks back"
		}
	case speccheck.KindError:
		what += " = ERROR"
	case speccheck.KindStderr, speccheck.KindEvent, speccheck.KindInvalid:
		what = string(m.Kind) + ": " + line(string(m.Frame[:min(len(m.Frame), 200)]))
		arrow = "·"
	default:
		what = string(m.Kind)
	}
	text := fmt.Sprintf("%5d %s %s %s %s", m.Seq, m.At.Format("15:04:05.000"), pad(line(m.Server), server), arrow, what)
	if m.Duration > 0 {
		text += "  " + elapsed(m.Duration)
	}
	if m.Era != "" {
		text += "  " + m.Era
	}
	if n := len(m.Problems); n > 0 {
		text += "  ! " + count(n, "problem", "problems")
	}
	return text
}
