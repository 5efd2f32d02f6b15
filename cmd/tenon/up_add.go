package main

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/app/args"
	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/discovery"
	"github.com/tenon-mcp/tenon/app/web"
	"github.com/tenon-mcp/tenon/app/workspace"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// A candidate is a server that the user pasted into the page:
//
//	read      JSON of a configuration, a server.json, a URL or a command
//	fill in   the values of its inputs; secrets become entries of the keyring
//	show      the exact entry and command, and a pin of them
//	add       what was shown, if the pin is the same: keyring, tenon.json, start
type candidate struct {
	entry   config.Entry // as it is written
	secrets *secretStore
	show    web.Proposal
}

// propose returns what a text would add. It changes and starts nothing.
func (p *program) propose(ctx context.Context, w *workspace.Workspace, a web.Addition) ([]web.Proposal, error) {
	found, err := p.readAddition(ctx, w, a)
	all := []web.Proposal{}
	for _, c := range found {
		all = append(all, c.show)
	}
	return all, err
}

// addPasted adds and starts a server, if it is what the user has seen.
func (p *program) addPasted(ctx context.Context, w *workspace.Workspace, a web.Addition, pin string) (string, error) {
	found, err := p.readAddition(ctx, w, a)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(found, func(c candidate) bool { return c.show.Pin == pin && c.show.Refused == "" })
	if i < 0 {
		return "", errors.New("it has changed since you reviewed it: review it again")
	}
	c := found[i]
	err = c.secrets.save()
	if err == nil {
		err = config.Add(c.show.File, c.entry.Name, c.entry)
	}
	if err != nil {
		c.secrets.discard()
		return "", err
	}
	p.note("Added %s to %s.", visible.Line(c.entry.Name), c.show.File)
	loaded, err := p.config()
	if err != nil {
		return "", err
	}
	s, err := loaded.Server(c.entry.Name)
	if err == nil {
		err = checkBuiltin(s)
	}
	if err == nil {
		err = w.Add(s)
	}
	if err != nil {
		return "", fmt.Errorf("%s was added to %s, but cannot be started: %w", c.entry.Name, c.show.File, err)
	}
	return c.entry.Name, nil
}

// readAddition reads a text of the user.
func (p *program) readAddition(ctx context.Context, w *workspace.Workspace, a web.Addition) ([]candidate, error) {
	text := unfenced(a.Text)
	switch {
	case strings.HasPrefix(text, "{") || strings.HasPrefix(text, `"`):
		entries, warnings, err := config.Paste(text)
		if errors.Is(err, config.ErrNotEntries) {
			d, derr := discovery.Parse(ctx, []byte(text), &discovery.Options{Timeout: p.timeout})
			if derr != nil {
				return nil, fmt.Errorf("%w; nor is it a server.json: %w", err, derr)
			}
			return p.described(w, d, a)
		}
		if err != nil {
			return nil, err
		}
		return p.pasted(w, entries, warnings, a)
	case !strings.ContainsAny(text, " \n") && discovery.IsSource(text) && strings.Contains(text, "://"):
		d, err := discovery.Load(ctx, text, &discovery.Options{Timeout: p.timeout})
		if err != nil {
			return nil, err
		}
		return p.described(w, d, a)
	case registryName().MatchString(text) || discovery.IsSource(text) && !strings.ContainsAny(text, " \n"):
		return nil, fmt.Errorf("add this in a terminal: tenon config add NAME %s", visible.Line(text))
	}
	e, err := typed(text)
	if err != nil {
		return nil, err
	}
	return p.pasted(w, []config.Entry{e}, nil, a)
}

// unfenced returns a text without the fence of a Markdown code block and without
// the prompt of a shell.
func unfenced(text string) string {
	text = strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(text, "```"); ok {
		_, rest, _ = strings.Cut(rest, "\n")
		text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "```"))
	}
	return strings.TrimPrefix(text, "$ ")
}

