package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/schema"
)

// An Elicitation is a server's request to the user of the client. It has been
// checked: a form is flat and within limits, a page has a web address.
type Elicitation struct {
	// Message is the text from the server. Show the name of the server with it,
	// because the text may claim anything.
	Message string

	// Form is the form to fill in; nil if a page is to be opened.
	Form *mcp.Form
	// Schema is the form as the server sent it.
	Schema json.RawMessage

	// URL is the page to open; empty if there is a form.
	URL string

	// Method and Name identify the call that requires the input, such as
	// "tools/call" and the name of the tool. They are empty if an older server
	// sends the request outside of a call. Over stdio an older server does not
	// say which call requires the input: with several calls in progress, they
	// identify one of these.
	Method, Name string
}

// Accept returns the response of a user who submitted the form. Content is
// encoded by package schema as a JSON object with a member for each field;
// missing fields get their defaults. For a page, content is nil.
func (e *Elicitation) Accept(content any) (*mcp.ElicitResult, error) {
	raw, err := object(content, schema.Marshal)
	if err != nil {
		return nil, fmt.Errorf("encode the content of the response: %w", err)
	}
	return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: raw}, nil
}

// Decline returns the response of a user who refuses.
func (e *Elicitation) Decline() (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: mcp.ActionDecline}, nil
}

// Cancel returns the response of a user who dismisses the request.
func (e *Elicitation) Cancel() (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: mcp.ActionCancel}, nil
}

// elicit handles an elicitation.
func (o *Options) elicit(ctx context.Context, f *activeCall, key string, q mcp.InputRequest) (json.RawMessage, error) {
	var p mcp.ElicitParams
	if err := mcp.Unmarshal(q.Params, &p); err != nil {
		return nil, invalidRequest(q, err)
	}
	e := &Elicitation{Message: p.Message}
	if f != nil {
		e.Method, e.Name = f.call.Method, f.name
	}
	if p.Mode == mcp.ModeURL {
		if err := p.Check(); err != nil {
			return nil, invalidRequest(q, err)
		}
		e.URL = p.URL
		if f != nil {
			f.recordPage(key, e)
		}
		return e.ask(ctx, o.ElicitURL, nil)
	}
	if p.Mode != "" && p.Mode != mcp.ModeForm {
		return nil, invalidRequest(q, p.Check())
	}
	var err error
	if e.Form, err = mcp.ParseForm(p.RequestedSchema); err != nil {
		return nil, invalidRequest(q, fmt.Errorf("requestedSchema: %w", err))
	}
	e.Schema = p.RequestedSchema
	rules, err := schema.NewValidator(e.Schema, nil)
	if err != nil {
		return nil, invalidRequest(q, fmt.Errorf("requestedSchema: %w", err))
	}
	return e.ask(ctx, o.Elicit, rules)
}

// ask calls the function of the options and checks its response. rules is nil
// for a page.
func (e *Elicitation) ask(ctx context.Context, person func(context.Context, *Elicitation) (*mcp.ElicitResult, error), rules *schema.Validator) (json.RawMessage, error) {
	if person == nil {
		return nil, errors.New("elicitation mode not supported")
	}
	got, err := person(ctx, e)
	if err != nil {
		return nil, err
	}
	if got == nil {
		return nil, errors.New("the elicitation function returned nil")
	}
	response := mcp.ElicitResult{Action: got.Action}
	switch {
	case got.Action == mcp.ActionAccept && rules != nil:
		if response.Content, err = e.complete(got.Content, rules); err != nil {
			return nil, fmt.Errorf("the response does not fit the form: %w", err)
		}
	case got.Action != mcp.ActionAccept && got.Action != mcp.ActionDecline && got.Action != mcp.ActionCancel:
		return nil, fmt.Errorf("the elicitation function returned the action %q: use accept, decline or cancel", clip(string(got.Action)))
	}
	return mcp.Marshal(response)
}

// complete adds the defaults and checks the content against the form.
func (e *Elicitation) complete(content json.RawMessage, rules *schema.Validator) (json.RawMessage, error) {
	full := schema.ApplyDefaults(e.Schema, content)
	if len(full) == 0 {
		full = json.RawMessage("{}")
	}
	if err := e.Form.CheckResponse(full); err != nil {
		return nil, err
	}
	return full, rules.Check(full)
}

// handleInput responds to an input request. The caller has checked that the
// client declared the capability. f is nil if the request belongs to no call.
func (o *Options) handleInput(ctx context.Context, f *activeCall, key string, q mcp.InputRequest) (json.RawMessage, error) {
	switch q.Method {
	case mcp.MethodElicit:
		return o.elicit(ctx, f, key, q)
	case mcp.MethodCreateMessage:
		return o.Sampling.handle(ctx, q)
	case mcp.MethodRootsList:
		return o.listRoots(ctx)
	}
	return nil, mcp.MethodNotFound(q.Method)
}

// invalidRequest returns the error for an invalid input request.
func invalidRequest(q mcp.InputRequest, err error) error {
	return &mcp.Error{Code: mcp.CodeInvalidParams, Local: true,
		Message: fmt.Sprintf("invalid input request %s: %v", q.Method, err)}
}

// object encodes parameters or arguments, which must be a JSON object. It
// validates raw JSON and returns it unchanged; nil stays nil.
func object(v any, encode func(any) (json.RawMessage, error)) (json.RawMessage, error) {
	var raw json.RawMessage
	switch v := v.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		raw = v
	case []byte:
		raw = v
	default:
		enc, err := encode(v)
		if err != nil {
			return nil, err
		}
		if rawjson.IsNull(enc) {
			return nil, nil // a nil map or pointer
		}
		if !rawjson.IsObject(enc) {
			return nil, fmt.Errorf("expected a struct or a map, not %T", v)
		}
		return enc, nil
	}
	if len(raw) == 0 {
		return nil, nil
	}
	if err := rawjson.Check(raw); err != nil {
		return nil, fmt.Errorf("not valid JSON: %w", err)
	}
	if !rawjson.IsObject(raw) {
		return nil, fmt.Errorf("expected a JSON object, found %s", clip(string(raw)))
	}
	return raw, nil
}

func quote(s string) string { return strconv.Quote(clip(s)) }
