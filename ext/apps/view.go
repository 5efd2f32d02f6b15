package apps

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A View is an HTML page for the results of tools. It must be whole in itself:
// unless [ViewUI.CSP] declares origins, hosts let it load nothing.
type View struct {
	// URI identifies the view and has the scheme ui:, as in ui://stats/chart.html.
	URI string
	// Name is the name of the resource; empty means the URI.
	Name string
	// Title and Description are for people. They may be empty.
	Title, Description string
	// HTML is the page, a complete HTML5 document.
	HTML string
	// UI says how to show the view.
	UI ViewUI
	// Cache says for how long clients may cache the view. The zero value means
	// not at all.
	Cache mcp.Cache
	// Unlisted leaves the view out of resources/list. Hosts find it by the
	// metadata of tools.
	Unlisted bool
}

// A ViewUI is the metadata of a view.
type ViewUI struct {
	// CSP declares the origins that the view uses; nil means none.
	CSP *CSP `json:"csp,omitzero"`
	// Permissions are features of the browser that the view uses. The user may
	// deny them.
	Permissions Permissions `json:"permissions,omitzero"`
	// Domain is an origin that the view would like to have, in a form that
	// depends on the host. It may be empty.
	Domain string `json:"domain,omitzero"`
	// PrefersBorder says whether the host should draw a border; nil leaves it to
	// the host.
	PrefersBorder *bool `json:"prefersBorder,omitzero"`
}

// Permissions are features of the browser that a view uses.
type Permissions struct {
	Camera, Microphone, Geolocation, ClipboardWrite bool
}

// permissions has the names of the features in metadata and, where it differs,
// in the allow attribute of a frame.
var permissions = []struct {
	name, feature string
	of            func(*Permissions) *bool
}{
	{"camera", "camera", func(p *Permissions) *bool { return &p.Camera }},
	{"microphone", "microphone", func(p *Permissions) *bool { return &p.Microphone }},
	{"geolocation", "geolocation", func(p *Permissions) *bool { return &p.Geolocation }},
	{"clipboardWrite", "clipboard-write", func(p *Permissions) *bool { return &p.ClipboardWrite }},
}

// IsZero reports whether the view uses none of the features.
func (p Permissions) IsZero() bool { return p == Permissions{} }

// Features returns the names of the features as the allow attribute of a frame
// has them.
func (p Permissions) Features() []string {
	var all []string
	for _, one := range permissions {
		if *one.of(&p) {
			all = append(all, one.feature)
		}
	}
	return all
}

// MarshalJSON encodes the permissions as an object with an empty object for each.
func (p Permissions) MarshalJSON() ([]byte, error) {
	all := map[string]struct{}{}
	for _, one := range permissions {
		if *one.of(&p) {
			all[one.name] = struct{}{}
		}
	}
	return mcp.Marshal(all)
}

// UnmarshalJSON decodes what MarshalJSON encodes. It ignores unknown permissions.
func (p *Permissions) UnmarshalJSON(data []byte) error {
	if !rawjson.IsObject(data) {
		return errors.New("permissions: not an object")
	}
	*p = Permissions{}
	for _, one := range permissions {
		*one.of(p) = rawjson.IsObject(rawjson.Lookup(data, one.name))
	}
	return nil
}

// AddView adds a view to a server, or replaces the one with the same URI. It
// returns an error if the URI or the metadata is invalid, or if there is no HTML.
func AddView(s *server.Server, v View) error {
	if !validURI(v.URI) {
		return fmt.Errorf("view %q: the URI must have the form ui://name", v.URI)
	}
	if strings.TrimSpace(v.HTML) == "" {
		return fmt.Errorf("view %q has no HTML", v.URI)
	}
	if _, problems := v.UI.CSP.Header(); len(problems) > 0 {
		return fmt.Errorf("view %q: %w", v.URI, errors.Join(problems...))
	}
	ui, err := mcp.Marshal(v.UI)
	if err != nil {
		return fmt.Errorf("view %q: %w", v.URI, err)
	}
	meta := mcp.Meta{metaKey: ui}
	contents := []mcp.ResourceContents{{Text: v.HTML, Meta: meta}}
	spec := mcp.Resource{URI: v.URI, Name: cmp.Or(v.Name, v.URI), Title: v.Title, Description: v.Description, MIMEType: MIMEType, Meta: meta}
	read := func(context.Context, *mcp.Call, string, map[string]string) ([]mcp.ResourceContents, error) {
		return contents, nil
	}
	return s.AddResource(spec, read, &server.ResourceOptions{Cache: v.Cache, Unlisted: v.Unlisted})
}

