package connect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/auth/fetch"
	"github.com/tenon-mcp/tenon/auth/login"
	"github.com/tenon-mcp/tenon/internal/tcpalive"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// LoginOptions returns what an entry says about logins at its server, without the
// user and the grant. Proxy is for an entry that names none; nil means none.
func LoginOptions(entry config.Server, proxy func(*http.Request) (*url.URL, error)) *login.Options {
	o := &login.Options{ClientName: "Tenon", Proxy: proxy}
	oauth := entry.OAuth
	if oauth == nil {
		return o
	}
	o.Scopes, o.Resource = oauth.Scopes, oauth.Resource
	if oauth.ClientID != "" {
		o.Client = &login.Client{ID: oauth.ClientID, Secret: oauth.ClientSecret, Issuer: oauth.Issuer, AuthMethod: oauth.AuthMethod}
	}
	o.RedirectURI, o.ClientIDMetadataURL = oauth.RedirectURI, oauth.ClientIDMetadataURL
	if oauth.Proxy != "" {
		o.Proxy = Proxy(oauth.Proxy)
	}
	return o
}

// checkGrant reports what prevents the grant of the entry.
func (s *Server) checkGrant() error {
	_, err := s.grant()
	return err
}

// grant returns the grant of the entry; nil if a user logs in.
func (s *Server) grant() (login.Grant, error) {
	oauth := s.entry.OAuth
	if oauth == nil || oauth.Grant == "" {
		return nil, nil
	}
	if oauth.NeedsCallerToken() && s.opts.Subject == nil {
		return nil, &permanentError{fmt.Sprintf("server %s has the grant %s: only a gateway whose callers have tokens can use it", s.entry.Name, oauth.Grant)}
	}
	client := login.Client{ID: oauth.ClientID, Secret: oauth.ClientSecret, Issuer: oauth.Issuer, AuthMethod: oauth.AuthMethod}
	if oauth.PrivateKeyFile != "" {
		text, err := os.ReadFile(oauth.PrivateKeyFile)
		if err == nil {
			client.Key, err = login.ParseKey(text, "", oauth.KeyID)
		}
		if err != nil {
			return nil, fmt.Errorf("read the private key of server %s: %w", s.entry.Name, err)
		}
	}
	switch oauth.Grant {
	case config.GrantClientCredentials:
		return &login.ClientCredentials{Client: client}, nil
	case config.GrantTokenExchange:
		return &login.TokenExchange{Client: client, Audience: oauth.Audience, Subject: s.opts.Subject}, nil
	case config.GrantEnterprise:
		return &login.Enterprise{
			Client: client, IDPIssuer: oauth.IDPIssuer, IDPClient: login.Client{ID: oauth.IDPClientID, Secret: oauth.IDPClientSecret, Issuer: oauth.IDPIssuer},
			IDToken: s.opts.Subject, SubjectType: login.TypeAccessToken,
		}, nil
	}
	return nil, &permanentError{fmt.Sprintf("server %s has the unknown grant %q", s.entry.Name, oauth.Grant)}
}

// A permanentError is one that only another configuration helps against.
type permanentError struct{ text string }

func (e *permanentError) Error() string   { return e.text }
func (e *permanentError) Permanent() bool { return true }

// GuardedTransport returns a transport for the server at an address that the
// configuration names. It reaches private networks, and this machine if the
// address says so. It refuses addresses that no MCP server has, such as that of
// the metadata service of a cloud (169.254.169.254), also if the address of the
// server, or what its name is resolved to, is one; and it refuses a name that is
// resolved to this machine without naming it. A proxy of the environment is used,
// and then it resolves names.
func GuardedTransport(address string) (*http.Transport, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, errors.New("invalid server address")
	}
	return guarded(u, http.ProxyFromEnvironment), nil
}

// guarded is [GuardedTransport] with a choice of proxies.
func guarded(u *url.URL, choose func(*http.Request) (*url.URL, error)) *http.Transport {
	rules := fetch.Options{AllowPrivate: true, AllowLoopback: namesThisMachine(u.Hostname())}
	direct, toProxy := streamclient.NewDialer(), streamclient.NewDialer()
	allowed := rules.Control()
	direct.Control = func(network, address string, c syscall.RawConn) error {
		return errors.Join(allowed(network, address, c), tcpalive.Control(network, address, c))
	}
	var proxies sync.Map // addresses of the proxies that the environment names
	t := streamclient.NewTransport()
	t.Proxy = func(r *http.Request) (*url.URL, error) {
		proxy, err := choose(r)
		if proxy != nil {
			proxies.Store(dialAddress(proxy), true)
		}
		return proxy, err
	}
	t.DialContext = func(ctx context.Context, network, to string) (net.Conn, error) {
		if _, ok := proxies.Load(to); ok {
			return toProxy.DialContext(ctx, network, to)
		}
		return direct.DialContext(ctx, network, to)
	}
	return t
}

// dialAddress returns the host and port of a proxy.
func dialAddress(proxy *url.URL) string {
	port := proxy.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[proxy.Scheme]
	}
	return net.JoinHostPort(proxy.Hostname(), port)
}

// namesThisMachine reports whether a host is written as one of this machine.
func namesThisMachine(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() && !ip.Is4In6()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
