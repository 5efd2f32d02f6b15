package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/llm/choose"
	"github.com/tenon-mcp/tenon/app/repl"
	"github.com/tenon-mcp/tenon/builtin"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/internal/version"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// Completion for the user's shell. The flow of a Tab is: the script of the
// shell (complete_scripts.go) runs tenon __complete with the words of the line;
// cobra finds the command or flag that the cursor is at and calls a function
// that this file sets; what it returns, filtered, goes back to the script.

// completionLimit bounds the time to complete a word. After it, no candidates of
// the server are offered.
const completionLimit = 2 * time.Second

// proposals is the type of cobra's completion functions.
type proposals = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective)

// setCompletion sets the completion functions of all commands and flags. Only a
// run that completes needs them.
func (p *program) setCompletion(root *cobra.Command) {
	for _, c := range allCommands(root) {
		switch _, first, _ := strings.Cut(c.Use, " "); {
		case strings.HasPrefix(first, "SERVER"):
			c.ValidArgsFunction = p.completeServer
		case c.CommandPath() == "tenon tasks list":
			c.ValidArgsFunction = p.completeEntry
		case c.Name() == "replay":
			c.ValidArgsFunction = p.completeReplay
		case c.Name() == "serve":
			c.ValidArgsFunction = completeServe
		case c.CommandPath() == "tenon config remove", c.CommandPath() == "tenon config approve":
			c.ValidArgsFunction = p.completeConfigured
		case c.CommandPath() == "tenon config import":
			c.ValidArgsFunction = fixed(config.Apps...)
		case c.Name() == "completion":
			c.ValidArgsFunction = fixed(slices.Sorted(scriptNames())...)
		case c.Name() == "man":
			c.ValidArgsFunction = folders
		case c.Args != nil && c.Name() != "config" && c.Name() != "help":
			c.ValidArgsFunction = fixed()
		}
		p.setFlagCompletion(c)
	}
}

func allCommands(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		all = append(all, allCommands(sub)...)
	}
	return all
}

// setFlagCompletion sets the functions of a command's own flags. Flags that are
// not named here take a file.
func (p *program) setFlagCompletion(c *cobra.Command) {
	var revisions []string
	for _, r := range mcp.Revisions() {
		revisions = append(revisions, string(r))
	}
	functions := map[string]proposals{
		"format": fixed("text", "json", "jsonl", "yaml"), "color": fixed("auto", "always", "never"), "revision": fixed(revisions...),
		"auth-proxy": fixed("environment"), "project": folders, "config-dir": folders, "save": folders,
		"model": p.completeModel, "server": p.completeEntry, "allow": p.completeRule, "deny": p.completeRule,
		"resource": p.completeResource, "resume": fixed("last"),
	}
	if c.Name() == "run" {
		functions["output"] = fixed("text", "json", "stream-json")
	}
	for _, name := range []string{"header", "env", "timeout", "answer", "prompt", "system", "wait", "count", "http", "addr", "host", "origin", "auth-issuer", "auth-audience", "auth-scope", "auth-token",
		"registry", "input", "package", "remote", "sha256", "limit", "public-url", "card"} {
		functions[name] = fixed()
	}
	for name, f := range functions {
		if c.LocalFlags().Lookup(name) != nil && (c.Parent() == nil || c.InheritedFlags().Lookup(name) == nil) {
			c.RegisterFlagCompletionFunc(name, f) // fails only for flags that do not exist
		}
	}
}

// fixed returns a function that offers the given words and no files.
func fixed(all ...string) proposals {
	return func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return propose(all, word)
	}
}

func folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// propose filters candidates for a shell. No space follows an incomplete word.
func propose(all []string, word string) ([]string, cobra.ShellCompDirective) {
	all = repl.Matching(all, word)
	if slices.ContainsFunc(all, goesOn) {
		return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

// goesOn reports whether a candidate is only the beginning of a word.
func goesOn(proposal string) bool {
	return strings.HasSuffix(proposal, "=") || strings.HasSuffix(proposal, "/") || strings.HasSuffix(proposal, ":")
}

// servers returns the candidates for SERVER: configured names and the builtin
// servers.
func (p *program) servers() []string {
	var all []string
	for _, k := range builtin.Kinds() {
		all = append(all, "builtin:"+k.Name)
	}
	if c, err := p.quietConfig(); err == nil {
		all = append(all, c.Names()...)
	}
	return all
}

// quietConfig reads the configuration without questions or warnings.
func (p *program) quietConfig() (*config.Config, error) {
	return config.Load(&config.Options{Dir: p.project, UserDir: p.userDir})
}

// completeEntry completes a SERVER and nothing else.
func (p *program) completeEntry(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	return propose(p.servers(), word)
}

func (p *program) completeConfigured(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	c, err := p.quietConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return propose(c.Names(), word)
}

// completeServer completes SERVER, and what follows it with what the server has.
// After -- stands a command, which the shell itself completes.
func (p *program) completeServer(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	switch {
	case p.dashed:
		return nil, cobra.ShellCompDirectiveDefault
	case len(args) == 0:
		return p.completeEntry(cmd, args, word)
	}
	if cmd.Parent().Name() == "tasks" {
		return propose(p.taskIDs(args[0]), word)
	}
	command := cmd.Name()
	if cmd.Parent().Name() == "skills" {
		return p.completeSkill(cmd, args, word)
	}
	if cmd.Parent().Name() == "tools" { // tools approve and tools forget name tools, too
		command = "tools"
	}
	if command == "listen" || !slices.Contains(repl.Commands, command) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return propose(p.askServer(cmd.Context(), args[0], append([]string{command}, args[1:]...), word), word)
}

// completeSkill completes SKILL with the names of the server's skills, and the
// FILE of skills show with the paths of the skill's files.
func (p *program) completeSkill(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	return propose(p.candidates(cmd.Context(), args[0], func(ctx context.Context, s *session) []string {
		all, err := s.skills(ctx)
		if err != nil {
			return nil
		}
		var words []string
		for _, one := range all {
			if cmd.Name() != "show" || len(args) == 1 {
				words = append(words, one.Name())
			} else if one.Name() == args[1] && len(args) == 2 {
				for _, r := range one.Resources {
					words = append(words, strings.TrimPrefix(r.URI, one.Dir()+"/"))
				}
			}
		}
		return words
	}), word)
}

// completeResource completes the URI of listen --resource.
func (p *program) completeResource(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return propose(p.askServer(cmd.Context(), args[0], []string{"read"}, word), word)
}

// completeReplay completes FILE [SERVER].
func (p *program) completeReplay(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 || p.dashed {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return p.completeEntry(cmd, args, word)
}

// completeServe completes NAME [option=value …].
func completeServe(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	var all []string
	for _, k := range builtin.Kinds() {
		if len(args) == 0 {
			all = append(all, k.Name)
		} else if k.Name == args[0] {
			for _, option := range strings.Fields(k.Usage) {
				name, _, _ := strings.Cut(option, "=")
				all = append(all, name+"=")
			}
		}
	}
	if strings.Contains(word, "=") {
		return nil, cobra.ShellCompDirectiveDefault // most options are files or folders
	}
	return propose(all, word)
}

// completeRule completes SERVER[/TOOL] of --allow and --deny.
func (p *program) completeRule(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	given, err := cmd.Flags().GetStringArray("server")
	if err != nil || len(given) == 0 {
		if c, err := p.quietConfig(); err == nil {
			given = c.Names()
		}
	}
	name, _, hasTool := strings.Cut(word, "/")
	var all []string
	for _, target := range given {
		server := target
		if s, err := config.Parse(target, nil); err == nil {
			server = hostName(s.Name)
		}
		if !hasTool {
			all = append(all, server, server+"/")
		} else if server == name {
			for _, tool := range p.askServer(cmd.Context(), target, []string{"tools"}, "") {
				all = append(all, server+"/"+tool)
			}
		}
	}
	return propose(all, word)
}

// completeModel completes --model: what needs no provider, the providers, and
// after provider/ its models. The keyring is not opened for this.
func (p *program) completeModel(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	for _, file := range []string{"script:", "replay:", "record:"} {
		if strings.HasPrefix(word, file) {
			return nil, cobra.ShellCompDirectiveDefault
		}
	}
	provider, _, ok := strings.Cut(word, "/")
	if !ok {
		all := []string{"auto", "none", "script:", "replay:", "record:"}
		for _, k := range choose.All(p.offlineOptions()) {
			all = append(all, k.Name, k.Name+"/")
		}
		return propose(all, word)
	}
	ctx, stop := context.WithTimeout(cmd.Context(), completionLimit)
	defer stop()
	models, err := choose.Models(ctx, provider, p.offlineOptions())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for i, m := range models {
		models[i] = provider + "/" + m
	}
	return propose(models, word)
}

// askServer returns the candidates that can follow done.
func (p *program) askServer(ctx context.Context, target string, done []string, word string) []string {
	return p.candidates(ctx, target, func(ctx context.Context, s *session) []string {
		return (&repl.Completer{Client: s.Client}).Candidates(ctx, done, word)
	})
}

// candidates returns the candidates that a connected server has. It returns none
// if the server is not approved, requires a login, or does not respond within
// completionLimit.
func (p *program) candidates(ctx context.Context, target string, of func(context.Context, *session) []string) []string {
	ctx, stop := context.WithTimeout(ctx, completionLimit)
	defer stop()
	found, closed := make(chan []string, 1), make(chan struct{})
	go func() {
		defer close(closed)
		s, err := p.connectQuietly(ctx, target)
		if err != nil {
			found <- nil
			return
		}
		found <- of(ctx, s)
		s.Close()
	}()
	select {
	case all := <-found:
		select {
		case <-closed:
		case <-time.After(200 * time.Millisecond): // the end of this process ends the server
		}
		return all
	case <-ctx.Done():
		return nil
	}
}

// connectQuietly connects to a server if it can be started without a question.
func (p *program) connectQuietly(ctx context.Context, target string) (*session, error) {
	entry, err := config.Parse(target, nil)
	if errors.Is(err, config.ErrName) {
		entry, err = p.approved(target)
	}
	if err == nil {
		entry, err = p.withFlags(entry)
	}
	if err != nil {
		return nil, err
	}
	return p.connect(ctx, entry, func(o *connect.Options) {
		o.Client = client.Options{Client: mcp.Implementation{Name: "tenon", Title: "Tenon", Version: version.String()}}
		o.NoLogin, o.OpenPage, o.Warn, o.ConnectTimeout = true, nil, nil, completionLimit
	})
}

// approved returns the configured server with the given name, if it is from the
// user's own file or approved. It does not ask.
func (p *program) approved(name string) (config.Server, error) {
	c, err := p.quietConfig()
	if err != nil {
		return config.Server{}, err
	}
	entry, err := c.Server(name)
	if err != nil {
		return entry, err
	}
	entry.Disabled = false // the user has named it
	approvals, v, err := p.verdict(entry)
	if err != nil {
		return entry, err
	}
	if !v.Approved {
		return entry, errors.New("the project's server " + visible.Line(name) + " is not approved")
	}
	return bound(entry, approvals, v), nil
}
