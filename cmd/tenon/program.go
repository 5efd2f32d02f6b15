package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/tenon-mcp/tenon/app/form"
	"github.com/tenon-mcp/tenon/app/llm/choose"
	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/internal/version"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
	"golang.org/x/term"
)

// A program is one run of tenon: its streams and the common flags.
type program struct {
	in       io.Reader
	out, err io.Writer
	flags

	relayTo  string         // the socket of tenon up --tap; empty: not used
	recordTo io.Writer      // where the messages of this run go; nil: not recorded
	reported bool           // standard output already has the error as an object
	sinks    []wirelog.Sink // also receive the messages of this run
	current  *session       // the server that commands in a shell talk to; nil: each opens its own
	typing   form.Lines     // reads the user's answers; nil until the first question

	secrets redact.Values // what must not be written or shown
	keys    keys          // of model providers, in the keyring

	connecting sync.Mutex
	connected  map[string]choose.Provider // keys and addresses of models that were entered in the page

	warned   sync.Map   // warnings about the configuration that were printed
	asking   sync.Mutex // one question at a time
	answered []string   // values of --answer that a question used
	wrong    error      // the error of an --answer that does not match
	noting   sync.Mutex // one note at a time
	moved    sync.Once  // files of older versions

	orders   *orderDemo               // the service of tenon up; nil for other commands
	onBehalf *gatewayCredentials      // of tenon gateway; nil for other commands
	shared   cluster.Store            // of the replicas of tenon gateway; nil if there is one process
	taskKeys atomic.Pointer[[][]byte] // of the cluster, for the ids of tasks; nil if there is one process

	dashed bool // of a line to complete: the cursor is after --

	ctx    context.Context        // of the run: ends with an interrupt
	ends   atomic.Int32           // the onInterrupt of its command
	drain  atomic.Bool            // the run ends because of SIGTERM: open calls may end first
	reload atomic.Pointer[func()] // what SIGHUP does; nil: it ends the run

	signals chan<- os.Signal // those of the process; nil: nobody waits

	expired chan struct{} // closed if a run with a time limit does not end; nil: nobody waits

	from       []string     // programs whose servers are used; empty: those of our files
	log        *slog.Logger // receives notes; nil: standard error does
	unattended atomic.Bool  // no question can be asked any more, and none is answered by --yes
}

// The flags that all commands have.
type flags struct {
	format   string
	quiet    bool
	color    string
	trace    bool
	revision string
	headers  []string // for the server on the command line
	env      []string // for its program
	proxy    string   // for metadata and tokens
	timeout  time.Duration
	answers  []string
	decline  bool
	yes      bool
	project  string
	userDir  string
}

// run runs one command line and returns the exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	p := &program{in: in, out: out, err: errs}
	return p.run(ctx, args)
}

func (p *program) run(ctx context.Context, args []string) int {
	p.ctx = ctx
	first := ""
	if len(args) > 0 {
		first = args[0]
	}
	root := p.rootFor(first, args)
	err := root.ExecuteContext(ctx)
	if p.shared != nil {
		p.shared.Close()
	}
	if err != nil && err.Error() != "" {
		if ctx.Err() != nil || errors.Is(err, context.Canceled) { // Ctrl-C at a hidden input is no signal
			err = context.Canceled
			fmt.Fprintln(p.err, "tenon: interrupted")
		} else {
			p.fail(err)
		}
	}
	return exitCode(err)
}

// rootFor is the root command with the streams and the words of a run.
func (p *program) rootFor(first string, args []string) *cobra.Command {
	// cobra cannot tell a function of completion whether there is a --
	p.dashed = completing(first) && slices.Contains(args[:len(args)-1], "--")
	root := p.root(first)
	root.SetArgs(args)
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	return root
}

