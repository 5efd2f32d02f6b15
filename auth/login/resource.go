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

// A protection is what a resource says about who may use it.
type protection struct {
	resource string   // what the resource calls itself, as it is written there
	issuers  []string // authorization servers; empty for a server of 2025-03-26
	scopes   []string
	dpop     bool // only tokens bound to a key are taken
}

// resourceMetadata is the document of RFC 9728, as far as it is used.
type resourceMetadata struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
	ScopesSupported      []string `json:"scopes_supported"`
	DPoPRequired         bool     `json:"dpop_bound_access_tokens_required"`
}

const resourceWellKnown = "/.well-known/oauth-protected-resource"

// findProtection gets the metadata of the server at address: where the
// challenge says, else at the well-known place with the path of the server,
// else at the one of the host. A server that has none is taken for one of
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

// absent marks an answer that means that there is no document.
type absent struct{ error }

func (e absent) Unwrap() error { return e.error }

func isAbsent(err error) bool {
	_, ok := errors.AsType[absent](err)
	return ok
}

// getDocument fetches a metadata document. An answer that says that there is
// none (4xx, or a page in its place) is told apart from a failure.
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
	if doc.Resource == "" && doc.AuthorizationServers == nil { // some servers answer everything with JSON
		return nil, absent{fmt.Errorf("the document at %s is not the metadata of a resource", fetch.Redact(place))}
	}
	if !vouches(doc.Resource, place, address, expected) {
		return nil, fmt.Errorf("the metadata at %s is about %q and not about %s: no login, for the token might be meant for somebody else",
			fetch.Redact(place), clip(doc.Resource), canonical(address))
	}
	if len(doc.AuthorizationServers) == 0 {
		return nil, fmt.Errorf("the metadata at %s names no authorization server", fetch.Redact(place))
	}
	return &protection{resource: doc.Resource, issuers: doc.AuthorizationServers, scopes: validScopes(doc.ScopesSupported), dpop: doc.DPoPRequired}, nil
}

// vouches reports whether a document at place may speak for the server at
// address: it is about that very address, or about something around it whose
// own well-known place it stands at. So a tenant of a host cannot claim the
// host.
func vouches(resource, place string, address *url.URL, expected string) bool {
	if expected != "" {
		return resource == expected
	}
	r, err := url.Parse(resource)
	if err != nil || r.Host == "" || r.Fragment != "" || r.User != nil || origin(r) != origin(address) {
		return false
	}
	own, claimed := strings.TrimRight(address.EscapedPath(), "/"), strings.TrimRight(r.EscapedPath(), "/")
	if own == claimed {
		return r.RawQuery == "" || r.RawQuery == address.RawQuery
	}
	return r.RawQuery == "" && strings.HasPrefix(own, claimed+"/") && place == wellKnown(r, resourceWellKnown)
}

// wellKnown inserts a well-known path between host and path.
func wellKnown(u *url.URL, insert string) string {
	return origin(u) + insert + strings.TrimRight(u.EscapedPath(), "/")
}

// canonical is a server's URL as resource identifier: scheme and host in lower
// case, without default port, query and fragment, and without a lone slash.
func canonical(u *url.URL) string {
	path := u.EscapedPath()
	if path == "/" {
		path = ""
	}
	return origin(u) + path
}

// origin is scheme, host and port; the port only if it is not the usual one.
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

// onLoopback reports whether a host name says that it is this machine.
func onLoopback(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() && !ip.Is4In6()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
