package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/schema"
)

// ToolOptions configures a tool; nil means the defaults.
type ToolOptions struct {
	// Title is for display; empty means the name.
	Title string
	// Annotations are hints for clients; nil means the protocol's defaults: a
	// tool that may modify and destroy things.
	Annotations *mcp.ToolAnnotations
	Icons       []mcp.Icon
	Meta        mcp.Meta
	// Execution is declared to clients of revisions that have it.
	Execution *mcp.ToolExecution
	// Middleware wraps the calls of this tool; extensions use it. It is inside
	// of [Options.Middleware], and the first one sees a call first.
	Middleware []mcp.Middleware
}

// ReadOnly returns the annotations of a tool that modifies nothing.
func ReadOnly() *mcp.ToolAnnotations {
	yes, no := true, false
	return &mcp.ToolAnnotations{ReadOnlyHint: &yes, DestructiveHint: &no}
}

// A Texter is the output of a tool that provides its own text for the model.
// The text of other types is their JSON.
type Texter interface{ MCPText() string }

// A Contenter is the output of a tool that provides its own content blocks,
// such as images or links. It has precedence over [Texter].
type Contenter interface{ MCPContents() mcp.Contents }

// A tool is a function from arguments to the body of a result.
type tool struct {
	typed   bool            // its schemas are derived from Go types and need no check
	headers []schema.Header // arguments that HTTP clients repeat in headers
	run     func(ctx context.Context, c *mcp.Call, args json.RawMessage) (mcp.Result, error)
	wrapped mcp.Handler // run in the tool's middleware; nil without any
}

// AddTool adds a tool with arguments of type In and output of type Out, or
// replaces the one with that name.
//
// In is a struct; package schema documents how its tags become the input
// schema. If the arguments are invalid, run is not called and the model gets a
// list of all problems. Out is any type with a JSON form: it becomes the
// structured content, its schema the output schema, and its JSON the text (see
// [Texter] and [Output]). An Out of string, mcp.Contents or *mcp.CallToolResult
// is sent as it is, without an output schema.
//
// An error returned by run is reported to the model as the result of a failed
// tool call; an *mcp.Error is sent to the client as a protocol error. If the
// output has no JSON form, such as nil or NaN, or violates the rules of its own
// tags, the client gets an internal error that describes the problem, which is
// also logged.
//
// AddTool panics if the name, a type or a tag is invalid.
func AddTool[In, Out any](s *Server, name, description string, run func(ctx context.Context, c *mcp.Call, in In) (Out, error), o *ToolOptions) {
	in, err := inputOf[In]()
	if err != nil {
		panic(fmt.Sprintf("tool %q: arguments: %v", name, err))
	}
	out, outSchema, err := encoderOf[Out]()
	if err != nil {
		panic(fmt.Sprintf("tool %q: output: %v", name, err))
	}
	spec := &mcp.Tool{Name: name, Description: description, InputSchema: in.Schema(), OutputSchema: outSchema}
	if o != nil {
		spec.Title, spec.Annotations, spec.Icons, spec.Meta = o.Title, o.Annotations, o.Icons, o.Meta
	}
	t := &tool{typed: true, run: func(ctx context.Context, c *mcp.Call, args json.RawMessage) (mcp.Result, error) {
		var v struct { // one allocation for both
			in  In
			out Out
		}
		err := in.Decode(args, &v.in)
		if err != nil {
			return toolFailed("Invalid arguments for " + name + ":\n" + err.Error())
		}
		if v.out, err = run(ctx, c, v.in); err != nil {
			return mcp.Result{}, err
		}
		body, err := out(&v.out)
		return s.output(name, body, err)
	}}
	if o != nil {
		spec.Execution = o.Execution
		t.wrap(s, name, o.Middleware)
	}
	if err := s.addTool(spec, t, run == nil); err != nil {
		panic(err.Error())
	}
}

// output returns the result of a tool. An output that cannot be encoded, or
// that violates its schema, is a mistake in the tool that other arguments would
// not mend.
func (s *Server) output(name string, body json.RawMessage, err error) (mcp.Result, error) {
	if broken, ok := errors.AsType[*outputError](err); ok {
		s.log().Error("tool output violates its output schema", "tool", name, "problem", broken.Error())
		return mcp.Result{}, mcp.Errorf(mcp.CodeInternal, "output of tool %q violates its output schema:\n%v", name, broken)
	}
	if err != nil {
		s.log().Error("tool output cannot be encoded", "tool", name, "error", err)
		return mcp.Result{}, mcp.Errorf(mcp.CodeInternal, "encode the output of tool %q: %v", name, err)
	}
	return mcp.Result{Body: body}, nil
}