// root is the command that holds all others. First is the first word of what
// will be run.
func (p *program) root(first string) *cobra.Command {
	about := false
	root := &cobra.Command{
		Use:   "tenon",
		Short: "Model Context Protocol client, host and servers",
		Long: `Tenon uses, tests, debugs and runs Model Context Protocol servers of any protocol
revision, and connects them to models.

SERVER is a name from the configuration, a URL, a builtin server such as
'builtin:fs?root=.', or a command after --:

  tenon tools builtin:calc
  tenon call https://example.com/mcp search query=tea
  tenon call echo message=hi -- npx -y some-server`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs, // so that RunE says what is wrong
		RunE: func(cmd *cobra.Command, args []string) error {
			if about {
				fmt.Fprintln(p.out, "tenon", version.String())
				return nil
			}
			if len(args) == 0 {
				return cmd.Help()
			}
			if near := suggest(args[0], commandNames(cmd)); strings.HasPrefix(near, ":") {
				return usagef("unknown command %q%s", args[0], near)
			}
			return usagef("unknown command %q; run \"tenon help\"", args[0])
		},
	}
	// The version of cobra would need text/template, which calls methods by their
	// names: the linker then keeps those of all types, a third of the program.
	root.Flags().BoolVarP(&about, "version", "v", false, "print the version")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		p.ends.Store(int32(endingOf(cmd.Name())))
		return p.checkFlags(cmd)
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%s; run \"tenon help%s\"", flagError(err), strings.TrimPrefix(c.CommandPath(), "tenon"))
	})
	p.flagsOf(root.PersistentFlags())

	root.AddGroup(
		&cobra.Group{ID: "use", Title: "Use a server:"},
		&cobra.Group{ID: "look", Title: "Test and debug:"},
		&cobra.Group{ID: "run", Title: "Run servers and hosts:"},
		&cobra.Group{ID: "set", Title: "Set up:"},
	)
	root.CompletionOptions.DisableDefaultCmd = true // ours needs no package
	root.SetHelpCommandGroupID("set")
	p.add(root, first)
	return root
}

// flagError returns the text of an error about a flag, without the words of Go's
// parsers.
func flagError(err error) string {
	text := err.Error()
	before, cause, found := strings.Cut(text, " flag: ")
	switch {
	case !found:
		return text
	case strings.HasPrefix(cause, "strconv.ParseBool"):
		return before + " flag: use true or false"
	case strings.HasPrefix(cause, "strconv.Parse"):
		return before + " flag: use a number"
	case strings.HasPrefix(cause, "time: "):
		return before + " flag: use a time such as 30s or 2m"
	}
	return text
}

// revisions lists the revisions for errors.
func revisions() string {
	var all []string
	for _, r := range mcp.Revisions() {
		all = append(all, string(r))
	}
	return strings.Join(all, ", ")
}

// noArgs rejects arguments of commands that take only flags, and unknown commands
// below others.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	path := strings.TrimPrefix(cmd.CommandPath(), "tenon")
	names := commandNames(cmd)
	if len(names) == 0 {
		return usagef("unexpected argument %q; run \"tenon help%s\"", args[0], path)
	}
	command := strings.TrimSpace(path + " " + args[0])
	if near := suggest(args[0], names); strings.HasPrefix(near, ": did you mean") {
		return usagef("unknown command %q%s", command, near)
	}
	return usagef("unknown command %q; run \"tenon help%s\"", command, path)
}

