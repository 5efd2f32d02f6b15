package mcp

import (
	"fmt"
	"net/url"
	"strings"
)

// An Icon is a picture that stands for something in a list.
type Icon struct {
	// Src is an https: or data: URI; see [Icon.Check].
	Src      string `json:"src"`
	MIMEType string `json:"mimeType,omitzero"`
	// Sizes are such as "48x48", or "any" for a picture that scales; empty
	// means any.
	Sizes []string `json:"sizes,omitzero"`
	// Theme is "light" or "dark", the background the icon is drawn for;
	// empty means either.
	Theme string `json:"theme,omitzero"`
}

// Check reports why an icon must not be shown: its address is not https or a
// picture in a data URI, or it carries a user name. Whoever loads an icon
// sends no credentials with the request.
func (i Icon) Check() error {
	scheme, rest, ok := strings.Cut(i.Src, ":")
	switch {
	case !ok:
		return fmt.Errorf("icon %q has no scheme: use an https or data URI", clip(i.Src))
	case strings.EqualFold(scheme, "data"):
		if !strings.HasPrefix(strings.ToLower(rest), "image/") {
			return fmt.Errorf("icon %q is a data URI that holds no image", clip(i.Src))
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
		return fmt.Errorf("icon %q names no host", clip(i.Src))
	case u.User != nil:
		return fmt.Errorf("icon of host %q carries a user name: leave it out", u.Host)
	}
	return nil
}

// clip keeps a foreign text short enough for an error message.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
