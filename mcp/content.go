package mcp

import (
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Content is one block of what a tool, a prompt or a model says. It is one
// of *TextContent, *ImageContent, *AudioContent, *ResourceLink and
// *EmbeddedResource, in sampling also *ToolUseContent and *ToolResultContent,
// and *UnknownContent for every kind that is not known here.
type Content interface {
	// ContentType is the "type" of the block on the wire.
	ContentType() string
	// appendBlock keeps the set of blocks closed and encodes one of them.
	appendBlock(dst []byte) ([]byte, error)
}

// Text makes a block of text.
func Text(s string) Content { return &TextContent{Text: s} }

// Image makes a block with a picture, such as one of type "image/png".
func Image(data []byte, mimeType string) Content {
	return &ImageContent{Data: data, MIMEType: mimeType}
}

// Audio makes a block with sound, such as one of type "audio/wav".
func Audio(data []byte, mimeType string) Content {
	return &AudioContent{Data: data, MIMEType: mimeType}
}

// Link makes a block that points to a resource.
func Link(r Resource) Content { return &ResourceLink{Resource: r} }

// Embed makes a block that holds the contents of a resource.
func Embed(c ResourceContents) Content { return &EmbeddedResource{Resource: c} }

// A Role is who speaks, or who is spoken to.
type Role string

// The two roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Annotations say for whom something is meant and how much it matters. They
// are hints from the server and to be trusted no more than it is.
type Annotations struct {
	// Audience is whom it is meant for; nil says nothing.
	Audience []Role `json:"audience,omitzero"`
	// Priority lies between 0 (may be left out) and 1 (must be there); nil
	// says nothing.
	Priority *float64 `json:"priority,omitzero"`
	// LastModified is a time in ISO 8601; empty says nothing.
	LastModified string `json:"lastModified,omitzero"`
}

// TextContent is text.
type TextContent struct {
	Text        string       `json:"text"`
	Annotations *Annotations `json:"annotations,omitzero"`
	Meta        Meta         `json:"_meta,omitzero"`
}

// ImageContent is a picture.
type ImageContent struct {
	Data        []byte       `json:"data"` // base64 on the wire
	MIMEType    string       `json:"mimeType"`
	Annotations *Annotations `json:"annotations,omitzero"`
	Meta        Meta         `json:"_meta,omitzero"`
}

// AudioContent is sound.
type AudioContent struct {
	Data        []byte       `json:"data"` // base64 on the wire
	MIMEType    string       `json:"mimeType"`
	Annotations *Annotations `json:"annotations,omitzero"`
	Meta        Meta         `json:"_meta,omitzero"`
}

// A ResourceLink points to a resource that can be read. It need not be in any
// list.
type ResourceLink struct {
	Resource
}

// An EmbeddedResource holds what is in a resource.
type EmbeddedResource struct {
	Resource    ResourceContents `json:"resource"`
	Annotations *Annotations     `json:"annotations,omitzero"`
	Meta        Meta             `json:"_meta,omitzero"`
}

// UnknownContent is a block of a kind that is not known here. It is kept and
// passed on as it came.
type UnknownContent struct {
	Type string
	// Raw is the whole block, its type included.
	Raw json.RawMessage
}

// ContentType is "text".
func (*TextContent) ContentType() string { return "text" }

// ContentType is "image".
func (*ImageContent) ContentType() string { return "image" }

// ContentType is "audio".
func (*AudioContent) ContentType() string { return "audio" }

// ContentType is "resource_link".
func (*ResourceLink) ContentType() string { return "resource_link" }

// ContentType is "resource".
func (*EmbeddedResource) ContentType() string { return "resource" }

// ContentType is whatever the block says it is.
func (c *UnknownContent) ContentType() string { return c.Type }

// Contents is a list of blocks. Nil is written as [].
type Contents []Content

// Text is the text of all text blocks, one after the other, each on a line of
// its own.
func (cs Contents) Text() string {
	var out []byte
	for _, c := range cs {
		if t, ok := c.(*TextContent); ok {
			if out != nil {
				out = append(out, '\n')
			}
			out = append(out, t.Text...)
		}
	}
	return string(out)
}

// MarshalJSONTo implements the interface of json v2.
func (cs Contents) MarshalJSONTo(enc *jsontext.Encoder) error {
	raw, err := cs.appendJSON(nil)
	if err != nil {
		return err
	}
	return enc.WriteValue(raw)
}

// MarshalJSON implements the interface of encoding/json.
func (cs Contents) MarshalJSON() ([]byte, error) { return cs.appendJSON(nil) }

// UnmarshalJSONFrom implements the interface of json v2.
func (cs *Contents) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if k := dec.PeekKind(); k != '[' {
		if err := dec.SkipValue(); err != nil {
			return err
		}
		return refuse(dec, "", "expected an array of content blocks, found %s", kindName(k))
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	list := Contents{}
	for dec.PeekKind() != ']' {
		c, err := readBlock(dec)
		if err != nil {
			return err
		}
		list = append(list, c)
	}
	*cs = list
	_, err := dec.ReadToken()
	return err
}

// UnmarshalJSON implements the interface of encoding/json.
func (cs *Contents) UnmarshalJSON(data []byte) error { return Unmarshal(data, cs) }

// readBlock reads the next value of dec as a block of whichever kind it says.
func readBlock(dec *jsontext.Decoder) (Content, error) {
	val, err := dec.ReadValue()
	if err != nil {
		return nil, err
	}
	var head struct {
		Type *string `json:"type"`
	}
	if val.Kind() != '{' {
		return nil, refuse(dec, "", "expected a content block, found %s", kindName(val.Kind()))
	}
	if err := jsonv2.Unmarshal(val, &head, decoding); err != nil {
		return nil, within(dec, err)
	}
	if head.Type == nil {
		return nil, refuse(dec, "type", "missing: a content block says what it is")
	}
	block := newBlock(*head.Type)
	if u, ok := block.(*UnknownContent); ok {
		u.Raw = json.RawMessage(val.Clone())
		return u, nil
	}
	if err := jsonv2.Unmarshal(val, block, decoding); err != nil {
		return nil, within(dec, err)
	}
	return block, nil
}

func newBlock(kind string) Content {
	switch kind {
	case "text":
		return new(TextContent)
	case "image":
		return new(ImageContent)
	case "audio":
		return new(AudioContent)
	case "resource_link":
		return new(ResourceLink)
	case "resource":
		return new(EmbeddedResource)
	case "tool_use":
		return new(ToolUseContent)
	case "tool_result":
		return new(ToolResultContent)
	}
	return &UnknownContent{Type: kind}
}

// within puts the place of the value that dec has just read before the place
// that an error inside the value names.
func within(dec *jsontext.Decoder, err error) error {
	if sem, ok := err.(*jsonv2.SemanticError); ok {
		c := *sem
		c.JSONPointer = dec.StackPointer() + c.JSONPointer
		return &c
	}
	return err
}