// validURI reports whether a URI may name a view.
func validURI(uri string) bool {
	u, err := url.Parse(uri)
	return err == nil && u.Scheme == "ui" && u.Host != "" && strings.HasPrefix(uri, "ui://")
}

// A Page is a view that was read from a server.
type Page struct {
	URI  string
	HTML string
	UI   ViewUI
	// Problems says which parts of the metadata are invalid and were ignored.
	Problems []error
}

// MaxHTML bounds the size of a view that [Read] accepts, in bytes.
const MaxHTML = 16 << 20

// Read reads the view with a URI. Its metadata is that of the contents or, if
// these have none, that of the resource in the server's list. Metadata that is
// invalid is ignored, which never allows a view more than it would have had.
func Read(ctx context.Context, c *client.Client, uri string) (*Page, error) {
	fail := func(why string) error { return fmt.Errorf("read view %s: %s", rawjson.Quote(clip(uri)), why) }
	if !validURI(uri) {
		return nil, fail("the URI does not have the form ui://name")
	}
	got, err := c.ReadResource(ctx, uri)
	if err != nil {
		return nil, err
	}
	if len(got.Contents) != 1 {
		return nil, fail(fmt.Sprintf("the server returned %d contents instead of one", len(got.Contents)))
	}
	one := got.Contents[0]
	p := &Page{URI: uri, HTML: one.Text}
	if one.Blob != nil {
		p.HTML = string(one.Blob)
	}
	switch {
	case !isViewType(one.MIMEType):
		return nil, fail("its type is " + rawjson.Quote(clip(one.MIMEType)) + " instead of " + MIMEType)
	case strings.TrimSpace(p.HTML) == "":
		return nil, fail("it is empty")
	case len(p.HTML) > MaxHTML:
		return nil, fail(fmt.Sprintf("it has more than %d MiB", MaxHTML>>20))
	}
	meta := one.Meta[metaKey]
	if meta == nil {
		meta = listed(ctx, c, uri)
	}
	p.readMeta(meta)
	return p, nil
}

// isViewType reports whether a MIME type is that of views, in any spelling.
func isViewType(mime string) bool {
	return strings.EqualFold(strings.ReplaceAll(mime, " ", ""), MIMEType)
}

// maxListed bounds how many resources are listed to find a view. Views need not
// be in the list.
const maxListed = 1000

// listed returns the metadata of a view in the server's list of resources; nil
// if there is none.
func listed(ctx context.Context, c *client.Client, uri string) json.RawMessage {
	n := 0
	for r, err := range c.Resources(ctx) {
		if n++; err != nil || n > maxListed {
			return nil
		}
		if r.URI == uri {
			return r.Meta[metaKey]
		}
	}
	return nil
}

// readMeta decodes metadata, member by member, so that one that is invalid does
// not hide the others.
func (p *Page) readMeta(meta json.RawMessage) {
	if meta == nil {
		return
	}
	if !rawjson.IsObject(meta) {
		p.Problems = append(p.Problems, errors.New("_meta.ui: not an object"))
		return
	}
	read := func(name string, into any) {
		if raw := rawjson.Lookup(meta, name); raw != nil && !rawjson.IsNull(raw) {
			if err := mcp.Unmarshal(raw, into); err != nil {
				p.Problems = append(p.Problems, fmt.Errorf("_meta.ui.%s: %w", name, err))
			}
		}
	}
	csp, border := &CSP{}, false
	before := len(p.Problems)
	if read("csp", csp); len(p.Problems) == before && rawjson.IsObject(rawjson.Lookup(meta, "csp")) {
		p.UI.CSP = csp
		_, problems := csp.Header()
		p.Problems = append(p.Problems, problems...)
	}
	read("permissions", &p.UI.Permissions)
	read("domain", &p.UI.Domain)
	before = len(p.Problems)
	if read("prefersBorder", &border); len(p.Problems) == before && rawjson.Lookup(meta, "prefersBorder") != nil {
		p.UI.PrefersBorder = &border
	}
}
