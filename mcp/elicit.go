package mcp

import "encoding/json"

// The modes of an elicitation.
const (
	// ModeForm asks the user to fill in a form. It must not be used for
	// secrets.
	ModeForm = "form"
	// ModeURL asks the user to open a web page. The client does not see what
	// the user enters there.
	ModeURL = "url"
)

// ElicitParams is the parameters of a [MethodElicit] input request.
type ElicitParams struct {
	// Mode is [ModeForm] or [ModeURL]; empty means form.
	Mode    string `json:"mode,omitzero"`
	Message string `json:"message"`
	// RequestedSchema is the schema of the form; see [Form]. It is nil in URL
	// mode.
	RequestedSchema json.RawMessage `json:"requestedSchema,omitzero"`
	// URL is the page to open. It is empty in form mode.
	URL string `json:"url,omitzero"`
	// ElicitationID is used in revision 2025-11-25 only.
	ElicitationID string `json:"elicitationId,omitzero"`
}

// Check returns an [*Error] if the request is malformed. It does not decide
// whether the page may be opened; the user does.
func (p *ElicitParams) Check() error {
	switch p.Mode {
	case "", ModeForm:
		if _, err := ParseForm(p.RequestedSchema); err != nil {
			return InvalidParams("requestedSchema: %v", err)
		}
		return nil
	case ModeURL:
		return checkPage(p.URL)
	}
	return InvalidParams("mode: %q is neither %q nor %q", clip(p.Mode), ModeForm, ModeURL)
}

// ElicitationCompleteParams is the parameters of a
// [NotificationElicitationComplete].
type ElicitationCompleteParams struct {
	// ElicitationID is the key of the input request that asked to open the
	// page. In messages it is the elicitationId of that request.
	ElicitationID string `json:"elicitationId"`
}

// An Action is the user's reaction to an elicitation.
type Action string

// The actions.
const (
	// ActionAccept means that the user submitted the form or agreed to open the
	// page.
	ActionAccept Action = "accept"
	// ActionDecline means that the user explicitly refused.
	ActionDecline Action = "decline"
	// ActionCancel means that the user dismissed the request without a
	// decision.
	ActionCancel Action = "cancel"
)

// ElicitResult is the response to an elicitation.
type ElicitResult struct {
	Action Action `json:"action"`
	// Content is the submitted form, a JSON object. It is set only if a form
	// was accepted.
	Content json.RawMessage `json:"content,omitzero"`
}
