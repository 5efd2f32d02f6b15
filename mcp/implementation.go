package mcp

// An Implementation names a client or a server. It is for display only.
type Implementation struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitzero"`
	Version     string `json:"version"`
	Description string `json:"description,omitzero"`
	WebsiteURL  string `json:"websiteUrl,omitzero"`
	Icons       []Icon `json:"icons,omitzero"`
}

// DisplayName returns the title, or the name if there is no title. It returns
// "" for nil.
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
