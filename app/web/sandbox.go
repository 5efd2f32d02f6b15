package web

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/app/host"
)

// Views of tools run in a sandbox: frames from a second listener, whose hosts
// share no cookies with the page. Another port alone would not do: browsers send
// the cookies of 127.0.0.1:A to 127.0.0.1:B, too.
//
//	http://127.0.0.1:A           the page                    web.go
//	  http://sandbox.localhost:B   the proxy: passes messages on, checks who sent them
//	    http://<id>.localhost:B      one view, with the policy of its metadata
//
// Browsers resolve *.localhost to this machine themselves.

// proxyHost is the host of the proxy page.
const proxyHost = "sandbox.localhost"

// The parts of the proxy page. Its policy allows exactly this script and style.
var (
	//go:embed proxy/proxy.js
	proxyScript string
	proxyStyle  = "html,body,iframe{margin:0;border:0;width:100%;height:100%;display:block;overflow:hidden;background:transparent}"
)

// Limits of views.
const (
	maxViews     = 32       // shown at once; the oldest is closed
	maxViewBytes = 64 << 20 // of all views together
)

// A sandbox serves views on a listener of its own.
type sandbox struct {
	port string // empty: there is no listener, and views are not shown

	mu    sync.Mutex
	views map[string]*shownView // by id
	order []*shownView          // the oldest first
}

// A shownView is a view in a page.
type shownView struct {
	host.View
	page     string // the origin of the page
	html     string
	policy   string
	allowed  string   // the value of Connection-Allowlist
	features []string // of the browser that the view may use
	ctx      context.Context
	close    context.CancelFunc // cancels its requests
	served   bool
	busy     int // requests that run

	spent   float64 // bytes of the audit log, less what time has given back
	spentAt time.Time
}

// listen opens a port on every loopback address that browsers may resolve
// localhost to, so that no other program answers there.
func (b *sandbox) listen() ([]net.Listener, error) {
	var err error
	for range 10 {
		var four, six net.Listener
		if four, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return nil, err
		}
		port := strconv.Itoa(four.Addr().(*net.TCPAddr).Port)
		if six, err = net.Listen("tcp", "[::1]:"+port); err == nil {
			b.port = port
			return []net.Listener{four, six}, nil
		}
		if probe, none := net.Listen("tcp", "[::1]:0"); none != nil { // there is no IPv6
			b.port = port
			return []net.Listener{four}, nil
		} else {
			probe.Close()
		}
		four.Close() // the port is taken
	}
	return nil, err
}

