package mcp

import "encoding/json"

// The modes of an elicitation.
const (
	// ModeForm asks for what a form can hold. It must never ask for secrets.
	ModeForm = "form"
	// ModeURL asks the person to open a page. What is entered there is not
	// seen by the client.
	ModeURL = "url"
)

// ElicitParams asks the person in front of the client.
type ElicitParams struct {
	// Mode is [ModeForm] or [ModeURL]; empty means form.
	Mode    string `json:"mode,omitzero"`
	Message string `json:"message"`
	// RequestedSchema says what the form holds; see [Form]. It is nil in URL
	// mode.
	RequestedSchema json.RawMessage `json:"requestedSchema,omitzero"`
	// URL is the page to open; it is empty in form mode.
	URL string `json:"url,omitzero"`
	// ElicitationID is a remnant of one older revision; empty everywhere else.
	ElicitationID string `json:"elicitationId,omitzero"`
}

// Check reports, as an [*Error], what keeps the question from being asked. It
// does not say that the page may be opened: that is for the person to say.
func (p *ElicitParams) Check() error {
	switch p.Mode {
	case "", ModeForm:
		if err := CheckForm(p.RequestedSchema); err != nil {
			return InvalidParams("requestedSchema: %v", err)
		}
		return nil
	case ModeURL:
		return checkPage(p.URL)
	}
	return InvalidParams("mode: %q is neither %q nor %q", clip(p.Mode), ModeForm, ModeURL)
}

// ElicitationComplete is the parameters of a [NotificationElicitationComplete].
type ElicitationComplete struct {
	// ElicitationID is the key of the question that asked to open the page. On
	// the wire it is the id of the page.
	ElicitationID string `json:"elicitationId"`
}

// An Action is what a person did with a question.
type Action string

// The three actions.
const (
	// ActionAccept is an answer: a form was sent, or a page may be opened.
	ActionAccept Action = "accept"
	// ActionDecline is a clear no.
	ActionDecline Action = "decline"
	// ActionCancel is no answer: the question was closed.
	ActionCancel Action = "cancel"
)

// ElicitResult is the answer to an elicitation.
type ElicitResult struct {
	Action Action `json:"action"`
	// Content is the object that the form came to. It is there only when a
	// form was accepted.
	Content json.RawMessage `json:"content,omitzero"`
}
