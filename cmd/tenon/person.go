package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/app/args"
	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/form"
	"github.com/tenon-mcp/tenon/app/permit"
	"github.com/tenon-mcp/tenon/auth/login"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// answering sets who answers the server's questions: --answer, the person at
// the terminal, or nobody. Where nobody would, the server is told so.
func (p *program) handleInput(server string, o *client.Options) {
	if !p.interactive() && len(p.answers) == 0 && !p.decline {
		return
	}
	o.Elicit = func(ctx context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
		p.asking.Lock()
		defer p.asking.Unlock()
		return p.fill(ctx, server, e)
	}
	o.ElicitURL = func(ctx context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
		p.asking.Lock()
		defer p.asking.Unlock()
		return p.openPage(ctx, server, e)
	}
}

// fill answers a form with --answer where that has all that is needed, and
// else with what the person types.
func (p *program) fill(ctx context.Context, server string, e *client.Elicitation) (*mcp.ElicitResult, error) {
	given, err := p.given(e)
	if err != nil {
		return nil, err
	}
	if given != nil {
		content, err := e.Form.Complete(given)
		if err == nil {
			err = e.Form.CheckResponse(content)
		}
		if err == nil {
			p.typedSecret(server, permit.SecretFields(e.Message, e.Form), content)
			return e.Accept(content)
		}
		if !p.interactive() {
			return nil, p.misfit(server, e, err)
		}
	} else if len(p.answers) > 0 && len(e.Form.Fields) > 0 && !p.decline && !p.interactive() {
		return nil, p.misfit(server, e, errors.New("no --answer matches a field"))
	}
	if p.decline || !p.interactive() {
		p.note("Declined the question of %s: %s", server, e.Message)
		return e.Decline()
	}
	fmt.Fprintf(p.err, "\n%s asks: %s\n", visible.Line(server), visible.Text(e.Message))
	if len(e.Form.Fields) == 0 {
		return p.confirm(ctx, e)
	}
	secret := permit.SecretFields(e.Message, e.Form)
	if len(secret) > 0 {
		fmt.Fprintf(p.err, "%s %s\n", p.stderr().Yellow("warning:"), visible.Line(permit.SecretWarning(server, secret)))
	}
	content, err := form.Fill(ctx, p.lines(), p.err, e.Form, secret)
	switch {
	case errors.Is(err, form.ErrDeclined):
		return e.Decline()
	case errors.Is(err, io.EOF):
		return e.Cancel()
	case err != nil:
		return nil, err
	}
	p.typedSecret(server, secret, content)
	return e.Accept(content)
}

// typedSecret remembers what was typed into fields that ask for a secret, so
// that it is left out of what is written from here on.
func (p *program) typedSecret(server string, fields []string, content json.RawMessage) {
	for _, name := range fields {
		value := rawjson.Lookup(content, name)
		if text, ok := rawjson.String(value); ok {
			p.secrets.Add(server, text)
		} else {
			p.secrets.Add(server, string(value))
		}
	}
}

// given is what --answer says about the fields of a form; nil if nothing.
func (p *program) given(e *client.Elicitation) (json.RawMessage, error) {
	var words []string
	for _, a := range p.answers {
		name, _, _ := strings.Cut(a, "=")
		for _, f := range e.Form.Fields {
			if f.Name == strings.TrimSuffix(name, ":") {
				words = append(words, a)
				p.answered = append(p.answered, a)
			}
		}
	}
	if words == nil {
		return nil, nil
	}
	content, err := args.Parse(e.Schema, words)
	if err != nil {
		p.wrong = usageError{err}
	}
	return content, usage(err)
}

// misfit remembers that --answer does not fit a question, so that the command
// fails for it and not for what the server makes of it.
func (p *program) misfit(server string, e *client.Elicitation, cause error) error {
	var names []string
	for _, f := range e.Form.Fields {
		names = append(names, f.Name)
	}
	p.wrong = usagef("--answer does not match the question of %s %q: %w; its fields are %s", server, e.Message, cause, strings.Join(names, ", "))
	return p.wrong
}

// checkAnswers says what was wrong with --answer, and what of it no question
// has asked for.
func (p *program) checkReplies() error {
	p.asking.Lock()
	defer p.asking.Unlock()
	if p.wrong != nil {
		return p.wrong
	}
	for _, a := range p.answers {
		if !slices.Contains(p.answered, a) {
			name, _, _ := strings.Cut(a, "=")
			p.note("warning: --answer %s was not used: no question has this field", name)
		}
	}
	return nil
}

func (p *program) confirm(ctx context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
	yes, err := p.ask(ctx, "Accept? (yes/no) ")
	switch {
	case err != nil:
		return e.Cancel()
	case yes:
		return e.Accept(map[string]any{})
	}
	return e.Decline()
}

func (p *program) openPage(ctx context.Context, server string, e *client.Elicitation) (*mcp.ElicitResult, error) {
	if p.decline || !p.interactive() {
		p.note("Declined to open a page for %s: %s", server, e.URL)
		return e.Decline()
	}
	fmt.Fprintf(p.err, "\n%s asks: %s\nIt asks you to open this page:\n  %s\n", visible.Line(server), visible.Text(e.Message), visible.Line(e.URL))
	at := visible.AddressOf(e.URL)
	if at.Machine != "" {
		fmt.Fprintf(p.err, "The page is on the host %s.\n", at.Machine)
	}
	for _, w := range append(at.Warnings, visible.Suspicious(e.URL)...) {
		fmt.Fprintf(p.err, "Warning: %s.\n", w)
	}
	if at.Refused != "" {
		p.note("Declined; the page was not opened: %s.", at.Refused)
		return e.Decline()
	}
	yes, err := p.ask(ctx, "Open it in the browser? (yes/no) ")
	if err != nil {
		return e.Cancel()
	}
	if !yes {
		return e.Decline()
	}
	if err := login.OpenBrowser(e.URL); err != nil {
		p.note("Could not open a browser: %v. Open the page yourself.", err)
	}
	return e.Accept(nil)
}

// ask asks yes or no, in whole words, so that a letter typed ahead is no answer.
// An empty line is no.
func (p *program) ask(ctx context.Context, question string) (bool, error) {
	for {
		line, err := p.lines().ReadLine(ctx, question)
		if err != nil {
			return false, err
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "yes":
			return true, nil
		case "no", "":
			return false, nil
		}
		fmt.Fprintln(p.err, "Type yes or no.")
	}
}

// lines is the one reader of lines that a program may have.
func (p *program) lines() form.Lines {
	if p.typing == nil {
		p.typing = form.FromReader(p.in, p.err)
	}
	return p.typing
}

// input asks for a variable of the configuration, by number where there are
// choices. An empty line takes the default.
func (p *program) input(in config.Input) (string, error) {
	what := in.Description
	if what == "" {
		what = in.ID
	}
	fmt.Fprintf(p.err, "Server %s in %s needs a value: %s\n", visible.Line(in.Server), visible.Line(in.Source.File), visible.Line(what))
	for i, o := range in.Options {
		fmt.Fprintf(p.err, "  %2d  %s\n", i+1, visible.Line(o))
	}
	if in.Default != "" && !in.Password {
		fmt.Fprintf(p.err, "  (default: %s)\n", visible.Line(in.Default))
	}
	text, err := p.secret(in)
	if err != nil {
		return "", err
	}
	if text == "" {
		return in.Default, nil
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(in.Options) && !slices.Contains(in.Options, text) {
		return in.Options[n-1], nil
	}
	return text, nil
}
