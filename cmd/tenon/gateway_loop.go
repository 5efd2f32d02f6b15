package main

import (
	"crypto/rand"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
)

const (
	// loopHeader has the ids of the gateways that a request may have passed.
	loopHeader = "Tenon-Gateway"
	// pathVariable has the ids of the gateways behind which a program runs. An entry
	// may lead back to the gateway in ways that cannot be seen in it, such as a
	// script, and each gateway would start the next one.
	pathVariable = "TENON_GATEWAY_PATH"
	// maxDepth is the number of gateways behind which a gateway does not start.
	maxDepth = 4
	// maxBefore and beforeLife bound the gateways that are known to be before this
	// one: their number, and the time since the last request of each.
	maxBefore  = 64
	beforeLife = time.Minute
)

// A loopGuard refuses requests that have passed this gateway already. Connections
// and lists are shared by callers, so a request of this gateway names all gateways
// that were before it lately: if one of them gets it, the entries of the gateways
// form a circle.
type loopGuard struct {
	id     string
	starts []string // the gateways that have started this one
	alone  []string // the header if no gateway calls this one

	mu     sync.Mutex
	before map[string]time.Time // when a gateway has called last, by id
}

func newLoopGuard() *loopGuard {
	g := &loopGuard{id: rand.Text(), starts: gatewayPath(), before: map[string]time.Time{}}
	g.alone = []string{g.variable()}
	return g
}

// gatewayPath returns the gateways that have started this one.
func gatewayPath() []string { return splitIDs(os.Getenv(pathVariable)) }

func splitIDs(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// variable returns the value of pathVariable for programs behind this gateway.
func (g *loopGuard) variable() string { return strings.Join(append([]string{g.id}, g.starts...), ",") }

// header returns the values of loopHeader for requests of this gateway.
func (g *loopGuard) header(now time.Time) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.before) == 0 {
		return g.alone
	}
	ids := append([]string{g.id}, g.starts...)
	for id, last := range g.before {
		if now.Sub(last) > beforeLife {
			delete(g.before, id)
			continue
		}
		ids = append(ids, id)
	}
	return []string{strings.Join(ids, ",")}
}

// record notes the gateways that a request has passed. It reports false if this one
// is among them.
func (g *loopGuard) record(ids []string, now time.Time) bool {
	if slices.Contains(ids, g.id) {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range ids {
		if _, known := g.before[id]; (known || len(g.before) < maxBefore) && len(id) <= 64 {
			g.before[id] = now
		}
	}
	return true
}

// wrap refuses requests that have passed this gateway.
func (g *loopGuard) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text := r.Header.Get(loopHeader); text != "" && !g.record(splitIDs(text), time.Now()) {
			http.Error(w, "the gateways form a circle: this request has passed this gateway before; remove the entry that leads back to it", http.StatusLoopDetected)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// transport adds the header to requests.
func (g *loopGuard) transport(next *http.Transport) http.RoundTripper {
	return &loopTransport{g, next}
}

type loopTransport struct {
	guard *loopGuard
	*http.Transport
}

// RoundTrip implements [http.RoundTripper].
func (t *loopTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	with := *r
	with.Header = maps.Clone(r.Header)
	with.Header[loopHeader] = t.guard.header(time.Now())
	return t.Transport.RoundTrip(&with)
}

// isOwn reports whether an entry leads back to this gateway, as the configuration
// of a host does after the user has pasted what the gateway prints.
func (g *gatewayRun) isOwn(s config.Server) bool {
	if s.Kind == config.Stdio {
		name := strings.TrimSuffix(baseName(s.Command), ".exe")
		return len(g.v.servers) == 0 && name == "tenon" && slices.Contains(s.Args, "gateway")
	}
	u, err := url.Parse(s.URL)
	if s.URL == "" || err != nil || g.v.listener == nil {
		return false
	}
	if tcp, ok := g.v.listener.Addr().(*net.TCPAddr); ok && portOf(u) == int(tcp.AddrPort().Port()) && reaches(u.Hostname(), tcp.AddrPort().Addr(), g.v.hosts) {
		return true
	}
	for _, text := range []string{g.v.public, g.v.audience} {
		public, err := url.Parse(text)
		if text != "" && err == nil && portOf(public) == portOf(u) && strings.EqualFold(public.Hostname(), u.Hostname()) &&
			(u.Path == public.Path || strings.HasPrefix(u.Path, strings.TrimSuffix(public.Path, "/")+"/")) { // a set has a longer path
			return true
		}
	}
	return false
}

// baseName returns the last part of a path of any system.
func baseName(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

// portOf returns the port of a URL.
func portOf(u *url.URL) int {
	port, err := net.LookupPort("tcp", u.Port())
	if u.Port() == "" || err != nil {
		return map[string]int{"http": 80, "https": 443}[u.Scheme]
	}
	return port
}

// reaches reports whether a host leads to a listener of this machine at an address.
// Names are those that clients may use.
func reaches(host string, at netip.Addr, names []string) bool {
	host, at = strings.ToLower(strings.TrimSuffix(host, ".")), at.Unmap()
	local := at.IsLoopback() || at.IsUnspecified()
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return local && (host == "localhost" || strings.HasSuffix(host, ".localhost")) || slices.Contains(names, host)
	}
	if ip = ip.Unmap().WithZone(""); ip == at || local && (ip.IsLoopback() || ip.IsUnspecified()) {
		return true
	}
	return at.IsUnspecified() && isInterface(ip)
}

// isInterface reports whether an address is one of this machine.
func isInterface(ip netip.Addr) bool {
	all, err := net.InterfaceAddrs()
	return err == nil && slices.ContainsFunc(all, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(ip.AsSlice())
	})
}