// flagsOf defines the common flags. Their current values are the defaults, so that
// a nested command (of record or shell) inherits them.
func (p *program) flagsOf(f *pflag.FlagSet) {
	p.userDir = cmp.Or(p.userDir, os.Getenv("TENON_CONFIG_DIR"))
	p.color = cmp.Or(p.color, "auto")
	f.StringVar(&p.format, "format", p.format, "output format: `text`, json, jsonl or yaml")
	f.BoolVarP(&p.quiet, "quiet", "q", p.quiet, "print only results, no notes or progress")
	f.StringVar(&p.color, "color", p.color, "use colors: `auto`, always or never")
	f.BoolVar(&p.trace, "trace", p.trace, "print every message with timing and era to standard error")
	f.StringVar(&p.revision, "revision", p.revision, "use this protocol `revision` instead of negotiating one")
	f.StringArrayVarP(&p.headers, "header", "H", p.headers, "send an HTTP header to the server: `'Name: value'` (repeatable)")
	f.StringArrayVarP(&p.env, "env", "e", p.env, "set an environment variable for the server: `NAME=value`, or NAME to pass yours on (repeatable)")
	f.StringVar(&p.proxy, "auth-proxy", p.proxy, "log in through a proxy: its `URL`, or \"environment\" for HTTPS_PROXY")
	f.DurationVar(&p.timeout, "timeout", p.timeout, "how long to wait for a silent server, such as 10s (default 60s)")
	f.StringArrayVar(&p.answers, "answer", p.answers, "answer a server's question: `name=value` of a field (repeatable)")
	f.BoolVar(&p.decline, "decline", p.decline, "decline every question that --answer does not cover")
	f.BoolVarP(&p.yes, "yes", "y", p.yes, "add described servers, and approve those of a project file, without asking")
	f.StringVar(&p.project, "project", p.project, "the `folder` with .mcp.json (default: current folder)")
	f.StringVar(&p.userDir, "config-dir", p.userDir, "the `folder` with tenon.json")
	f.MarkHidden("config-dir")
}

// checkFlags rejects flags that the command ignores, and invalid values.
func (p *program) checkFlags(cmd *cobra.Command) error {
	for _, name := range []string{"header", "env"} {
		f := cmd.Flags().Lookup(name)
		switch {
		case f == nil || !f.Changed || cmd.LocalNonPersistentFlags().Lookup(name) != nil:
		case p.current != nil:
			return usagef("--%s has no effect in the shell: the server is already connected; give it to tenon shell", name)
		case strings.Contains(cmd.Use, "SERVER"), name == "env" && cmd.Name() == "tap":
		case cmd.Flags().Changed("server"):
		case cmd.Flags().Lookup("server") != nil:
			return usagef("--%s needs --server", name)
		default:
			return usagef("--%s has no effect: %s does not connect to a server", name, cmd.CommandPath())
		}
	}
	if (cmd.Flags().Changed("answer") || cmd.Flags().Changed("decline")) && cmd.Flags().Lookup("server") != nil {
		return usagef("--answer and --decline do not work with %s", cmd.CommandPath())
	}
	if r := mcp.Revision(p.revision); r != "" && !slices.Contains(mcp.Revisions(), r) {
		return usagef("unknown revision %q: use one of %s", r, revisions())
	}
	if p.timeout < 0 {
		return usagef("--timeout must not be negative")
	}
	return nil
}

// A maker creates one command. Its name is known beforehand, so that a run creates
// only the command it needs, which saves much of the start time.
type maker struct {
	group, name string
	make        func() *cobra.Command
}

func (p *program) commands() []maker {
	return []maker{
		{"use", "tools", p.toolsCommand},
		{"use", "resources", p.resourcesCommand},
		{"use", "prompts", p.promptsCommand},
		{"use", "skills", p.skillsCommand},
		{"use", "call", p.callCommand},
		{"use", "read", p.readCommand},
		{"use", "prompt", p.promptCommand},
		{"use", "complete", p.completeCommand},
		{"use", "listen", p.listenCommand},
		{"use", "tasks", p.tasksCommand},
		{"use", "shell", p.shellCommand},
		{"look", "discover", p.discoverCommand},
		{"look", "ping", p.pingCommand},
		{"look", "raw", p.rawCommand},
		{"look", "doctor", p.doctorCommand},
		{"look", "record", p.recordCommand},
		{"look", "replay", p.replayCommand},
		{"look", "tap", p.tapCommand},
		{"run", "up", p.upCommand},
		{"run", "inspect", p.inspectCommand},
		{"run", "serve", p.serveCommand},
		{"run", "gateway", p.gatewayCommand},
		{"run", "chat", p.chatCommand},
		{"run", "run", p.runCommand},
		{"run", "audit", p.auditCommand},
		{"run", "api", p.apiCommand},
		{"run", "demo", p.demoCommand},
		{"set", "config", p.configCommand},
		{"set", "auth", p.authCommand},
		{"set", "models", p.modelsCommand},
		{"set", "completion", p.completionCommand},
		{"set", "man", p.manCommand},
		{"set", "upgrade", p.upgradeCommand},
		{"set", "version", p.versionCommand},
		{"", "exit-codes", exitCodesCommand},
		{"", bashRequest, p.completeBashCommand},
	}
}

