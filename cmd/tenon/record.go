package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/recording"
	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/builtin"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/transport/stdio"
)

// settle bounds the wait for traces and recordings to be written at the end.
const settle = 5 * time.Second

// watched returns the log of a connection, which --trace prints and tenon record
// writes; more are further sinks. The log is nil if there is no sink.
func (p *program) watched(server string, more ...wirelog.Sink) (log *wirelog.Log, done func() error) {
	sinks := append(more, p.sinks...)
	var ends []func(context.Context) error
	if p.trace {
		t := wirelog.Trace(p.err, &wirelog.TraceOptions{Colour: p.colored(p.err), Secrets: &p.secrets})
		sinks, ends = append(sinks, t), append(ends, t.Close)
	}
	if p.relayTo != "" {
		if r, err := recording.NewRelay(p.relayTo, server, &p.secrets); err == nil { // nobody listens: nothing to do
			sinks, ends = append(sinks, r), append(ends, r.Close)
		}
	}
	if p.recordTo != nil {
		r := recording.NewRecorder(p.recordTo, server, &recording.RecordOptions{WriteOptions: recording.WriteOptions{Secrets: &p.secrets}})
		sinks, ends = append(sinks, r), append(ends, r.Close)
	}
	if sinks == nil {
		return nil, func() error { return nil }
	}
	return wirelog.NewLog(&wirelog.LogOptions{Sinks: sinks, Secrets: &p.secrets}), func() error {
		ctx, stop := context.WithTimeout(context.Background(), settle)
		defer stop()
		var errs []error
		for _, end := range ends {
			errs = append(errs, end(ctx))
		}
		return errors.Join(errs...)
	}
}

func (p *program) recordCommand() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "record SERVER [-- COMMAND …]",
		Short: "Record the messages between Tenon and a server",
		Long: `Record every message between Tenon and a server in a text file (txtar) that you
can read, edit, replay and serve as a mock; see tenon replay.

The command after -- is any tenon command that takes a server, without the
server. The default is discover.`,
		Example: "  tenon record builtin:calc -o calc.txtar -- call add a=20 b=22\n  tenon replay calc.txtar builtin:calc\n  tenon replay calc.txtar --serve",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			dash := cmd.ArgsLenAtDash()
			if dash < 0 {
				dash = len(args)
			}
			if dash != 1 {
				return usagef("missing SERVER: tenon record SERVER -o FILE -- call add a=20 b=22 (to record a command, name it with tenon config add)")
			}
			f := &lateFile{name: file}
			defer func() { err = firstError(err, f.Close()) }()
			line := []string{"discover", args[0]}
			if rest := args[1:]; len(rest) > 0 {
				line = append([]string{rest[0], args[0]}, rest[1:]...)
			}
			p.recordTo = f
			inner := p.root(line[0])
			inner.SetArgs(line)
			if err := inner.ExecuteContext(cmd.Context()); err != nil {
				return err
			}
			p.note("Recorded in %s.", file)
			return nil
		},
	}
	c.Flags().StringVarP(&file, "output", "o", "conversation.txtar", "the `file` to write")
	return c
}

// A lateFile is a file that is created or truncated at the first write, so that a
// failed connection does not destroy an older recording. Only the user can read
// it, since recordings may contain secrets.
type lateFile struct {
	name string
	f    *os.File
}

func (l *lateFile) Write(b []byte) (int, error) {
	if l.f == nil {
		f, err := os.OpenFile(l.name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err == nil {
			err = f.Chmod(0o600)
		}
		if err != nil {
			return 0, err
		}
		l.f = f
	}
	return l.f.Write(b)
}

func (l *lateFile) Close() error {
	if l.f == nil {
		return nil
	}
	return l.f.Close()
}

// free returns a name that no file has: the given one, or one with a number before
// its extension. A host may start tenon tap many times, and no recording may be
// overwritten.
func free(file string) string {
	ext := filepath.Ext(file)
	name := file
	for i := 2; ; i++ {
		if _, err := os.Lstat(name); err != nil || i > 10_000 {
			return name
		}
		name = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(file, ext), i, ext)
	}
}