// A RawToolFunc is a tool that receives its arguments as raw JSON, after they
// were validated against the input schema.
type RawToolFunc func(ctx context.Context, c *mcp.Call, args json.RawMessage) (*mcp.CallToolResult, error)

// AddRawTool adds a tool with arbitrary JSON Schemas, for example some created
// at run time. Arguments are validated against the input schema, and structured
// content against the output schema if there is one.
//
// The name may be up to 1,024 bytes of text without control characters, for
// tools that were named elsewhere. For a name that does not follow the
// recommendation of the specification the server logs a warning, since some
// clients reject it.
//
// The middleware wraps the calls of this tool, as [ToolOptions.Middleware] does.
func (s *Server) AddRawTool(spec mcp.Tool, run RawToolFunc, middleware ...mcp.Middleware) error {
	if err := spec.Check(); err != nil {
		return err
	}
	in, err := schema.NewValidator(spec.InputSchema, nil)
	if err != nil {
		return fmt.Errorf("tool %q: input schema: %w", spec.Name, err)
	}
	var out *schema.Validator
	if spec.OutputSchema != nil {
		if out, err = schema.NewValidator(spec.OutputSchema, nil); err != nil {
			return fmt.Errorf("tool %q: output schema: %w", spec.Name, err)
		}
	}
	t := &tool{run: func(ctx context.Context, c *mcp.Call, args json.RawMessage) (mcp.Result, error) {
		if args == nil {
			args = json.RawMessage("{}")
		}
		if err := in.Check(args); err != nil {
			return toolFailed("Invalid arguments for " + spec.Name + ":\n" + err.Error())
		}
		r, err := run(ctx, c, args)
		if err != nil {
			return mcp.Result{}, err
		}
		if r == nil {
			return s.output(spec.Name, nil, errNothing)
		}
		if out != nil && !r.IsError {
			if err := out.Check(r.StructuredContent); err != nil {
				return s.output(spec.Name, nil, &outputError{err})
			}
		}
		body, err := r.AppendJSON(nil)
		return s.output(spec.Name, body, err)
	}}
	if err := checkRawName(spec.Name); err != nil {
		return err
	}
	t.wrap(s, spec.Name, middleware)
	known := s.tools.get(spec.Name) != nil
	if err := s.addTool(&spec, t, run == nil); err != nil {
		return err
	}
	if !known && !protocol.ValidToolName(spec.Name) {
		s.log().Warn("some clients may reject the name of this tool; the specification recommends 1 to 128 letters, digits, dots, hyphens or underscores", "tool", spec.Name)
	}
	return nil
}

// checkRawName rejects names that no client can display or send.
func checkRawName(name string) error {
	const most = 1024
	switch {
	case len(name) > most:
		return fmt.Errorf("tool %q…: the name has %d bytes; at most %d are allowed", name[:32], len(name), most)
	case !utf8.ValidString(name):
		return fmt.Errorf("tool %q: the name is not valid UTF-8", name)
	case strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("tool %q: the name has control characters", name)
	}
	return nil
}

func (s *Server) addTool(spec *mcp.Tool, t *tool, noFunc bool) error {
	if t.typed && !protocol.ValidToolName(spec.Name) {
		return fmt.Errorf("tool %q: a name must have 1 to 128 letters, digits, dots, hyphens or underscores (AddRawTool accepts others)", spec.Name)
	}
	if err := spec.Check(); err != nil {
		return err
	}
	err := usable(spec.Icons, noFunc)
	if err == nil {
		t.headers, err = headersOf(spec.InputSchema)
	}
	var line json.RawMessage
	if err == nil {
		line, err = t.line(spec)
	}
	if err != nil {
		return fmt.Errorf("tool %q: %w", spec.Name, err)
	}
	s.tools.put(spec.Name, line, t)
	s.changes.changed(mcp.NotificationToolsListChanged, KindTool, spec.Name)
	return nil
}