// add adds the command named first. It adds all commands if none has that name, or
// if the command, such as man, needs them all.
func (p *program) add(root *cobra.Command, first string) {
	all := p.commands()
	if i := slices.IndexFunc(all, func(m maker) bool { return m.name == first }); i >= 0 && first != "man" && first != "completion" {
		all = all[i : i+1]
	}
	for _, m := range all {
		c := m.make()
		c.GroupID = m.group
		if c.Args == nil {
			c.Args = cobra.ArbitraryArgs
		}
		root.AddCommand(c)
	}
	if completing(first) {
		p.setCompletion(root)
	}
}

// printer returns a printer for standard output. It renders for terminals and with
// --color always; otherwise it prints plain text.
func (p *program) printer() (*show.Printer, error) {
	f, err := show.ParseFormat(p.format)
	if err != nil {
		return nil, usageError{err}
	}
	var w io.Writer = p.out
	if p.ctx != nil {
		w = cancelWriter{p.ctx, p.out}
	}
	return &show.Printer{W: w, Format: f, Width: width(p.out), Color: p.colored(p.out), Quiet: p.quiet, Plain: p.plain(p.out)}, nil
}

// plain reports whether text is written to w unchanged.
func (p *program) plain(w io.Writer) bool { return !isTerminal(w) && p.color != "always" }

// stderr returns a printer for progress, questions and warnings.
func (p *program) stderr() *show.Printer {
	return &show.Printer{W: p.err, Width: width(p.err), Color: p.colored(p.err)}
}

// note prints a message to standard error, unless --quiet is set, or writes it to
// the log of --log-format json.
func (p *program) note(format string, args ...any) {
	if p.log != nil {
		p.log.Warn(fmt.Sprintf(format, args...))
		return
	}
	if !p.quiet {
		p.noting.Lock()
		defer p.noting.Unlock()
		fmt.Fprintln(p.err, visible.Text(p.secrets.Known(fmt.Sprintf(format, args...))))
	}
}

func (p *program) colored(w io.Writer) bool {
	switch p.color {
	case "always":
		return true
	case "never":
		return false
	}
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// interactive reports whether the user can be asked at a terminal.
func (p *program) interactive() bool {
	return !p.unattended.Load() && isTerminal(p.in) && isTerminal(p.err)
}

func isTerminal(stream any) bool {
	f := fileOf(stream)
	return f != nil && term.IsTerminal(int(f.Fd()))
}

// fileOf returns the file that a stream is or wraps; nil if there is none.
func fileOf(stream any) *os.File {
	switch s := stream.(type) {
	case *os.File:
		return s
	case interface{ File() *os.File }:
		return s.File()
	}
	return nil
}

// width returns the number of columns of a terminal; 0 if w is not a terminal.
func width(w io.Writer) int {
	if f := fileOf(w); f != nil {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return 0
}

// configDir returns the folder of the user's configuration.
func (p *program) configDir() (string, error) {
	if p.userDir != "" {
		return p.userDir, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find your configuration folder: %w (set TENON_CONFIG_DIR)", err)
	}
	return filepath.Join(dir, "tenon"), nil
}
