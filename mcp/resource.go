package mcp

import (
	"cmp"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Resource is something that clients can read by its URI.
type Resource struct {
	URI         string       `json:"uri"`
	Name        string       `json:"name"`
	Title       string       `json:"title,omitzero"`
	Description string       `json:"description,omitzero"`
	MIMEType    string       `json:"mimeType,omitzero"`
	Annotations *Annotations `json:"annotations,omitzero"`
	// Size is the size in bytes before any encoding; nil means unknown.
	Size  *int64 `json:"size,omitzero"`
	Icons []Icon `json:"icons,omitzero"`
	Meta  Meta   `json:"_meta,omitzero"`
}

// DisplayName returns the title, or the name if there is no title.
func (r *Resource) DisplayName() string { return cmp.Or(r.Title, r.Name) }

// A ResourceTemplate describes all resources whose URIs match an RFC 6570
// template.
type ResourceTemplate struct {
	URITemplate string `json:"uriTemplate"`
	Name        string `json:"name"`
	Title       string `json:"title,omitzero"`
	Description string `json:"description,omitzero"`
	// MIMEType is set only if all matching resources have this type.
	MIMEType    string       `json:"mimeType,omitzero"`
	Annotations *Annotations `json:"annotations,omitzero"`
	Icons       []Icon       `json:"icons,omitzero"`
	Meta        Meta         `json:"_meta,omitzero"`
}

// DisplayName returns the title, or the name if there is no title.
func (r *ResourceTemplate) DisplayName() string { return cmp.Or(r.Title, r.Name) }

// ListResourcesResult is one page of a list of resources.
type ListResourcesResult struct {
	Resources []Resource `json:"resources"`
	// NextCursor is the cursor of the next page; nil means that this is the
	// last.
	NextCursor *string `json:"nextCursor,omitzero"`
}

// ListResourceTemplatesResult is one page of a list of resource templates.
type ListResourceTemplatesResult struct {
	ResourceTemplates []ResourceTemplate `json:"resourceTemplates"`
	// NextCursor is the cursor of the next page; nil means that this is the
	// last.
	NextCursor *string `json:"nextCursor,omitzero"`
}

// ReadResourceParams is the parameters of a [MethodResourcesRead] call.
type ReadResourceParams struct {
	URI string `json:"uri"`
}

// ReadResourceResult is the contents of a resource. A resource such as a
// directory may have several.
type ReadResourceResult struct {
	Contents []ResourceContents `json:"contents"`
}

// ResourceContents is the text or the binary data of a resource.
type ResourceContents struct {
	URI      string
	MIMEType string // empty means unknown
	// Text is the text, which may be empty. It is used if Blob is nil.
	Text string
	// Blob is the data of a binary resource. It is not nil even if the resource
	// is empty.
	Blob []byte
	Meta Meta
}

type wireContents struct {
	URI      string  `json:"uri"`
	MIMEType string  `json:"mimeType,omitzero"`
	Text     *string `json:"text,omitzero"`
	Blob     *[]byte `json:"blob,omitzero"`
	Meta     Meta    `json:"_meta,omitzero"`
}

// MarshalJSONTo implements the interface of json v2.
func (c ResourceContents) MarshalJSONTo(enc *jsontext.Encoder) error {
	w := wireContents{URI: c.URI, MIMEType: c.MIMEType, Meta: c.Meta}
	if c.Blob != nil {
		w.Blob = &c.Blob
	} else {
		w.Text = &c.Text
	}
	return jsonv2.MarshalEncode(enc, &w)
}

// MarshalJSON implements the interface of encoding/json.
func (c ResourceContents) MarshalJSON() ([]byte, error) { return Marshal(c) }

// UnmarshalJSONFrom implements the interface of json v2.
func (c *ResourceContents) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var w wireContents
	if err := jsonv2.UnmarshalDecode(dec, &w); err != nil {
		return err
	}
	out := ResourceContents{URI: w.URI, MIMEType: w.MIMEType, Meta: w.Meta}
	switch {
	case w.Text != nil && w.Blob != nil:
		return refuse(dec, "", "expected either text or blob, found both")
	case w.Text != nil:
		out.Text = *w.Text
	case w.Blob != nil:
		if out.Blob = *w.Blob; out.Blob == nil {
			out.Blob = []byte{}
		}
	default:
		return refuse(dec, "", "expected text or blob, found neither")
	}
	*c = out
	return nil
}

// UnmarshalJSON implements the interface of encoding/json.
func (c *ResourceContents) UnmarshalJSON(data []byte) error { return Unmarshal(data, c) }
