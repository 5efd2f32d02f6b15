package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/schema"
)

// ToolOptions say more about a tool. AddTool takes them once at most.
type ToolOptions struct {
	// Title is what to show to a person; empty means the name.
	Title string
	// Annotations are hints to clients; nil means the protocol's defaults: a
	// tool that may change and destroy things.
	Annotations *mcp.ToolAnnotations
	Icons       []mcp.Icon
	Meta        mcp.Meta
}

// ReadOnly annotates a tool that changes nothing.
func ReadOnly() *mcp.ToolAnnotations {
	yes, no := true, false
	return &mcp.ToolAnnotations{ReadOnlyHint: &yes, DestructiveHint: &no}
}

// A Texter is a tool's output that says itself what a model should read. The
// text of others is their JSON.
type Texter interface{ MCPText() string }

// A Contenter is a tool's output that says itself which blocks go with it:
// several texts, pictures, links. It comes before [Texter].
type Contenter interface{ MCPContents() mcp.Contents }

// A tool is a func that turns arguments into the body of a result.
type tool struct {
	typed   bool            // its schemas come from Go types and need no checking
	headers []schema.Header // arguments that HTTP clients repeat
	run     func(ctx context.Context, c *mcp.Call, args json.RawMessage) (mcp.Result, error)
}

// AddTool adds a tool whose arguments are In and whose output is Out, or takes
// the place of the one with that name.
//
// In is a struct; package schema says how its tags become the input schema.
// Arguments that do not fit never reach run: the model is told what is wrong
// with all of them at once. Out is any type that has a JSON form: it becomes
// the structured content, its schema the output schema, and its JSON the text
// (see [Texter] and [Output]). An Out of string, mcp.Contents or *mcp.CallToolResult is
// passed on as it is, without a schema.
//
// An error from run is told to the model, word for word, as the result of a
// tool that failed; an *mcp.Error is told to the client as a failure of the
// protocol. An output that has no JSON form, such as nil or NaN, or that breaks
// the rules of its own tags, is a failure of the server: the caller gets an
// internal error that says what is wrong, and the operator's log has it too.
//
// A name, type or tag that cannot be used is a mistake in the program: AddTool
// panics and says which.
func AddTool[In, Out any](s *Server, name, description string, run func(ctx context.Context, c *mcp.Call, in In) (Out, error), o ...ToolOptions) {
	in, err := inputOf[In]()
	if err != nil {
		panic(fmt.Sprintf("tool %q: arguments: %v", name, err))
	}
	out, outSchema, err := encoderOf[Out]()
	if err != nil {
		panic(fmt.Sprintf("tool %q: output: %v", name, err))
	}
	spec := &mcp.Tool{Name: name, Description: description, InputSchema: in.Schema(), OutputSchema: outSchema}
	if len(o) > 0 {
		spec.Title, spec.Annotations, spec.Icons, spec.Meta = o[0].Title, o[0].Annotations, o[0].Icons, o[0].Meta
	}
	t := &tool{typed: true, run: func(ctx context.Context, c *mcp.Call, args json.RawMessage) (mcp.Result, error) {
		var v struct { // one piece of memory for both
			in  In
			out Out
		}
		err := in.Decode(args, &v.in)
		if err != nil {
			return toolFailed("The arguments of " + name + " do not fit:\n" + err.Error())
		}
		if v.out, err = run(ctx, c, v.in); err != nil {
			return mcp.Result{}, err
		}
		body, err := out(&v.out)
		return s.output(name, body, err)
	}}
	if err := s.addTool(spec, t, run == nil); err != nil {
		panic(err.Error())
	}
}

// output is the result of a tool whose output was encoded. An output that
// cannot be encoded, or that breaks its own schema, is a fault of the tool that
// no other arguments would mend.
func (s *Server) output(name string, body json.RawMessage, err error) (mcp.Result, error) {
	if broken, ok := errors.AsType[*brokenPromise](err); ok {
		s.log().Error("a tool broke its own output schema", "tool", name, "problem", broken.Error())
		return mcp.Result{}, mcp.Errorf(mcp.CodeInternal, "the output of tool %q does not fit its own schema:\n%v", name, broken)
	}
	if err != nil {
		s.log().Error("the output of a tool cannot be sent", "tool", name, "error", err)
		return mcp.Result{}, mcp.Errorf(mcp.CodeInternal, "the output of tool %q cannot be sent: %v", name, err)
	}
	return mcp.Result{Body: body}, nil
}

// A RawToolFunc is a tool that sees its arguments as they came, after they
// were checked against the tool's schema.
type RawToolFunc func(ctx context.Context, c *mcp.Call, args json.RawMessage) (*mcp.CallToolResult, error)

// AddRawTool adds a tool with any JSON Schemas, written by a person or made at
// run time. Arguments are checked against the input schema, and structured
// content against the output schema if there is one.
//
// The name may be one that the specification does not recommend, for tools
// whose names others chose: up to 1,024 bytes of text without control
// characters. The server logs a warning then, since not every client takes such
// a name.
func (s *Server) AddRawTool(spec mcp.Tool, run RawToolFunc) error {
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
			return toolFailed("The arguments of " + spec.Name + " do not fit:\n" + err.Error())
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
				return s.output(spec.Name, nil, &brokenPromise{err})
			}
		}
		body, err := r.AppendJSON(nil)
		return s.output(spec.Name, body, err)
	}}
	if err := checkRawName(spec.Name); err != nil {
		return err
	}
	known := s.tools.get(spec.Name) != nil
	if err := s.addTool(&spec, t, run == nil); err != nil {
		return err
	}
	if !known && !mcp.ValidToolName(spec.Name) {
		s.log().Warn("some clients may refuse the name of this tool: the specification recommends 1 to 128 letters, digits, dots, hyphens or underscores", "tool", spec.Name)
	}
	return nil
}

// checkRawName refuses names that no client could show or send.
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
	if t.typed && !mcp.ValidToolName(spec.Name) {
		return fmt.Errorf("tool %q: a name has 1 to 128 letters, digits, dots, hyphens or underscores (AddRawTool takes others)", spec.Name)
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

// line is what the list says of a tool. The usual typed tool is written by
// hand, since a start with a thousand of them would be slow otherwise.
func (t *tool) line(spec *mcp.Tool) (json.RawMessage, error) {
	if !t.typed || spec.Annotations != nil || spec.Icons != nil || spec.Meta != nil {
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

// RemoveTools removes tools and returns how many of them there were.
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
	res, err := t.run(ctx, c, args)
	if err == nil {
		return res, nil
	}
	if passes(ctx, err) {
		return mcp.Result{}, err
	}
	if swallowed(err) {
		return mcp.Result{}, s.uninvited(fmt.Sprintf("tool %q", name), err)
	}
	return toolFailed(err.Error())
}

// passes reports whether an error of a feature is one of the protocol, to be
// passed on, and not one of what the feature does.
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
