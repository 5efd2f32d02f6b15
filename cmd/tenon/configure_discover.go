package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/discovery"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/internal/textclip"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// addDiscovered adds a server that a file, a URL or a registry describes:
//
//	describe   read and check the file
//	choose     one of its packages and remotes
//	collect    the values of its inputs
//	confirm    show the exact command or URL, and ask
//	store      unpack the bundle, store the secrets, write the entry
//
// Until it has asked, it writes nothing. It starts nothing.
func (p *program) addDiscovered(ctx context.Context, name, source string, a *adding) error {
	if err := p.checkNew(name, a.toProject); err != nil {
		return err
	}
	bundles, err := p.bundleDir()
	if err != nil {
		return err
	}
	o := &discovery.Options{Bundles: bundles, SHA256: strings.ToLower(a.sha256), Timeout: p.timeout, Card: a.card}
	d, err := p.describe(ctx, source, a, o)
	if err != nil {
		return err
	}
	option, err := d.Choose(a.choice, installed)
	if err != nil {
		return usageError{err}
	}
	w := p.err
	if a.dry {
		w = p.out
	}
	p.showDescription(w, d, option)
	if option.Download != nil {
		p.note("Downloading %s", option.Download.URL)
		if option, err = d.Fetch(ctx, option, o); err != nil {
			return describeError(err)
		}
	}
	if option.Bundle != nil && a.toProject {
		return usagef("a bundle is unpacked into your own folder; it cannot be added to a project")
	}
	s := &secretStore{p: p, server: name, project: a.toProject}
	values, err := p.collect(ctx, name, option, a, s)
	if err != nil {
		return err
	}
	e, err := option.Entry(name, values)
	if err != nil {
		return usageError{err}
	}
	e.Inputs = s.inputs
	p.showEntry(w, d, option, e, a)
	if err := a.extend(&e); err != nil || a.dry {
		return err
	}
	if err := p.confirmAdding(ctx, option); err != nil {
		return err
	}
	return p.store(e, option, bundles, s, a)
}

// checkNew returns an error if a server cannot be added under a name.
func (p *program) checkNew(name string, toProject bool) error {
	if err := config.CheckName(name); err != nil {
		return usageError{err}
	}
	c, err := p.config()
	if err != nil {
		return err
	}
	for _, e := range c.Entries() {
		if e.Name == name && e.Source.Project == toProject {
			return usagef("%s:%d: %q: %w; remove it first, or choose another name", e.Source.File, e.Source.Line, name, config.ErrExists)
		}
	}
	return nil
}

// bundleDir returns the folder of unpacked bundles.
func (p *program) bundleDir() (string, error) {
	dir, err := p.configDir()
	if err != nil {
		return "", err
	}
	dir, err = filepath.Abs(dir)
	return filepath.Join(dir, "bundles"), err
}

