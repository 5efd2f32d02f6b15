package mcp

// ProgressParams is the parameters of a [NoteProgress]. Which call it belongs
// to is known from where it arrives.
type ProgressParams struct {
	// Progress grows with every note of a call.
	Progress float64 `json:"progress"`
	// Total is what Progress will come to; 0 means that nobody knows.
	Total   float64 `json:"total,omitzero"`
	Message string  `json:"message,omitzero"`
}
