package login

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"github.com/tenon-mcp/tenon/auth/fetch"
)

// A Grant gets tokens without a person. Those of this package are
// [ClientCredentials], [Enterprise] and [Workload].
type Grant interface {
	// grant makes the token request.
	grant(ctx context.Context, f *fetch.Client, s *server, resource string, scopes []string) (*tokenRequest, error)
	// identity is the client that the grant stands for; nil if there is none.
	identity() *Client
	// repeats reports whether it may be tried again with more scopes.
	repeats() bool
}

const (
	grantExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
	grantBearer   = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	typeIDToken   = "urn:ietf:params:oauth:token-type:id_token"
	typeIDJAG     = "urn:ietf:params:oauth:token-type:id-jag"
)

// ClientCredentials is the grant of a program that acts for itself, proven by
// a secret or, better, by a Key.
type ClientCredentials struct {
	Client Client
}

func (g *ClientCredentials) identity() *Client { return &g.Client }
func (g *ClientCredentials) repeats() bool     { return true }

func (g *ClientCredentials) grant(_ context.Context, _ *fetch.Client, s *server, resource string, scopes []string) (*tokenRequest, error) {
	if g.Client.Secret == "" && g.Client.Key == nil {
		return nil, errors.New("client credentials need a Secret or a Key")
	}
	form := url.Values{"grant_type": {"client_credentials"}, "resource": {resource}}
	addScopes(form, scopes)
	return &tokenRequest{server: s, client: &g.Client, form: form}, nil
}

// Enterprise is the grant of an employee whose company decides which servers
// may be used: the identity provider of the company turns the ID token of its
// login into an assertion for the authorization server of the MCP server
// (ID-JAG). It prints without its secrets.
type Enterprise struct {
	// Client is who this program is at the authorization server of the MCP
	// server.
	Client Client
	// IDPIssuer is the identity provider.
	IDPIssuer string
	// IDPTokenEndpoint is its token endpoint. Empty means the one that its
	// metadata names.
	IDPTokenEndpoint string
	// IDPClient is who this program is at the identity provider. Its Issuer is
	// IDPIssuer.
	IDPClient Client
	// IDToken gives the ID token of the person, from the login at the identity
	// provider.
	IDToken func(ctx context.Context) (string, error)
}

func (g *Enterprise) identity() *Client { return &g.Client }
func (g *Enterprise) repeats() bool     { return true }

// String tells the identity provider only.
func (g *Enterprise) String() string { return fmt.Sprintf("login by %q", g.IDPIssuer) }

// Format hides secrets from every verb of package fmt.
func (g *Enterprise) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(g.String())) }

// LogValue hides secrets from package log/slog.
func (g *Enterprise) LogValue() slog.Value { return slog.StringValue(g.String()) }

func (g *Enterprise) grant(ctx context.Context, f *fetch.Client, s *server, resource string, scopes []string) (*tokenRequest, error) {
	if g.IDToken == nil {
		return nil, errors.New("an Enterprise grant needs IDToken")
	}
	subject, err := g.IDToken(ctx)
	if err != nil {
		return nil, fmt.Errorf("no ID token: %w", err)
	}
	idp := &server{Issuer: g.IDPIssuer, TokenEndpoint: g.IDPTokenEndpoint}
	if idp.TokenEndpoint == "" {
		if idp, err = findServer(ctx, f, g.IDPIssuer); err != nil {
			return nil, err
		}
	}
	form := url.Values{
		"grant_type": {grantExchange}, "requested_token_type": {typeIDJAG},
		"audience": {s.Issuer}, "resource": {resource},
		"subject_token": {subject}, "subject_token_type": {typeIDToken},
	}
	addScopes(form, scopes)
	exchange := &tokenRequest{server: idp, form: form}
	if g.IDPClient.ID != "" {
		exchange.client = &g.IDPClient
	}
	got, err := exchange.post(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("exchange the ID token: %w", err)
	}
	if got.IssuedType != typeIDJAG {
		return nil, fmt.Errorf("the identity provider %s gave a token of type %q instead of an ID-JAG", fetch.Redact(g.IDPIssuer), clip(got.IssuedType))
	}
	form = url.Values{"grant_type": {grantBearer}, "assertion": {got.AccessToken}, "resource": {resource}}
	addScopes(form, scopes)
	return &tokenRequest{server: s, client: &g.Client, form: form}, nil
}

// Workload is the grant of a program whose platform says who it is, with a JWT
// for the authorization server (workload identity federation). There is no
// client secret. A refusal is final: neither this nor another grant is tried
// in its place.
type Workload struct {
	// Assertion gives the JWT of the platform, whose audience is the issuer.
	Assertion func(ctx context.Context, issuer string) (string, error)
	// ClientID is sent along, if it is not empty.
	ClientID string
	// Issuer is the authorization server that the platform is trusted by. Empty
	// means the first that the server names, and no other after that.
	Issuer string
}

func (g *Workload) identity() *Client {
	return &Client{ID: g.ClientID, Issuer: g.Issuer, AuthMethod: authNone}
}
func (g *Workload) repeats() bool { return false }

func (g *Workload) grant(ctx context.Context, _ *fetch.Client, s *server, resource string, scopes []string) (*tokenRequest, error) {
	if g.Assertion == nil {
		return nil, errors.New("a Workload grant needs Assertion")
	}
	text, err := g.Assertion(ctx, s.Issuer)
	if err != nil {
		return nil, fmt.Errorf("no assertion of the platform: %w", err)
	}
	form := url.Values{"grant_type": {grantBearer}, "assertion": {text}, "resource": {resource}}
	addScopes(form, scopes)
	r := &tokenRequest{server: s, form: form}
	if g.ClientID != "" {
		r.client = g.identity()
	}
	return r, nil
}

func addScopes(form url.Values, scopes []string) {
	if len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
}
