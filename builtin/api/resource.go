package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/builtin/api/expr"
	"github.com/tenon-mcp/tenon/builtin/api/spec"
	"github.com/tenon-mcp/tenon/internal/textclip"
	"github.com/tenon-mcp/tenon/internal/uritemplate"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A resource is a compiled resource or resource template.
type resource struct {
	spec     *spec.Resource
	template *uritemplate.Template // nil for a single resource
	step     *step
	output   *output
}

func (c *compiler) resource(path string, s *spec.Resource) {
	r := &resource{spec: s}
	c.known = []string{}
	defer func() { c.known = nil }()
	if strings.Contains(s.URI, "{") {
		t, err := uritemplate.Parse(s.URI)
		if err == nil {
			err = t.Matchable()
		}
		if err != nil {
			c.fail(path+".uri", "%v", err)
			c.known = nil
		} else {
			r.template = t
			c.known = append(c.known, t.Names()...)
		}
	}
	if c.file.Broken(path + ".uri") {
		c.known = nil
	}
	if u, err := url.Parse(strings.NewReplacer("{", "", "}", "").Replace(s.URI)); err != nil || u.Scheme == "" {
		c.fail(path+".uri", "the URI needs a scheme, such as %s://{id}", c.file.Name)
	}
	r.step = c.step(path, &s.Request, s.Paginate, s.Error, nil, s.Cache, s.ReadOnly)
	if !r.step.request.reads() && !s.ReadOnly {
		c.fail(path+".request", "reading a resource must only read: use GET, or say readonly: true")
	}
	r.output = c.output(path+".output", s.Output)
	r.step.as, r.step.json = r.output.as, r.step.json || r.output.jq != nil
	for _, name := range slices.Sorted(maps.Keys(s.Complete)) {
		if c.known != nil && !slices.Contains(c.known, name) {
			c.fail(spec.Path(path+".complete", name), "the URI has no variable %q%s", name, c.suggest(name, c.known))
		}
		c.names(spec.Path(path+".complete", name), "completion", s.Complete[name])
	}
	c.resources = append(c.resources, r)
}

// matches returns the variables of a URI of the resource.
func (r *resource) matches(uri string) (map[string]string, bool) {
	if r.template == nil {
		return nil, uri == r.spec.URI
	}
	return r.template.Match(uri)
}

// options returns how clients may cache the resource: as its response is.
func (r *resource) options() *server.ResourceOptions {
	o := &server.ResourceOptions{Cache: mcp.Cache{TTL: r.step.cache.TTL}}
	if r.step.cache.Shared {
		o.Cache.Scope = mcp.ScopePublic
	}
	return o
}

// add adds the resource to the server. It uses the version of the file that is
// current when it is read.
func (r *resource) add(e *engine) error {
	s := r.spec
	read := func(ctx context.Context, c *mcp.Call, uri string, vars map[string]string) ([]mcp.ResourceContents, error) {
		v := e.current.Load()
		i := slices.IndexFunc(v.resources, func(now *resource) bool { return now.spec.URI == s.URI })
		if i < 0 {
			return nil, mcp.ResourceNotFound(uri)
		}
		return e.readResource(ctx, c, v, v.resources[i], uri, vars)
	}
	if r.template == nil {
		return e.server.AddResource(mcp.Resource{URI: s.URI, Name: s.Name, Title: s.Title, Description: s.Description, MIMEType: s.MIMEType}, read, r.options())
	}
	err := e.server.AddTemplate(mcp.ResourceTemplate{URITemplate: s.URI, Name: s.Name, Title: s.Title, Description: s.Description, MIMEType: s.MIMEType}, read, r.options())
	for variable, name := range s.Complete {
		if err == nil {
			err = e.server.CompleteTemplate(s.URI, variable, e.completer(name))
		}
	}
	return err
}

