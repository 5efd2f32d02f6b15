package mcp

import (
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

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
