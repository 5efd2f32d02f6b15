package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/uritemplate"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/schema"
)

// A ReadFunc reads a resource. vars holds the variables of the template that
// the URI fits; it is nil for a resource that was added by its URI. A resource
// that is not there is an [mcp.ResourceNotFound].
type ReadFunc func(ctx context.Context, c *mcp.Call, uri string, vars map[string]string) ([]mcp.ResourceContents, error)

type resource struct {
	read     ReadFunc
	mimeType string
	cache    mcp.Cache
}

type template struct {
	resource
	uri       *uritemplate.Template
	completes completers
}

// AddResource adds a resource, or takes the place of the one with its URI.
// Contents that do not say their URI or their MIME type have those of the
// resource. An optional cache says how long what is read may be kept; unset
// means not at all.
func (s *Server) AddResource(spec mcp.Resource, read ReadFunc, cache ...mcp.Cache) error {
	if u, err := url.Parse(spec.URI); err != nil || u.Scheme == "" {
		return fmt.Errorf("resource %q: a URI begins with a scheme and a colon, as file:///x does", spec.URI)
	}
	if spec.Name == "" {
		return fmt.Errorf("resource %q: it needs a name", spec.URI)
	}
	line, err := listed(&spec, spec.Icons, read == nil)
	if err != nil {
		return fmt.Errorf("resource %q: %w", spec.URI, err)
	}
	s.resources.put(spec.URI, line, &resource{read, spec.MIMEType, first(cache)})
	s.changes.changed(mcp.NotificationResourcesListChanged, KindResource, spec.URI)
	return nil
}

// AddTemplate adds a template of resources, or takes the place of the same
// one. A template must fit each URI in at most one way. A URI that fits several
// templates belongs to the one that was added first, and one that was added
// with [Server.AddResource] to none of them.
func (s *Server) AddTemplate(spec mcp.ResourceTemplate, read ReadFunc, cache ...mcp.Cache) error {
	t, err := uritemplate.Parse(spec.URITemplate)
	if err != nil {
		return fmt.Errorf("resource template %q: %w", spec.URITemplate, err)
	}
	if err := t.Matchable(); err != nil {
		return fmt.Errorf("resource template %q: %w", spec.URITemplate, err)
	}
	if spec.Name == "" {
		return fmt.Errorf("resource template %q: it needs a name", spec.URITemplate)
	}
	line, err := listed(&spec, spec.Icons, read == nil)
	if err != nil {
		return fmt.Errorf("resource template %q: %w", spec.URITemplate, err)
	}
	s.templates.put(spec.URITemplate, line, &template{resource: resource{read, spec.MIMEType, first(cache)}, uri: t})
	s.changes.changed(mcp.NotificationResourcesListChanged, KindTemplate, spec.URITemplate)
	return nil
}

func first(cache []mcp.Cache) mcp.Cache {
	if len(cache) > 0 {
		return cache[0]
	}
	return mcp.Cache{}
}

// listed encodes what a list says of a feature that is usable.
func listed(spec any, icons []mcp.Icon, noFunc bool) (json.RawMessage, error) {
	if err := usable(icons, noFunc); err != nil {
		return nil, err
	}
	return mcp.Marshal(spec)
}

// usable reports what no feature may have: a bad icon, or nothing to run.
func usable(icons []mcp.Icon, noFunc bool) error {
	for _, icon := range icons {
		if err := icon.Check(); err != nil {
			return err
		}
	}
	if noFunc {
		return errors.New("the func is nil")
	}
	return nil
}

// RemoveResources removes resources by their URIs and returns how many of them
// there were.
func (s *Server) RemoveResources(uris ...string) int {
	return s.gone(mcp.NotificationResourcesListChanged, KindResource, uris, s.resources.drop(uris))
}

// RemoveTemplates removes templates and returns how many of them there were.
func (s *Server) RemoveTemplates(uriTemplates ...string) int {
	return s.gone(mcp.NotificationResourcesListChanged, KindTemplate, uriTemplates, s.templates.drop(uriTemplates))
}

// gone announces that n features are gone, if there were any.
func (s *Server) gone(note string, k Kind, names []string, n int) int {
	if n > 0 {
		s.changes.changed(note, k, names...)
	}
	return n
}

// ResourceUpdated announces that what is in a resource has changed, to those
// who listen for its URI.
func (s *Server) ResourceUpdated(uri string) { s.changes.updated(uri) }

// readResource serves resources/read.
func (s *Server) readResource(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	if !s.lists(KindResource) {
		return mcp.Result{}, mcp.MethodNotFound(c.Method)
	}
	uri, ok := rawjson.String(rawjson.Lookup(c.Params, "uri"))
	if !ok {
		return mcp.Result{}, mcp.InvalidParams("uri: missing or not a string: say which resource to read")
	}
	r, vars := s.findResource(&c.Caller, uri)
	if r == nil {
		return mcp.Result{}, mcp.ResourceNotFound(uri)
	}
	contents, err := r.read(ctx, c, uri, vars)
	if err == nil && len(contents) == 0 {
		err = mcp.Errorf(mcp.CodeInternal, "reading %q came to nothing", uri)
	}
	var res mcp.Result
	if err == nil {
		res, err = result(mcp.ReadResourceResult{Contents: r.complete(uri, contents)})
	}
	if err != nil {
		return mcp.Result{}, s.failed(ctx, c, fmt.Sprintf("resource %q", uri), err)
	}
	res.Cache = s.shared(r.cache)
	return res, nil
}

// complete fills in what contents leave out. They may be the reader's own and
// the same for many calls, so they are not changed.
func (r *resource) complete(uri string, contents []mcp.ResourceContents) []mcp.ResourceContents {
	full := slices.Clone(contents)
	for i := range full {
		full[i].URI = cmp.Or(full[i].URI, uri)
		full[i].MIMEType = cmp.Or(full[i].MIMEType, r.mimeType)
	}
	return full
}

// findResource finds what a URI belongs to, and the variables in it: the
// resource that was added by it, or the first template that it fits. It is nil
// if there is none that the caller may read.
func (s *Server) findResource(c *mcp.Caller, uri string) (*resource, map[string]string) {
	if r := s.resources.get(uri); r != nil {
		if !s.allows(c, KindResource, uri) {
			return nil, nil
		}
		return r, nil
	}
	for _, it := range s.templates.all() {
		if vars, ok := it.feat.uri.Match(uri); ok && s.allows(c, KindTemplate, it.name) {
			if !s.allows(c, KindResource, uri) {
				return nil, nil
			}
			return &it.feat.resource, vars
		}
	}
	return nil, nil
}

// TextResource is the contents of a resource that is one text. An empty MIME
// type means the one that the resource was added with.
func TextResource(mimeType, text string) []mcp.ResourceContents {
	return []mcp.ResourceContents{{MIMEType: mimeType, Text: text}}
}

// JSONResource is the contents of a resource that is one JSON value, encoded by
// [schema.Marshal] as the output of a tool is.
func JSONResource(v any) ([]mcp.ResourceContents, error) {
	raw, err := schema.Marshal(v)
	if err != nil {
		return nil, err
	}
	return TextResource("application/json", string(raw)), nil
}
