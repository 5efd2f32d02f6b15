package login

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/auth/fetch"
	"github.com/tenon-mcp/tenon/auth/tokens"
)

// Options configure a Transport. Nil is a good choice for a program with a
// user: it opens a browser and forgets tokens when the process ends.
type Options struct {
	// Base sends the requests. Nil means [http.DefaultTransport].
	Base http.RoundTripper

	// Store stores tokens and registrations. Nil means in memory.
	Store tokens.Store

	// Account separates the tokens of several users in one Store. Empty
	// means a single user. The users share the registration of the program.
	Account string

	// Client is the client registered at the authorization server by hand.
	// Nil means that the program uses ClientIDMetadataURL or registers
	// itself.
	Client *Client

	// ClientIDMetadataURL is the https URL, with a path, of this program's
	// client metadata document. It is the client ID where the authorization
	// server supports such documents. Empty means none.
	ClientIDMetadataURL string

	// ClientName is the name that users see on the consent page. Empty means
	// "Tenon".
	ClientName string

	// Scopes are requested in addition to those that the server requires.
	Scopes []string

	// Resource is the resource identifier in the server's metadata if it
	// differs from its URL. Empty means the URL.
	Resource string

	// AuthorizationServer is the issuer of the authorization server. Empty
	// means that of the server's metadata, which is not requested otherwise.
	AuthorizationServer string

	// Online requests no token for the time after the user has left
	// (offline_access).
	Online bool

	// Grant gets tokens without a user: [ClientCredentials], [TokenExchange],
	// [Enterprise] or [Workload]. Nil means that a user logs in.
	Grant Grant

	// Authorize shows a page to the user and returns the callback URL, which
	// begins with RedirectURI. Nil means a [Loopback] that opens a browser.
	Authorize func(ctx context.Context, page string) (callback *url.URL, err error)

	// RedirectURI is the redirect URI of the client. It is required with
	// Authorize. Without Authorize it must be an http URL of this machine;
	// empty means 127.0.0.1 and any free port.
	RedirectURI string

	// Loopback logs the user in if Authorize is nil. Nil means the zero value.
	Loopback *Loopback

	// Waiting is called with 1 when a request begins to wait for a login or a
	// refresh, and with -1 when it no longer waits, from any goroutine. Nil
	// means that nobody is told.
	Waiting func(n int)

	// NoLogin, if not nil, is the error of requests for which a user would
	// have to log in. Tokens are still used and refreshed, but no page is
	// opened and no client is registered.
	NoLogin error

	// Pages limits the login pages that a user sees. Share one between
	// Transports that are created one after another for the same server. Nil
	// means a limit for this Transport only.
	Pages *PageLimit

	// PreferDPoP requests DPoP-bound tokens wherever the authorization
	// server supports them. If unset, only where the server requires them.
	PreferDPoP bool

	// Fetch gets metadata and tokens. Nil means a client with the strict
	// rules of package fetch, which allows this machine only if the server
	// is on it.
	Fetch *fetch.Client

	// Proxy returns the proxy for metadata and token requests if Fetch is
	// nil, as in [fetch.Options]. Nil means no proxy.
	Proxy func(*http.Request) (*url.URL, error)

	// Warn is called with a message about a problem that was ignored, such
	// as a token that could not be stored. It must not block. Nil discards
	// warnings.
	Warn func(warning string)
}

// A Client identifies this program at one authorization server. Its secrets
// are not printed.
type Client struct {
	// ID is the client id.
	ID string
	// Secret is the client secret. Empty means none.
	Secret string
	// Key signs client assertions (private_key_jwt) instead of a secret.
	Key *Key
	// Issuer is the authorization server of this client. Empty means the
	// first that the server names; the choice is then fixed.
	Issuer string
	// AuthMethod is the authentication method at the token endpoint: none,
	// client_secret_basic, client_secret_post or private_key_jwt. Empty
	// means the best one that the authorization server supports.
	AuthMethod string
}

// String returns the client ID and issuer without secrets.
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

// key returns the key of an entry in the Store.
func (o *Options) key(kind, name string) string {
	if o.Account == "" || kind == "client" || kind == "issuer" {
		return kind + " " + name
	}
	return kind + " " + name + " for " + o.Account
}

// A CredentialError reports that a server responded with 401 but does not
// support login: it publishes no OAuth metadata or requires another scheme.
// Such a server needs an API key or a similar credential, which the program
// must send in a request header.
type CredentialError struct {
	// Server is the URL of the server.
	Server string
	// Schemes are the schemes in WWW-Authenticate, such as "Basic". Empty
	// means that there are none.
	Schemes []string
	// Err is why the fallback for servers of 2025-03-26, which need no
	// metadata, failed; nil if it was not tried.
	Err error
}

func (e *CredentialError) Error() string {
	text := e.Server + " requires a credential: status 401"
	if len(e.Schemes) > 0 {
		text += fmt.Sprintf(" (%s)", strings.Join(e.Schemes, ", "))
	}
	return text + ", no OAuth metadata; send its API key or token in a request header"
}

// Unwrap returns Err.
func (e *CredentialError) Unwrap() error { return e.Err }

// unknownScheme reports whether a server requires schemes and none of them
// is an OAuth scheme.
func (c challenge) unknownScheme() bool { return len(c.schemes) > 0 && !c.bearer && !c.dpop }

// A registrationError reports that a registration endpoint does not behave
// as one.
type registrationError struct{ error }

func (e *registrationError) Unwrap() error { return e.error }

// notRegistration wraps an error of a registration endpoint unless RFC 7591
// defines its code.
func notRegistration(code string, err error) error {
	if slices.Contains([]string{"invalid_redirect_uri", "invalid_client_metadata", "invalid_software_statement", "unapproved_software_statement"}, code) {
		return err
	}
	return &registrationError{err}
}
