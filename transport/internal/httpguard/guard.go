// Package httpguard has the checks that every HTTP transport makes before it
// decodes a message: the Host and Origin headers, the content type, the size and
// timing of the body, and the principal.
//
// The check of Host depends on the local address of the connection, which
// net/http stores in the context of a request. On a loopback address, a request
// comes from this machine, possibly from a web page whose name was rebound to
// the address (DNS rebinding), so Host must be a loopback name or a listed one.
// On other addresses, Host is checked only if names are listed. A request
// without a local address, which no net/http server makes, counts as one to a
// loopback address.
package httpguard

import (
	"cmp"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/textclip"
	"github.com/tenon-mcp/tenon/mcp"
)

// Options configures a [Guard]. The zero value accepts loopback names on loopback
// addresses, and pages of the same origin.
type Options struct {
	// Hosts lists further values of the Host header to accept: a name or an
	// address, with a port, or without for any port.
	Hosts []string

	// AnyHost accepts every Host.
	AnyHost bool

	// Origins lists further values of the Origin header to accept, each a scheme
	// and a host, such as https://app.example. "*" accepts all, including "null".
	Origins []string

	// Principal returns the client of a request; nil means unverified clients.
	Principal func(*http.Request) *mcp.Principal

	// MaxBody is the largest body in bytes. 0 means 4 MiB.
	MaxBody int

	// BodyIdle is how long a body may pause. 0 means 30 s.
	BodyIdle time.Duration

	// Logger logs each refused request. Nil disables logging.
	Logger *slog.Logger
}

// A Guard checks requests. It is safe for use by many goroutines.
type Guard struct {
	opts      Options
	hosts     []authority
	origins   []origin
	anyOrigin bool
}

// New returns a Guard. The error names an invalid host or origin.
func New(o Options) (*Guard, error) {
	g := &Guard{opts: o}
	g.opts.MaxBody = cmp.Or(max(o.MaxBody, 0), 4<<20)
	g.opts.BodyIdle = cmp.Or(max(o.BodyIdle, 0), 30*time.Second)
	if g.opts.Logger == nil {
		g.opts.Logger = slog.New(slog.DiscardHandler)
	}
	for _, text := range o.Hosts {
		a, ok := parseAuthority(text)
		if !ok {
			return nil, fmt.Errorf("%q in Hosts is not a host: write a name or an address, with a port to accept only that port, such as mcp.example.com or [2001:db8::1]:8080", text)
		}
		g.hosts = append(g.hosts, a)
	}
	for _, text := range o.Origins {
		if text == "*" {
			g.anyOrigin = true
			continue
		}
		parsed, ok := parseOrigin(text)
		if !ok {
			return nil, fmt.Errorf("%q in Origins is not an origin: write a scheme and a host without a path, such as https://app.example.com", text)
		}
		g.origins = append(g.origins, parsed)
	}
	return g, nil
}

// Admit checks the Host and Origin headers of a request; nil means accepted.
func (g *Guard) Admit(r *http.Request) *Refusal {
	host, ok := parseAuthority(r.Host)
	if !ok {
		return &Refusal{http.StatusBadRequest, "the Host header is missing or invalid"}
	}
	local := onLoopback(r)
	if !g.hostAllowed(host, local) {
		return &Refusal{http.StatusForbidden, fmt.Sprintf("Host %q is not allowed: add it to Options.Hosts of the server (tenon serve and tenon gateway: --host; a gateway behind a proxy: --public-url)", clip(r.Host))}
	}
	if g.anyOrigin {
		return nil
	}
	switch sent := r.Header["Origin"]; {
	case len(sent) == 0:
		return fetchSite(r, local)
	case len(sent) > 1 || !g.originAllowed(sent[0], host, r.TLS != nil, local):
		return &Refusal{http.StatusForbidden, fmt.Sprintf("Origin %q is not allowed: add it to Options.Origins of the server (tenon serve and tenon gateway: --origin)", clip(strings.Join(sent, ", ")))}
	}
	return nil
}

// clip shortens text from others for errors.
func clip(s string) string { return textclip.Clip(s, 200) }

func (g *Guard) hostAllowed(host authority, local bool) bool {
	if g.opts.AnyHost || local && host.loopback() {
		return true
	}
	if !local && len(g.hosts) == 0 {
		return true
	}
	return slices.ContainsFunc(g.hosts, func(known authority) bool {
		return known.name == host.name && (known.port == "" || known.port == host.port)
	})
}

func (g *Guard) originAllowed(text string, host authority, secure, local bool) bool {
	from, ok := parseOrigin(text)
	if !ok {
		return false
	}
	if slices.Contains(g.origins, from) {
		return true
	}
	switch from.scheme {
	case "https":
	case "http":
		// A page without TLS may have been modified.
		if secure {
			return false
		}
	default:
		return false
	}
	return local && from.loopback() || from.authority == host.withoutDefaultPort(from.scheme)
}

// fetchSite checks Sec-Fetch-Site of a request without Origin, such as one for an
// image: the page could not read the response, but would open a session.
func fetchSite(r *http.Request, local bool) *Refusal {
	switch site := r.Header.Get("Sec-Fetch-Site"); {
	case site == "cross-site", site == "same-site" && !local:
		return &Refusal{http.StatusForbidden, "a page of another site may not send this request"}
	}
	return nil
}

// Principal returns the client of a request; nil if unverified.
func (g *Guard) Principal(r *http.Request) *mcp.Principal {
	if g.opts.Principal == nil {
		return nil
	}
	return g.opts.Principal(r)
}

// onLoopback reports whether a request arrived on a loopback or an unknown
// address.
func onLoopback(r *http.Request) bool {
	switch a := r.Context().Value(http.LocalAddrContextKey).(type) {
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	case *net.UDPAddr:
		return a.IP.IsLoopback()
	case *net.UnixAddr:
		return false // no browser reaches it
	case net.Addr:
		name, _, err := net.SplitHostPort(a.String())
		if err != nil {
			return true
		}
		ip := net.ParseIP(name)
		return ip == nil || ip.IsLoopback()
	}
	return true
}