func installed(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// showDescription prints what a description says, and its options if there are
// several.
func (p *program) showDescription(w io.Writer, d *discovery.Description, chosen *discovery.Option) {
	out := p.stderr()
	fmt.Fprintf(w, "%s %s  %s\n", out.Bold(visible.Line(d.Name)), visible.Line(d.Version), visible.Line(d.Description))
	for _, line := range [][2]string{{"Title", d.Title}, {"Publisher", d.Publisher}, {"Website", d.Website}, {"Repository", d.Repository}, {"From", d.Source}} {
		if line[1] != "" {
			fmt.Fprintf(w, "  %-11s %s\n", line[0]+":", visible.Line(textclip.Clip(line[1], 200)))
		}
	}
	if len(d.Options) < 2 {
		return
	}
	fmt.Fprintf(w, "  It can be used in %d ways; --package and --remote choose one:\n", len(d.Options))
	for _, o := range d.Options {
		mark := " "
		if o == chosen {
			mark = "*"
		}
		fmt.Fprintf(w, "  %s --%s %d  %s\n", mark, o.Kind, o.Number, visible.Line(o.Summary()))
		if o.Unsupported != "" {
			fmt.Fprintf(w, "      %s\n", out.Dim("cannot be used: "+visible.Line(o.Unsupported)))
		}
	}
}

// showEntry prints the exact command or URL that would be added, and what the
// user should know about it.
func (p *program) showEntry(w io.Writer, d *discovery.Description, o *discovery.Option, e config.Entry, a *adding) {
	out := p.stderr()
	shown := e
	shown.Env, shown.Headers = maps.Clone(e.Env), maps.Clone(e.Headers)
	hidden := *a
	hidden.env, hidden.headers = slices.Clone(a.env), slices.Clone(a.headers)
	known := redact.New()
	for i, word := range hidden.env {
		hidden.env[i] = known.Arg("", word)
	}
	for i, line := range hidden.headers {
		if name, value, err := config.ParseHeader(line); err == nil {
			hidden.headers[i] = name + ": " + known.Header(name, value)
		}
	}
	_ = hidden.extend(&shown) // the same error is returned for the entry itself
	fmt.Fprintf(w, "\nThis is added as %s:\n\n  %s\n\n", out.Bold(visible.Line(e.Name)), shown.Written())
	if e.Dir != "" {
		fmt.Fprintf(w, "  It runs in %s\n", visible.Line(e.Dir))
	}
	if o.Bundle != nil {
		fmt.Fprintf(w, "  The SHA-256 digest of the bundle is %s\n", o.Bundle.SHA256)
	}
	var unset []string
	for _, in := range o.Inputs {
		if !in.Required && len(in.Default) == 0 && !used(a.inputs, in.Name) {
			unset = append(unset, in.Name)
		}
	}
	if len(unset) > 0 {
		fmt.Fprintf(w, "  Not set, optional: %s\n", visible.Line(strings.Join(unset, ", ")))
	}
	warnings := slices.Concat(d.Warnings, o.Warnings)
	for _, name := range o.SecretArguments() {
		warnings = append(warnings, fmt.Sprintf("the secret %s is passed as an argument, which other programs on this machine can see", name))
	}
	if o.Program != "" && !installed(o.Program) {
		warnings = append(warnings, fmt.Sprintf("the program %s is not installed", o.Program))
	}
	s := config.Server{Name: e.Name, Kind: e.Kind, Command: e.Command, Args: e.Args, Env: shown.Env, URL: e.URL, Headers: shown.Headers, Dir: e.Dir}
	warnings = append(warnings, new(config.Approvals).Check(s).Warnings...)
	for _, text := range warnings {
		fmt.Fprintf(w, "  %s %s\n", out.Yellow("warning:"), visible.Line(text))
	}
}

// used reports whether --input sets an input.
func used(inputs []string, name string) bool {
	return slices.ContainsFunc(inputs, func(word string) bool {
		given, _, _ := strings.Cut(word, "=")
		return given == name || strings.TrimLeft(given, "-") == name
	}) || os.Getenv(config.InputVariable(name)) != ""
}

// confirmAdding asks whether to add the server that was shown.
func (p *program) confirmAdding(ctx context.Context, o *discovery.Option) error {
	switch {
	case p.yes:
		return nil
	case !p.interactive():
		return usagef("cannot ask for confirmation: not a terminal; use --yes, or --dry-run to add nothing")
	}
	question := "Add it? (yes/no) "
	if o.Kind == discovery.PackageOption {
		question = "Add it? Its program runs with your user account's rights. (yes/no) "
	}
	yes, err := p.ask(ctx, question)
	if errors.Is(err, io.EOF) || err == nil && !yes {
		return usageError{errors.New("nothing was added")}
	}
	return err
}

// store unpacks the bundle, stores the secrets and writes the entry. If a step
// fails, it removes the secrets again.
func (p *program) store(e config.Entry, o *discovery.Option, bundles string, s *secretStore, a *adding) error {
	if o.Bundle != nil {
		if err := o.Bundle.Unpack(bundles); err != nil {
			return err
		}
	}
	err := s.save()
	if err == nil {
		err = p.save(e, a)
	}
	if err != nil {
		s.discard()
		return err
	}
	for _, in := range s.inputs {
		p.note("The secret %s was not stored: %s. You are asked for it when the server is started; in scripts, set %s.", in.Description, s.why, config.InputVariable(in.ID))
	}
	return nil
}

// cleanUp removes what only a removed entry used: its secrets and its bundle.
func (p *program) cleanUp(removed config.Entry, all []config.Entry) {
	inUse := func(uses func(config.Entry) bool) bool {
		return slices.ContainsFunc(all, func(e config.Entry) bool {
			return (e.Name != removed.Name || e.Source.File != removed.Source.File) && uses(e)
		})
	}
	if removed.Source.Project {
		return
	}
	for _, name := range removed.KeyringNames() {
		if inUse(func(e config.Entry) bool { return slices.Contains(e.KeyringNames(), name) }) {
			continue
		}
		if err := p.keys.removeServer(name); err != nil {
			p.note("warning: the secret %s stays in the keyring: %v", name, err)
		}
	}
	bundles, err := p.bundleDir()
	if err != nil || removed.Dir == "" || filepath.Dir(removed.Dir) != bundles || inUse(func(e config.Entry) bool { return e.Dir == removed.Dir }) {
		return
	}
	if err := os.RemoveAll(removed.Dir); err != nil {
		p.note("warning: the bundle stays in %s: %v", removed.Dir, err)
	}
}
