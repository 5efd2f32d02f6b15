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

// Declined is the error of an elicitation that the user did not accept. If a
// tool returns it, the model gets its text.
type Declined struct {
	// Action is [mcp.ActionDecline] or [mcp.ActionCancel].
	Action mcp.Action
	// Message is the message of the elicitation.
	Message string
}

func (d *Declined) Error() string {
	if d.Action == mcp.ActionDecline {
		return fmt.Sprintf("The user declined: %q", d.Message)
	}
	return fmt.Sprintf("The user dismissed the request: %q", d.Message)
}

// An InputError is the error of an input request that the client answered with
// an error: the user rejected a sampling request, or the client cannot show the
// form. A tool that can work without the response detects it with
// [errors.AsType] and continues; if the tool returns it, it is reported to the
// model.
//
// A client of revision 2026-07-28 cannot answer with an error: it does not make
// the next round of the call.
type InputError struct {
	// Method is the method of the input request, such as
	// "sampling/createMessage".
	Method string
	// Err is the client's error, an [*mcp.Error].
	Err error
}

func (e *InputError) Error() string {
	return fmt.Sprintf("The client did not answer %s: %v", e.Method, e.Err)
}

// Elicit asks the user of the client to fill in a form whose fields are those
// of T: strings, numbers, booleans and choices, not nested. Do not use it for
// secrets; see [ElicitURL].
//
// The key identifies the request within the call. If there is no response yet,
// the error is an [*mcp.InputRequired], which the handler returns: it ends the
// round, and the handler is called again from the top with the response. If the
// user does not accept, the error is a [*Declined]; if the client answers with
// an error, it is an [*InputError].
func Elicit[T any](c *mcp.Call, key, message string) (T, error) {
	var v T
	err := AskAll(c, FormInput(key, message, &v))
	return v, err
}

// ElicitURL asks the user of the client to open a web page: to log in, to pay,
// or to enter what the client must not see. A nil error means that the user
// agreed, not that the user has finished. The server must find that out by
// itself, and verify that the same user opened the page. Errors are those of
// [Elicit].
func ElicitURL(c *mcp.Call, key, message, url string) error {
	return AskAll(c, URLInput(key, message, url))
}

// ElicitURLDone notifies the client that the user has finished with the page of
// an [ElicitURL] with this key, so that the client need not wait for the user
// to say so. Call it after ElicitURL has returned nil. Only revision 2025-11-25
// has such a notification (notifications/elicitation/complete); for other
// clients ElicitURLDone does nothing.
func ElicitURLDone(c *mcp.Call, key string) {
	params, err := mcp.Marshal(mcp.ElicitationCompleteParams{ElicitationID: key})
	if err == nil {
		c.Notify(mcp.Notification{Method: mcp.NotificationElicitationComplete, Params: params})
	}
}

func accepted(raw json.RawMessage, key, message string) (*mcp.ElicitResult, error) {
	var r mcp.ElicitResult
	if err := mcp.Unmarshal(raw, &r); err != nil {
		return nil, mcp.InvalidParams("response to %q: %v", key, err)
	}
	switch r.Action {
	case mcp.ActionAccept:
		return &r, nil
	case mcp.ActionDecline, mcp.ActionCancel:
		return nil, &Declined{Action: r.Action, Message: message}
	}
	return nil, mcp.InvalidParams("response to %q: action is %q: expected accept, decline or cancel", key, r.Action)
}

// A form is the schema of an elicitation and the decoder of its response.
type form[T any] struct {
	asked json.RawMessage
	plan  *schema.Plan[T]
}

var forms sync.Map // of *form[T], by the type of T

// formOf returns the form of T. A T without one is a mistake in the program.
func formOf[T any]() (*form[T], error) {
	t := reflect.TypeFor[T]()
	if f, ok := forms.Load(t); ok {
		return f.(*form[T]), nil
	}
	plan, err := inputOf[T]()
	if err != nil {
		return nil, mcp.Errorf(mcp.CodeInternal, "type %s is not a form: %v", t, err)
	}
	asked := rawjson.Cut(plan.Schema(), func(name, _ []byte) bool { return string(name) == "additionalProperties" })
	if _, err := mcp.ParseForm(asked); err != nil {
		return nil, mcp.Errorf(mcp.CodeInternal, "type %s is not a form: %v", t, err)
	}
	f := &form[T]{asked, plan.Plan}
	forms.Store(t, f)
	return f, nil
}
