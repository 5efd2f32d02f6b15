package mcp

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"github.com/tenon-mcp/tenon/internal/textclip"
)

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
	return cmp.Or(i.Title, i.Name)
}

// A Discovery is a server's description of itself: the result of
// [MethodDiscover]. The supported revisions are part of the envelope and
// therefore absent.
type Discovery struct {
	Capabilities ServerCapabilities `json:"capabilities"`
	// Instructions is advice for a model on how to use the server.
	Instructions string `json:"instructions,omitzero"`
	// Server is the server's name and version; nil means unknown. It comes from
	// [Result.Server], not from the body.
	Server *Implementation `json:"-"`
}

// An Icon is an image for display in a user interface.
type Icon struct {
	// Src is an https: or data: URI; see [Icon.Check].
	Src      string `json:"src"`
	MIMEType string `json:"mimeType,omitzero"`
	// Sizes lists sizes such as "48x48", or "any" for a scalable image; empty
	// means any.
	Sizes []string `json:"sizes,omitzero"`
	// Theme is the background that the icon is designed for, "light" or "dark";
	// empty means both.
	Theme string `json:"theme,omitzero"`
}

// Check returns an error if a client must not load the icon: Src is neither
// https nor an image in a data URI, or contains a user name. Load icons without
// credentials.
func (i Icon) Check() error {
	scheme, rest, ok := strings.Cut(i.Src, ":")
	switch {
	case !ok:
		return fmt.Errorf("icon %q has no scheme: use an https or data URI", clip(i.Src))
	case strings.EqualFold(scheme, "data"):
		if !strings.HasPrefix(strings.ToLower(rest), "image/") {
			return fmt.Errorf("icon %q is a data URI without an image", clip(i.Src))
		}
		return nil
	case !strings.EqualFold(scheme, "https"):
		return fmt.Errorf("icon %q uses the scheme %q: only https and data are allowed", clip(i.Src), clip(scheme))
	}
	u, err := url.Parse(i.Src)
	switch {
	case err != nil:
		return fmt.Errorf("icon %q is not a URI", clip(i.Src))
	case u.Host == "":
		return fmt.Errorf("icon %q has no host", clip(i.Src))
	case u.User != nil:
		return fmt.Errorf("icon of host %q contains a user name", u.Host)
	}
	return nil
}

// clip shortens a string from the peer for an error text.
func clip(s string) string { return textclip.Clip(s, 80) }
