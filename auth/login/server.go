package login

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/auth/fetch"
)

// A server is an authorization server, as its metadata (RFC 8414, OpenID
// Connect Discovery) describes it.
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

	// assumed is set if there is no metadata and the endpoints are those that
	// 2025-03-26 prescribes then.
	assumed bool
}

const (
	oauthWellKnown  = "/.well-known/oauth-authorization-server"
	openidWellKnown = "/.well-known/openid-configuration"
)

// findServer gets the metadata of an issuer. A document that names another
// issuer ends the search: it is an attack or a mistake, and neither gets a
// token.
func findServer(ctx context.Context, f *fetch.Client, issuer string) (*server, error) {
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" || u.Fragment != "" || u.RawQuery != "" {
		return nil, fmt.Errorf("%q is not an issuer: it must be a URL without query and fragment", clip(issuer))
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
			return nil, fmt.Errorf("the metadata at %s is that of issuer %q and not of %q: it is not used", fetch.Redact(place), clip(s.Issuer), clip(issuer))
		}
		return &s, s.check(ctx, f)
	}
	return nil, fmt.Errorf("the authorization server %s has no metadata at %s", fetch.Redact(issuer), strings.Join(places, ", "))
}

// check refuses metadata with an endpoint that must not be requested, used here
// or not, so that nobody logs in at a server whose token endpoint is refused
// afterwards. The authorization endpoint is opened by a browser and has rules
// of its own, in checkPage.
func (s *server) check(ctx context.Context, f *fetch.Client) error {
	if s.TokenEndpoint == "" {
		return fmt.Errorf("the metadata of %s names no token_endpoint", fetch.Redact(s.Issuer))
	}
	refuse := func(name string, err error) error {
		return fmt.Errorf("the metadata of %s names a %s that is refused: %w", fetch.Redact(s.Issuer), name, err)
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

// findOwnServer finds the authorization server of a server of 2025-03-26, which
// is its own: with metadata at the root of its host, or else with endpoints of
// fixed names. The issuer is not told by anybody there, so it may be written
// with a slash at its end or without.
func findOwnServer(ctx context.Context, f *fetch.Client, address *url.URL) (*server, error) {
	base := origin(address)
	var s server
	err := getDocument(ctx, f, base+oauthWellKnown, &s)
	switch {
	case isAbsent(err), err == nil && s.Issuer == "" && s.TokenEndpoint == "": // some servers answer everything with JSON
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
		return nil, fmt.Errorf("the metadata at %s is that of issuer %q: it is not used", base+oauthWellKnown, clip(s.Issuer))
	}
	return &s, s.check(ctx, f)
}

// checkPKCE refuses a server that does not say that it takes S256. Without any
// metadata nobody can say so; 2025-03-26 demands PKCE there.
func (s *server) checkPKCE() error {
	if s.assumed || slices.Contains(s.ChallengeMethods, "S256") {
		return nil
	}
	return fmt.Errorf("the authorization server %s does not offer PKCE with S256 (code_challenge_methods_supported is %q): no login without it", fetch.Redact(s.Issuer), s.ChallengeMethods)
}

// checkPage refuses an authorization endpoint that is not a plain web address.
// What this string becomes is opened by a program outside of this one, so it
// may have no character that any shell or launcher could take for its own.
func (s *server) checkPage(loopback bool) (*url.URL, error) {
	refuse := func(why string) (*url.URL, error) {
		return nil, fmt.Errorf("the authorization server %s names an authorization_endpoint that is not opened: %s", fetch.Redact(s.Issuer), why)
	}
	if s.AuthorizationEndpoint == "" {
		return refuse("there is none")
	}
	u, err := checkOpenable(s.AuthorizationEndpoint)
	switch {
	case err != nil:
		return refuse(err.Error())
	case strings.Contains(s.AuthorizationEndpoint, "#"):
		return refuse("it has a fragment")
	case onLoopback(u.Hostname()) && !loopback:
		return refuse("it is on this machine, and the server is not")
	case u.Scheme != "https" && !onLoopback(u.Hostname()):
		return refuse("it is not https")
	}
	return u, nil
}
