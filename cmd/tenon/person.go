package main

import (
	"cmp"
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

// handleInput sets the elicitation handlers: --answer, --decline or the user at
// the terminal answer. Without any of them it sets none, and the client does not
// declare the capability.
func (p *program) handleInput(server string, o *client.Options) {
	if !p.canAnswer() {
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

// canAnswer reports whether there is a way to answer a question.
func (p *program) canAnswer() bool { return p.interactive() || len(p.answers) > 0 || p.decline }

// fill answers a form with --answer if that has every required field, and else
// asks the user.
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
			p.registerSecrets(server, permit.SecretFields(e.Message, e.Form), content)
			return e.Accept(content)
		}
		if !p.interactive() {
			return nil, p.mismatch(server, e, err)
		}
	} else if len(p.answers) > 0 && len(e.Form.Fields) > 0 && !p.decline && !p.interactive() {
		return nil, p.mismatch(server, e, errors.New("no --answer matches a field"))
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
	p.registerSecrets(server, secret, content)
	return e.Accept(content)
}

// registerSecrets registers the values of secret fields, so that they are removed from
// later output.
func (p *program) registerSecrets(server string, fields []string, content json.RawMessage) {
	for _, name := range fields {
		value := rawjson.Lookup(content, name)
		if text, ok := rawjson.String(value); ok {
			p.secrets.Add(server, text)
		} else {
			p.secrets.Add(server, string(value))
		}
	}
}

// given returns the values of --answer for the fields of a form; nil if none.
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

// mismatch records that --answer does not match a question, so that the command
// fails with this error and not with the resulting error of the server.
func (p *program) mismatch(server string, e *client.Elicitation, cause error) error {
	var names []string
	for _, f := range e.Form.Fields {
		names = append(names, f.Name)
	}
	p.wrong = usagef("--answer does not match the question of %s %q: %w; its fields are %s", server, e.Message, cause, strings.Join(names, ", "))
	return p.wrong
}

// checkReplies returns the error of a mismatched --answer, and prints a warning
// for each --answer that no question used.
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

// ask asks a question and reads "yes" or "no". An empty line means no; single
// letters, which may be typed ahead, are not accepted.
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

// lines returns the reader of standard input that all questions share.
func (p *program) lines() form.Lines {
	if p.typing == nil {
		p.typing = form.FromReader(p.in, p.err)
	}
	return p.typing
}

// input asks for a variable of the configuration, by number if it has choices. An
// empty line takes the default.
func (p *program) input(in config.Input) (string, error) {
	what := cmp.Or(in.Description, in.ID)
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
