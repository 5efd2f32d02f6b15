package login

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/tenon-mcp/tenon/auth/fetch"
	"github.com/tenon-mcp/tenon/auth/tokens"
)

// Options say who logs in and how. Nil is a good answer for a program with a
// person before it: a browser opens, and the token is forgotten when the
// process ends.
type Options struct {
	// Base makes the requests. Nil means [http.DefaultTransport].
	Base http.RoundTripper

	// Store keeps tokens and registrations. Nil keeps them in memory.
	Store tokens.Store

	// Account keeps apart what several people keep in one Store. Empty means
	// that there is one.
	Account string

	// Client is who this program is at the authorization server, where somebody
	// has registered it there. Nil means that it introduces itself, by
	// ClientIDMetadataURL or by registering.
	Client *Client

	// ClientIDMetadataURL is where this program publishes its client metadata,
	// an https URL with a path. It serves as client id where the authorization
	// server takes such. Empty means that there is none.
	ClientIDMetadataURL string

	// ClientName is what the person reads when asked for consent. Empty means
	// "Tenon".
	ClientName string

	// Scopes are asked for beside those that the server wants. Nil means none.
	Scopes []string

	// Resource is what the server calls itself in its metadata, where that is
	// not its URL. Empty means the URL.
	Resource string

	// Grant gets tokens without a person: [ClientCredentials], [Enterprise] or
	// [Workload]. Nil means that a person logs in.
	Grant Grant

	// Authorize shows a page to a person and returns the URL that the browser
	// was sent to at the end, which begins with RedirectURI. Nil means a
	// [Loopback] that opens a browser.
	Authorize func(ctx context.Context, page string) (callback *url.URL, err error)

	// RedirectURI is where the authorization server sends the browser back to.
	// Authorize needs it. Without Authorize it must be an http URL of this
	// machine; empty means 127.0.0.1 and any free port.
	RedirectURI string

	// Loopback is how a person logs in if Authorize is nil. Nil means the zero
	// value.
	Loopback *Loopback

	// NoLogin is the error of a request for which a person would have to log in.
	// Tokens are still used and refreshed, but no page is opened and this
	// program is registered nowhere. Nil means that a person can log in.
	NoLogin error

	// Pages bounds how many login pages a person is shown. Share one between
	// Transports that are made for the same server one after another. Nil means
	// one of this Transport alone.
	Pages *PageLimit

	// PreferDPoP asks for tokens that are bound to a key wherever the
	// authorization server can do that. Unset does so only where the server
	// demands it.
	PreferDPoP bool

	// Fetch gets metadata and tokens. Nil means one with the strict rules of
	// package fetch, which reaches this machine only if the server is on it.
	Fetch *fetch.Client

	// Proxy chooses the proxy through which metadata and tokens are requested
	// if Fetch is nil, as in [fetch.Options]; [http.ProxyFromEnvironment] takes
	// it from HTTPS_PROXY and NO_PROXY. Nil means that no proxy is used.
	Proxy func(*http.Request) (*url.URL, error)

	// Warn hears, in a sentence, of what went wrong and could be passed over,
	// such as a token that could not be kept. It must not block. Nil drops
	// warnings.
	Warn func(warning string)
}

// A Client is an identity at one authorization server. It prints without its
// secrets.
type Client struct {
	// ID is the client id.
	ID string
	// Secret is the client secret. Empty means that there is none.
	Secret string
	// Key signs assertions (private_key_jwt) instead of a secret. Nil means
	// that there is none.
	Key *Key
	// Issuer is the authorization server that knows this client. Empty means
	// the first that the server names, and no other after that.
	Issuer string
	// AuthMethod is how the client proves itself at the token endpoint: none,
	// client_secret_basic, client_secret_post or private_key_jwt. Empty means
	// the best one that the authorization server takes.
	AuthMethod string
}

// String tells the client id and issuer only.
func (c Client) String() string { return fmt.Sprintf("client %q at %q", c.ID, c.Issuer) }

// Format hides secrets from every verb of package fmt.
func (c Client) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(c.String())) }

// LogValue hides secrets from package log/slog.
func (c Client) LogValue() slog.Value { return slog.StringValue(c.String()) }

func (o *Options) clientName() string {
	if o.ClientName == "" {
		return "Tenon"
	}
	return o.ClientName
}

func (o *Options) warn(format string, args ...any) {
	if o.Warn != nil {
		o.Warn(fmt.Sprintf(format, args...))
	}
}

// key is where something is kept in the Store.
func (o *Options) key(kind, name string) string {
	if o.Account == "" {
		return kind + " " + name
	}
	return kind + " " + name + " for " + o.Account
}
