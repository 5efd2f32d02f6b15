package login

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"

	"github.com/tenon-mcp/tenon/auth/fetch"
)

// TypeAccessToken and TypeIDToken are the types of a subject token of
// [TokenExchange] and [Enterprise].
const (
	TypeAccessToken = "urn:ietf:params:oauth:token-type:access_token"
	TypeIDToken     = "urn:ietf:params:oauth:token-type:id_token"
)

// TokenExchange is the grant of a program that acts for the user whose token
// it has received, such as a gateway (RFC 8693): an authorization server
// exchanges that token for one that is for the MCP server.
//
// The subject token is sent to Client.Issuer and to no other server, whatever
// the MCP server says about its authorization server. A response that contains
// the subject token again is refused. Its secrets are not printed.
type TokenExchange struct {
	// Client is the client at the authorization server. Its Issuer is
	// required.
	Client Client
	// Subject returns the token of the user.
	Subject func(ctx context.Context) (string, error)
	// SubjectType is the type of the subject token. Empty means
	// [TypeAccessToken].
	SubjectType string
	// Audience is the name of the MCP server at the authorization server. It
	// is sent beside the resource. Empty means that it is not sent.
	Audience string
}

func (g *TokenExchange) identity() *Client { return &g.Client }
func (g *TokenExchange) repeats() bool     { return true }
func (g *TokenExchange) issuer() string    { return g.Client.Issuer }

// String returns the authorization server without secrets.
func (g *TokenExchange) String() string {
	return fmt.Sprintf("token exchange at %q", fetch.Redact(g.Client.Issuer))
}

// Format hides secrets from every verb of package fmt.
func (g *TokenExchange) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(g.String())) }

// LogValue hides secrets from package log/slog.
func (g *TokenExchange) LogValue() slog.Value { return slog.StringValue(g.String()) }

func (g *TokenExchange) grant(ctx context.Context, _ *fetch.Client, s *server, resource string, scopes []string) (*tokenRequest, error) {
	if g.Subject == nil || g.Client.Issuer == "" {
		return nil, errors.New("TokenExchange needs Subject and the Issuer of its Client")
	}
	if s.Issuer != g.Client.Issuer {
		return nil, fmt.Errorf("the token of the user is not sent to %s", fetch.Redact(s.Issuer))
	}
	subject, err := g.Subject(ctx)
	if err != nil {
		return nil, fmt.Errorf("get the token of the user: %w", err)
	}
	form := url.Values{
		"grant_type": {grantExchange}, "requested_token_type": {TypeAccessToken}, "resource": {resource},
		"subject_token": {subject}, "subject_token_type": {cmp.Or(g.SubjectType, TypeAccessToken)},
	}
	if g.Audience != "" {
		form.Set("audience", g.Audience)
	}
	addScopes(form, scopes)
	r := &tokenRequest{server: s, form: form, subject: subject}
	if g.Client.ID != "" {
		r.client = &g.Client
	}
	return r, nil
}

// grantAgain gets a token by the same grant as an expiring one, before it
// expires. A grant needs no user, so no request has to fail first.
func (p *endpoint) grantAgain(ctx context.Context, old *token) (*token, error) {
	s, err := p.serverOf(ctx, old)
	if err != nil {
		return nil, err
	}
	key := keyNever
	if old.DPoP {
		key = keyAlways
	}
	prot := &protection{resource: old.Resource}
	if !old.Own {
		prot.issuers = []string{old.Issuer}
	}
	return p.login(ctx, prot, s, old.Scopes, key)
}
