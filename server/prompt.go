package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

type prompt struct {
	get       func(ctx context.Context, c *mcp.Call, args json.RawMessage) (*mcp.GetPromptResult, error)
	arguments map[string]bool // all arguments, and whether they are strings
	completes completers
}

// PromptOptions configures a prompt; nil means the defaults.
type PromptOptions struct {
	Title string // for display; empty means the name
	Icons []mcp.Icon
	Meta  mcp.Meta
}

// AddPrompt adds a prompt with arguments of type In, or replaces the one with
// that name. In is a struct of strings, numbers and booleans. The protocol only
// has string arguments; each is converted to the type of its field. An empty
// string for a number or boolean counts as absent, because forms send it.
// Fields with an enum and booleans are completed automatically.
//
// Out is a string (one message of the user), []mcp.PromptMessage or
// *mcp.GetPromptResult. If the arguments are invalid, get is not called and the
// client gets an error. If get returns an error that is not an *mcp.Error, the
// error is logged and the client only learns that the prompt failed.
//
// AddPrompt panics if In, Out or the name is invalid.
func AddPrompt[In, Out any](s *Server, name, description string, get func(ctx context.Context, c *mcp.Call, in In) (Out, error), o *PromptOptions) {
	plan, err := inputOf[In]()
	if err != nil {
		panic(fmt.Sprintf("prompt %q: arguments: %v", name, err))
	}
	messages, err := messagesOf[Out](description)
	if err != nil {
		panic(fmt.Sprintf("prompt %q: %v", name, err))
	}
	p := &prompt{arguments: map[string]bool{}}
	spec := mcp.Prompt{Name: name, Description: description}
	if o != nil {
		spec.Title, spec.Icons, spec.Meta = o.Title, o.Icons, o.Meta
	}
	p.get = func(ctx context.Context, c *mcp.Call, args json.RawMessage) (*mcp.GetPromptResult, error) {
		var in In
		if err := plan.Decode(args, &in); err != nil {
			return nil, mcp.InvalidParams("invalid arguments of prompt %q:\n%v", name, err)
		}
		out, err := get(ctx, c, in)
		if err != nil {
			return nil, err
		}
		return messages(&out), nil
	}
	if err := s.addPrompt(&spec, p, plan.Schema(), get == nil); err != nil {
		panic(fmt.Sprintf("prompt %q: %v", name, err))
	}
}

// A RawPromptFunc returns the messages of a prompt for its arguments.
type RawPromptFunc func(ctx context.Context, c *mcp.Call, args map[string]string) (*mcp.GetPromptResult, error)

// AddRawPrompt adds a prompt whose arguments are known only at run time, or
// replaces the one with that name. If a required argument is missing or one is
// unknown, get is not called and the client gets an error. Errors of get are
// reported as for [AddPrompt].
func (s *Server) AddRawPrompt(spec mcp.Prompt, get RawPromptFunc) error {
	if spec.Name == "" {
		return errors.New("a prompt needs a name")
	}
	p := &prompt{arguments: map[string]bool{}}
	for _, a := range spec.Arguments {
		if _, twice := p.arguments[a.Name]; twice || a.Name == "" {
			return fmt.Errorf("prompt %q: argument %q is empty or appears twice", spec.Name, a.Name)
		}
		p.arguments[a.Name] = true
	}
	p.get = func(ctx context.Context, c *mcp.Call, raw json.RawMessage) (*mcp.GetPromptResult, error) {
		args := map[string]string{}
		for m := rawjson.Object(raw); m.Next(); {
			if !p.arguments[string(m.Name)] {
				return nil, mcp.InvalidParams("prompt %q has no argument %q", spec.Name, m.Name)
			}
			args[string(m.Name)], _ = rawjson.String(m.Value)
		}
		for _, a := range spec.Arguments {
			if a.Required && args[a.Name] == "" {
				return nil, mcp.InvalidParams("prompt %q: argument %q is required", spec.Name, a.Name)
			}
		}
		return get(ctx, c, args)
	}
	line, err := listed(&spec, spec.Icons, get == nil)
	if err != nil {
		return fmt.Errorf("prompt %q: %w", spec.Name, err)
	}
	s.prompts.put(spec.Name, line, p)
	s.changes.changed(mcp.NotificationPromptsListChanged, KindPrompt, spec.Name)
	return nil
}

func (s *Server) addPrompt(spec *mcp.Prompt, p *prompt, argsSchema json.RawMessage, noFunc bool) error {
	if spec.Name == "" {
		return errors.New("a prompt needs a name")
	}
	if err := p.describe(spec, argsSchema); err != nil {
		return err
	}
	line, err := listed(spec, spec.Icons, noFunc)
	if err != nil {
		return err
	}
	s.prompts.put(spec.Name, line, p)
	s.changes.changed(mcp.NotificationPromptsListChanged, KindPrompt, spec.Name)
	return nil
}

