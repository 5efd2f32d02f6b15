package login

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/tenon-mcp/tenon/auth/fetch"
)

// A protection is the protected resource metadata of a server.
type protection struct {
	resource string   // the resource identifier as written
	issuers  []string // authorization servers; empty for a server of 2025-03-26
	scopes   []string
	dpop     bool // only DPoP-bound tokens are accepted
}

// resourceMetadata has the used members of the document of RFC 9728.
type resourceMetadata struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
	ScopesSupported      []string `json:"scopes_supported"`
	DPoPRequired         bool     `json:"dpop_bound_access_tokens_required"`
}

const resourceWellKnown = "/.well-known/oauth-protected-resource"

// findProtection gets the metadata of the server at address: at the URL in
// the challenge, else at the well-known URL with the path of the server,
// else at that of the host. A server without metadata is treated as one of
// 2025-03-26, which is its own authorization server.
func findProtection(ctx context.Context, f *fetch.Client, address *url.URL, named, expected string) (*protection, error) {
	if named != "" {
		return readProtection(ctx, f, named, address, expected)
	}
	places := []string{wellKnown(address, resourceWellKnown)}
	if root := origin(address) + resourceWellKnown; root != places[0] {
		places = append(places, root)
	}
	for _, place := range places {
		p, err := readProtection(ctx, f, place, address, expected)
		if isAbsent(err) {
			continue
		}
		return p, err
	}
	return &protection{resource: canonical(address)}, nil
}

// absent wraps a response that means that there is no document.
type absent struct{ error }

func (e absent) Unwrap() error { return e.error }

func isAbsent(err error) bool {
	_, ok := errors.AsType[absent](err)
	return ok
}

// getDocument fetches a metadata document. It distinguishes a missing
// document (4xx, or a page instead) from a failure.
func getDocument(ctx context.Context, f *fetch.Client, place string, into any) error {
	err := f.GetJSON(ctx, place, into)
	if status, ok := errors.AsType[*fetch.StatusError](err); ok && status.Status >= 400 && status.Status < 500 || errors.Is(err, fetch.ErrNotJSON) {
		return absent{err}
	}
	return err
}

func readProtection(ctx context.Context, f *fetch.Client, place string, address *url.URL, expected string) (*protection, error) {
	var doc resourceMetadata
	if err := getDocument(ctx, f, place, &doc); err != nil {
		return nil, fmt.Errorf("get the metadata of the resource: %w", err)
	}
	if doc.Resource == "" && doc.AuthorizationServers == nil { // some servers return JSON for every URL
		return nil, absent{fmt.Errorf("the document at %s is not protected resource metadata", fetch.Redact(place))}
	}
	if !describes(doc.Resource, place, address, expected) {
		return nil, fmt.Errorf("the metadata at %s is for resource %q, not for %s, so its tokens may be for another server",
			fetch.Redact(place), clip(doc.Resource), canonical(address))
	}
	if len(doc.AuthorizationServers) == 0 {
		return nil, fmt.Errorf("the metadata at %s has no authorization_servers", fetch.Redact(place))
	}
	return &protection{resource: doc.Resource, issuers: doc.AuthorizationServers, scopes: validScopes(doc.ScopesSupported), dpop: doc.DPoPRequired}, nil
}

// describes reports whether a document at place may describe the server at
// address: it is for that address, or for a path above it and at the
// well-known URL of that path. So a tenant of a host cannot claim the host.
func describes(resource, place string, address *url.URL, expected string) bool {
	if expected != "" {
		return resource == expected
	}
	r, err := url.Parse(resource)
	if err != nil || r.Host == "" || r.Fragment != "" || r.User != nil || origin(r) != origin(address) {
		return false
	}
	have, claimed := strings.TrimRight(address.EscapedPath(), "/"), strings.TrimRight(r.EscapedPath(), "/")
	if have == claimed {
		return r.RawQuery == "" || r.RawQuery == address.RawQuery
	}
	return r.RawQuery == "" && strings.HasPrefix(have, claimed+"/") && place == wellKnown(r, resourceWellKnown)
}

// wellKnown inserts a well-known path between host and path.
func wellKnown(u *url.URL, insert string) string {
	return origin(u) + insert + strings.TrimRight(u.EscapedPath(), "/")
}

// canonical returns a server's URL as a resource identifier: scheme and host
// in lower case, without default port, query, fragment and a single slash.
func canonical(u *url.URL) string {
	path := u.EscapedPath()
	if path == "/" {
		path = ""
	}
	return origin(u) + path
}

// origin returns scheme, host and, if it is not the default, port.
func origin(u *url.URL) string {
	scheme, host, port := strings.ToLower(u.Scheme), strings.ToLower(u.Hostname()), u.Port()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port == "" || scheme == "https" && port == "443" || scheme == "http" && port == "80" {
		return scheme + "://" + host
	}
	return scheme + "://" + host + ":" + port
}

// onLoopback reports whether a host name stands for this machine.
func onLoopback(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() && !ip.Is4In6()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
