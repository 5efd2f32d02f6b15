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
// the URI matches; it is nil for a resource added with [Server.AddResource]. If
// the resource does not exist, return [mcp.ResourceNotFound].
type ReadFunc func(ctx context.Context, c *mcp.Call, uri string, vars map[string]string) ([]mcp.ResourceContents, error)

// ResourceOptions configures a resource or a resource template; nil means the
// defaults.
type ResourceOptions struct {
	// Cache says for how long clients may cache the contents. The zero value
	// means not at all.
	Cache mcp.Cache

	// Unlisted leaves the resource out of resources/list. Clients that know
	// its URI can read it. It has no effect on a template.
	Unlisted bool
}

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

// AddResource adds a resource, or replaces the one with the same URI. Contents
// without a URI or MIME type get those of the resource.
func (s *Server) AddResource(spec mcp.Resource, read ReadFunc, o *ResourceOptions) error {
	if u, err := url.Parse(spec.URI); err != nil || u.Scheme == "" {
		return fmt.Errorf("resource %q: the URI has no scheme (such as file:)", spec.URI)
	}
	if spec.Name == "" {
		return fmt.Errorf("resource %q has no name", spec.URI)
	}
	line, err := listed(&spec, spec.Icons, read == nil)
	if err != nil {
		return fmt.Errorf("resource %q: %w", spec.URI, err)
	}
	to, from := &s.resources, &s.unlisted
	if o != nil && o.Unlisted {
		to, from = from, to
	}
	to.put(spec.URI, line, &resource{read, spec.MIMEType, o.cache()})
	if from.drop([]string{spec.URI}) > 0 || to == &s.resources {
		s.changes.changed(mcp.NotificationResourcesListChanged, KindResource, spec.URI)
	}
	return nil
}

// AddTemplate adds a resource template, or replaces the same one. A template
// must match each URI in at most one way. If several templates match a URI, the
// one added first is used; resources added with [Server.AddResource] have
// precedence.
func (s *Server) AddTemplate(spec mcp.ResourceTemplate, read ReadFunc, o *ResourceOptions) error {
	t, err := uritemplate.Parse(spec.URITemplate)
	if err != nil {
		return fmt.Errorf("resource template %q: %w", spec.URITemplate, err)
	}
	if err := t.Matchable(); err != nil {
		return fmt.Errorf("resource template %q: %w", spec.URITemplate, err)
	}
	if spec.Name == "" {
		return fmt.Errorf("resource template %q has no name", spec.URITemplate)
	}
	line, err := listed(&spec, spec.Icons, read == nil)
	if err != nil {
		return fmt.Errorf("resource template %q: %w", spec.URITemplate, err)
	}
	s.templates.put(spec.URITemplate, line, &template{resource: resource{read, spec.MIMEType, o.cache()}, uri: t})
	s.changes.changed(mcp.NotificationResourcesListChanged, KindTemplate, spec.URITemplate)
	return nil
}

func (o *ResourceOptions) cache() mcp.Cache {
	if o == nil {
		return mcp.Cache{}
	}
	return o.Cache
}

// listed encodes the list entry of a feature.
func listed(spec any, icons []mcp.Icon, noFunc bool) (json.RawMessage, error) {
	if err := usable(icons, noFunc); err != nil {
		return nil, err
	}
	return mcp.Marshal(spec)
}

// usable returns an error for an invalid icon or a missing function.
func usable(icons []mcp.Icon, noFunc bool) error {
	for _, icon := range icons {
		if err := icon.Check(); err != nil {
			return err
		}
	}
	if noFunc {
		return errors.New("the function is nil")
	}
	return nil
}

// RemoveResources removes resources by URI and returns how many of them
// existed.
func (s *Server) RemoveResources(uris ...string) int {
	listed := s.gone(mcp.NotificationResourcesListChanged, KindResource, uris, s.resources.drop(uris))
	return listed + s.unlisted.drop(uris)
}

// RemoveTemplates removes resource templates and returns how many of them
// existed.
func (s *Server) RemoveTemplates(uriTemplates ...string) int {
	return s.gone(mcp.NotificationResourcesListChanged, KindTemplate, uriTemplates, s.templates.drop(uriTemplates))
}

// gone notifies subscriptions if features were removed.
func (s *Server) gone(method string, k Kind, names []string, n int) int {
	if n > 0 {
		s.changes.changed(method, k, names...)
	}
	return n
}

// ResourceListChanged notifies subscribed clients that the list of resources
// has changed, for servers whose list is produced by middleware.
// [Server.AddResource] and the like do so by themselves. With Options.Allow,
// only clients that may see one of the templates are notified.
func (s *Server) ResourceListChanged() {
	var names []string
	for _, it := range s.templates.all() {
		names = append(names, it.name)
	}
	s.changes.changed(mcp.NotificationResourcesListChanged, KindTemplate, names...)
}

// ResourceUpdated notifies clients that are subscribed to the URI that the
// resource has changed.
func (s *Server) ResourceUpdated(uri string) { s.changes.updated(uri) }

// readResource serves resources/read.
func (s *Server) readResource(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	if !s.lists(KindResource) {
		return mcp.Result{}, mcp.MethodNotFound(c.Method)
	}
	uri, ok := rawjson.String(rawjson.Lookup(c.Params, "uri"))
	if !ok {
		return mcp.Result{}, mcp.InvalidParams("uri: missing or not a string")
	}
	r, vars := s.findResource(&c.Caller, uri)
	if r == nil {
		return mcp.Result{}, mcp.ResourceNotFound(uri)
	}
	contents, err := r.read(ctx, c, uri, vars)
	if err == nil && len(contents) == 0 {
		err = mcp.Errorf(mcp.CodeInternal, "reading %q returned no contents", uri)
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

// complete fills in missing URIs and MIME types. It copies contents, which may
// belong to the ReadFunc.
func (r *resource) complete(uri string, contents []mcp.ResourceContents) []mcp.ResourceContents {
	full := slices.Clone(contents)
	for i := range full {
		full[i].URI = cmp.Or(full[i].URI, uri)
		full[i].MIMEType = cmp.Or(full[i].MIMEType, r.mimeType)
	}
	return full
}

// findResource returns the resource for a URI and the variables in it: the
// resource added with that URI, or the first template that matches. It returns
// nil if there is none that the caller may read.
func (s *Server) findResource(c *mcp.Caller, uri string) (*resource, map[string]string) {
	r := s.resources.get(uri)
	if r == nil {
		r = s.unlisted.get(uri)
	}
	if r != nil {
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

// TextResource returns the contents of a text resource. An empty MIME type
// means that of the resource.
func TextResource(mimeType, text string) []mcp.ResourceContents {
	return []mcp.ResourceContents{{MIMEType: mimeType, Text: text}}
}

// JSONResource returns the contents of a resource that is one JSON value,
// encoded with [schema.Marshal] like the output of a tool.
func JSONResource(v any) ([]mcp.ResourceContents, error) {
	raw, err := schema.Marshal(v)
	if err != nil {
		return nil, err
	}
	return TextResource("application/json", string(raw)), nil
}
