// Package golden runs the cases of an API file: against the answers in the file,
// against a recording, or against an API at a base URL.
package golden

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/tenon-mcp/tenon/auth/tokens"
	"github.com/tenon-mcp/tenon/builtin/api"
	"github.com/tenon-mcp/tenon/builtin/api/expr"
	"github.com/tenon-mcp/tenon/builtin/api/spec"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/mcp"
)

// Options say where the answers come from.
type Options struct {
	// Base is the URL of an API that answers; empty means the answers in the
	// file.
	Base string
	// Private allows a Base on loopback or a private network.
	Private bool
	// Recording has answers by the names of cases, which replace those in the
	// file; nil means none.
	Recording map[string][]spec.Answer
	// Record is called with the answers of each case that ran with Base; nil
	// means that nothing is recorded.
	Record func(name string, answers []spec.Answer)
	// Only selects cases whose name contains it.
	Only string
}

// An Outcome is how a case ended.
type Outcome struct {
	Name     string   `json:"name"`
	Skipped  string   `json:"skipped,omitzero"` // why it was left out
	Problems []string `json:"problems,omitzero"`
}

// Run runs the cases of a file.
func Run(ctx context.Context, c api.Config, o Options) ([]Outcome, error) {
	if c.Data == nil {
		data, err := c.Read()
		if err != nil {
			return nil, err
		}
		c.Data, c.Name = data, c.File
	}
	if err := api.Check(c); err != nil {
		return nil, err
	}
	f, err := spec.Load(c.Name, c.Data)
	if err != nil {
		return nil, err
	}
	c.Toolsets, c.Tokens = []string{"all"}, &tokens.Memory{}
	c.Resolver.Missing = func(string) string { return "test" }
	if o.Base == "" { // every secret is test, whatever the user has
		c.Resolver.Getenv = func(string) (string, bool) { return "", false }
		c.Resolver.Keyring = func(string) (string, error) { return "", nil }
		c.Resolver.NoFiles = true
	}
	var out []Outcome
	for i := range f.Tests {
		if t := &f.Tests[i]; strings.Contains(t.Name, o.Only) {
			out = append(out, run(ctx, c, f, t, &o))
		}
	}
	return out, nil
}

// run runs one case with a server of its own. Neither its problems nor what it
// records have the secrets of the user.
func run(ctx context.Context, c api.Config, f *spec.File, t *spec.Test, o *Options) Outcome {
	out := Outcome{Name: t.Name}
	live := o.Base != ""
	if live && t.Live != nil && !*t.Live {
		out.Skipped = "not for a live API"
		return out
	}
	answers := t.Answers
	if recorded, ok := o.Recording[t.Name]; ok {
		answers = recorded
	}
	secrets := redact.New()
	c.Resolver.Found = func(secret string) { secrets.Add("", secret) }
	wire := &wire{answers: answers, live: live, hidden: credentialParameters(f)}
	if live {
		c.Base, c.Private = o.Base, c.Private || o.Private
		wire.network = api.Network(c.Private)
		c.TokenTransport = wire.network
	} else {
		c.Auth = testAuth(f.Auth)
	}
	c.Transport = wire
	c.Files, c.ClientRoots = "", true // the files of the case
	base, err := c.BaseURL(f)
	if err == nil {
		wire.base, err = url.Parse(base)
	}
	if err != nil {
		out.Problems = []string{secrets.Known(err.Error())}
		return out
	}
	s, err := api.New(c)
	if err != nil {
		out.Problems = []string{secrets.Known(err.Error())}
		return out
	}
	defer s.Close()
	call := &caller{test: t}
	remove, err := call.writeFiles()
	if err != nil {
		out.Problems = []string{err.Error()}
		return out
	}
	defer remove()
	call.run(ctx, s)
	for _, problem := range call.check(ctx, wire, live) {
		out.Problems = append(out.Problems, secrets.Known(problem))
	}
	if live && o.Record != nil {
		o.Record(t.Name, redacted(secrets, wire.recorded))
	}
	return out
}

// redacted returns answers without secrets that the API repeated.
func redacted(secrets *redact.Values, answers []spec.Answer) []spec.Answer {
	for i := range answers {
		a := &answers[i]
		a.Request, a.Body = secrets.Known(a.Request), secrets.KnownJSON(a.Body)
		for name, value := range a.Reply {
			a.Reply[name] = secrets.Known(value)
		}
	}
	return answers
}

