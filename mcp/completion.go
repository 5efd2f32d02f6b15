package mcp

// A CompletionRef refers to the prompt or resource template whose argument is
// completed. Make one with [PromptRef] or [ResourceRef].
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

// CompleteParams is the parameters of a [MethodComplete] call.
type CompleteParams struct {
	Ref      CompletionRef      `json:"ref"`
	Argument CompletionArgument `json:"argument"`
	// Context holds the other arguments; nil means that none are known.
	Context *CompletionContext `json:"context,omitzero"`
}

// A CompletionArgument is the argument to complete and its value so far.
type CompletionArgument struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// A CompletionContext holds the arguments that already have a value.
type CompletionContext struct {
	Arguments map[string]string `json:"arguments,omitzero"`
}

// CompleteResult is the result of a [MethodComplete] call.
type CompleteResult struct {
	Completion Completion `json:"completion"`
}

// A Completion is a list of at most 100 values, best first.
type Completion struct {
	Values []string `json:"values"`
	// Total is the number of all matching values; nil means unknown.
	Total *int64 `json:"total,omitzero"`
	// HasMore is set if Values is incomplete.
	HasMore bool `json:"hasMore,omitzero"`
}
