package web

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/mcp"
)

// A guard admits only the browser that was given the token: no page of another
// site, no other user of the machine, and no name that was rebound to the
// loopback address.
type guard struct {
	hosts  []string
	cookie string // its name; browsers share cookies between ports, so each page has its own
	frames string // the origin of frames that the page may have; empty: none
	doc    func() *document

	mu      sync.Mutex
	token   string // empty after its use
	cookies map[string]bool
	bearers map[string]bool // tokens of programs
}

// contentPolicy allows the page images inside of messages, and beside what its
// document names nothing else.
const contentPolicy = "default-src 'none'; img-src 'self' data: blob:; media-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// refuses answers a request that is not allowed, and reports that.
func (g *guard) refuses(w http.ResponseWriter, r *http.Request) bool {
	h := w.Header()
	policy := contentPolicy + "; " + g.doc().policy
	if g.frames != "" {
		policy += "; frame-src " + g.frames
	}
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	switch {
	case !g.knows(r.Host):
		refuse(w, http.StatusForbidden, errors.New("unknown Host"))
	case !sameOrigin(r):
		refuse(w, http.StatusForbidden, errors.New("requests from other sites are refused"))
	case strings.HasPrefix(r.URL.Path, "/api/") && r.URL.Path != "/api/v1/login" && !g.known(r):
		refuse(w, http.StatusUnauthorized, errors.New("open the address that Tenon printed"))
	case changes(r) && r.URL.Path != "/api/v1/login" && r.Header.Get("Origin") == "" && !g.bearer(r):
		refuse(w, http.StatusForbidden, errors.New("send a bearer token, or with the cookie the Origin of the page"))
	case changes(r) && !isTyped(r):
		refuse(w, http.StatusUnsupportedMediaType, errors.New("send application/json; to wire/load, application/x-txtar"))
	default:
		return false
	}
	return true
}

// knows reports whether the page is served under a Host: the loopback by name or
// number, on any port, or a configured name.
func (g *guard) knows(host string) bool {
	name := host
	if n, _, err := net.SplitHostPort(host); err == nil {
		name = n
	}
	name = strings.Trim(name, "[]")
	if strings.EqualFold(name, "localhost") || slices.ContainsFunc(g.hosts, func(h string) bool { return strings.EqualFold(h, name) || strings.EqualFold(h, host) }) {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.IsLoopback()
}

// sameOrigin reports whether a request comes from the page itself, or from no
// page. A link or a typed URL may open the page, but not use the API.
func sameOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin != "" && origin != "http://"+r.Host && origin != "https://"+r.Host {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin":
		return true
	}
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && !strings.HasPrefix(r.URL.Path, "/api/")
}

// isTyped reports whether the content type is one that a form of another page
// cannot send.
func isTyped(r *http.Request) bool {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	want := "application/json"
	if r.URL.Path == "/api/v1/wire/load" {
		want = "application/x-txtar"
	}
	return strings.EqualFold(strings.TrimSpace(kind), want)
}

// changes reports whether a request may change something.
func changes(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead
}

// bearer reports whether a request has the token of a program. Browsers never add
// one by themselves, so such a request needs no Origin.
func (g *guard) bearer(r *http.Request) bool {
	scheme, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.bearers[value]
}

// known reports whether a request is logged in.
func (g *guard) known(r *http.Request) bool {
	if g.bearer(r) {
		return true
	}
	c, err := r.Cookie(g.cookie)
	if err != nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cookies[c.Value]
}

// login exchanges the token once: for a cookie, or for a bearer token if a program
// wants one.
func (g *guard) login(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Token  string `json:"token"`
		Bearer bool   `json:"bearer"`
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 4<<10))
	if err == nil {
		err = mcp.Unmarshal(data, &q)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, errors.New("required: {\"token\": …}"))
		return
	}
	g.mu.Lock()
	ok := g.token != "" && subtle.ConstantTimeCompare([]byte(q.Token), []byte(g.token)) == 1
	value := ""
	if ok {
		value = rand.Text() + rand.Text()
		g.token = ""
		if q.Bearer {
			g.bearers[value] = true
		} else {
			g.cookies[value] = true
		}
	}
	g.mu.Unlock()
	if !ok {
		refuse(w, http.StatusUnauthorized, errors.New("the token is wrong or was already used: press Enter in the terminal where Tenon runs to get a new address"))
		return
	}
	if q.Bearer {
		head(w, "application/json")
		raw, _ := mcp.Marshal(map[string]string{"bearer": value}) // two strings
		w.Write(raw)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: g.cookie, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	head(w, "application/json")
	w.Write([]byte("{}"))
}

// renew creates a token for another browser.
func (g *guard) renew() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.token = rand.Text() + rand.Text()
	return g.token
}