// credentialParameters returns the names of the query parameters that are
// credentials.
func credentialParameters(f *spec.File) []string {
	var out []string
	add := func(list []spec.Auth) {
		for _, a := range list {
			if a.Kind == "query" {
				out = append(out, a.Name)
			}
		}
	}
	add(f.Auth)
	for _, p := range f.Profiles {
		add(p.Auth)
	}
	return out
}

// testAuth replaces credentials that would need a login.
func testAuth(list []spec.Auth) []spec.Auth {
	for _, a := range list {
		switch a.Kind {
		case "bearer", "basic", "header", "query":
			return []spec.Auth{a}
		case "none":
			return nil
		}
	}
	if len(list) == 0 {
		return nil
	}
	return []spec.Auth{{Kind: "bearer", Token: "${env:TENON_API_TEST_TOKEN}"}}
}

// A caller makes the call of a case as a client does.
type caller struct {
	test  *spec.Test
	root  string // of its files; empty means that the client has no roots
	asked []string
	text  string
	value json.RawMessage
	err   string // of a failed call
}

func (c *caller) run(ctx context.Context, s mcp.Handler) {
	o := &client.Options{}
	if c.test.Confirm != "none" {
		o.Elicit = c.elicit
	}
	if c.root != "" {
		//lint:ignore SA1019 tools find files there
		o.Roots = func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: fileURI(c.root)}}, nil }
	}
	cl := client.New(s, o)
	var err error
	switch t := c.test; {
	case t.Tool != "":
		err = c.callTool(ctx, cl)
	case t.Resource != "":
		err = c.readResource(ctx, cl)
	case t.Prompt != "":
		err = c.getPrompt(ctx, cl)
	case t.Complete != nil:
		err = c.complete(ctx, cl)
	}
	if err != nil {
		c.err = err.Error()
	}
}

// writeFiles writes the files of a case into a folder that is a root of the client.
func (c *caller) writeFiles() (remove func(), err error) {
	if c.test.Files == nil {
		return func() {}, nil
	}
	if c.root, err = os.MkdirTemp("", "tenon-api-test-"); err != nil {
		return nil, err
	}
	remove = func() { os.RemoveAll(c.root) }
	root, err := os.OpenRoot(c.root)
	if err != nil {
		remove()
		return nil, err
	}
	defer root.Close()
	for name, content := range c.test.Files {
		if err = root.MkdirAll(path.Dir(name), 0o700); err == nil {
			err = root.WriteFile(name, []byte(content), 0o600)
		}
		if err != nil {
			remove()
			return nil, fmt.Errorf("files: %w", err)
		}
	}
	return remove, nil
}

// fileURI returns the URI of an absolute path.
func fileURI(name string) string {
	name = filepath.ToSlash(name)
	if !strings.HasPrefix(name, "/") {
		name = "/" + name // a drive
	}
	return (&url.URL{Scheme: "file", Path: name}).String()
}

func (c *caller) elicit(_ context.Context, e *client.Elicitation) (*mcp.ElicitResult, error) {
	c.asked = append(c.asked, e.Message)
	if c.test.Confirm == "decline" {
		return &mcp.ElicitResult{Action: mcp.ActionDecline}, nil
	}
	return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: json.RawMessage(`{"yes":true}`)}, nil
}

func (c *caller) args() json.RawMessage {
	if c.test.Args == nil {
		return json.RawMessage("{}")
	}
	return c.test.Args
}

func (c *caller) callTool(ctx context.Context, cl *client.Client) error {
	r, err := cl.CallTool(ctx, c.test.Tool, c.args(), nil)
	if err != nil {
		return err
	}
	c.text, c.value = r.Content.Text(), r.StructuredContent
	if r.IsError {
		c.err = c.text
	}
	return nil
}

func (c *caller) readResource(ctx context.Context, cl *client.Client) error {
	contents, err := cl.ReadResource(ctx, c.test.Resource)
	if err != nil {
		return err
	}
	for _, one := range contents.Contents {
		c.text += one.Text
	}
	c.value = jsonOf(c.text)
	return nil
}