// readResource sends the request of a resource.
func (e *engine) readResource(ctx context.Context, c *mcp.Call, v *service, r *resource, uri string, vars map[string]string) ([]mcp.ResourceContents, error) {
	args := make(map[string]any, len(vars))
	for name, value := range vars {
		args[name] = value
	}
	sc := newScope(args)
	contents, err := e.contents(ctx, c, v, r, sc)
	if failed, ok := errors.AsType[*apiError](err); ok && (failed.status == http.StatusNotFound || failed.status == http.StatusGone) {
		return nil, mcp.ResourceNotFound(uri)
	}
	if err != nil {
		return nil, e.protocolError(ctx, err)
	}
	contents.URI = uri
	if contents.MIMEType == "" {
		contents.MIMEType = r.spec.MIMEType
	}
	return []mcp.ResourceContents{contents}, nil
}

// contents returns the contents of a resource.
func (e *engine) contents(ctx context.Context, c *mcp.Call, v *service, r *resource, sc *scope) (out mcp.ResourceContents, err error) {
	var body any
	var a *answer
	if r.step.page != nil {
		body, err = v.read(ctx, c, r.step, sc)
	} else if a, err = v.send(ctx, c, r.step, sc); err == nil {
		body = a.body
	}
	if err != nil {
		return out, err
	}
	if a != nil && (a.binary || r.output.as == "file") {
		return mcp.ResourceContents{MIMEType: r.mime(a), Blob: append([]byte{}, e.secrets.KnownJSON(a.raw)...)}, nil
	}
	value, err := r.output.shape(ctx, v, sc, body)
	if err != nil {
		return out, err
	}
	text := expr.Text(value)
	if r.output.text != nil {
		if text, err = r.output.text.Text(ctx, value, &sc.vars); err != nil {
			return out, v.unexpected(err)
		}
	}
	return mcp.ResourceContents{MIMEType: r.mime(a), Text: e.hidden(text)}, nil
}

func (r *resource) mime(a *answer) string {
	switch {
	case r.spec.MIMEType != "":
		return r.spec.MIMEType
	case r.output.text != nil || a == nil:
		return "text/plain"
	case r.output.jq != nil:
		return "application/json"
	}
	return a.mime
}

// protocolError makes an error that clients of resources, prompts and completions
// see.
func (e *engine) protocolError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if passes(err) {
		return err
	}
	return mcp.Errorf(mcp.CodeInternal, "%s", textclip.Clip(e.hidden(err.Error()), maxError))
}

// passes reports whether an error must reach the server unchanged.
func passes(err error) bool {
	if _, ok := errors.AsType[*mcp.InputRequired](err); ok {
		return true
	}
	if _, ok := errors.AsType[*server.Declined](err); ok {
		return true
	}
	if _, ok := errors.AsType[*server.InputError](err); ok {
		return true
	}
	_, ok := errors.AsType[*mcp.Error](err)
	return ok
}

// A prompt is a compiled prompt.
type prompt struct {
	spec     *spec.Prompt
	lookup   *lookup
	messages []promptMessage
	names    []string // of its arguments
}

type promptMessage struct {
	role mcp.Role
	text *expr.Template
}

func (c *compiler) prompt(path, name string, s *spec.Prompt) {
	p := &prompt{spec: s, names: c.file.Names(path + ".arguments")}
	c.parameters(path, "arguments", p.names)
	defer func() { c.known = nil }()
	if s.Lookup != nil {
		p.lookup = c.lookup(path+".lookup", s.Lookup)
	}
	for i, m := range s.Messages {
		role := mcp.Role(m.Role)
		if role == "" {
			role = "user"
		}
		p.messages = append(p.messages, promptMessage{role, c.text(fmt.Sprintf("%s.messages[%d].text", path, i), m.Text, true)})
	}
	for _, arg := range p.names {
		if from := s.Arguments[arg].Complete; from != "" {
			c.names(spec.Path(path+".arguments", arg)+".complete", "completion", from)
		}
	}
	c.prompts[name] = p
}

