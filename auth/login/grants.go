package login

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"github.com/tenon-mcp/tenon/auth/fetch"
)

// A Grant obtains tokens without a user. This package has
// [ClientCredentials], [TokenExchange], [Enterprise] and [Workload].
type Grant interface {
	// grant returns the token request.
	grant(ctx context.Context, f *fetch.Client, s *server, resource string, scopes []string) (*tokenRequest, error)
	// identity returns the client of the grant, or nil.
	identity() *Client
	// repeats reports whether the grant may be tried again with more scopes.
	repeats() bool
	// issuer returns the authorization server to use whatever the metadata of
	// the server say; empty means that of the metadata.
	issuer() string
}

const (
	grantExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
	grantBearer   = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	typeIDJAG     = "urn:ietf:params:oauth:token-type:id-jag"
)

// ClientCredentials is the grant of a program that acts for itself,
// authenticated by a secret or, better, by a Key.
type ClientCredentials struct {
	Client Client
}

func (g *ClientCredentials) identity() *Client { return &g.Client }
func (g *ClientCredentials) repeats() bool     { return true }
func (g *ClientCredentials) issuer() string    { return "" }

func (g *ClientCredentials) grant(_ context.Context, _ *fetch.Client, s *server, resource string, scopes []string) (*tokenRequest, error) {
	if g.Client.Secret == "" && g.Client.Key == nil {
		return nil, errors.New("ClientCredentials needs a Secret or a Key")
	}
	form := url.Values{"grant_type": {"client_credentials"}, "resource": {resource}}
	addScopes(form, scopes)
	return &tokenRequest{server: s, client: &g.Client, form: form}, nil
}

// Enterprise is the grant of an employee whose company decides which servers
// may be used: the identity provider of the company exchanges the ID token
// of the employee for an assertion for the authorization server of the MCP
// server (ID-JAG). Its secrets are not printed.
type Enterprise struct {
	// Client is the client at the authorization server of the MCP server.
	Client Client
	// IDPIssuer is the issuer URL of the identity provider.
	IDPIssuer string
	// IDPTokenEndpoint is the token endpoint of the identity provider. Empty
	// means the one in its metadata.
	IDPTokenEndpoint string
	// IDPClient is the client at the identity provider. Its Issuer is
	// IDPIssuer.
	IDPClient Client
	// IDToken returns the ID token of the user from the login at the
	// identity provider, or another token of the type SubjectType.
	IDToken func(ctx context.Context) (string, error)
	// SubjectType is the type of the token that IDToken returns. Empty means
	// [TypeIDToken].
	SubjectType string
}

func (g *Enterprise) identity() *Client { return &g.Client }
func (g *Enterprise) repeats() bool     { return true }
func (g *Enterprise) issuer() string    { return "" }

// String returns the identity provider without secrets.
func (g *Enterprise) String() string { return fmt.Sprintf("login by %q", g.IDPIssuer) }

// Format hides secrets from every verb of package fmt.
func (g *Enterprise) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(g.String())) }

// LogValue hides secrets from package log/slog.
func (g *Enterprise) LogValue() slog.Value { return slog.StringValue(g.String()) }

func (g *Enterprise) grant(ctx context.Context, f *fetch.Client, s *server, resource string, scopes []string) (*tokenRequest, error) {
	if g.IDToken == nil {
		return nil, errors.New("Enterprise needs IDToken")
	}
	subject, err := g.IDToken(ctx)
	if err != nil {
		return nil, fmt.Errorf("get the ID token: %w", err)
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
		"subject_token": {subject}, "subject_token_type": {cmp.Or(g.SubjectType, TypeIDToken)},
	}
	addScopes(form, scopes)
	exchange := &tokenRequest{server: idp, form: form, subject: subject}
	if g.IDPClient.ID != "" {
		exchange.client = &g.IDPClient
	}
	got, err := exchange.post(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("exchange the ID token: %w", err)
	}
	if got.IssuedType != typeIDJAG {
		return nil, fmt.Errorf("identity provider %s issued a token of type %q, not an ID-JAG", fetch.Redact(g.IDPIssuer), clip(got.IssuedType))
	}
	form = url.Values{"grant_type": {grantBearer}, "assertion": {got.AccessToken}, "resource": {resource}}
	addScopes(form, scopes)
	return &tokenRequest{server: s, client: &g.Client, form: form, subject: subject}, nil
}

// Workload is the grant of a program whose platform identifies it with a JWT
// (workload identity federation). There is no client secret. A refusal is
// final: no other grant is tried.
type Workload struct {
	// Assertion returns the JWT of the platform with the issuer as audience.
	Assertion func(ctx context.Context, issuer string) (string, error)
	// ClientID is sent if it is not empty.
	ClientID string
	// Issuer is the authorization server that trusts the platform. Empty
	// means the first that the server names; the choice is then fixed.
	Issuer string
}

func (g *Workload) identity() *Client {
	return &Client{ID: g.ClientID, Issuer: g.Issuer, AuthMethod: authNone}
}
func (g *Workload) repeats() bool  { return false }
func (g *Workload) issuer() string { return "" }

func (g *Workload) grant(ctx context.Context, _ *fetch.Client, s *server, resource string, scopes []string) (*tokenRequest, error) {
	if g.Assertion == nil {
		return nil, errors.New("Workload needs Assertion")
	}
	text, err := g.Assertion(ctx, s.Issuer)
	if err != nil {
		return nil, fmt.Errorf("get the assertion of the platform: %w", err)
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