// typed reads a URL, builtin:NAME, or a command with variables before it.
func typed(text string) (e config.Entry, err error) {
	words, err := args.Split(text)
	if err != nil {
		return e, err
	}
	env := map[string]string{}
	for len(words) > 1 {
		name, value, ok := strings.Cut(words[0], "=")
		if !ok || !variableName().MatchString(name) {
			break
		}
		env[name], words = value, words[1:]
	}
	if i := slices.IndexFunc(words, func(w string) bool { return slices.Contains([]string{"|", "||", "&&", ";", ">", "<", "&"}, w) }); i >= 0 {
		return e, fmt.Errorf("%q needs a shell, and servers are started without one: paste a single command, or sh -c '…'", words[i])
	}
	var s config.Server
	if len(words) == 1 && (strings.Contains(words[0], "://") || strings.HasPrefix(words[0], "builtin:")) {
		s, err = config.Parse(words[0], nil)
	} else {
		s, err = config.Parse("--", words)
	}
	if err != nil {
		return e, err
	}
	e = config.Entry{Kind: s.Kind, Command: s.Command, Args: s.Args, URL: s.URL}
	if len(env) > 0 {
		e.Env = env
	}
	if s.Kind == config.Builtin {
		e.Builtin = strings.TrimPrefix(words[0], "builtin:")
	}
	return e, nil
}

var variableName = pattern(`^[A-Za-z_][A-Za-z0-9_]*$`)

// pasted returns the candidates of entries.
func (p *program) pasted(w *workspace.Workspace, entries []config.Entry, warnings []string, a web.Addition) ([]candidate, error) {
	var all []candidate
	for _, e := range entries {
		wanted := ""
		if len(entries) == 1 || e.Name == a.Server {
			wanted = a.Name
		}
		c := candidate{show: web.Proposal{Server: e.Name, Kind: string(e.Kind), Warnings: slices.Clone(warnings)}}
		e.Source, e.Warnings = config.Source{}, nil
		if e.Err != nil {
			c.show.Name, c.show.Refused = e.Name, e.Err.Error()
			all = append(all, c)
			continue
		}
		if err := p.name(w, &e, wanted, &c); err != nil {
			return nil, err
		}
		p.fillInputs(&e, a, &c)
		c.keepSecrets(&e)
		if e.Kind == config.Builtin {
			name, _, _ := strings.Cut(e.Builtin, "?")
			if err := knownBuiltin(name); err != nil {
				c.show.Refused = err.Error()
			}
		}
		p.finish(e, &c)
		all = append(all, c)
	}
	return all, nil
}

// name gives an entry its name: the one that the user wants, or a suggestion that
// is free.
func (p *program) name(w *workspace.Workspace, e *config.Entry, wanted string, c *candidate) error {
	loaded, err := p.config()
	if err != nil {
		return err
	}
	taken := func(name string) bool {
		return w.Fleet.Get(name) != nil || slices.ContainsFunc(loaded.Entries(), func(o config.Entry) bool { return o.Name == name && !o.Source.Project })
	}
	name := cmp.Or(wanted, e.Name, suggestedName(*e))
	for n := 2; wanted == "" && taken(name); n++ {
		name = fmt.Sprintf("%s-%d", cmp.Or(e.Name, suggestedName(*e)), n)
	}
	e.Name, c.show.Name = name, name
	c.secrets = &secretStore{p: p, server: name}
	if err := config.CheckName(name); err != nil {
		c.show.Refused = err.Error()
	} else if taken(name) {
		c.show.Refused = fmt.Sprintf("A server named %s exists. Choose another name.", name)
	}
	return nil
}

