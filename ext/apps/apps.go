package apps

import (
	"encoding/json"
	"slices"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// ExtensionID is the identifier of the extension in capabilities.
const ExtensionID = "io.modelcontextprotocol/ui"

// MIMEType is the MIME type of views.
const MIMEType = "text/html;profile=mcp-app"

// ProtocolVersion is the version of the messages between a view and its host.
const ProtocolVersion = "2026-01-26"

// The keys of _meta. The second one is deprecated; servers send both, because
// some hosts read only one of them.
const (
	metaKey     = "ui"
	flatMetaKey = "ui/resourceUri"
)

func init() {
	// The rules for names are those of the protocol: it renames URIs in the
	// metadata of tools.
	mcp.RegisterExtension(mcp.Extension{ID: ExtensionID})
}

// ClientSettings returns the settings with which a client declares that it shows
// views, for client.Options.Extensions[ExtensionID].
func ClientSettings() json.RawMessage {
	return json.RawMessage(`{"mimeTypes":["` + MIMEType + `"]}`)
}

// Supported reports whether a client shows views. A server need not ask: clients
// that do not show views ignore the metadata of tools.
func Supported(c *mcp.Caller) bool {
	settings := c.Capabilities.Extensions[ExtensionID]
	var has struct {
		MIMETypes []string `json:"mimeTypes"`
	}
	return settings != nil && mcp.Unmarshal(settings, &has) == nil && slices.Contains(has.MIMETypes, MIMEType)
}

// An Audience is a user of tools: the model or the views of the tool's server.
type Audience string

// The audiences.
const (
	Model   Audience = "model"
	AppView Audience = "app"
)

// A ToolUI is the part of a tool's metadata that is about views.
type ToolUI struct {
	// ResourceURI is the URI of the view; empty if the tool has none.
	ResourceURI string
	// Visibility lists who may use the tool; nil means everybody.
	Visibility []Audience
}

// VisibleTo reports whether an audience may see and call the tool.
func (u ToolUI) VisibleTo(a Audience) bool {
	return u.Visibility == nil || slices.Contains(u.Visibility, a)
}

// ToolMeta returns the metadata of a tool with a view, for
// server.ToolOptions.Meta. An empty uri means a tool without a view, which is
// useful with a visibility. No visibility means that the model and views may
// call the tool.
func ToolMeta(uri string, visibility ...Audience) mcp.Meta {
	ui := map[string]any{}
	meta := mcp.Meta{}
	if uri != "" {
		ui["resourceUri"] = uri
		meta[flatMetaKey] = json.RawMessage(rawjson.AppendString(nil, uri))
	}
	if len(visibility) > 0 {
		ui["visibility"] = visibility
	}
	raw, err := mcp.Marshal(ui)
	if err != nil {
		panic(err) // strings can be encoded, except for invalid UTF-8
	}
	meta[metaKey] = raw
	return meta
}

// ForTool returns the metadata about views of a tool. It reads the deprecated
// key if the other one has no URI. Metadata that is invalid counts as missing; a
// URI without the scheme ui: is invalid.
func ForTool(t *mcp.Tool) ToolUI {
	ui := t.Meta[metaKey]
	uri, ok := rawjson.String(rawjson.Lookup(ui, "resourceUri"))
	if !ok {
		uri, _ = rawjson.String(t.Meta[flatMetaKey])
	}
	out := ToolUI{ResourceURI: uri}
	if !validURI(uri) {
		out.ResourceURI = ""
	}
	if raw := rawjson.Lookup(ui, "visibility"); rawjson.IsArray(raw) {
		out.Visibility = []Audience{}
		for e := rawjson.Array(raw); e.Next(); {
			if text, ok := rawjson.String(e.Value); ok {
				out.Visibility = append(out.Visibility, Audience(text))
			}
		}
	}
	return out
}