// add adds the prompt to the server.
func (p *prompt) add(e *engine, name string) error {
	out := mcp.Prompt{Name: name, Title: p.spec.Title, Description: p.spec.Description}
	for _, arg := range p.names {
		a := p.spec.Arguments[arg]
		out.Arguments = append(out.Arguments, mcp.PromptArgument{Name: arg, Title: a.Title, Description: a.Description, Required: a.Required})
	}
	err := e.server.AddRawPrompt(out, func(ctx context.Context, c *mcp.Call, args map[string]string) (*mcp.GetPromptResult, error) {
		v := e.current.Load()
		now := v.prompts[name]
		if now == nil {
			return nil, mcp.InvalidParams("unknown prompt %q", name)
		}
		return e.getPrompt(ctx, c, v, now, args)
	})
	for _, arg := range p.names {
		a := p.spec.Arguments[arg]
		switch {
		case err != nil:
		case a.Complete != "":
			err = e.server.CompletePrompt(name, arg, e.completer(a.Complete))
		case len(a.Enum) > 0:
			err = e.server.CompletePrompt(name, arg, func(_ context.Context, _ *mcp.Call, value string, _ map[string]string) ([]string, error) {
				return starting(a.Enum, value), nil
			})
		}
	}
	return err
}

func (e *engine) getPrompt(ctx context.Context, c *mcp.Call, v *service, p *prompt, given map[string]string) (*mcp.GetPromptResult, error) {
	args := map[string]any{}
	for name, value := range given {
		if enum := p.spec.Arguments[name].Enum; len(enum) > 0 && value != "" && !slices.Contains(enum, value) {
			return nil, mcp.InvalidParams("argument %q must be one of %s", name, strings.Join(enum, ", "))
		}
		args[name] = value
	}
	sc := newScope(args)
	var err error
	if p.lookup != nil {
		if sc.vars.Lookup, err = v.look(ctx, c, p.lookup, sc); err != nil {
			return nil, e.protocolError(ctx, err)
		}
	}
	out := &mcp.GetPromptResult{Description: p.spec.Description}
	for _, m := range p.messages {
		text, err := m.text.Text(ctx, sc.args, &sc.vars)
		if err != nil {
			return nil, e.protocolError(ctx, err)
		}
		out.Messages = append(out.Messages, mcp.PromptMessage{Role: m.role, Content: mcp.Text(e.hidden(text))})
	}
	return out, nil
}

// A completion is a compiled source of completions.
type completion struct {
	values []string
	step   *step
	jq     *expr.Query
}

func (c *compiler) completion(path, name string, s *spec.Completion) {
	out := &completion{values: s.Values, jq: c.query(path+".jq", s.JQ)}
	switch {
	case (s.Request == nil) == (len(s.Values) == 0):
		c.needs(path, "needs either values or request")
	case s.Request != nil:
		out.step = c.step(path, s.Request, nil, nil, nil, s.Cache, s.ReadOnly)
		if !out.step.request.reads() && !s.ReadOnly {
			c.fail(path+".request", "a completion must only read: use GET, or say readonly: true")
		}
	}
	if out.step != nil {
		out.step.json = out.jq != nil
	}
	c.completions[name] = out
}

// completer returns the function that completes with a completion of the file.
func (e *engine) completer(name string) server.CompleteFunc {
	return func(ctx context.Context, c *mcp.Call, value string, others map[string]string) ([]string, error) {
		v := e.current.Load()
		from := v.completions[name]
		if from == nil {
			return nil, nil
		}
		if from.step == nil {
			return starting(from.values, value), nil
		}
		found, err := e.completions(ctx, c, v, from, value, others)
		if err != nil {
			return nil, e.protocolError(ctx, err)
		}
		return starting(found, value), nil
	}
}

func (e *engine) completions(ctx context.Context, c *mcp.Call, v *service, from *completion, value string, others map[string]string) ([]string, error) {
	args := map[string]any{}
	for name, other := range others {
		args[name] = other
	}
	sc := newScope(args)
	sc.vars.Value = value
	a, err := v.send(ctx, c, from.step, sc)
	if err != nil {
		return nil, err
	}
	found := []any{a.body}
	if from.jq != nil {
		if found, err = from.jq.All(ctx, a.body, &sc.vars); err != nil {
			return nil, v.unexpected(err)
		}
	}
	var out []string
	for _, one := range found {
		list, ok := one.([]any)
		if !ok {
			list = []any{one}
		}
		for _, item := range list {
			if item != nil {
				out = append(out, e.hidden(expr.Text(item)))
			}
		}
	}
	return out, nil
}

// starting returns the values that start with a text, in any case.
func starting(values []string, with string) []string {
	var out []string
	for _, v := range values {
		if strings.HasPrefix(strings.ToLower(v), strings.ToLower(with)) {
			out = append(out, v)
		}
	}
	return out
}
