package protect

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	json "github.com/go-json-experiment/json"
)

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
