package credential

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/auth/tokens"
	"github.com/tenon-mcp/tenon/builtin/api/spec"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Credential is what the API demands of requests. It is safe for concurrent use.
type Credential interface {
	// Ready returns the token for a call. If there is none, it obtains one, which
	// may take as long as a login of the user, or returns an *mcp.InputRequired if
	// the user has to log in. The call is nil for requests outside of calls.
	Ready(ctx context.Context, c *mcp.Call) (Token, error)
	// Refused says that the API refused a token with 401, and reports whether
	// another attempt makes sense: with a new token, or with one that another call
	// has obtained meanwhile.
	Refused(ctx context.Context, c *mcp.Call, used Token) bool
	// Account returns a key for whose account a call uses.
	Account(ctx context.Context, c *mcp.Call) string
	// Login returns a key for the login that a call uses, which changes when the
	// user logs in again. It is empty while there is no login, and constant for
	// credentials without one. It obtains no token.
	Login(ctx context.Context, c *mcp.Call) string
}

// noLogin is the key of credentials that need no login of a user.
const noLogin = "none"

// A Token is a credential that can be used at once.
type Token interface {
	// Apply adds the credential to a request.
	Apply(req *http.Request)
}

// Options configure the credentials of a file.
type Options struct {
	Resolver
	// Client sends requests for tokens. It must refuse addresses that the API
	// may not use.
	Client *http.Client
	// Base is the base URL of the API.
	Base string
	// Service is the name of the API for messages, and Name the one in lists of
	// logins.
	Service, Name string
	// Tokens stores the tokens of logins. Nil means files of the user.
	Tokens tokens.Store
	// CallerTokens stores the tokens of callers who have accounts of their own.
	// Nil means Tokens.
	CallerTokens tokens.Store
	// Hide removes secrets from a text that is shown to the user; may be nil.
	Hide func(text string) string
	// Learned is called with each token that is obtained for an account, also
	// from concurrent calls; may be nil. Resolver.Found is called by [New] only.
	Learned func(account, secret string)
}

// New returns the first credential of a list whose references all have values.
// An empty list is no credential.
func New(list []spec.Auth, o Options) (Credential, error) {
	if len(list) == 0 {
		return none{}, nil
	}
	var missing []error
	for i := range list {
		c, err := newOne(&list[i], &o)
		if err == nil {
			return c, nil
		}
		missing = append(missing, err)
		if !errors.Is(err, errMissing) {
			break
		}
	}
	return nil, &MissingError{o.Service, missing}
}

func newOne(a *spec.Auth, o *Options) (Credential, error) {
	var failed error
	get := func(text string) string {
		value, err := o.Expand(text)
		failed = errors.Join(failed, err)
		return value
	}
	public := func(text string) string {
		value, err := o.Public(text)
		failed = errors.Join(failed, err)
		return value
	}
	var c Credential
	switch a.Kind {
	case "none":
		c = none{}
	case "bearer":
		c = fixed{header{"Authorization", "Bearer " + get(a.Token)}}
	case "basic":
		pair := public(a.User) + ":" + get(a.Password)
		encoded := base64.StdEncoding.EncodeToString([]byte(pair))
		o.found(encoded)
		c = fixed{header{"Authorization", "Basic " + encoded}}
	case "header":
		c = fixed{header{a.Name, get(a.Value)}}
	case "query":
		c = fixed{query{a.Name, get(a.Value)}}
	case "oauth2":
		c = newOAuth(a, o, get, public)
	case "github_app":
		return newGitHubApp(a, o, get, public, &failed)
	}
	if failed != nil {
		return nil, failed
	}
	if f, ok := c.(fixed); ok {
		if h, ok := f.Token.(header); ok && strings.ContainsAny(h.value, "\r\n") {
			return nil, errors.New("the value has a line break")
		}
	}
	return c, nil
}

func (o *Options) found(secret string) {
	if o.Found != nil && secret != "" {
		o.Found(secret)
	}
}

