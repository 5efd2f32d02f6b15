package login

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// A Loopback logs a user in with a browser on this machine: it opens the
// page and waits on 127.0.0.1 for the callback, at most five minutes.
type Loopback struct {
	// Open opens a page. Nil means [OpenBrowser].
	Open func(page string) error

	// Show shows the user the page to open if no browser could be opened.
	// Nil writes to standard error.
	Show func(page string)
}

const (
	callbackPath  = "/callback"
	loopbackWait  = 5 * time.Minute
	maxCallback   = 16 << 10 // bytes of a callback query
	callbackGrace = 2 * time.Second
)

// A callbackListener is a listener that waits for one callback.
type callbackListener struct {
	loopback *Loopback
	redirect string
	path     string
	hosts    [2]string // allowed Host headers
	listener net.Listener

	mu    sync.Mutex
	state string // of the expected callback; empty before and after
	found chan *url.URL
}

// open starts to listen. fixed is the redirect URI that must be used,
// preferred one to try; both may be empty.
func (l *Loopback) open(fixed, preferred string) (*callbackListener, error) {
	u := &url.URL{Scheme: "http", Host: "127.0.0.1:0", Path: callbackPath}
	if fixed != "" {
		var err error
		if u, err = url.Parse(fixed); err != nil || u.Scheme != "http" || !onLoopback(u.Hostname()) || u.Port() == "" || u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("cannot listen on RedirectURI %q; without Authorize it must be like http://127.0.0.1:3000/callback", clip(fixed))
		}
	}
	port := u.Port()
	if p, err := url.Parse(preferred); err == nil && fixed == "" && p.Hostname() == "127.0.0.1" && p.Path == callbackPath {
		if listener, err := net.Listen("tcp4", p.Host); err == nil {
			return l.listenFor(listener, p), nil
		}
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:"+port)
	if err != nil {
		return nil, fmt.Errorf("listen for the login callback: %w", err)
	}
	if fixed == "" {
		u.Host = listener.Addr().String()
	}
	return l.listenFor(listener, u), nil
}

func (l *Loopback) listenFor(listener net.Listener, redirect *url.URL) *callbackListener {
	path := redirect.Path
	path = cmp.Or(path, "/")
	return &callbackListener{
		loopback: l, redirect: redirect.String(), path: path, listener: listener,
		hosts: [2]string{redirect.Host, "127.0.0.1:" + redirect.Port()},
		found: make(chan *url.URL, 1),
	}
}

func (d *callbackListener) close() { _ = d.listener.Close() }

// authorize opens the page and waits for the callback.
func (d *callbackListener) authorize(ctx context.Context, page string) (*url.URL, error) {
	u, err := url.Parse(page)
	if err != nil {
		return nil, errors.New("invalid login page URL")
	}
	d.mu.Lock()
	d.state = u.Query().Get("state")
	d.mu.Unlock()
	server := &http.Server{Handler: d, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, MaxHeaderBytes: maxCallback + 16<<10}
	served := make(chan struct{})
	go func() { // ends when the listener is closed below
		defer close(served)
		_ = server.Serve(d.listener)
	}()
	defer func() {
		// Let the final page reach the browser.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callbackGrace)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close()
		}
		<-served
	}()
	d.loopback.show(page)
	ctx, cancel := context.WithTimeoutCause(ctx, loopbackWait, fmt.Errorf("no login within %s", loopbackWait))
	defer cancel()
	select {
	case callback := <-d.found:
		return callback, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// show opens the page or shows its URL to the user.
func (l *Loopback) show(page string) {
	open := l.Open
	if open == nil {
		open = OpenBrowser
	}
	if open(page) == nil {
		return
	}
	if l.Show != nil {
		l.Show(page)
		return
	}
	fmt.Fprintf(os.Stderr, "To log in, open this page in a browser:\n\n  %s\n\n", page)
}

// ServeHTTP accepts the one callback with the right state. Any other request
// gets an error page and changes nothing.
func (d *callbackListener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Host != d.hosts[0] && r.Host != d.hosts[1], r.Method != http.MethodGet, r.URL.Path != d.path, len(r.URL.RawQuery) > maxCallback:
		writePage(w, http.StatusBadRequest, pageRefused)
		return
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || len(q["state"]) != 1 || !d.acceptState(q.Get("state")) {
		writePage(w, http.StatusBadRequest, pageRefused)
		return
	}
	if q.Get("error") != "" {
		writePage(w, http.StatusOK, pageFailed)
	} else {
		writePage(w, http.StatusOK, pageDone)
	}
	callback, err := url.Parse(d.redirect)
	if err != nil {
		return
	}
	callback.RawQuery = r.URL.RawQuery
	d.found <- callback // has room: only one callback is accepted
}

// acceptState reports whether state is the expected one, and accepts it once.
func (d *callbackListener) acceptState(state string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state == "" || state != d.state {
		return false
	}
	d.state = ""
	return true
}

// OpenBrowser opens a page in the user's browser. It starts a fixed program
// without a shell, with the page as one argument, and refuses a page that is not a
// plain web address. It waits up to 2 seconds for the program to fail. The caller
// tells the user that no browser was opened.
func OpenBrowser(page string) error {
	if _, err := checkOpenable(page); err != nil {
		return fmt.Errorf("check the page: %w", err)
	}
	name, args := launcher(runtime.GOOS, page)
	path, err := exec.LookPath(name)
	if err != nil {
		return fmt.Errorf("find %s: %w", name, errors.Unwrap(err))
	}
	cmd := exec.Command(path, args...)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the launcher
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	case <-time.After(launchWait):
	}
	return nil
}

// launchWait is how long to wait for a launcher to fail. A launcher that
// still runs after it may have become the browser.
var launchWait = 2 * time.Second

// launcher returns the program that opens a page on an operating system. The
// page is always the last argument.
func launcher(system, page string) (name string, args []string) {
	switch system {
	case "windows":
		return "rundll32", []string{"url.dll,FileProtocolHandler", page}
	case "darwin":
		return "open", []string{page}
	}
	return "xdg-open", []string{page}
}

// checkOpenable refuses anything but an ordinary http or https URL. It also
// refuses characters that have a meaning in a shell, except & and = in a
// query or fragment and the # before a fragment.
func checkOpenable(page string) (*url.URL, error) {
	u, err := url.Parse(page)
	switch {
	case err != nil:
		return nil, errors.New("not a URL")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("not an http or https URL")
	case u.Host == "" || u.User != nil || u.Opaque != "":
		return nil, errors.New("not an http or https URL of a host")
	case len(page) > 16<<10:
		return nil, errors.New("the URL is too long")
	}
	address, fragment, _ := strings.Cut(page, "#")
	before, query, _ := strings.Cut(address, "?")
	inQuery := func(r rune) bool { return !plainInURL(r) && r != '&' && r != '?' }
	if strings.ContainsFunc(before, func(r rune) bool { return !plainInURL(r) }) ||
		strings.ContainsFunc(query, inQuery) || strings.ContainsFunc(fragment, inQuery) {
		return nil, errors.New("the URL contains unsafe characters")
	}
	return u, nil
}

func plainInURL(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("-._~/:@%+=,[]", r)
}
