package login

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/auth/fetch"
)

// A server is the metadata of an authorization server (RFC 8414, OpenID
// Connect Discovery).
type server struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	RegistrationEndpoint  string   `json:"registration_endpoint"`
	RevocationEndpoint    string   `json:"revocation_endpoint"`
	IntrospectionEndpoint string   `json:"introspection_endpoint"`
	PushedEndpoint        string   `json:"pushed_authorization_request_endpoint"`
	DeviceEndpoint        string   `json:"device_authorization_endpoint"`
	UserinfoEndpoint      string   `json:"userinfo_endpoint"`
	KeySet                string   `json:"jwks_uri"`
	ScopesSupported       []string `json:"scopes_supported"`
	ChallengeMethods      []string `json:"code_challenge_methods_supported"`
	AuthMethods           []string `json:"token_endpoint_auth_methods_supported"`
	DPoPAlgorithms        []string `json:"dpop_signing_alg_values_supported"`
	SendsIssuer           bool     `json:"authorization_response_iss_parameter_supported"`
	TakesMetadataURL      bool     `json:"client_id_metadata_document_supported"`

	// assumed is set if there is no metadata and the endpoints are the
	// defaults of 2025-03-26.
	assumed bool
}

const (
	oauthWellKnown  = "/.well-known/oauth-authorization-server"
	openidWellKnown = "/.well-known/openid-configuration"
)

// findServer gets the metadata of an issuer. A document of another issuer
// ends the search, because it is an attack or a mistake.
func findServer(ctx context.Context, f *fetch.Client, issuer string) (*server, error) {
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" || u.Fragment != "" || u.RawQuery != "" {
		return nil, fmt.Errorf("invalid issuer %q: it must be a URL without query and fragment", clip(issuer))
	}
	places := []string{wellKnown(u, oauthWellKnown), wellKnown(u, openidWellKnown)}
	if path := strings.TrimRight(u.EscapedPath(), "/"); path != "" {
		places = append(places, origin(u)+path+openidWellKnown)
	}
	for _, place := range places {
		var s server
		err := getDocument(ctx, f, place, &s)
		if isAbsent(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("get the metadata of the authorization server: %w", err)
		}
		if s.Issuer != issuer {
			return nil, fmt.Errorf("the metadata at %s is for issuer %q, not for %q", fetch.Redact(place), clip(s.Issuer), clip(issuer))
		}
		return &s, s.check(ctx, f)
	}
	return nil, fmt.Errorf("authorization server %s has no metadata at %s", fetch.Redact(issuer), strings.Join(places, ", "))
}

// check refuses metadata with an endpoint that must not be requested, even
// if it is not used, so that no user logs in at a server whose token
// endpoint is refused later. checkPage checks the authorization endpoint,
// which the browser opens.
func (s *server) check(ctx context.Context, f *fetch.Client) error {
	if s.TokenEndpoint == "" {
		return fmt.Errorf("the metadata of %s has no token_endpoint", fetch.Redact(s.Issuer))
	}
	refuse := func(name string, err error) error {
		return fmt.Errorf("the metadata of %s has a forbidden %s: %w", fetch.Redact(s.Issuer), name, err)
	}
	for _, e := range []struct{ name, url string }{
		{"registration_endpoint", s.RegistrationEndpoint},
		{"revocation_endpoint", s.RevocationEndpoint},
		{"introspection_endpoint", s.IntrospectionEndpoint},
		{"pushed_authorization_request_endpoint", s.PushedEndpoint},
		{"device_authorization_endpoint", s.DeviceEndpoint},
		{"userinfo_endpoint", s.UserinfoEndpoint},
		{"jwks_uri", s.KeySet},
	} {
		if e.url == "" {
			continue
		}
		if err := f.CheckURL(e.url); err != nil {
			return refuse(e.name, err)
		}
	}
	if err := f.Check(ctx, s.TokenEndpoint); err != nil {
		return refuse("token_endpoint", err)
	}
	return nil
}

// findOwnServer returns the authorization server of a server of 2025-03-26,
// which is its own: with metadata at the root of its host, or else with
// default endpoints. The issuer may end with a slash or not.
func findOwnServer(ctx context.Context, f *fetch.Client, address *url.URL) (*server, error) {
	base := origin(address)
	var s server
	err := getDocument(ctx, f, base+oauthWellKnown, &s)
	switch {
	case isAbsent(err), err == nil && s.Issuer == "" && s.TokenEndpoint == "": // some servers return JSON for every URL
		return &server{
			Issuer:                base,
			AuthorizationEndpoint: base + "/authorize",
			TokenEndpoint:         base + "/token",
			RegistrationEndpoint:  base + "/register",
			assumed:               true,
		}, nil
	case err != nil:
		return nil, fmt.Errorf("get the metadata of the authorization server: %w", err)
	case strings.TrimSuffix(s.Issuer, "/") != base:
		return nil, fmt.Errorf("the metadata at %s is for another issuer, %q", base+oauthWellKnown, clip(s.Issuer))
	}
	return &s, s.check(ctx, f)
}

// checkPKCE refuses a server whose metadata does not list S256. Without
// metadata there is no list; 2025-03-26 requires PKCE.
func (s *server) checkPKCE() error {
	if s.assumed || slices.Contains(s.ChallengeMethods, "S256") {
		return nil
	}
	return fmt.Errorf("authorization server %s does not support PKCE with S256, which is required (code_challenge_methods_supported is %q)", fetch.Redact(s.Issuer), s.ChallengeMethods)
}

// checkPage refuses an authorization endpoint that is not a plain web
// address. Another program opens the URL, so it must not contain characters
// with a meaning for a shell or launcher.
func (s *server) checkPage(loopback bool) (*url.URL, error) {
	refuse := func(why string) (*url.URL, error) {
		return nil, fmt.Errorf("invalid authorization_endpoint of authorization server %s: %s", fetch.Redact(s.Issuer), why)
	}
	if s.AuthorizationEndpoint == "" {
		return refuse("it is missing")
	}
	u, err := checkOpenable(s.AuthorizationEndpoint)
	switch {
	case err != nil:
		return refuse(err.Error())
	case strings.Contains(s.AuthorizationEndpoint, "#"):
		return refuse("it has a fragment")
	case onLoopback(u.Hostname()) && !loopback:
		return refuse("it is on this machine, but the server is not")
	case u.Scheme != "https" && !onLoopback(u.Hostname()):
		return refuse("it is not https")
	}
	return u, nil
}
