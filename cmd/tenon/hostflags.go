package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/choose"
	"github.com/tenon-mcp/tenon/app/llm/keyword"
	"github.com/tenon-mcp/tenon/app/workspace"
	"github.com/tenon-mcp/tenon/builtin"
	"github.com/tenon-mcp/tenon/internal/rulematch"
	"github.com/tenon-mcp/tenon/internal/typo"
	"github.com/tenon-mcp/tenon/mcp"
)

// hostFlags holds the flags of chat, run and up that configure the host.
type hostFlags struct {
	model   string
	servers []string
	allow   []string
	deny    []string
	system  string
	search  string
	effort  string

	noInstructions bool
}

func (d *hostFlags) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVarP(&d.model, "model", "m", "", "the `model`: provider/name, auto, none, script:FILE, replay:FILE or record:FILE:MODEL (default: from tenon.json, else auto)")
	f.StringArrayVarP(&d.servers, "server", "s", nil, "use this `server` (a name, URL or builtin:NAME) instead of the configured ones (repeatable)")
	f.StringArrayVar(&d.allow, "allow", nil, "allow calls of `SERVER[/TOOL][:ARG=PATTERN,…]` without asking; * matches any text (repeatable)")
	f.StringArrayVar(&d.deny, "deny", nil, "deny calls of `SERVER[/TOOL][:ARG=PATTERN,…]` (repeatable)")
	f.StringVar(&d.search, "tool-search", "", "let the model search for tools instead of listing them all: `auto`, always, never, or a number of tokens above which to search (default: from tenon.json, else auto)")
	f.StringVar(&d.effort, "effort", "", "how much the model thinks: `auto`, none, minimal, low, medium, high, xhigh or max (default: from tenon.json, else auto)")
	f.StringVar(&d.system, "system", "", "extra text for the system prompt")
	f.BoolVar(&d.noInstructions, "no-instructions", false, "do not give AGENTS.md and CLAUDE.md of the project to the model")
}

// choose opens the model. If none is configured or found, it returns the keyword
// matcher; an API key that does not work is an error.
func (p *program) choose(ctx context.Context, name string) (*choose.Choice, error) {
	why := "selected by name"
	if name == "" {
		c, err := p.config()
		if err != nil {
			return nil, err
		}
		name, why = c.Settings().Model, "set in tenon.json"
	}
	if name == "none" {
		return keywordChoice(why), nil
	}
	c, err := choose.Model(ctx, name, p.modelOptions())
	if errors.Is(err, choose.ErrNone) {
		return keywordChoice("no API key and no local model found"), nil
	}
	if _, ok := errors.AsType[*llm.Error](err); ok {
		return nil, err // the provider refuses, or cannot be reached
	}
	return c, usage(err)
}

func keywordChoice(why string) *choose.Choice {
	return &choose.Choice{Model: keyword.Model{}, Why: why, Close: func() error { return nil }}
}

// label describes the model and why it was chosen.
func label(c *choose.Choice) string {
	info := c.Model.Info()
	text := info.String()
	switch {
	case info.Provider == "none":
		text = info.Label
	case info.Label != "":
		text += " (" + info.Label + ")"
	}
	if c.Why != "" {
		text += ": " + c.Why
	}
	return text
}

// settings merges the flags with the configuration.
func (d *hostFlags) settings(s config.Settings) (config.Settings, error) {
	s.Rules = slices.Clone(s.Rules)
	if d.effort != "" {
		var err error
		if s.Effort, err = config.ParseEffort(d.effort); err != nil {
			return s, usagef("--effort %w", err)
		}
	}
	if d.search != "" {
		var err error
		if s.ToolSearch, err = config.ParseToolSearch(d.search); err != nil {
			return s, usagef("--tool-search %w", err)
		}
	}
	add := func(effect config.Effect, words []string) error {
		for _, w := range words {
			server, tool, args := splitRule(w)
			if server == "" || tool == "" {
				return usagef("--%s must be SERVER or SERVER/TOOL, with :ARG=PATTERN for arguments, not %q", effect, w)
			}
			s.Rules = append(s.Rules, config.Rule{Effect: effect, Server: server, Tool: tool, Args: args, CommandLine: true})
		}
		return nil
	}
	return s, errors.Join(add(config.Allow, d.allow), add(config.Deny, d.deny))
}

// ruleWords is SERVER[/TOOL]:ARG=PATTERN,…
var ruleWords = regexp.MustCompile(`^([^/:]*)(/[^:]*)?:([A-Za-z_][\w.-]*=.*)$`)

// nextArg begins another argument of a rule. A comma elsewhere is part of a
// pattern.
var nextArg = regexp.MustCompile(`,([A-Za-z_][\w.-]*=)`)

// splitRule splits the words of --allow and --deny. Without a tool, the rule is for
// all tools.
func splitRule(w string) (server, tool string, args map[string]string) {
	if m := ruleWords.FindStringSubmatch(w); m != nil {
		w, args = m[1]+m[2], map[string]string{}
		for one := range strings.SplitSeq(nextArg.ReplaceAllString(m[3], "\x00$1"), "\x00") {
			name, pattern, _ := strings.Cut(one, "=")
			args[name] = pattern
		}
	}
	server, tool, ok := strings.Cut(w, "/")
	if !ok {
		tool = "*"
	}
	return server, tool, args
}

