package config

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// OAuth configures the login at a server's authorization server.
type OAuth struct {
	ClientID     string
	ClientSecret string
	Issuer       string   // empty means the first in the server's metadata
	Scopes       []string // requested in addition to those that the server requires
	Resource     string   // resource identifier of the server, if it is not its URL

	// RedirectURI receives the browser after the login. In a file callbackPort
	// may set it to a port on this machine. Empty means any free port.
	RedirectURI string

	// ClientIDMetadataURL is a client ID metadata document used as client ID.
	ClientIDMetadataURL string

	// Proxy is the proxy for metadata and tokens: a URL, or "environment" for
	// HTTPS_PROXY and NO_PROXY. Empty means none.
	Proxy string

	// Grant is how a token is obtained without a login of the user: one of the
	// Grant constants. Empty means that a user logs in.
	Grant string

	// Login says who logs in under a gateway: LoginUser means each of its users.
	// Empty means that the gateway has one login for all users, which somebody
	// has made before.
	Login string

	// Audience is the name of the server at the authorization server, for
	// GrantTokenExchange. Empty means that only the resource is sent.
	Audience string

	// AuthMethod is how the client authenticates at the token endpoint, such as
	// client_secret_post. Empty means the best way that the authorization server
	// supports.
	AuthMethod string

	// PrivateKeyFile has the key in PEM with which the client authenticates
	// instead of a secret (private_key_jwt), and KeyID its name there.
	PrivateKeyFile, KeyID string

	// IDPIssuer, IDPClientID and IDPClientSecret are the identity provider of
	// GrantEnterprise and the client there.
	IDPIssuer, IDPClientID, IDPClientSecret string
}

// The grants of OAuth.
const (
	// GrantClientCredentials is for a program that acts for itself.
	GrantClientCredentials = "client_credentials"
	// GrantTokenExchange exchanges the token of the caller of a gateway at the
	// Issuer (RFC 8693).
	GrantTokenExchange = "token_exchange"
	// GrantEnterprise exchanges the token of the caller of a gateway at the
	// identity provider for an assertion (ID-JAG).
	GrantEnterprise = "enterprise"
)

// LoginUser is the value of OAuth.Login with which each user of a gateway logs in.
const LoginUser = "user"

// OnBehalf reports whether a gateway acts for its callers at the server, so that
// each of them needs a connection with a token of its own.
func (o *OAuth) OnBehalf() bool {
	return o != nil && (o.Login == LoginUser || o.NeedsCallerToken())
}

// NeedsCallerToken reports whether the token of a caller is exchanged.
func (o *OAuth) NeedsCallerToken() bool {
	return o != nil && (o.Grant == GrantTokenExchange || o.Grant == GrantEnterprise)
}

// eachText calls see with the members that are texts, in the order in which they
// are written.
func (o *OAuth) eachText(see func(name string, text *string)) {
	see("clientId", &o.ClientID)
	see("clientSecret", &o.ClientSecret)
	see("issuer", &o.Issuer)
	see("resource", &o.Resource)
	see("redirectUri", &o.RedirectURI)
	see("clientIdMetadataUrl", &o.ClientIDMetadataURL)
	see("proxy", &o.Proxy)
	see("grant", &o.Grant)
	see("login", &o.Login)
	see("audience", &o.Audience)
	see("authMethod", &o.AuthMethod)
	see("privateKeyFile", &o.PrivateKeyFile)
	see("keyId", &o.KeyID)
	see("idpIssuer", &o.IDPIssuer)
	see("idpClientId", &o.IDPClientID)
	see("idpClientSecret", &o.IDPClientSecret)
}

// oauthMembers returns the names of the members of oauth.
func oauthMembers() []string {
	names := []string{"scopes", "scope", "callbackPort"}
	new(OAuth).eachText(func(name string, _ *string) { names = append(names, name) })
	return names
}

func (e *Entry) readOAuth(n node) error {
	o := &OAuth{}
	e.OAuth = o
	texts := map[string]*string{}
	o.eachText(func(name string, text *string) { texts[name] = text })
	return n.eachMember(func(m member) (err error) {
		v := m.value
		switch m.name {
		case "scopes", "scope":
			if v.raw[0] == '[' {
				o.Scopes, err = v.texts()
				break
			}
			var s string
			s, err = v.text()
			o.Scopes = strings.Fields(s)
		case "callbackPort":
			port, bad := strconv.ParseUint(string(v.raw), 10, 16)
			if bad != nil || port == 0 {
				return v.errorf("must be a port, 1 to 65535")
			}
			o.RedirectURI = "http://" + net.JoinHostPort("localhost", string(v.raw)) + "/callback"
		default:
			if text := texts[m.name]; text != nil {
				*text, err = v.text()
				break
			}
			e.Warnings = append(e.Warnings, fmt.Sprintf("unknown member %q in oauth is ignored%s", m.name, didYouMean(m.name, oauthMembers())))
		}
		return err
	})
}

// json writes the members.
func (o *OAuth) json(w *writer) {
	w.open()
	o.eachText(func(name string, text *string) {
		if name == "resource" {
			w.list("scopes", o.Scopes)
		}
		w.text(name, *text)
	})
	w.close()
}

func (x *expander) oauth() *OAuth {
	if x.e.OAuth == nil {
		return nil
	}
	o := *x.e.OAuth
	o.eachText(func(name string, text *string) { *text = x.fill("oauth."+name, *text) })
	o.Scopes = slices.Clone(o.Scopes)
	for i, s := range o.Scopes {
		o.Scopes[i] = x.fill("oauth.scopes", s)
	}
	return &o
}

// check returns an error if the members do not go together. A file that came with
// a project must not send the token of a caller anywhere.
func (o *OAuth) check(project bool) error {
	switch o.Grant {
	case "":
	case GrantClientCredentials, GrantTokenExchange, GrantEnterprise:
		switch {
		case o.Login != "":
			return errors.New(`must have "grant" or "login", not both`)
		case o.Grant == GrantClientCredentials && (o.ClientID == "" || o.ClientSecret == "" && o.PrivateKeyFile == ""):
			return fmt.Errorf(`with "grant": %q needs clientId, and clientSecret or privateKeyFile`, o.Grant)
		case o.Grant == GrantTokenExchange && o.Issuer == "":
			return fmt.Errorf(`with "grant": %q needs issuer, the authorization server that exchanges the tokens of callers`, o.Grant)
		case o.Grant == GrantEnterprise && (o.IDPIssuer == "" || o.ClientID == ""):
			return fmt.Errorf(`with "grant": %q needs idpIssuer and clientId`, o.Grant)
		case o.NeedsCallerToken() && project:
			return fmt.Errorf(`has "grant": %q, which only your own file may have: it sends tokens of callers to an authorization server`, o.Grant)
		}
	default:
		return fmt.Errorf("has unknown grant %q; use %s, %s or %s", o.Grant, GrantClientCredentials, GrantTokenExchange, GrantEnterprise)
	}
	if o.Login != "" && o.Login != LoginUser {
		return fmt.Errorf("has unknown login %q; use %q", o.Login, LoginUser)
	}
	return nil
}