// suggestedName returns a short name for an entry that has none: of the package
// that npx or uvx run, of the program, or of the host.
func suggestedName(e config.Entry) string {
	switch {
	case e.Builtin != "":
		name, _, _ := strings.Cut(e.Builtin, "?")
		return name
	case e.URL != "":
		s, err := config.Parse(e.URL, nil)
		if err != nil {
			return "server"
		}
		host, _, _ := strings.Cut(s.Name, ":")
		host = strings.TrimPrefix(strings.TrimPrefix(host, "www."), "mcp.")
		return hostName(host)
	}
	words := []string{e.Command}
	if slices.Contains([]string{"npx", "uvx", "bunx", "pnpx", "node", "python", "python3", "uv", "docker", "deno", "bun"}, path.Base(e.Command)) {
		words = slices.DeleteFunc(slices.Clone(e.Args), func(w string) bool {
			return strings.HasPrefix(w, "-") || slices.Contains([]string{"run", "tool", "exec", "dlx"}, w)
		})
	}
	if len(words) == 0 {
		return hostName(path.Base(e.Command))
	}
	name := path.Base(strings.ReplaceAll(words[0], `\`, "/"))
	name, _, _ = strings.Cut(name, "@")
	name = strings.TrimSuffix(name, path.Ext(name))
	for _, part := range []string{"mcp-server-", "server-", "mcp-"} {
		name = strings.TrimPrefix(name, part)
	}
	for _, part := range []string{"-mcp-server", "-server", "-mcp"} {
		name = strings.TrimSuffix(name, part)
	}
	return hostName(cmp.Or(name, "server"))
}

// fillInputs replaces the inputs of an entry by the values of the user; secrets go
// to the keyring.
func (p *program) fillInputs(e *config.Entry, a web.Addition, c *candidate) {
	for _, in := range e.Inputs {
		c.show.Inputs = append(c.show.Inputs, web.Input{Name: in.ID, Description: in.Description, Default: in.Default, Choices: in.Options, Required: true, Secret: in.Password})
		text := cmp.Or(a.Inputs[in.ID], in.Default)
		switch {
		case text == "":
			c.refuse("Enter a value for %s.", in.ID)
			continue
		case in.Password && !reference().MatchString(text):
			if why := c.secrets.unavailable(); why != "" {
				c.refuse("%s is a secret and cannot be stored: %s. Enter ${NAME} instead, and set the environment variable NAME before tenon starts.", in.ID, why)
				continue
			}
			text = c.secrets.value(discovery.Input{Name: in.ID, Secret: true}, text).Ref
		case !reference().MatchString(text):
			text = strings.ReplaceAll(text, "${", "$${")
		}
		replaceInput(e, "${input:"+in.ID+"}", text)
	}
	e.Inputs = nil
}

// replaceInput replaces a variable in all texts of an entry.
func replaceInput(e *config.Entry, variable, text string) {
	one := func(s string) string { return strings.ReplaceAll(s, variable, text) }
	e.Command, e.URL, e.Dir, e.EnvFile, e.Builtin = one(e.Command), one(e.URL), one(e.Dir), one(e.EnvFile), one(e.Builtin)
	e.Args = slices.Clone(e.Args)
	for i, s := range e.Args {
		e.Args[i] = one(s)
	}
	e.Env, e.Headers = maps.Clone(e.Env), maps.Clone(e.Headers)
	for _, table := range []map[string]string{e.Env, e.Headers} {
		for name, s := range table {
			table[name] = one(s)
		}
	}
}

// refuse says why a candidate cannot be added, if nothing else does.
func (c *candidate) refuse(format string, args ...any) {
	if c.show.Refused == "" {
		c.show.Refused = fmt.Sprintf(format, args...)
	}
}

// keepSecrets moves secrets that are written out in an entry to the keyring.
// Without one they stay, and the user is warned.
func (c *candidate) keepSecrets(e *config.Entry) {
	known := redact.New()
	move := func(table map[string]string, secret func(name, value string) bool) map[string]string {
		table = maps.Clone(table)
		for _, name := range slices.Sorted(maps.Keys(table)) {
			value := table[name]
			if value == "" || strings.Contains(value, "${") || !secret(name, value) {
				continue
			}
			if why := c.secrets.unavailable(); why != "" {
				c.secrets.p.secrets.Add(e.Name, value)
				c.show.Warnings = append(c.show.Warnings, fmt.Sprintf("the secret %s is written to the file as it is, because it cannot be stored: %s", name, why))
				continue
			}
			table[name] = c.secrets.value(discovery.Input{Name: name, Secret: true}, value).Ref
		}
		return table
	}
	e.Env = move(e.Env, func(name, value string) bool { return known.Arg("", name+"="+value) != name+"="+value })
	e.Headers = move(e.Headers, func(name, value string) bool { return known.Header(name, value) != value })
}

// described returns the candidate of a server.json or a server card.
func (p *program) described(w *workspace.Workspace, d *discovery.Description, a web.Addition) ([]candidate, error) {
	kind, number, _ := strings.Cut(a.Option, " ")
	choice := discovery.Choice{}
	switch discovery.OptionKind(kind) {
	case discovery.PackageOption:
		choice.Package = number
	case discovery.RemoteOption:
		choice.Remote = number
	}
	option, err := d.Choose(choice, installed)
	if err != nil {
		return nil, err
	}
	c := candidate{show: web.Proposal{Server: d.Name, About: strings.TrimSpace(cmp.Or(d.Title, d.Name) + " " + d.Version + "\n" + d.Description), Warnings: slices.Concat(d.Warnings, option.Warnings)}}
	for _, o := range d.Options {
		label := fmt.Sprintf("%s %d", o.Kind, o.Number)
		c.show.Options = append(c.show.Options, label+" "+o.Summary())
		if o == option {
			c.show.Option = label
		}
	}
	if option.Download != nil || option.Bundle != nil {
		return nil, fmt.Errorf("%s is a bundle; add it in a terminal: tenon config add NAME FILE", d.Name)
	}
	e := config.Entry{Name: hostName(path.Base(d.Name))}
	if err := p.name(w, &e, a.Name, &c); err != nil {
		return nil, err
	}
	values := c.optionValues(option, a)
	e, err = option.Entry(e.Name, values)
	if err != nil {
		return nil, err
	}
	c.show.Kind = string(e.Kind)
	for _, name := range option.SecretArguments() {
		c.show.Warnings = append(c.show.Warnings, fmt.Sprintf("the secret %s is passed as an argument, which other programs on this machine can see", name))
	}
	p.finish(e, &c)
	return []candidate{c}, nil
}

// optionValues returns the values of an option's inputs. A missing one is shown as
// <NAME>, and the candidate refused.
func (c *candidate) optionValues(option *discovery.Option, a web.Addition) discovery.Values {
	values := discovery.Values{}
	for _, in := range option.Inputs {
		c.show.Inputs = append(c.show.Inputs, web.Input{Name: in.Name, Description: cmp.Or(in.Description, in.Hint()), Default: strings.Join(in.Default, "\n"), Choices: in.Choices, Required: in.Required, Secret: in.Secret})
		texts := in.Default
		if text := a.Inputs[in.Name]; text != "" {
			texts = []string{text}
			if in.Multiple {
				texts = strings.Split(text, "\n")
			}
		}
		checked, err := checkTexts(in, texts)
		switch {
		case err != nil:
			c.refuse("%v", err)
			checked = nil
		case in.Secret && len(checked) > 0 && !reference().MatchString(checked[0]) && c.secrets.unavailable() != "":
			c.refuse("%s is a secret and cannot be stored: %s. Enter ${NAME} instead, and set the environment variable NAME before tenon starts.", in.Name, c.secrets.unavailable())
			checked = nil
		case in.Required && len(checked) == 0:
			c.refuse("Enter a value for %s.", in.Name)
		}
		if in.Required && len(checked) == 0 {
			values[in.Name] = []discovery.Value{{Ref: "<" + in.Name + ">"}}
		}
		for _, text := range checked {
			values[in.Name] = append(values[in.Name], c.secrets.value(in, text))
		}
	}
	return values
}

// finish completes what is shown, and pins what would be written.
func (p *program) finish(e config.Entry, c *candidate) {
	c.entry = e
	file, err := p.configFile(false)
	if err != nil {
		c.refuse("%v", err)
	}
	shown := e
	shown.Env, shown.Headers = maps.Clone(e.Env), maps.Clone(e.Headers)
	known := redact.New()
	for name, value := range shown.Env {
		_, shown.Env[name], _ = strings.Cut(known.Arg("", name+"="+value), "=")
	}
	for name, value := range shown.Headers {
		shown.Headers[name] = known.Header(name, value)
	}
	c.show.File, c.show.Runs, c.show.Writes = file, e.CommandLine(), shown.JSON()
	c.show.Secrets = slices.Sorted(maps.Keys(c.secrets.pending))
	s := config.Server{Name: e.Name, Kind: e.Kind, Command: e.Command, Args: e.Args, Env: e.Env, URL: e.URL, Headers: e.Headers, Dir: e.Dir}
	c.show.Warnings = append(c.show.Warnings, new(config.Approvals).Check(s).Warnings...)
	if loaded, err := p.config(); err == nil {
		for _, name := range loaded.Unset(e) {
			c.show.Warnings = append(c.show.Warnings, fmt.Sprintf("the environment variable %s is not set; the server cannot start without it", name))
		}
	}
	if e.Kind == config.Stdio && !strings.Contains(e.Command, "${") && !installed(e.Command) {
		c.show.Warnings = append(c.show.Warnings, fmt.Sprintf("the program %s is not installed", visible.Line(e.Command)))
	}
	c.show.Pin = pinAddition(e, file, c.secrets.pending)
}

// additionKey makes pins of additions useless to guess secrets with.
var additionKey = sync.OnceValue(func() []byte { return []byte(rand.Text()) })

// pinAddition returns a digest of all that an addition writes.
func pinAddition(e config.Entry, file string, secrets map[string]string) string {
	h := hmac.New(sha256.New, additionKey())
	raw, _ := json.Marshal([]any{e.Name, e.JSON(), file, secrets}) // of texts only
	h.Write(raw)
	return hex.EncodeToString(h.Sum(nil))
}
