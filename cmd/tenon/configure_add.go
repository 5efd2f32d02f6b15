package main

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/discovery"
	"github.com/tenon-mcp/tenon/auth/fetch"
)

// adding holds the flags of tenon config add.
type adding struct {
	env, headers []string
	toProject    bool

	registry string
	card     bool
	choice   discovery.Choice
	inputs   []string
	sha256   string
	dry      bool
}

func (p *program) configAdd() *cobra.Command {
	var a adding
	c := &cobra.Command{
		Use:   "add NAME SERVER | add NAME -- COMMAND …",
		Short: "Add a server under a name",
		Long: `Add a server to your tenon.json. SERVER is one of

  https://host/path         a remote server
  builtin:NAME              a builtin server
  -- COMMAND …              a program
  FILE, or a URL of one     a server.json, a bundle (.mcpb) or a server card
  namespace/name[@version]  a server in the registry of --registry

A file or a registry describes how a server is run and which inputs it needs. You
are asked for the required inputs; --input sets any. Secrets are stored in the
keyring of the operating system. The exact command or URL is shown, and the
server is added if you confirm (or with --yes). Nothing is started.`,
		Example: "  tenon config add files 'builtin:fs?root=.'\n  tenon config add hub https://example.com/mcp --header 'Authorization: Bearer ${HUB_TOKEN}'\n  tenon config add everything -- npx -y @modelcontextprotocol/server-everything\n  tenon config add weather ./server.json --input units=metric --yes\n  tenon config add weather io.github.user/weather --registry https://registry.example.com\n  tenon config add hub https://example.com/mcp --card",
		RunE: func(cmd *cobra.Command, args []string) error {
			dash := cmd.ArgsLenAtDash()
			if dash < 0 && len(args) > 2 {
				return usagef("unexpected argument %q; put -- before a command: tenon config add %s -- COMMAND …", args[2], args[0])
			}
			if len(args) < 2 || dash > 1 || (dash < 0 && len(args) != 2) || dash == 0 {
				return usagef("missing NAME and SERVER: SERVER is a URL, builtin:NAME, a server.json, a bundle, or -- and a command")
			}
			if dash < 0 && (a.registry != "" || a.card || discovery.IsSource(args[1])) {
				return p.addDiscovered(cmd.Context(), args[0], args[1], &a)
			}
			if dash < 0 && registryName().MatchString(args[1]) {
				if _, err := os.Stat(args[1]); err != nil {
					return usagef("%q looks like the name of a server in a registry; add --registry URL to find it there, or put -- before a command", args[1])
				}
			}
			for _, name := range []string{"registry", "card", "package", "remote", "input", "sha256", "dry-run"} {
				if cmd.Flags().Changed(name) {
					return usagef("--%s is for a server.json, a bundle, a server card or a registry", name)
				}
			}
			target, rest := args[1], []string(nil)
			if dash == 1 {
				target, rest = "--", args[1:]
			}
			return p.addServer(args[0], target, rest, &a)
		},
	}
	f := c.Flags()
	f.StringArrayVarP(&a.env, "env", "e", nil, "an environment variable for the program: `NAME=value`; ${VAR} is expanded at each start")
	f.StringArrayVarP(&a.headers, "header", "H", nil, "an HTTP header for the server: `'Name: value'`; ${VAR} is expanded at each connection")
	f.BoolVar(&a.toProject, "to-project", false, "add it to the project's .mcp.json instead of your tenon.json")
	f.StringVar(&a.registry, "registry", "", "find the server in the MCP registry at this `URL`")
	f.BoolVar(&a.card, "card", false, "find the server card of the server or the site at the URL")
	f.StringVar(&a.choice.Package, "package", "", "use this package of several: its `number` or type, such as npm")
	f.StringVar(&a.choice.Remote, "remote", "", "use this remote of several: its `number` or type")
	f.StringArrayVar(&a.inputs, "input", nil, "the value of an input: `NAME=value`; ${VAR} alone is expanded at each start (repeatable)")
	f.StringVar(&a.sha256, "sha256", "", "the SHA-256 `digest` that a bundle must have")
	f.BoolVar(&a.dry, "dry-run", false, "show what would be added without adding it")
	return c
}

// registryName matches the name of a server in a registry, whose namespace is a
// reversed domain, such as io.github.user/weather@1.0.2.
var registryName = pattern(`^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+/[A-Za-z0-9._-]+(@[^/@]+)?$`)

// addServer adds a server from the command line.
func (p *program) addServer(name, target string, rest []string, a *adding) error {
	s, err := config.Parse(target, rest)
	if errors.Is(err, config.ErrName) {
		return usagef("%q is neither a URL nor builtin:NAME nor a file; put -- before a command", target)
	}
	if err != nil {
		return usageError{err}
	}
	e := config.Entry{Name: name, Kind: s.Kind, Command: s.Command, Args: s.Args, URL: s.URL}
	if s.Kind == config.Builtin {
		if err := knownBuiltin(s.Builtin); err != nil {
			return err
		}
		e.Builtin = strings.TrimPrefix(target, "builtin:")
		if !a.toProject && len(s.Query) > 0 { // relative paths are meant from here, wherever it is used
			if e.Dir, err = os.Getwd(); err != nil {
				return err
			}
		}
	}
	if err := a.extend(&e); err != nil {
		return err
	}
	return p.save(e, a)
}

// extend adds the variables and headers of --env and --header to an entry.
func (a *adding) extend(e *config.Entry) error {
	env, err := pairs(a.env)
	if err != nil {
		return err
	}
	for name, value := range env {
		if e.Env == nil {
			e.Env = map[string]string{}
		}
		e.Env[name] = value
	}
	for _, line := range a.headers {
		name, value, err := config.ParseHeader(line)
		if err != nil {
			return usageError{err}
		}
		if e.Headers == nil {
			e.Headers = map[string]string{}
		}
		for old := range e.Headers {
			if strings.EqualFold(old, name) {
				delete(e.Headers, old)
			}
		}
		e.Headers[name] = value
	}
	return nil
}

// save writes an entry to the configuration.
func (p *program) save(e config.Entry, a *adding) error {
	file, err := p.configFile(a.toProject)
	if err != nil {
		return err
	}
	if err := config.Add(file, e.Name, e); err != nil {
		return usageError{err}
	}
	p.note("Added %s to %s.", e.Name, file)
	return nil
}

// describe reads what a file, a URL or a registry says about a server.
func (p *program) describe(ctx context.Context, source string, a *adding, o *discovery.Options) (*discovery.Description, error) {
	if a.registry == "" {
		d, err := discovery.Load(ctx, source, o)
		return d, describeError(err)
	}
	r, err := discovery.NewRegistry(a.registry, p.timeout)
	if err != nil {
		return nil, usageError{err}
	}
	name, version, _ := strings.Cut(source, "@")
	listing, err := r.Server(ctx, name, version)
	if err != nil {
		return nil, describeError(err)
	}
	d, err := listing.Describe(r)
	return d, describeError(err)
}

// describeError marks an error as one of usage, unless the network or the other
// side is to blame.
func describeError(err error) error {
	failed, ok := errors.AsType[*discovery.FetchError](err)
	if err == nil || ok && !errors.Is(failed, fetch.ErrRefused) {
		return err
	}
	return usageError{err}
}
