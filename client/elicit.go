package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/schema"
)

// An Elicitation is a question of a server to the person in front of the
// client. It was checked: a form is flat and bounded, a page has a web address.
type Elicitation struct {
	// Message is what the server says. Show which server it is beside it: the
	// message may claim anything.
	Message string

	// Form is what to fill in; nil when a page is to be opened.
	Form *mcp.Form
	// Schema is the form as the server sent it.
	Schema json.RawMessage

	// URL is the page to open; empty when there is a form.
	URL string

	// Method and Name are the call that the server asks for, such as
	// "tools/call" and the name of the tool. They are empty when an older
	// server asks outside of any call. Over a pipe an older server does not say
	// which call it asks for: with several calls open, this is one of them.
	Method, Name string
}

// Accept is the answer of a person who filled in the form. Content becomes a
// JSON object, encoded as package schema does, with a member for each field; fields that are left out get their
// defaults. For a page, content is nil.
func (e *Elicitation) Accept(content any) (*mcp.ElicitResult, error) {
	raw, err := object(content, schema.Marshal)
	if err != nil {
		return nil, fmt.Errorf("content of the answer: %w", err)
	}
	return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: raw}, nil
}

// Decline is the answer of a person who says no.
func (e *Elicitation) Decline() (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: mcp.ActionDecline}, nil
}

// Cancel is the answer of a person who gives none, by closing the question.
func (e *Elicitation) Cancel() (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: mcp.ActionCancel}, nil
}

// elicit asks the person.
func (o *Options) elicit(ctx context.Context, f *flight, key string, q mcp.InputRequest) (json.RawMessage, error) {
	var p mcp.ElicitParams
	if err := mcp.Unmarshal(q.Params, &p); err != nil {
		return nil, malformed(q, err)
	}
	e := &Elicitation{Message: p.Message}
	if f != nil {
		e.Method, e.Name = f.call.Method, f.name
	}
	if p.Mode == mcp.ModeURL {
		if err := p.Check(); err != nil {
			return nil, malformed(q, err)
		}
		e.URL = p.URL
		if f != nil {
			f.shown(key, e)
		}
		return e.ask(ctx, o.ElicitURL, nil)
	}
	if p.Mode != "" && p.Mode != mcp.ModeForm {
		return nil, malformed(q, p.Check())
	}
	var err error
	if e.Form, err = mcp.ParseForm(p.RequestedSchema); err != nil {
		return nil, malformed(q, fmt.Errorf("requestedSchema: %w", err))
	}
	e.Schema = p.RequestedSchema
	rules, err := schema.NewValidator(e.Schema, nil)
	if err != nil {
		return nil, malformed(q, fmt.Errorf("requestedSchema: %w", err))
	}
	return e.ask(ctx, o.Elicit, rules)
}

// ask calls the function and checks what it answers. Rules are nil for a page.
func (e *Elicitation) ask(ctx context.Context, person func(context.Context, *Elicitation) (*mcp.ElicitResult, error), rules *schema.Validator) (json.RawMessage, error) {
	if person == nil {
		return nil, errors.New("nobody can be asked this way")
	}
	got, err := person(ctx, e)
	if err != nil {
		return nil, err
	}
	if got == nil {
		return nil, errors.New("the function for elicitation returned neither an answer nor an error")
	}
	answer := mcp.ElicitResult{Action: got.Action}
	switch {
	case got.Action == mcp.ActionAccept && rules != nil:
		if answer.Content, err = e.complete(got.Content, rules); err != nil {
			return nil, fmt.Errorf("the answer does not fit the form that the server asked to fill in: %w", err)
		}
	case got.Action != mcp.ActionAccept && got.Action != mcp.ActionDecline && got.Action != mcp.ActionCancel:
		return nil, fmt.Errorf("the function for elicitation returned the action %q: use accept, decline or cancel", clip(string(got.Action)))
	}
	return mcp.Marshal(answer)
}

// complete puts the defaults in and holds the content against the form.
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