// describe derives the arguments of the prompt from their schema.
func (p *prompt) describe(spec *mcp.Prompt, argsSchema json.RawMessage) error {
	if string(rawjson.Lookup(argsSchema, "additionalProperties")) != "false" {
		return errors.New("arguments must be a struct")
	}
	required := map[string]bool{}
	for e := rawjson.Array(rawjson.Lookup(argsSchema, "required")); e.Next(); {
		name, _ := rawjson.String(e.Value)
		required[name] = true
	}
	for m := rawjson.Object(rawjson.Lookup(argsSchema, "properties")); m.Next(); {
		name := string(m.Name)
		kind, _ := rawjson.String(rawjson.Lookup(m.Value, "type"))
		switch kind {
		case "string", "integer", "number", "boolean":
		default:
			return fmt.Errorf("argument %q must be a string, a number or a boolean", name)
		}
		p.arguments[name] = kind == "string"
		arg := mcp.PromptArgument{Name: name, Required: required[name]}
		arg.Description, _ = rawjson.String(rawjson.Lookup(m.Value, "description"))
		arg.Title, _ = rawjson.String(rawjson.Lookup(m.Value, "title"))
		spec.Arguments = append(spec.Arguments, arg)
		if choices := choicesOf(kind, m.Value); choices != nil {
			p.completes.set(name, oneOf(choices))
		}
	}
	return nil
}

// choicesOf returns the possible values of an argument as text; nil means that
// they are not a fixed set.
func choicesOf(kind string, argSchema json.RawMessage) []string {
	var choices []string
	add := func(value json.RawMessage) {
		if s, ok := rawjson.String(value); ok {
			choices = append(choices, s)
		} else {
			choices = append(choices, string(value))
		}
	}
	for e := rawjson.Array(rawjson.Lookup(argSchema, "enum")); e.Next(); {
		add(e.Value)
	}
	if only := rawjson.Lookup(argSchema, "const"); only != nil {
		add(only)
	}
	if choices == nil && kind == "boolean" {
		return []string{"true", "false"}
	}
	return choices
}

// messagesOf returns the function that converts an Out to messages.
func messagesOf[Out any](description string) (func(*Out) *mcp.GetPromptResult, error) {
	switch any((*Out)(nil)).(type) {
	case *string:
		return func(v *Out) *mcp.GetPromptResult {
			m := mcp.PromptMessage{Role: "user", Content: mcp.Text(*any(v).(*string))}
			return &mcp.GetPromptResult{Description: description, Messages: []mcp.PromptMessage{m}}
		}, nil
	case *[]mcp.PromptMessage:
		return func(v *Out) *mcp.GetPromptResult {
			return &mcp.GetPromptResult{Description: description, Messages: *any(v).(*[]mcp.PromptMessage)}
		}, nil
	case **mcp.GetPromptResult:
		return func(v *Out) *mcp.GetPromptResult { return *any(v).(**mcp.GetPromptResult) }, nil
	}
	return nil, fmt.Errorf("output must be a string, []mcp.PromptMessage or *mcp.GetPromptResult, not %T", *new(Out))
}

// RemovePrompts removes prompts and returns how many of them existed.
func (s *Server) RemovePrompts(names ...string) int {
	return s.gone(mcp.NotificationPromptsListChanged, KindPrompt, names, s.prompts.drop(names))
}

// getPrompt serves prompts/get.
func (s *Server) getPrompt(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	if !s.lists(KindPrompt) {
		return mcp.Result{}, mcp.MethodNotFound(c.Method)
	}
	var in mcp.GetPromptParams
	if err := c.Decode(&in); err != nil {
		return mcp.Result{}, err
	}
	p := s.prompts.get(in.Name)
	if p == nil || !s.allows(&c.Caller, KindPrompt, in.Name) {
		return mcp.Result{}, mcp.InvalidParams("unknown prompt %q", in.Name)
	}
	out, err := p.get(ctx, c, p.typed(in.Arguments))
	if err == nil && out == nil {
		err = mcp.Errorf(mcp.CodeInternal, "prompt %q returned nil", in.Name)
	}
	var res mcp.Result
	if err == nil {
		res, err = result(out)
	}
	if err != nil {
		return mcp.Result{}, s.failed(ctx, c, fmt.Sprintf("prompt %q", in.Name), err)
	}
	return res, nil
}

// typed converts string arguments to the JSON values of their fields.
func (p *prompt) typed(args map[string]string) json.RawMessage {
	dst := []byte{'{'}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		value := args[name]
		isText, known := p.arguments[name]
		if known && !isText && value == "" {
			continue
		}
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(rawjson.AppendString(dst, name), ':')
		if !known || isText || rawjson.Check([]byte(value)) != nil {
			dst = rawjson.AppendString(dst, value)
		} else {
			dst = append(dst, value...)
		}
	}
	return append(dst, '}')
}