func (c *caller) getPrompt(ctx context.Context, cl *client.Client) error {
	var args map[string]string
	if err := mcp.Unmarshal(c.args(), &args); err != nil {
		return fmt.Errorf("the arguments of a prompt are texts: %w", err)
	}
	r, err := cl.GetPrompt(ctx, c.test.Prompt, args)
	if err != nil {
		return err
	}
	var texts []string
	for _, m := range r.Messages {
		texts = append(texts, mcp.Contents{m.Content}.Text())
	}
	c.text = strings.Join(texts, "\n")
	return nil
}

func (c *caller) complete(ctx context.Context, cl *client.Client) error {
	t := c.test.Complete
	ref := mcp.CompletionRef{Type: mcp.RefPrompt, Name: t.Prompt}
	if t.Resource != "" {
		ref = mcp.CompletionRef{Type: mcp.RefResource, URI: t.Resource}
	}
	params := mcp.CompleteParams{Ref: ref, Argument: mcp.CompletionArgument{Name: t.Argument, Value: t.Value}}
	if t.Others != nil {
		params.Context = &mcp.CompletionContext{Arguments: t.Others}
	}
	r, err := cl.Complete(ctx, params)
	if err != nil {
		return err
	}
	c.text = strings.Join(r.Values, "\n")
	c.value, err = json.Marshal(r.Values)
	return err
}

func jsonOf(text string) json.RawMessage {
	if _, err := expr.Decode([]byte(text)); err != nil {
		return nil
	}
	return json.RawMessage(text)
}

// check compares what happened with what the case expects.
func (c *caller) check(ctx context.Context, w *wire, live bool) []string {
	e := &c.test.Expect
	problems := w.problems
	fail := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	switch {
	case e.Error != "" && c.err == "":
		fail("expected an error with %q, got: %s", e.Error, clip(c.text))
	case e.Error == "" && c.err != "":
		fail("failed: %s", clip(c.err))
	case !strings.Contains(c.err, e.Error):
		fail("expected an error with %q, got: %s", e.Error, clip(c.err))
	}
	if e.Result != nil && !live && !same(e.Result, c.value) {
		fail("expected the result %s, got %s", clip(string(e.Result)), clip(string(c.value)))
	}
	if e.Text != "" && !live && strings.TrimSpace(e.Text) != strings.TrimSpace(c.text) {
		fail("expected the text %q, got %q", clip(e.Text), clip(c.text))
	}
	for _, part := range e.Contains {
		if !live && !strings.Contains(c.text, part) {
			fail("expected %q in the text, got %q", part, clip(c.text))
		}
	}
	if e.Asked != "" && !strings.Contains(strings.Join(c.asked, "\n"), e.Asked) {
		fail("expected the question %q, got %q", e.Asked, clip(strings.Join(c.asked, "\n")))
	}
	if e.Requests > 0 && e.Requests != w.count && !live {
		fail("expected %d requests, got %d", e.Requests, w.count)
	}
	if left := len(w.answers) - w.next; left > 0 && !live {
		fail("%d of the answers were not requested; the next is %s", left, w.answers[w.next].Request)
	}
	if e.Check != "" && c.err == "" {
		if err := c.checkQuery(ctx, e.Check); err != nil {
			fail("%v", err)
		}
	}
	return problems
}

func (c *caller) checkQuery(ctx context.Context, source string) error {
	q, err := expr.Compile(source)
	if err != nil {
		return err
	}
	var value any = c.text
	if c.value != nil {
		if value, err = expr.Decode(c.value); err != nil {
			return err
		}
	}
	yes, err := q.True(ctx, value, &expr.Vars{})
	if err == nil && !yes {
		err = errors.New("is not true")
	}
	if err != nil {
		return fmt.Errorf("check %s: %w; the result is %s", source, err, clip(expr.Text(value)))
	}
	return nil
}

// same reports whether two JSON values are equal.
func same(a, b json.RawMessage) bool {
	x, err := expr.Decode(a)
	if err != nil {
		return false
	}
	y, err := expr.Decode(b)
	if err != nil {
		return false
	}
	left, err := expr.Encode(x)
	if err != nil {
		return false
	}
	right, err := expr.Encode(y)
	return err == nil && string(left) == string(right)
}

func clip(s string) string {
	const most = 2000
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