// entries returns the servers to start: those of --server, or all usable servers
// of the configuration. It prints a note for each entry that is broken or not
// approved, and skips it; and for each rule of a flag that is for none of them.
func (p *program) entries(ctx context.Context, c *config.Config, d *hostFlags) ([]config.Server, error) {
	all, err := p.usableEntries(ctx, c, d, func(name string, err error) { p.note("%s is not available: %v", name, err) })
	if err != nil {
		return nil, err
	}
	var known []string
	for _, e := range c.Entries() {
		known = append(known, e.Name)
	}
	for _, s := range all {
		known = append(known, s.Name)
	}
	p.noteUnused("--allow", d.allow, known)
	p.noteUnused("--deny", d.deny, known)
	return all, nil
}

// noteUnused prints a note for each rule whose server does not exist.
func (p *program) noteUnused(flag string, rules, servers []string) {
	for _, rule := range rules {
		server, _, _ := splitRule(rule)
		switch near := typo.Nearest(server, servers); {
		case slices.ContainsFunc(servers, func(name string) bool { return rulematch.Glob(server, name) }):
		case near != "":
			p.note("%s %s has no effect: no server is called %s; did you mean %s?", flag, rule, server, near)
		default:
			p.note("%s %s has no effect: no server is called %s", flag, rule, server)
		}
	}
}

// usableEntries is entries with a function that is called for each entry that is
// skipped.
func (p *program) usableEntries(ctx context.Context, c *config.Config, d *hostFlags, skipped func(name string, err error)) ([]config.Server, error) {
	if len(d.servers) > 0 {
		return p.chosen(ctx, d.servers)
	}
	var all []config.Server
	for _, e := range c.Entries() {
		if e.Shadowed != "" || e.Disabled {
			continue
		}
		s, err := p.named(ctx, e.Name)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil {
			err = checkBuiltin(s)
		}
		if err != nil {
			skipped(e.Name, err)
			continue
		}
		all = append(all, s)
	}
	return all, nil
}

// checkBuiltin returns an error if a server is a builtin one that cannot be opened
// because of its name or its options.
func checkBuiltin(s config.Server) error {
	if s.Kind != config.Builtin {
		return nil
	}
	return builtin.Check(s.Builtin, s.Query)
}

// chosen returns the servers of --server. Servers of the same name are renamed.
func (p *program) chosen(ctx context.Context, names []string) ([]config.Server, error) {
	var all []config.Server
	headers, env := len(p.headers) == 0, len(p.env) == 0 // whether they were used
	for _, n := range names {
		s, err := config.Parse(n, nil)
		if errors.Is(err, config.ErrName) {
			s, err = p.named(ctx, n)
		}
		if err == nil {
			err = checkBuiltin(s)
		}
		if err != nil {
			return nil, usage(err)
		}
		if s.URL != "" && len(p.headers) > 0 {
			if s, err = s.WithHeaders(p.headers); err != nil {
				return nil, usageError{err}
			}
			headers = true
		}
		if s.Kind == config.Stdio && len(p.env) > 0 {
			if s, err = s.WithEnv(p.env, os.LookupEnv); err != nil {
				return nil, usageError{err}
			}
			env = true
		}
		s.Name = hostName(s.Name)
		for i := 2; slices.ContainsFunc(all, func(o config.Server) bool { return o.Name == s.Name }); i++ {
			s.Name = fmt.Sprintf("%s-%d", strings.TrimRight(s.Name, "-0123456789"), i)
		}
		all = append(all, s)
	}
	switch {
	case !headers:
		return nil, usagef("--header applies to HTTP servers, and no --server is one")
	case !env:
		return nil, usagef("--env applies to servers that are programs, and no --server is one")
	}
	return all, nil
}

// hostName returns a server's name without characters, such as the colon of a URL,
// that are ambiguous in @server:uri and /server:prompt.
func hostName(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(":/ ", r) {
			return '-'
		}
		return r
	}, name)
}

// newWorkspace opens the workspace of chat, run and up.
func (p *program) newWorkspace(ctx context.Context, d *hostFlags, model llm.Model, change func(*workspace.Options)) (*workspace.Workspace, error) {
	c, err := p.config()
	if err != nil {
		return nil, err
	}
	settings, err := d.settings(c.Settings())
	if err != nil {
		return nil, err
	}
	servers, err := p.entries(ctx, c, d)
	if err != nil {
		return nil, err
	}
	o, err := p.workspaceOptions(d, "")
	if err != nil {
		return nil, err
	}
	o.Settings, o.Servers, o.Model = settings, servers, model
	o.Host.Folder, o.Host.NoInstructions = folder(), d.noInstructions || settings.NoInstructions
	if change != nil {
		change(&o)
	}
	w, err := workspace.Open(o)
	return w, folderError("", err)
}

// workspaceOptions returns the options that the workspaces of all commands share.
// folder is the value of --workspace.
func (p *program) workspaceOptions(d *hostFlags, folder string) (o workspace.Options, err error) {
	if o.Dir, err = p.hostDir(folder); err != nil {
		return o, err
	}
	if o.Tokens, err = p.logins(); err != nil {
		return o, err
	}
	o.Builtin, o.Revision = p.openBuiltin, mcp.Revision(p.revision)
	o.Edits = func(name string, query url.Values) (e host.Edits) {
		e.Folders, e.Find = builtin.Previews(name, query)
		for i, f := range e.Folders {
			if e.Folders[i], err = filepath.Abs(f); err != nil {
				return host.Edits{}
			}
		}
		return e
	}
	o.UsesRoots = builtin.WrapsAPI
	o.Secrets, o.AuditKey = &p.secrets, p.auditKey()
	o.Host.System, o.Host.CallIdle = d.system, p.timeout
	return o, nil
}