func (p *program) replayCommand() *cobra.Command {
	var serve, realtime bool
	var ignore []string
	c := &cobra.Command{
		Use:   "replay FILE [SERVER]",
		Short: "Replay a recording against a server, or serve it as a mock",
		Long: `Send the recorded requests to a server and compare its responses with the recorded
ones. Ids, times, cursors and other values that change with every run are not
compared. The exit code is 1 if something differs.

With --serve, Tenon acts as the recorded server on standard input and output.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || cmd.ArgsLenAtDash() == 0 {
				return usagef("missing FILE: tenon replay FILE SERVER, or tenon replay FILE --serve")
			}
			f, err := os.Open(args[0])
			if err != nil {
				return usageError{err}
			}
			defer f.Close()
			r, err := recording.Read(f)
			if err != nil {
				return usagef("%s: %w", args[0], err)
			}
			if serve {
				return p.mock(cmd.Context(), r, realtime)
			}
			return p.play(cmd, args[1:], r, ignore)
		},
	}
	c.Flags().BoolVar(&serve, "serve", false, "serve the recording as a mock on standard input and output")
	c.Flags().BoolVar(&realtime, "realtime", false, "with --serve: wait as long as the recorded server did")
	c.Flags().StringArrayVar(&ignore, "ignore", nil, "a JSON `pointer` not to compare in responses; * matches any name")
	return c
}

func (p *program) mock(ctx context.Context, r *recording.Recording, realtime bool) error {
	m, err := recording.NewMock(r, &recording.MockOptions{Realtime: realtime})
	if err != nil {
		return usageError{err}
	}
	stream, err := stdio.Standard(0)
	if err != nil {
		return err
	}
	return m.Serve(ctx, stream)
}

func (p *program) play(cmd *cobra.Command, args []string, r *recording.Recording, ignore []string) error {
	out, err := p.printer()
	if err != nil {
		return err
	}
	// The file was the first word, so the dash has moved by one.
	entry, _, err := p.targetAfter(cmd, args, 1)
	if err != nil {
		return err
	}
	p.keepSecret(entry)
	stream, end, err := connect.Raw(entry, &connect.Options{Builtin: func(name string, query url.Values) (connect.Builtin, error) {
		return openBuiltinWith(name, query, builtin.Options{RemoteClients: true}) // the folders in a recording may be those of another machine
	}})
	if err != nil {
		return err
	}
	log, done := p.watched(entry.Name)
	o := &recording.ReplayOptions{Timeout: p.timeout, Ignore: ignore}
	if log != nil {
		o.Wire = log.Wire(entry.Name)
	}
	report, err := recording.Replay(cmd.Context(), stream, r, o)
	if err = errors.Join(err, done()); err != nil {
		return errors.Join(err, end())
	}
	end()
	return p.report(out, report)
}

func (p *program) report(out *show.Printer, r *recording.Report) error {
	differ := 0
	for _, s := range r.Steps {
		if len(s.Differences) == 0 && s.Err == nil {
			continue
		}
		differ++
		fmt.Fprintf(p.out, "%s %s\n", out.Red("differs:"), visible.Line(s.Request.Method+" "+s.Request.Tool))
		if s.Err != nil {
			fmt.Fprintf(p.out, "  %s\n", visible.Line(s.Err.Error()))
		}
		for _, d := range s.Differences {
			fmt.Fprintf(p.out, "  at %s\n    recorded  %s\n    now       %s\n", visible.Line(d.Pointer), visible.Line(string(d.A)), visible.Line(string(d.B)))
		}
	}
	for _, m := range slices.Sorted(maps.Keys(r.Missing)) {
		p.note("%d recorded %s did not arrive", r.Missing[m], m)
	}
	for _, m := range slices.Sorted(maps.Keys(r.Extra)) {
		p.note("%d %s arrived that are not in the recording", r.Extra[m], m)
	}
	if !r.OK() {
		p.note("%d of %d responses differ from the recording.", differ, len(r.Steps))
		return errFound
	}
	p.note("All %d responses match the recording.", len(r.Steps))
	return nil
}

// tapEnvironment sets the variables of --env for the command, which gets the
// environment of this process.
func (p *program) tapEnvironment(command []string) error {
	entry, err := config.Parse("--", command)
	if err == nil {
		entry, err = p.withFlags(entry)
	}
	for name, value := range entry.Env {
		err = errors.Join(err, os.Setenv(name, value))
	}
	return usage(err)
}

func (p *program) tapCommand() *cobra.Command {
	var file, name string
	c := &cobra.Command{
		Use:   "tap [-o FILE] -- COMMAND …",
		Short: "Record the traffic between any host and its server",
		Long: `Use this as the server's command in the configuration of any host. It starts
COMMAND and passes every byte between host and server on unchanged. The messages
are recorded in FILE, and printed to standard error with --trace.`,
		Example: "  tenon tap -o traffic.txtar -- npx -y @modelcontextprotocol/server-everything",
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 0 || len(args) == 0 {
				return usagef("missing COMMAND after --")
			}
			if err := p.tapEnvironment(args); err != nil {
				return err
			}
			var f *os.File
			if file != "" {
				var err error
				if f, err = os.OpenFile(free(file), os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600); err != nil {
					p.note("tenon tap: cannot record: %v", err) // the traffic matters more
				} else {
					defer f.Close()
					p.recordTo = f
				}
			}
			name = cmp.Or(name, args[0])
			p.relayTo, _ = p.tapSocket() // without a folder there is no tenon up to tell
			log, done := p.watched(name)
			if entry, err := config.Parse("--", args); err == nil {
				p.keepSecret(entry)
			}
			o := recording.TapOptions{Command: args, In: p.in, Out: p.out, Err: p.err}
			if log != nil {
				o.Wire = log.Wire(name)
			}
			exit, err := recording.Tap(context.WithoutCancel(cmd.Context()), o)
			if e := done(); e != nil {
				p.note("tenon tap: %v", e)
			}
			if err != nil {
				removeEmpty(f)
				return err
			}
			return exitWith(exit.Code)
		},
	}
	c.Flags().StringVarP(&file, "output", "o", "", "record the traffic in this `file`; if it exists, a number is added to the name")
	c.Flags().StringVar(&name, "name", "", "name of the server in the recording")
	return c
}

// removeEmpty removes the file of a recording in which nothing is. f may be nil.
func removeEmpty(f *os.File) {
	if f == nil {
		return
	}
	if info, err := f.Stat(); err == nil && info.Size() == 0 {
		f.Close() // Windows removes no open file
		os.Remove(f.Name())
	}
}
