package mcp

// An Implementation names a client or a server. It is for display: nothing is
// decided by it.
type Implementation struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitzero"`
	Version     string `json:"version"`
	Description string `json:"description,omitzero"`
	WebsiteURL  string `json:"websiteUrl,omitzero"`
	Icons       []Icon `json:"icons,omitzero"`
}

// DisplayName is what to show to a person: the title, or else the name. It is
// empty for nil.
func (i *Implementation) DisplayName() string {
	if i == nil {
		return ""
	}
	return firstOf(i.Title, i.Name)
}

func firstOf(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}
