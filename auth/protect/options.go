package protect

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	json "github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/auth/fetch"
)

const defaultMaxBody = 4 << 20

// Options configure a Guard.
type Options struct {
	// Resource is the URL of the protected endpoint as clients know it, such
	// as https://mcp.example.com/mcp. Tokens must be issued for it.
	// Required; https unless it is on loopback.
	Resource string

	// AuthorizationServers are the issuers whose tokens are accepted and
	// where clients get tokens. If unset, Verifier or APIKeys is required, and
	// there is no metadata document: that is for API keys.
	AuthorizationServers []string

	// Verifier verifies tokens. Nil means JWTs of AuthorizationServers for
	// Resource, with the key sets of their metadata.
	Verifier Verifier

	// APIKeys verifies API keys beside the tokens that Verifier or
	// AuthorizationServers accept; see [KeyFile]. Nil means none.
	APIKeys Verifier

	// Scopes are required for every request. Unset accepts any verified token.
	Scopes []string

	// Require returns the scopes that an operation needs in addition to
	// Scopes. It is called for each JSON-RPC message of a POST before the
	// handler runs. name is params.uri for methods that begin with
	// resources/, and params.name for others; it is empty if there is none.
	// A message that is not a call has an empty method. Nil means none.
	Require func(method, name string) []string

	// Implies lists the narrower scopes that a broad scope includes.
	Implies map[string][]string

	// ScopesSupported are the scopes in the metadata document: the minimum
	// that makes the server useful. Unset means Scopes.
	ScopesSupported []string

	// Name and Documentation (a URL) are part of the metadata document, for
	// people.
	Name, Documentation string

	// DPoP configures tokens that are bound to a key. Nil means that these
	// need a proof and others do not.
	DPoP *DPoP

	// KeepToken lets [Token] return the token of the caller, for a gateway
	// that exchanges it for a token of its own. Such a handler must not send
	// it anywhere else. If unset, the handler cannot get the token. API keys
	// are never returned.
	KeepToken bool

	// MaxBody is the maximum number of bytes of a POST body if Require is
	// set, since the body must be read. 0 means 4 MiB.
	MaxBody int

	// Fetch gets metadata and key sets if Verifier is nil. Nil means a
	// client that reaches public addresses, and loopback if Resource is
	// there.
	Fetch *fetch.Client

	// Log receives refused requests and the reasons why tokens could not be
	// verified, without tokens. Nil discards them.
	Log *slog.Logger
}

// New returns a Guard, or an error for invalid options. Resource and a way
// to verify tokens are required. It makes no requests: an authorization
// server may start later.
func New(o *Options) (*Guard, error) {
	if o == nil {
		o = &Options{}
	}
	u, err := parseResource(o.Resource)
	if err != nil {
		return nil, err
	}
	if err := o.checkScopes(); err != nil {
		return nil, err
	}
	for _, issuer := range o.AuthorizationServers {
		if err := checkIssuer(issuer); err != nil {
			return nil, err
		}
	}
	g := &Guard{opts: *o, resource: u, grants: newHierarchy(o.Implies)}
	if g.opts.MaxBody <= 0 {
		g.opts.MaxBody = defaultMaxBody
	}
	if g.opts.Log == nil {
		g.opts.Log = slog.New(slog.DiscardHandler)
	}
	if g.proofs, err = newProofs(o.DPoP, u, g.opts.Log); err != nil {
		return nil, err
	}
	if g.verifier = o.Verifier; g.verifier == nil && (o.APIKeys == nil || len(o.AuthorizationServers) > 0) {
		if g.verifier, err = o.defaultVerifier(u); err != nil {
			return nil, err
		}
	}
	if o.APIKeys != nil {
		g.verifier = AnyOf(o.APIKeys, g.verifier)
	}
	if err := g.describe(); err != nil {
		return nil, err
	}
	return g, nil
}

