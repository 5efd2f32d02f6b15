package mcp

// PageParams asks for one page of a list.
type PageParams struct {
	// Cursor is where the page before ended, word for word; nil asks for the
	// first page. The empty string is a cursor like any other.
	Cursor *string `json:"cursor,omitzero"`
}
