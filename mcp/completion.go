package mcp

// MaxCompletions is how many values one completion may hold.
const MaxCompletions = 100

// A CompletionRef says what is being filled in: a prompt or a resource
// template. Make one with [PromptRef] or [ResourceRef].
type CompletionRef struct {
	Type string `json:"type"`
	// Name is the name of a prompt.
	Name  string `json:"name,omitzero"`
	Title string `json:"title,omitzero"`
	// URI is the URI template of a resource.
	URI string `json:"uri,omitzero"`
}

// The types of a CompletionRef.
const (
	RefPrompt   = "ref/prompt"
	RefResource = "ref/resource"
)

// PromptRef refers to the arguments of a prompt.
func PromptRef(name string) CompletionRef { return CompletionRef{Type: RefPrompt, Name: name} }

// ResourceRef refers to the variables of a resource template.
func ResourceRef(uriTemplate string) CompletionRef {
	return CompletionRef{Type: RefResource, URI: uriTemplate}
}

// CompleteParams asks what could come next in one argument.
type CompleteParams struct {
	Ref      CompletionRef      `json:"ref"`
	Argument CompletionArgument `json:"argument"`
	// Context is what is known of the other arguments; nil means nothing.
	Context *CompletionContext `json:"context,omitzero"`
}

// A CompletionArgument is the argument being written and what is there so far.
type CompletionArgument struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// A CompletionContext holds the arguments that are already filled in.
type CompletionContext struct {
	Arguments map[string]string `json:"arguments,omitzero"`
}

// CompleteResult is what could come next.
type CompleteResult struct {
	Completion Completion `json:"completion"`
}

// A Completion is a list of at most [MaxCompletions] values, the best first.
type Completion struct {
	Values []string `json:"values"`
	// Total is how many there are in all; nil means that nobody counted.
	Total *int64 `json:"total,omitzero"`
	// HasMore is set when there are more than Values.
	HasMore bool `json:"hasMore,omitzero"`
}

// Completions makes a Completion of all the values there are: it keeps as many
// as are allowed and says how many there were.
func Completions(all []string) Completion {
	total := int64(len(all))
	kept := all[:min(len(all), MaxCompletions)]
	return Completion{Values: kept, Total: &total, HasMore: len(kept) < len(all)}
}
