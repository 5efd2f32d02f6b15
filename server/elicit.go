package server

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sync"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/schema"
)

// Declined is the error of an elicitation that the person did not accept. A
// tool that returns it tells the model so.
type Declined struct {
	// Action is what the person did: declined, or closed the question.
	Action mcp.Action
	// Message is what was asked.
	Message string
}

func (d *Declined) Error() string {
	if d.Action == mcp.ActionDecline {
		return fmt.Sprintf("The person declined to answer: %q", d.Message)
	}
	return fmt.Sprintf("The person closed the question without an answer: %q", d.Message)
}

// An InputError is the error of an input request that the client answered with
// an error: the person declined a sampling request, the client cannot show the
// form. A tool that can do without the response looks for it with
// [errors.AsType] and goes on; one that returns it tells the model so.
//
// A client of revision 2026-07-28 cannot answer with an error: it does not make
// the next round of the call.
type InputError struct {
	// Method is what was asked, such as "sampling/createMessage".
	Method string
	// Err is the client's error, an [*mcp.Error].
	Err error
}

func (e *InputError) Error() string {
	return fmt.Sprintf("The client did not answer %s: %v", e.Method, e.Err)
}

// Elicit asks the person in front of the client to fill in a form whose fields
// are those of T: strings, numbers, booleans and choices, nothing nested. Never
// ask for secrets with it; see [ElicitURL].
//
// The key names the question within the call. The error is to be returned by
// the handler as it is: it ends the round, and the handler is entered again,
// from the top, with the answer. A person who does not accept makes it a
// [*Declined], a client that cannot ask makes it an [*InputError].
func Elicit[T any](c *mcp.Call, key, message string) (T, error) {
	var v T
	err := AskAll(c, FormInput(key, message, &v))
	return v, err
}

// ElicitURL asks the person to open a page: to log in, to pay, to enter what
// the client must not see. A nil error says that the person agreed, not that
// they are done: the server has to find that out by itself, and that it was the
// same person who opened the page.
func ElicitURL(c *mcp.Call, key, message, url string) error {
	return AskAll(c, URLInput(key, message, url))
}

// ElicitURLDone tells the client that the person is done with the page of an
// [ElicitURL] under this key, so that the client need not wait for the person to
// say so. A tool calls it after ElicitURL has returned nil and the server has
// found out by itself. Only revision 2025-11-25 has such a notification
// (notifications/elicitation/complete): for other clients it does nothing.
func ElicitURLDone(c *mcp.Call, key string) {
	params, err := mcp.Marshal(mcp.ElicitationComplete{ElicitationID: key})
	if err == nil {
		c.Notify(mcp.Notification{Method: mcp.NotificationElicitationComplete, Params: params})
	}
}

func accepted(raw json.RawMessage, key, message string) (*mcp.ElicitResult, error) {
	var r mcp.ElicitResult
	if err := mcp.Unmarshal(raw, &r); err != nil {
		return nil, mcp.InvalidParams("the answer to %q cannot be read: %v", key, err)
	}
	switch r.Action {
	case mcp.ActionAccept:
		return &r, nil
	case mcp.ActionDecline, mcp.ActionCancel:
		return nil, &Declined{Action: r.Action, Message: message}
	}
	return nil, mcp.InvalidParams("the answer to %q has the action %q: expected accept, decline or cancel", key, r.Action)
}

// A form is how the fields of a type are asked for and read.
type form[T any] struct {
	asked json.RawMessage
	plan  *schema.Plan[T]
}

var forms sync.Map // of *form[T], by the type of T

// formOf returns the form of T. A T that is none is a mistake in the program
// that no other arguments would mend.
func formOf[T any]() (*form[T], error) {
	t := reflect.TypeFor[T]()
	if f, ok := forms.Load(t); ok {
		return f.(*form[T]), nil
	}
	plan, err := inputOf[T]()
	if err != nil {
		return nil, mcp.Errorf(mcp.CodeInternal, "%s cannot be asked for with a form: %v", t, err)
	}
	asked := rawjson.Cut(plan.Schema(), func(name, _ []byte) bool { return string(name) == "additionalProperties" })
	if err := mcp.CheckForm(asked); err != nil {
		return nil, mcp.Errorf(mcp.CodeInternal, "%s cannot be asked for with a form: %v", t, err)
	}
	f := &form[T]{asked, plan.Plan}
	forms.Store(t, f)
	return f, nil
}
