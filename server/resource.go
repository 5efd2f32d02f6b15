package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/uritemplate"
	"github.com/tenon-mcp/tenon/mcp"
)

// A ReadFunc reads a resource. vars holds the variables of the template that
// the URI fits; it is nil for a resource that was added by its URI. A resource
// that is not there is an [mcp.ResourceNotFound].
type ReadFunc func(ctx context.Context, c *mcp.Call, uri string, vars map[string]string) ([]mcp.ResourceContents, error)

type resource struct {
	read  ReadFunc
	cache mcp.Cache
}

type template struct {
	uri       *uritemplate.Template
	read      ReadFunc
	cache     mcp.Cache
	completes completers
}

// AddResource adds a resource, or takes the place of the one with its URI. An
// optional cache says how long what is read may be kept; unset means not at
// all.
func (s *Server) AddResource(spec mcp.Resource, read ReadFunc, cache ...mcp.Cache) error {
	if u, err := url.Parse(spec.URI); err != nil || u.Scheme == "" {
		return fmt.Errorf("resource %q: a URI begins with a scheme and a colon, as file:///x does", spec.URI)
	}
	if spec.Name == "" {
		return fmt.Errorf("resource %q: it needs a name", spec.URI)
	}
	s.resources.put(spec.URI, &spec, &resource{read, first(cache)})
	s.news.changed(mcp.NoteResourcesListChanged)
	return nil
}

// AddTemplate adds a template of resources, or takes the place of the same
// one. A template must fit each URI in at most one way.
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
	s.templates.put(spec.URITemplate, &spec, &template{uri: t, read: read, cache: first(cache)})
	s.news.changed(mcp.NoteResourcesListChanged)
	return nil
}

func first(cache []mcp.Cache) mcp.Cache {
	if len(cache) > 0 {
		return cache[0]
	}
	return mcp.Cache{}
}

// RemoveResources removes resources by their URIs; others do not matter.
func (s *Server) RemoveResources(uris ...string) {
	if s.resources.drop(uris) {
		s.news.changed(mcp.NoteResourcesListChanged)
	}
}

// RemoveTemplates removes templates; others do not matter.
func (s *Server) RemoveTemplates(uriTemplates ...string) {
	if s.templates.drop(uriTemplates) {
		s.news.changed(mcp.NoteResourcesListChanged)
	}
}

// ResourceUpdated announces that what is in a resource has changed.
func (s *Server) ResourceUpdated(uri string) { s.news.updated(uri) }

// readResource serves resources/read.
func (s *Server) readResource(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	if !s.lists(KindResource) {
		return mcp.Result{}, mcp.MethodNotFound(c.Method)
	}
	uri, ok := rawjson.String(rawjson.Lookup(c.Params, "uri"))
	if !ok {
		return mcp.Result{}, mcp.InvalidParams("uri: missing or not a string: say which resource to read")
	}
	read, cache, vars := s.findResource(&c.Caller, uri)
	if read == nil {
		return mcp.Result{}, mcp.ResourceNotFound(uri)
	}
	contents, err := read(ctx, c, uri, vars)
	if err != nil {
		return mcp.Result{}, err
	}
	if len(contents) == 0 {
		return mcp.Result{}, mcp.Errorf(mcp.CodeInternal, "reading %q came to nothing", uri)
	}
	for i := range contents {
		if contents[i].URI == "" {
			contents[i].URI = uri
		}
	}
	res, err := result(mcp.ReadResourceResult{Contents: contents})
	res.Cache = cache
	return res, err
}

// findResource finds who reads a URI: the resource that was added by it, or
// the first template that it fits.
func (s *Server) findResource(c *mcp.Caller, uri string) (ReadFunc, mcp.Cache, map[string]string) {
	if r := s.resources.get(uri); r != nil && s.allows(c, KindResource, uri) {
		return r.read, r.cache, nil
	}
	for _, t := range s.templates.all() {
		if !s.allows(c, KindTemplate, t.uri.String()) {
			continue
		}
		if vars, ok := t.uri.Match(uri); ok {
			return t.read, t.cache, vars
		}
	}
	return nil, mcp.Cache{}, nil
}

// TextResource is the contents of a resource that is one text.
func TextResource(mimeType, text string) []mcp.ResourceContents {
	return []mcp.ResourceContents{{MIMEType: mimeType, Text: text}}
}

// JSONResource is the contents of a resource that is one JSON value.
func JSONResource(v any) ([]mcp.ResourceContents, error) {
	raw, err := mcp.Marshal(v)
	return []mcp.ResourceContents{{MIMEType: "application/json", Text: string(json.RawMessage(raw))}}, err
}