// serve serves views until the returned function is called. Without a listener,
// views are not shown.
func (b *sandbox) serve() (stop func()) {
	all, err := b.listen()
	if err != nil {
		return func() {}
	}
	web := &http.Server{Handler: b, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	var running sync.WaitGroup
	for _, l := range all {
		running.Go(func() { web.Serve(l) })
	}
	return func() {
		web.Close()
		running.Wait()
	}
}

// origin returns the origin of the proxy; empty if views are not shown.
func (b *sandbox) origin() string {
	if b.port == "" {
		return ""
	}
	return "http://" + proxyHost + ":" + b.port
}

func (b *sandbox) viewOrigin(id string) string { return "http://" + id + ".localhost:" + b.port }

// add adds a view and returns its id, which is also the name of its host.
func (b *sandbox) add(v *shownView) {
	v.ID = strings.ToLower(rand.Text())
	b.mu.Lock()
	var old []*shownView
	b.views[v.ID] = v
	b.order = append(b.order, v)
	total := 0
	for _, one := range b.order {
		total += len(one.html)
	}
	for len(b.order) > 1 && (len(b.order) > maxViews || total > maxViewBytes) {
		old = append(old, b.order[0])
		total -= len(b.order[0].html)
		delete(b.views, b.order[0].ID)
		b.order = b.order[1:]
	}
	b.mu.Unlock()
	for _, one := range old {
		one.close()
	}
}

// begin counts a request of a view that writes cost bytes to the audit log. It
// fails if there is no such view, if too many of its requests run, or if it
// writes too much.
func (b *sandbox) begin(id string, cost int) (*shownView, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := b.views[id]
	if v == nil {
		return nil, errViewClosed
	}
	if v.busy >= maxViewRequests {
		return nil, errors.New("too many requests at once")
	}
	now := time.Now()
	v.spent = max(0, v.spent-auditRate*now.Sub(v.spentAt).Seconds())
	v.spentAt = now
	if v.spent+float64(cost) > auditBurst {
		return nil, errors.New("too many requests: try again later")
	}
	v.spent += float64(cost)
	v.busy++
	return v, nil
}

func (b *sandbox) end(v *shownView) {
	b.mu.Lock()
	defer b.mu.Unlock()
	v.busy--
}

func (b *sandbox) get(id string) *shownView {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.views[id]
}

// remove closes a view.
func (b *sandbox) remove(id string) {
	b.mu.Lock()
	v := b.views[id]
	delete(b.views, id)
	for i, one := range b.order {
		if one == v {
			b.order = append(b.order[:i:i], b.order[i+1:]...)
			break
		}
	}
	b.mu.Unlock()
	if v != nil {
		v.close()
	}
}

// take returns a view for its document. It does so once: the address of a view is
// of no use to others.
func (b *sandbox) take(id string) *shownView {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := b.views[id]
	if v == nil || v.served {
		return nil
	}
	v.served = true
	return v
}

// ServeHTTP serves the proxy page and views. It knows no cookies, and no host but
// the proxy's and those of views.
func (b *sandbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("X-DNS-Prefetch-Control", "off")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	label, known := b.label(r.Host)
	switch {
	case !known:
		http.Error(w, "unknown Host", http.StatusMisdirectedRequest)
	case r.Method != http.MethodGet:
		http.Error(w, "only GET", http.StatusMethodNotAllowed)
	case !framed(r):
		http.Error(w, "only in a frame of Tenon", http.StatusForbidden)
	case label == "sandbox" && r.URL.Path == "/proxy":
		b.proxy(w, b.get(r.URL.Query().Get("view")))
	case label != "sandbox" && r.URL.Path == "/":
		b.view(w, b.take(label))
	default:
		http.NotFound(w, r)
	}
}

// label returns the first label of a Host header, if the host is the proxy's or
// that of a view.
func (b *sandbox) label(hostport string) (string, bool) {
	name, port, err := net.SplitHostPort(hostport)
	label, ok := strings.CutSuffix(strings.ToLower(name), ".localhost")
	if err != nil || port != b.port || !ok {
		return "", false
	}
	return label, label == "sandbox" || b.get(label) != nil
}

// framed reports whether a request loads the document of a frame. Browsers say
// so; other programs need not.
func framed(r *http.Request) bool {
	dest := r.Header.Get("Sec-Fetch-Dest")
	return dest == "" || dest == "iframe"
}

var errViewClosed = errors.New("the view was closed")

// proxy serves the proxy page of one view.
func (b *sandbox) proxy(w http.ResponseWriter, v *shownView) {
	if v == nil {
		http.Error(w, errViewClosed.Error(), http.StatusGone)
		return
	}
	w.Header().Set("Content-Security-Policy", fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; frame-src %s; frame-ancestors %s; base-uri 'none'; form-action 'none'",
		hashOf(proxyScript), hashOf(proxyStyle), b.viewOrigin(v.ID), v.page))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "<!doctype html><html data-host=\"%s\" data-view=\"%s\" data-allow=\"%s\"><meta charset=\"utf-8\"><title>Sandbox</title><style>%s</style><body><script>%s</script></body></html>",
		html.EscapeString(v.page), html.EscapeString(b.viewOrigin(v.ID)), html.EscapeString(strings.Join(v.features, "; ")), proxyStyle, proxyScript)
}

// hashOf returns the source of a policy that allows an inline script or style.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// view serves the document of a view.
func (b *sandbox) view(w http.ResponseWriter, v *shownView) {
	if v == nil {
		http.Error(w, errViewClosed.Error(), http.StatusGone)
		return
	}
	w.Header().Set("Connection-Allowlist", v.allowed)
	w.Header().Set("Content-Security-Policy", v.policy+"; frame-ancestors "+b.origin()+" "+v.page)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write([]byte(v.html))
}
