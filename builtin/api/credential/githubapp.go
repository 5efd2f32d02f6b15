package credential

import (
	"bytes"
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/tenon-mcp/tenon/builtin/api/spec"
	"github.com/tenon-mcp/tenon/mcp"
)

// gitHubApp obtains tokens of the installation of a GitHub App.
type gitHubApp struct {
	*holder
	opts         *Options
	app          string
	installation string
	signer       jose.Signer
}

func newGitHubApp(a *spec.Auth, o *Options, get, public func(string) string, failed *error) (Credential, error) {
	g := &gitHubApp{holder: newHolder(), opts: o, app: public(a.AppID), installation: public(a.InstallationID)}
	text := get(a.PrivateKey)
	if *failed != nil {
		return nil, *failed
	}
	key, err := parseKey(text)
	if err != nil {
		return nil, err
	}
	if g.signer, err = jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key}, (&jose.SignerOptions{}).WithType("JWT")); err != nil {
		return nil, errors.New("private_key cannot sign")
	}
	return g, nil
}

func parseKey(text string) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("private_key is not PEM")
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	any, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, ok := any.(*rsa.PrivateKey)
	if err != nil || !ok {
		return nil, errors.New("private_key is not an RSA key")
	}
	return key, nil
}

// Account implements [Credential].
func (*gitHubApp) Account(context.Context, *mcp.Call) string { return "server" }

// Login implements [Credential].
func (*gitHubApp) Login(context.Context, *mcp.Call) string { return noLogin }

// Refused implements [Credential].
func (g *gitHubApp) Refused(_ context.Context, _ *mcp.Call, used Token) bool {
	return g.refused(used)
}

// Ready implements [Credential].
func (g *gitHubApp) Ready(ctx context.Context, _ *mcp.Call) (Token, error) {
	t, err := g.get(ctx, func(*token) (*token, error) { return g.obtain(ctx) })
	if err != nil {
		return nil, fmt.Errorf("log in to %s as an app: %w", g.opts.Service, err)
	}
	return t, nil
}

func (g *gitHubApp) obtain(ctx context.Context) (*token, error) {
	now := time.Now()
	signed, err := jwt.Signed(g.signer).Claims(jwt.Claims{
		Issuer: g.app, IssuedAt: jwt.NewNumericDate(now.Add(-time.Minute)), Expiry: jwt.NewNumericDate(now.Add(9 * time.Minute)),
	}).Serialize()
	if err != nil {
		return nil, errors.New("sign the token of the app")
	}
	g.opts.learned("server", signed)
	endpoint := strings.TrimSuffix(g.opts.Base, "/") + "/app/installations/" + url.PathEscape(g.installation) + "/access_tokens"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(nil))
	if err != nil {
		return nil, errors.New("invalid base URL")
	}
	req.Header.Set("Authorization", "Bearer "+signed)
	var res struct {
		Token   string    `json:"token"`
		Expires time.Time `json:"expires_at"`
	}
	if err := exchange(g.opts.Client, req, &res); err != nil {
		return nil, err
	}
	if res.Token == "" || strings.ContainsAny(res.Token, "\r\n") {
		return nil, errors.New("the response has no token")
	}
	g.opts.learned("server", res.Token)
	return &token{Access: res.Token, Expires: res.Expires}, nil
}
