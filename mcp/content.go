package mcp

import (
	"encoding/json"
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// A Content is one block of content of a tool result, a prompt message or a
// sampling message. It is one of *TextContent, *ImageContent, *AudioContent,
// *ResourceLink and *EmbeddedResource, in sampling also *ToolUseContent and
// *ToolResultContent, and *UnknownContent for every other type.
type Content interface {
	// ContentType returns the "type" member of the block.
	ContentType() string
	// appendBlock keeps the set of blocks closed and encodes one of them.
	appendBlock(dst []byte) ([]byte, error)
}

// Text returns a text block.
func Text(s string) Content { return &TextContent{Text: s} }

// Image returns an image block. The MIME type is for example "image/png".
func Image(data []byte, mimeType string) Content {
	return &ImageContent{Data: data, MIMEType: mimeType}
}

// Audio returns an audio block. The MIME type is for example "audio/wav".
func Audio(data []byte, mimeType string) Content {
	return &AudioContent{Data: data, MIMEType: mimeType}
}

// Link returns a block that links to a resource.
func Link(r Resource) Content { return &ResourceLink{Resource: r} }

// Embed returns a block that contains a resource.
func Embed(c ResourceContents) Content { return &EmbeddedResource{Resource: c} }

// A Role is the author of a message or the audience of content.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Annotations are the server's hints about the use of an object. Clients should
// not rely on the hints of servers that they do not trust.
type Annotations struct {
	// Audience lists who the object is for; nil means unspecified.
	Audience []Role `json:"audience,omitzero"`
	// Priority is the importance from 0 (optional) to 1 (required); nil means
	// unspecified.
	Priority *float64 `json:"priority,omitzero"`
	// LastModified is a time in ISO 8601 format; empty means unspecified.
	LastModified string `json:"lastModified,omitzero"`
}

// TextContent is a block of text.
type TextContent struct {
	Text        string       `json:"text"`
	Annotations *Annotations `json:"annotations,omitzero"`
	Meta        Meta         `json:"_meta,omitzero"`
}

// ImageContent is an image.
type ImageContent struct {
	Data        []byte       `json:"data"` // base64 on the wire
	MIMEType    string       `json:"mimeType"`
	Annotations *Annotations `json:"annotations,omitzero"`
	Meta        Meta         `json:"_meta,omitzero"`
}

// AudioContent is an audio recording.
type AudioContent struct {
	Data        []byte       `json:"data"` // base64 on the wire
	MIMEType    string       `json:"mimeType"`
	Annotations *Annotations `json:"annotations,omitzero"`
	Meta        Meta         `json:"_meta,omitzero"`
}

// A ResourceLink links to a resource that the client can read. The resource
// need not be listed.
type ResourceLink struct {
	Resource
}

// An EmbeddedResource is a block with the contents of a resource.
type EmbeddedResource struct {
	Resource    ResourceContents `json:"resource"`
	Annotations *Annotations     `json:"annotations,omitzero"`
	Meta        Meta             `json:"_meta,omitzero"`
}

// UnknownContent is a block of a type that this package does not define. It is
// encoded as it was received.
type UnknownContent struct {
	Type string
	// Raw is the whole block, including its type.
	Raw json.RawMessage
}

// ContentType returns "text".
func (*TextContent) ContentType() string { return "text" }

// ContentType returns "image".
func (*ImageContent) ContentType() string { return "image" }

// ContentType returns "audio".
func (*AudioContent) ContentType() string { return "audio" }

// ContentType returns "resource_link".
func (*ResourceLink) ContentType() string { return "resource_link" }

// ContentType returns "resource".
func (*EmbeddedResource) ContentType() string { return "resource" }

// ContentType returns c.Type.
func (c *UnknownContent) ContentType() string { return c.Type }

// Contents is a list of content blocks. Nil is encoded as [].
type Contents []Content

// Text returns the text of all text blocks, joined by newlines.
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

// readBlock reads the next value of dec as a content block.
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
		return nil, refuse(dec, "type", "missing: a content block needs a type")
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

// within prefixes the JSON pointer of err with that of the value that dec has
// just read.
func within(dec *jsontext.Decoder, err error) error {
	if sem, ok := err.(*jsonv2.SemanticError); ok {
		c := *sem
		c.JSONPointer = dec.StackPointer() + c.JSONPointer
		return &c
	}
	return err
}

// A block is encoded as its type followed by its members. Text blocks, the most
// frequent ones, are encoded by hand, the others by the JSON library.

func (cs Contents) appendJSON(dst []byte) ([]byte, error) {
	var err error
	dst = append(dst, '[')
	for i, c := range cs {
		if i > 0 {
			dst = append(dst, ',')
		}
		if c == nil {
			return nil, fmt.Errorf("content block %d is nil", i)
		}
		if dst, err = c.appendBlock(dst); err != nil {
			return nil, fmt.Errorf("content block %d: %w", i, err)
		}
	}
	return append(dst, ']'), nil
}

func (c *TextContent) appendBlock(dst []byte) ([]byte, error) {
	if c.Annotations != nil || c.Meta != nil {
		type members TextContent
		return appendTyped(dst, "text", (*members)(c))
	}
	dst = append(dst, `{"type":"text","text":`...)
	dst = rawjson.AppendString(dst, c.Text)
	return append(dst, '}'), nil
}

func (c *ImageContent) appendBlock(dst []byte) ([]byte, error) {
	type members ImageContent
	return appendTyped(dst, "image", (*members)(c))
}

func (c *AudioContent) appendBlock(dst []byte) ([]byte, error) {
	type members AudioContent
	return appendTyped(dst, "audio", (*members)(c))
}

func (c *ResourceLink) appendBlock(dst []byte) ([]byte, error) {
	return appendTyped(dst, "resource_link", &c.Resource)
}

func (c *EmbeddedResource) appendBlock(dst []byte) ([]byte, error) {
	type members EmbeddedResource
	return appendTyped(dst, "resource", (*members)(c))
}

func (c *UnknownContent) appendBlock(dst []byte) ([]byte, error) {
	raw, err := Marshal(jsontext.Value(c.Raw))
	if err != nil {
		return nil, err
	}
	if jsontext.Value(raw).Kind() != '{' {
		return nil, errors.New("UnknownContent.Raw is not a JSON object")
	}
	return append(dst, raw...), nil
}

// appendTyped appends members, a pointer to a struct, with the type in front.
func appendTyped[T any](dst []byte, kind string, members *T) ([]byte, error) {
	raw, err := jsonv2.Marshal(struct {
		Type    string `json:"type"`
		Members *T     `json:",embed"`
	}{kind, members}, encoding)
	if err != nil {
		return nil, explainWrite(err)
	}
	return append(dst, raw...), nil
}

// MarshalJSON implements the interface of both JSON packages.
func (c TextContent) MarshalJSON() ([]byte, error) { return c.appendBlock(nil) }

// MarshalJSON implements the interface of both JSON packages.
func (c ImageContent) MarshalJSON() ([]byte, error) { return c.appendBlock(nil) }

// MarshalJSON implements the interface of both JSON packages.
func (c AudioContent) MarshalJSON() ([]byte, error) { return c.appendBlock(nil) }

// MarshalJSON implements the interface of both JSON packages.
func (c ResourceLink) MarshalJSON() ([]byte, error) { return c.appendBlock(nil) }

// MarshalJSON implements the interface of both JSON packages.
func (c EmbeddedResource) MarshalJSON() ([]byte, error) { return c.appendBlock(nil) }

// MarshalJSON implements the interface of both JSON packages.
func (c UnknownContent) MarshalJSON() ([]byte, error) { return c.appendBlock(nil) }
