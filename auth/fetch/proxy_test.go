package fetch

import (
	"bufio"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A proxyServer is a real proxy on loopback. It connects to target whatever
// machine it is asked for, as a proxy with names of its own does.
type proxyServer struct {
	*httptest.Server
	target string // host:port

	mu    sync.Mutex
	asked []string
	auth  string
}

func newProxy(t *testing.T, target string) *proxyServer {
	p := &proxyServer{target: target}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *proxyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, r.Method+" "+r.Host)
	p.auth = r.Header.Get("Proxy-Authorization")
	p.mu.Unlock()
	if r.Method != http.MethodConnect || strings.HasPrefix(r.Host, "denied.") {
		http.Error(w, "no", http.StatusForbidden)
		return
	}
	far, err := net.Dial("tcp", p.target)
	if err != nil {
		http.Error(w, "no", http.StatusBadGateway)
		return
	}
	defer far.Close()
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer near.Close()
	fmt.Fprint(near, "HTTP/1.1 200 OK\r\n\r\n")
	var wg sync.WaitGroup
	wg.Go(func() { pipe(far, buffered.Reader) })
	wg.Go(func() { pipe(near, bufio.NewReader(far)) })
	wg.Wait()
}

func pipe(to net.Conn, from *bufio.Reader) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
}

func (p *proxyServer) requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

// exampleServer is an https server whose certificate is for example.com.
func exampleServer(t *testing.T) (*httptest.Server, *x509.CertPool) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello from "+r.Host) }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return s, pool
}

// A7: with the option, https requests go through the proxy, whose own address
// may be private; what is forbidden without a proxy is with one.
func TestProxy(t *testing.T) {
	target, pool := exampleServer(t)
	p := newProxy(t, target.Listener.Addr().String())
	at, _ := url.Parse(p.URL)
	at.User = url.UserPassword("me", "geheim")
	c := newClient(t, &Options{RootCAs: pool, Proxy: http.ProxyURL(at)})
	body, err := c.Get(t.Context(), "https://example.com/doc")
	if err != nil || string(body) != "hello from example.com" {
		t.Fatalf("%q, %v", body, err)
	}
	if got := p.requests(); len(got) != 1 || got[0] != "CONNECT example.com:443" {
		t.Errorf("the proxy was asked for %q", got)
	}
	if p.auth == "" {
		t.Error("the proxy was not told who asks")
	}
	if err := c.Check(t.Context(), "https://example.com/doc"); err != nil {
		t.Errorf("check: %v", err)
	}
	for _, raw := range []string{
		"https://169.254.169.254/", "https://169.254.169.254./", "https://127.0.0.1/", "https://10.0.0.1/", "https://[::1]/", "https://localhost/",
		"https://0x7f.1/", "https://127.1/", "https://2130706433/", "https://[::ffff:10.0.0.1]/", "http://example.com/",
		"https://intranet/", "https://metadata.google.internal/", "https://printer.local/", "https://router.home.arpa/", "https://ex\u0430mple.com/", "https://user@example.com/",
	} {
		if _, err := c.Get(t.Context(), raw); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", raw, err)
		}
		if err := c.Check(t.Context(), raw); !errors.Is(err, ErrRefused) {
			t.Errorf("check %s: %v", raw, err)
		}
	}
	if got := p.requests(); len(got) != 1 {
		t.Errorf("the proxy was asked for %q", got[1:])
	}
	_, err = c.Get(t.Context(), "https://denied.example.com/?code=geheim")
	if err == nil || !strings.Contains(err.Error(), "proxy "+p.URL+" refused to connect: status 403") || strings.Contains(err.Error(), "geheim") {
		t.Errorf("error %v", err)
	}
	broken := newClient(t, &Options{Proxy: func(*http.Request) (*url.URL, error) { return nil, errors.New("invalid http://me:geheim@") }})
	if _, err := broken.Get(t.Context(), "https://example.com/"); err == nil || strings.Contains(err.Error(), "geheim") {
		t.Errorf("error %v", err)
	}
	private := newClient(t, &Options{RootCAs: pool, Proxy: http.ProxyURL(at), AllowPrivate: true})
	if _, err := private.Get(t.Context(), "https://intranet/"); errors.Is(err, ErrRefused) {
		t.Errorf("a private name that is allowed: %v", err)
	}
}

// This machine is reached directly, whatever the proxy function says.
func TestProxyIsNotForThisMachine(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "here") })
	c := newClient(t, &Options{AllowLoopback: true, Proxy: func(*http.Request) (*url.URL, error) {
		t.Error("a proxy was looked for")
		return nil, nil
	}})
	if body, err := c.Get(t.Context(), s.URL); string(body) != "here" {
		t.Errorf("%q, %v", body, err)
	}
}

const proxyTestVar = "TENON_FETCH_TEST_TARGET"

// HTTPS_PROXY counts when it is asked for, and not otherwise. The environment is
// read once in a process, so another one is started.
func TestProxyFromEnvironment(t *testing.T) {
	if at := os.Getenv(proxyTestVar); at != "" {
		for _, o := range []*Options{{Proxy: http.ProxyFromEnvironment}, {}} {
			c := New(o)
			_, err := c.Get(t.Context(), at)
			fmt.Printf("proxy %v: %v\n", o.Proxy != nil, err)
			c.Close()
		}
		return
	}
	p := newProxy(t, "127.0.0.1:1")
	cmd := exec.Command(os.Args[0], "-test.run", "^TestProxyFromEnvironment$")
	cmd.Env = append(os.Environ(), proxyTestVar+"=https://denied.invalid/", "HTTPS_PROXY="+p.URL, "NO_PROXY=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := p.requests(); len(got) != 1 || got[0] != "CONNECT denied.invalid:443" {
		t.Errorf("the proxy was asked for %q; %s", got, out)
	}
	if !strings.Contains(string(out), "proxy true: fetch https://denied.invalid/: proxy "+p.URL+" refused") {
		t.Errorf("output %s", out)
	}
}

// Check judges a URL as a request would be, and makes none.
func TestCheck(t *testing.T) {
	asked := false
	s := serve(t, func(http.ResponseWriter, *http.Request) { asked = true })
	if err := local(t).Check(t.Context(), s.URL); err != nil {
		t.Error(err)
	}
	for _, raw := range []string{s.URL, "https://localhost/", "http://example.com/", "https://10.1.2.3/token", "ftp://example.com/", "https://u@example.com/"} {
		if err := newClient(t, nil).Check(t.Context(), raw); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", raw, err)
		}
	}
	for _, raw := range []string{"https://nowhere.invalid/", "%zz"} {
		if err := newClient(t, nil).Check(t.Context(), raw); err == nil {
			t.Errorf("%s: no error", raw)
		}
	}
	if asked {
		t.Error("a request was made")
	}
}
