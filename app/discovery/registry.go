package discovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/auth/fetch"
	"github.com/tenon-mcp/tenon/ext/servercard"
	"github.com/tenon-mcp/tenon/mcp"
)

// apiPath is the stable version of the registry API.
const apiPath = "/v0.1"

// maxPages bounds how many pages of a list are read.
const maxPages = 50

// A Registry is a client of an MCP registry.
type Registry struct {
	base string // without a slash at the end
	f    *fetcher
}

// NewRegistry returns a client for the registry at a URL. An exchange may take
// timeout; 0 means 10 seconds.
func NewRegistry(base string, timeout time.Duration) (*Registry, error) {
	f, err := newFetcher(base, timeout)
	if err != nil {
		return nil, fmt.Errorf("use the registry: %w", err)
	}
	u := *f.given
	u.RawQuery, u.Fragment = "", ""
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), apiPath)
	return &Registry{base: strings.TrimRight(u.String(), "/"), f: f}, nil
}

// A Listing is a version of a server in a registry.
type Listing struct {
	Server *Server
	// Status is active, deprecated or deleted. Empty means unknown.
	Status, StatusMessage string
}

// response is the form of a Listing on the wire.
type response struct {
	Server json.RawMessage `json:"server"`
	Meta   struct {
		Official struct {
			Status        string `json:"status"`
			StatusMessage string `json:"statusMessage"`
		} `json:"io.modelcontextprotocol.registry/official"`
	} `json:"_meta"`
}

func (r *response) listing() (*Listing, error) {
	s, err := ParseServer(r.Server)
	return &Listing{Server: s, Status: r.Meta.Official.Status, StatusMessage: r.Meta.Official.StatusMessage}, err
}

// Server returns one version of a server; "" and "latest" mean the latest.
func (r *Registry) Server(ctx context.Context, name, version string) (*Listing, error) {
	if err := servercard.CheckName(name); err != nil {
		return nil, err
	}
	if version == "" {
		version = "latest"
	}
	if !versionPattern().MatchString(version) {
		return nil, fmt.Errorf("%q is not a version", clip(version))
	}
	var got response
	err := r.get(ctx, "/servers/"+url.PathEscape(name)+"/versions/"+url.PathEscape(version), nil, maxDocument, &got)
	if status, ok := errors.AsType[*fetch.StatusError](err); ok && status.Status == http.StatusNotFound {
		return nil, fmt.Errorf("the registry has no server %s in version %s", name, clip(version))
	}
	if err != nil {
		return nil, err
	}
	l, err := got.listing()
	switch {
	case err != nil:
		return nil, err
	case l.Server.Name != name || version != "latest" && l.Server.Version != version:
		return nil, fmt.Errorf("the registry returned %s %s instead of %s %s", clip(l.Server.Name), clip(l.Server.Version), name, clip(version))
	}
	return l, nil
}

// Search returns the latest versions of servers whose names contain text, at most
// limit. more says that there are others. Servers that are not valid are left
// out and counted.
func (r *Registry) Search(ctx context.Context, text string, limit int) (found []*Listing, more bool, invalid int, err error) {
	query := url.Values{"search": {text}, "version": {"latest"}, "limit": {"100"}}
	seen := map[string]bool{}
	for range maxPages {
		var page struct {
			Servers  []response `json:"servers"`
			Metadata struct {
				NextCursor string `json:"nextCursor"`
			} `json:"metadata"`
		}
		if err := r.get(ctx, "/servers", query, maxList, &page); err != nil {
			return nil, false, 0, err
		}
		for _, one := range page.Servers {
			l, err := one.listing()
			switch {
			case err != nil:
				invalid++
			case len(found) == limit:
				return found, true, invalid, nil
			default:
				found = append(found, l)
			}
		}
		cursor := page.Metadata.NextCursor
		if cursor == "" {
			return found, false, invalid, nil
		}
		if seen[cursor] {
			return nil, false, 0, errors.New("the registry returned the same page twice")
		}
		seen[cursor] = true
		query.Set("cursor", cursor)
	}
	return found, true, invalid, nil
}

func (r *Registry) get(ctx context.Context, path string, query url.Values, limit int64, into any) error {
	at := r.base + apiPath + path
	if len(query) > 0 {
		at += "?" + query.Encode()
	}
	res, body, err := r.f.get(ctx, request{url: at, accept: "application/json", limit: limit})
	if err != nil {
		return fmt.Errorf("ask the registry: %w", err)
	}
	if !fetch.IsJSON(res.Header) {
		return fmt.Errorf("ask the registry: %s is not JSON but %q; is this the URL of a registry?", fetch.Redact(at), clip(res.Header.Get("Content-Type")))
	}
	if err := mcp.Unmarshal(body, into); err != nil {
		return fmt.Errorf("ask the registry: %w", shortened(err))
	}
	return nil
}

// Describe returns the description of a listed server. It returns an error for a
// server that was deleted, and a warning for a deprecated one.
func (l *Listing) Describe(r *Registry) (*Description, error) {
	d := l.Server.Describe(r.base)
	d.given = r.f.given
	because := ""
	if l.StatusMessage != "" {
		because = ": " + clip(l.StatusMessage)
	}
	switch l.Status {
	case "deleted":
		return nil, fmt.Errorf("%s %s was deleted from the registry%s", d.Name, d.Version, because)
	case "deprecated":
		d.Warnings = append(d.Warnings, fmt.Sprintf("%s %s is deprecated%s", d.Name, d.Version, because))
	}
	return d, nil
}
