package mcp

import (
	"cmp"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Prompt is a message template that a user can select.
type Prompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title,omitzero"`
	Description string           `json:"description,omitzero"`
	Arguments   []PromptArgument `json:"arguments,omitzero"`
	Icons       []Icon           `json:"icons,omitzero"`
	Meta        Meta             `json:"_meta,omitzero"`
}

// DisplayName returns the title, or the name if there is no title.
func (p *Prompt) DisplayName() string { return cmp.Or(p.Title, p.Name) }

// A PromptArgument is a parameter of a prompt.
type PromptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitzero"`
	Description string `json:"description,omitzero"`
	Required    bool   `json:"required,omitzero"`
}

// ListPromptsResult is one page of a list of prompts.
type ListPromptsResult struct {
	Prompts []Prompt `json:"prompts"`
	// NextCursor is the cursor of the next page; nil means that this is the
	// last.
	NextCursor *string `json:"nextCursor,omitzero"`
}

// GetPromptParams is the parameters of a [MethodPromptsGet] call.
type GetPromptParams struct {
	Name      string            `json:"name"`
	Arguments map[string]string `json:"arguments,omitzero"`
}

// GetPromptResult is the messages of a prompt with its arguments filled in.
type GetPromptResult struct {
	Description string          `json:"description,omitzero"`
	Messages    []PromptMessage `json:"messages"`
}

// A PromptMessage is one message of a prompt.
type PromptMessage struct {
	Role    Role
	Content Content
}

type wirePromptMessage struct {
	Role    Role           `json:"role"`
	Content jsontext.Value `json:"content"`
}

// MarshalJSONTo implements the interface of json v2.
func (m PromptMessage) MarshalJSONTo(enc *jsontext.Encoder) error {
	if m.Content == nil {
		return &expectation{"a prompt message needs content"}
	}
	raw, err := m.Content.appendBlock(nil)
	if err != nil {
		return err
	}
	return jsonv2.MarshalEncode(enc, wirePromptMessage{m.Role, raw})
}

// MarshalJSON implements the interface of encoding/json.
func (m PromptMessage) MarshalJSON() ([]byte, error) { return Marshal(m) }

// UnmarshalJSONFrom implements the interface of json v2.
func (m *PromptMessage) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var w struct {
		Role    Role        `json:"role"`
		Content singleBlock `json:"content"`
	}
	if err := jsonv2.UnmarshalDecode(dec, &w); err != nil {
		return err
	}
	if w.Content.block == nil {
		return refuse(dec, "content", "missing: a prompt message needs content")
	}
	*m = PromptMessage{w.Role, w.Content.block}
	return nil
}

// UnmarshalJSON implements the interface of encoding/json.
func (m *PromptMessage) UnmarshalJSON(data []byte) error { return Unmarshal(data, m) }

// A singleBlock decodes exactly one content block.
type singleBlock struct{ block Content }

func (s *singleBlock) UnmarshalJSONFrom(dec *jsontext.Decoder) (err error) {
	s.block, err = readBlock(dec)
	return err
}