// defaultVerifier returns a verifier for JWTs of any of the authorization
// servers.
func (o *Options) defaultVerifier(resource *url.URL) (Verifier, error) {
	if len(o.AuthorizationServers) == 0 {
		return nil, errors.New("protect: set AuthorizationServers, a Verifier or APIKeys")
	}
	client := o.Fetch
	if client == nil {
		client = fetch.New(&fetch.Options{AllowLoopback: onLoopback(resource)})
	}
	var all anyOf
	for _, issuer := range o.AuthorizationServers {
		v, err := JWT(&JWTOptions{Issuer: issuer, Audiences: []string{o.Resource}, Fetch: client})
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

func (o *Options) checkScopes() error {
	for _, scope := range slices.Concat(o.Scopes, o.ScopesSupported) {
		switch {
		case !isScope(scope):
			return fmt.Errorf("protect: invalid scope %q; use one word of printable ASCII without quotes and backslashes", scope)
		case scope == "offline_access":
			return errors.New("protect: remove offline_access from the scopes; it concerns only clients and authorization servers")
		}
	}
	return nil
}

func parseResource(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case raw == "":
		return nil, errors.New("protect: set Resource to the URL of the endpoint as clients know it")
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("protect: Resource must be an absolute URL, such as https://mcp.example.com/mcp")
	case u.Scheme == "http" && !onLoopback(u):
		return nil, errors.New("protect: Resource must be https; http is allowed only for loopback")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(raw, "#"):
		return nil, errors.New("protect: Resource must have no user, query or fragment")
	case strings.ContainsAny(raw, "\"\\ "):
		return nil, errors.New("protect: Resource must have no quote, backslash or space; escape them")
	}
	return u, nil
}

func checkIssuer(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && !(u.Scheme == "http" && onLoopback(u)):
		return fmt.Errorf("protect: the authorization server %q must be an https URL (http only on loopback)", fetch.Redact(raw))
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("protect: the authorization server %q must have no user, query or fragment", fetch.Redact(raw))
	}
	return nil
}

func onLoopback(u *url.URL) bool {
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		return ip.IsLoopback()
	}
	host := strings.ToLower(u.Hostname())
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

const wellKnown = "/.well-known/oauth-protected-resource"

// document is the protected resource metadata (RFC 9728).
type document struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
	Scopes               []string `json:"scopes_supported,omitempty"`
	BearerMethods        []string `json:"bearer_methods_supported"`
	Name                 string   `json:"resource_name,omitempty"`
	Documentation        string   `json:"resource_documentation,omitempty"`
	DPoPAlgorithms       []string `json:"dpop_signing_alg_values_supported,omitempty"`
	DPoPRequired         bool     `json:"dpop_bound_access_tokens_required,omitzero"`
}

// describe builds the document if there is an authorization server.
func (g *Guard) describe() error {
	if len(g.opts.AuthorizationServers) == 0 {
		return nil
	}
	d := document{
		Resource:             g.opts.Resource,
		AuthorizationServers: g.opts.AuthorizationServers,
		Scopes:               g.opts.ScopesSupported,
		BearerMethods:        []string{"header"},
		Name:                 g.opts.Name,
		Documentation:        g.opts.Documentation,
		DPoPRequired:         g.proofs.required,
	}
	if d.Scopes == nil {
		d.Scopes = g.opts.Scopes
	}
	if g.opts.DPoP != nil {
		d.DPoPAlgorithms = g.proofs.algorithmNames()
	}
	var err error
	if g.document, err = json.Marshal(d); err != nil {
		return err
	}
	path := strings.TrimSuffix(g.resource.EscapedPath(), "/")
	g.documentURL = g.resource.Scheme + "://" + g.resource.Host + wellKnown + path
	decoded, err := url.PathUnescape(path)
	if err != nil {
		return err
	}
	g.documentAt = []string{wellKnown, wellKnown + decoded}
	return nil
}

// Metadata returns a handler for the protected resource metadata document.
// Mount it at /.well-known/oauth-protected-resource and everything below if
// [Guard.Wrap] does not receive these paths. It serves the path with the
// path of the resource and the path without.
func (g *Guard) Metadata() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.isDocument(r.URL.Path) {
			http.NotFound(w, r)
			return
		}
		g.serveDocument(w, r)
	})
}

func (g *Guard) isDocument(path string) bool {
	return g.document != nil && slices.Contains(g.documentAt, path)
}

func (g *Guard) serveDocument(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Allow-Methods", "GET")
		h.Set("Access-Control-Allow-Headers", "MCP-Protocol-Version")
		w.WriteHeader(http.StatusNoContent)
		return
	default:
		h.Set("Allow", "GET, HEAD, OPTIONS")
		http.Error(w, "use GET", http.StatusMethodNotAllowed)
		return
	}
	// The document is public and does not depend on the caller, so any
	// origin may read it; clients in a browser need it.
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Cache-Control", "max-age=300")
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(g.document)
}