func (o *Options) hide(text string) string {
	if o.Hide == nil {
		return text
	}
	return o.Hide(text)
}

// learned announces the tokens of an account.
func (o *Options) learned(account string, secrets ...string) {
	for _, secret := range secrets {
		if o.Learned != nil && secret != "" {
			o.Learned(account, secret)
		}
	}
}

// Check returns the mistakes of a credential by the name of the member.
func Check(a *spec.Auth) map[string]string {
	wrong := map[string]string{}
	need := func(member, value string) {
		if value == "" {
			wrong[member] = fmt.Sprintf("is required for kind %s", a.Kind)
		}
	}
	secret := func(member, value string) {
		need(member, value)
		if err := CheckReferences(value); err != nil {
			wrong[member] = err.Error()
		} else if hasDefault(value) {
			wrong[member] = "must not have a default: a file must not contain secrets"
		} else if value != "" && !HasReference(value) {
			wrong[member] = "must refer to a secret: ${env:NAME}, ${keyring:name} or ${file:path}; a file must not contain secrets"
		}
	}
	switch a.Kind {
	case "bearer":
		secret("token", a.Token)
	case "basic":
		need("user", a.User)
		secret("password", a.Password)
	case "header", "query":
		need("name", a.Name)
		secret("value", a.Value)
	case "github_app":
		need("app_id", a.AppID)
		need("installation_id", a.InstallationID)
		secret("private_key", a.PrivateKey)
	case "oauth2":
		checkOAuth(a, need, secret)
	}
	return wrong
}

func checkOAuth(a *spec.Auth, need, secret func(member, value string)) {
	need("grant", a.Grant)
	need("token_url", a.TokenURL)
	need("client_id", a.ClientID)
	switch a.Grant {
	case "client_credentials", "exchange":
		secret("client_secret", a.ClientSecret)
	case "code":
		need("authorize_url", a.AuthorizeURL)
	case "device":
		need("device_url", a.DeviceURL)
	}
	if a.ClientSecret != "" {
		secret("client_secret", a.ClientSecret)
	}
}

type none struct{}

func (none) Apply(*http.Request)                               {}
func (n none) Ready(context.Context, *mcp.Call) (Token, error) { return n, nil }
func (none) Refused(context.Context, *mcp.Call, Token) bool    { return false }
func (none) Account(context.Context, *mcp.Call) string         { return "" }
func (none) Login(context.Context, *mcp.Call) string           { return noLogin }

// fixed is a credential that is always ready.
type fixed struct{ Token }

func (f fixed) Ready(context.Context, *mcp.Call) (Token, error) { return f.Token, nil }
func (fixed) Refused(context.Context, *mcp.Call, Token) bool    { return false }
func (fixed) Account(context.Context, *mcp.Call) string         { return "server" }
func (fixed) Login(context.Context, *mcp.Call) string           { return noLogin }

// header is a header.
type header struct{ name, value string }

func (h header) Apply(req *http.Request) { req.Header.Set(h.name, h.value) }

// query is a query parameter.
type query struct{ name, value string }

func (q query) Apply(req *http.Request) {
	strip(req.URL, q.name) // a link that the API made may have it
	if req.URL.RawQuery != "" {
		req.URL.RawQuery += "&"
	}
	req.URL.RawQuery += url.QueryEscape(q.name) + "=" + url.QueryEscape(q.value)
}

// Strip removes the parameter of a credential of the kind query from a URL. An API
// may repeat it in links.
func Strip(c Credential, u *url.URL) {
	if f, ok := c.(fixed); ok {
		if q, ok := f.Token.(query); ok {
			strip(u, q.name)
		}
	}
}

func strip(u *url.URL, param string) {
	if !strings.Contains(u.RawQuery, "=") {
		return
	}
	kept := slices.DeleteFunc(strings.Split(u.RawQuery, "&"), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		decoded, err := url.QueryUnescape(name)
		return err == nil && decoded == param
	})
	u.RawQuery = strings.Join(kept, "&")
}