// line returns the list entry of a tool. It encodes common typed tools by hand,
// which makes starting with a thousand tools fast.
func (t *tool) line(spec *mcp.Tool) (json.RawMessage, error) {
	if !t.typed || spec.Annotations != nil || spec.Execution != nil || spec.Icons != nil || spec.Meta != nil {
		return mcp.Marshal(spec)
	}
	line := make([]byte, 0, 96+len(spec.Name)+len(spec.Title)+len(spec.Description)+len(spec.InputSchema)+len(spec.OutputSchema))
	line = rawjson.AppendString(append(line, `{"name":`...), spec.Name)
	if spec.Title != "" {
		line = rawjson.AppendString(append(line, `,"title":`...), spec.Title)
	}
	if spec.Description != "" {
		line = rawjson.AppendString(append(line, `,"description":`...), spec.Description)
	}
	line = append(append(line, `,"inputSchema":`...), spec.InputSchema...)
	if spec.OutputSchema != nil {
		line = append(append(line, `,"outputSchema":`...), spec.OutputSchema...)
	}
	return append(line, '}'), nil
}

// RemoveTools removes tools and returns how many of them existed.
func (s *Server) RemoveTools(names ...string) int {
	return s.gone(mcp.NotificationToolsListChanged, KindTool, names, s.tools.drop(names))
}

// callTool serves tools/call.
func (s *Server) callTool(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	if !s.lists(KindTool) {
		return mcp.Result{}, mcp.MethodNotFound(c.Method)
	}
	name, args, err := mcp.DecodeCallToolParams(c.Params)
	if err != nil {
		return mcp.Result{}, err
	}
	t := s.tools.get(name)
	if t == nil || !s.allows(&c.Caller, KindTool, name) {
		return mcp.Result{}, mcp.InvalidParams("unknown tool %q", name)
	}
	if err := t.checkHeaders(c.Headers, args); err != nil {
		return mcp.Result{}, err
	}
	if t.wrapped != nil {
		return t.wrapped.Serve(ctx, c)
	}
	return s.runTool(ctx, c, t, name, args)
}

// wrap puts middleware around the tool.
func (t *tool) wrap(s *Server, name string, ms []mcp.Middleware) {
	if len(ms) == 0 {
		return
	}
	t.wrapped = mcp.Chain(mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
		_, args, err := mcp.DecodeCallToolParams(c.Params)
		if err != nil {
			return mcp.Result{}, err
		}
		return s.runTool(ctx, own(c), t, name, args)
	}), ms...)
}

// runTool runs a tool. An error is the result of a failed tool call, unless it
// is one of the protocol.
func (s *Server) runTool(ctx context.Context, c *mcp.Call, t *tool, name string, args json.RawMessage) (mcp.Result, error) {
	res, err := t.run(ctx, c, args)
	if err == nil {
		return res, nil
	}
	if passes(ctx, err) {
		return mcp.Result{}, err
	}
	if swallowed(err) {
		return mcp.Result{}, s.lostRequest(fmt.Sprintf("tool %q", name), err)
	}
	return toolFailed(err.Error())
}

// passes reports whether an error of a feature is to be returned as it is: a
// protocol error, an input request, or the end of the context.
func passes(ctx context.Context, err error) bool {
	if _, ok := errors.AsType[*mcp.Error](err); ok {
		return true
	}
	if _, ok := errors.AsType[*mcp.InputRequired](err); ok {
		return true
	}
	return ctx.Err() != nil
}

func toolFailed(why string) (mcp.Result, error) {
	body := rawjson.AppendString([]byte(`{"content":[{"type":"text","text":`), why)
	return mcp.Result{Body: append(body, `}],"isError":true}`...)}, nil
}

// headersOf returns the arguments of a tool that HTTP clients repeat in
// headers, by the lower-case names of [mcp.Call].Headers. Most schemas have
// none, which a search for the keyword shows without parsing.
func headersOf(inputSchema json.RawMessage) ([]schema.Header, error) {
	if !bytes.Contains(inputSchema, []byte("x-mcp-header")) && !bytes.Contains(inputSchema, []byte(`\u`)) {
		return nil, nil
	}
	headers, err := schema.Headers(inputSchema)
	for i := range headers {
		headers[i].Name = strings.ToLower(headers[i].Name)
	}
	return headers, err
}

// checkHeaders compares the Mcp-Param headers of a request with its arguments.
// Intermediaries route calls by the headers, so both must agree. given is nil
// for transports without headers.
func (t *tool) checkHeaders(given map[string]string, args json.RawMessage) error {
	if given == nil {
		return nil
	}
	for i := range t.headers {
		h := &t.headers[i]
		value, present := given[h.Name]
		if err := h.Match(value, present, args); err != nil {
			return mcp.Errorf(mcp.CodeHeaderMismatch, "%v", err)
		}
	}
	return nil
}
