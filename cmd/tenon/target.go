package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/internal/version"
	"github.com/tenon-mcp/tenon/mcp"
)

// A session is the connection of a command to a server.
type session struct {
	*client.Client
	server *connect.Server
	done   func() error // flushes and closes the log of the connection
	shared bool         // it belongs to a shell, which closes it
}

// words splits the arguments into the server and the rest. The server is the first
// argument, or the command after "--". taken is the number of arguments before
// args that the command has already used.
func words(cmd *cobra.Command, args []string, taken int) (entry config.Server, rest []string, name bool, err error) {
	if dash := cmd.ArgsLenAtDash() - taken; dash >= 0 {
		if len(args) == dash {
			return entry, nil, false, usagef("missing COMMAND after --")
		}
		entry, err = config.Parse("--", args[dash:])
		return entry, args[:dash], false, usage(err)
	}
	if len(args) == 0 {
		return entry, nil, false, usagef("missing SERVER: a name from tenon config, a URL, builtin:NAME, or -- and a command\n\n  %s", cmd.UseLine())
	}
	entry, err = config.Parse(args[0], nil)
	if errors.Is(err, config.ErrName) {
		return config.Server{Name: args[0]}, args[1:], true, nil
	}
	return entry, args[1:], false, usage(err)
}

func usage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

// target returns the server on the command line, expanded and approved.
func (p *program) target(cmd *cobra.Command, args []string) (config.Server, []string, error) {
	return p.targetAfter(cmd, args, 0)
}

func (p *program) targetAfter(cmd *cobra.Command, args []string, taken int) (config.Server, []string, error) {
	entry, rest, isName, err := words(cmd, args, taken)
	if err == nil && isName {
		entry, err = p.named(cmd.Context(), entry.Name)
	}
	if err != nil {
		return entry, rest, err
	}
	entry, err = p.withFlags(entry)
	return entry, rest, err
}

// withFlags adds the values of --header and --env to the server.
func (p *program) withFlags(entry config.Server) (config.Server, error) {
	if len(p.headers) > 0 {
		var err error
		if entry, err = p.withHeaders(entry); err != nil {
			return entry, err
		}
	}
	if len(p.env) == 0 {
		return entry, nil
	}
	if entry.Kind != config.Stdio {
		return entry, usagef("--env applies to servers that are programs; %s is not one", entry.Name)
	}
	entry, err := entry.WithEnv(p.env, os.LookupEnv)
	return entry, usage(err)
}

// withHeaders adds the headers of --header to the server.
func (p *program) withHeaders(entry config.Server) (config.Server, error) {
	if entry.URL == "" {
		return entry, usagef("--header applies to HTTP servers; %s is not one", entry.Name)
	}
	entry, err := entry.WithHeaders(p.headers)
	return entry, usage(err)
}

func (p *program) config() (*config.Config, error) {
	o := &config.Options{Dir: p.project, UserDir: p.userDir, From: p.from, Keyring: p.keys.server}
	if p.interactive() {
		o.Input = p.input
	}
	c, err := config.Load(o)
	if err != nil {
		return nil, usageError{err}
	}
	for _, w := range c.Warnings() {
		if _, told := p.warned.LoadOrStore(w, true); !told {
			p.note("%s", w)
		}
	}
	return c, nil
}

// open connects to the server on the command line, and returns the other
// arguments.
func (p *program) open(cmd *cobra.Command, args []string, more ...func(*connect.Options)) (*session, []string, error) {
	if p.current != nil {
		return p.current, args, nil
	}
	entry, rest, err := p.target(cmd, args)
	if err != nil {
		return nil, nil, err
	}
	s, err := p.connect(cmd.Context(), entry, more...)
	return s, rest, err
}

func (p *program) connect(ctx context.Context, entry config.Server, more ...func(*connect.Options)) (*session, error) {
	o, err := p.connectOptions(ctx, entry)
	if err != nil {
		return nil, err
	}
	log, done := p.watched(entry.Name)
	if log != nil {
		o.Watch = func(server string) connect.Watcher { return log.Wire(server) }
	}
	for _, change := range more {
		change(o)
	}
	server, err := connect.Open(ctx, entry, o)
	if err != nil {
		return nil, errors.Join(err, done())
	}
	return &session{Client: server.Client(), server: server, done: done}, nil
}

// connectOptions returns the options of commands that make one connection.
func (p *program) connectOptions(ctx context.Context, entry config.Server) (*connect.Options, error) {
	store, err := p.logins()
	if err != nil {
		return nil, err
	}
	p.keepSecret(entry)
	return &connect.Options{
		Client:   p.clientOptions(entry.Name),
		Builtin:  openBuiltin,
		Known:    mcp.Revision(p.revision),
		Once:     true,
		Tokens:   store,
		NoLogin:  !p.interactive(),
		OpenPage: func(server, page string) error { return p.openLogin(ctx, server, page) },
		Proxy:    connect.Proxy(p.proxy),
		Secrets:  &p.secrets,
		Warn:     func(_, warning string) { p.note("warning: %s", warning) },

		ConnectTimeout: p.timeout,
	}, nil
}

// keepSecret registers the secrets that a server receives, also in the environment
// of its program, so that they are removed from all output.
func (p *program) keepSecret(entry config.Server) {
	p.secrets.Set(entry.Name, entry.Secrets)
	if !entry.InheritEnv {
		return
	}
	for _, line := range os.Environ() {
		if name, value, _ := strings.Cut(line, "="); redact.Setting(name) && !strings.HasPrefix(value, "/") {
			p.secrets.Add("environment", value)
		}
	}
}

func (p *program) clientOptions(server string) client.Options {
	o := client.Options{
		Client:      mcp.Implementation{Name: "tenon", Title: "Tenon", Version: version.String()},
		IdleTimeout: p.timeout,
		Warn:        func(w string) { p.note("warning: %s", w) },
	}
	p.handleInput(server, &o)
	return o
}

// Close closes the connection, unless it belongs to a shell.
func (s *session) Close() error {
	if s.shared {
		return nil
	}
	return errors.Join(s.server.Close(), s.done())
}

// transport describes the transport of the server.
func (s *session) transport() string {
	switch e := s.server.Entry(); e.Kind {
	case config.Stdio:
		return fmt.Sprintf("stdio, process %d: %s", s.server.State().Pid, e.CommandLine())
	case config.Builtin:
		return "in this process"
	default:
		return fmt.Sprintf("%s, %s", e.Kind, e.Address())
	}
}
