package fetch

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// serve runs a server on loopback.
func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func local(t *testing.T) *Client { return newClient(t, &Options{AllowLoopback: true}) }

func TestGetJSON(t *testing.T) {
	for _, test := range []struct {
		name, contentType, body string
		status                  int
		want                    string // part of the error; empty means none
	}{
		{"good", "application/json", `{"issuer":"x","other":1}`, 200, ""},
		{"charset", "application/json; charset=utf-8", `{"issuer":"x"}`, 200, ""},
		{"kin", "application/jwk-set+json", `{"issuer":"x"}`, 200, ""},
		{"html", "text/html", `{"issuer":"x"}`, 200, "not JSON"},
		{"no type", "", `{"issuer":"x"}`, 200, "not JSON"},
		{"another case", "application/json", `{"Issuer":"x"}`, 200, "-"},
		{"twice", "application/json", `{"issuer":"x","issuer":"y"}`, 200, "duplicate"},
		{"more after it", "application/json", `{"issuer":"x"} {}`, 200, "fetch"},
		{"not found", "application/json", `{"issuer":"x"}`, 404, "status 404"},
		{"created", "application/json", `{"issuer":"x"}`, 201, "status 201"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header()["Content-Type"] = []string{test.contentType}
				w.WriteHeader(test.status)
				fmt.Fprint(w, test.body)
			})
			var into struct {
				Issuer string `json:"issuer"`
			}
			err := local(t).GetJSON(t.Context(), s.URL+"/doc?secret=1", &into)
			switch {
			case test.want == "" && (err != nil || into.Issuer != "x"):
				t.Errorf("got %q, %v", into.Issuer, err)
			case test.want == "-" && (err != nil || into.Issuer != ""):
				t.Errorf("a name of another case was taken: %q, %v", into.Issuer, err)
			case len(test.want) > 1 && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want %q", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error shows the query: %v", err)
			}
			if status, ok := errors.AsType[*StatusError](err); test.status != 200 && (!ok || status.Status != test.status) {
				t.Errorf("got %v, want status %d", err, test.status)
			}
		})
	}
}

// A04: a redirect to another origin is not followed, wherever it leads.
func TestRedirects(t *testing.T) {
	var stolen atomic.Int32
	other := serve(t, func(http.ResponseWriter, *http.Request) { stolen.Add(1) })
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/here":
			http.Redirect(w, r, "/there", http.StatusFound)
		case "/there":
			fmt.Fprint(w, "done")
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		default:
			http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusTemporaryRedirect)
		}
	})
	c := local(t)
	if body, err := c.Get(t.Context(), s.URL+"/here"); err != nil || string(body) != "done" {
		t.Errorf("within the origin: %q, %v", body, err)
	}
	if _, err := c.Get(t.Context(), s.URL+"/loop"); !errors.Is(err, ErrRefused) {
		t.Errorf("a loop: %v", err)
	}
	for _, to := range []string{other.URL, other.URL + "/?token=secret", "http://127.0.0.1:6379/", "https://169.254.169.254/", "//evil.example/", "file:///etc/passwd"} {
		_, err := c.Get(t.Context(), s.URL+"/away?to="+url.QueryEscape(to))
		if !errors.Is(err, ErrRefused) || strings.Contains(err.Error(), "secret") {
			t.Errorf("to %s: %v", to, err)
		}
		status, _, _, err := c.PostForm(t.Context(), s.URL+"/away?to="+url.QueryEscape(to), url.Values{"code": {"c"}}, nil)
		if err != nil || status != http.StatusTemporaryRedirect {
			t.Errorf("POST to %s: %d, %v", to, status, err)
		}
	}
	if status, _, _, err := c.PostForm(t.Context(), s.URL+"/here", nil, nil); err != nil || status != http.StatusFound {
		t.Errorf("POST within the origin: %d, %v", status, err)
	}
	if stolen.Load() != 0 {
		t.Error("the other origin was visited")
	}
}

func TestPostForm(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("DPoP-Nonce", "n1")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, "%s %s %s %s", r.Method, r.Header.Get("Content-Type"), r.FormValue("grant_type"), r.Header.Get("DPoP"))
	})
	status, header, body, err := local(t).PostForm(t.Context(), s.URL, url.Values{"grant_type": {"x y"}}, http.Header{"dpop": {"proof"}})
	if err != nil || status != 400 || header.Get("DPoP-Nonce") != "n1" || string(body) != "POST application/x-www-form-urlencoded x y proof" {
		t.Errorf("%d %v %q %v", status, header, body, err)
	}
}

func TestCaps(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/most":
			fmt.Fprint(w, strings.Repeat("x", 1<<20))
		case "/promised":
			fmt.Fprint(w, strings.Repeat("x", 1<<20+1))
		case "/endless":
			for r.Context().Err() == nil {
				fmt.Fprint(w, strings.Repeat("x", 1<<16))
			}
		case "/header":
			w.Header().Set("X", strings.Repeat("x", 40<<10))
		}
	})
	c := local(t)
	if body, err := c.Get(t.Context(), s.URL+"/most"); err != nil || len(body) != 1<<20 {
		t.Errorf("%d bytes, %v", len(body), err)
	}
	for _, path := range []string{"/promised", "/endless"} {
		if _, err := c.Get(t.Context(), s.URL+path); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := c.Get(t.Context(), s.URL+"/header"); err == nil {
		t.Error("a header of 40 KiB was taken")
	}
	if _, err := newClient(t, &Options{AllowLoopback: true, MaxBody: 10}).Get(t.Context(), s.URL+"/most"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("an own cap: %v", err)
	}
}

// The time is for the whole exchange: a server that sends a byte now and then
// does not get more.
func TestTimeout(t *testing.T) {
	held := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			fmt.Fprint(w, "x")
			_ = http.NewResponseController(w).Flush()
		}
		<-held
	})
	defer close(held)
	for _, path := range []string{"/header", "/body"} {
		_, err := newClient(t, &Options{AllowLoopback: true, Timeout: 20 * time.Millisecond}).Get(t.Context(), s.URL+path)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", path, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := local(t).Get(ctx, s.URL); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	if _, err := local(t).Get(t.Context(), s.URL); err == nil {
		t.Error("a certificate of nobody was taken")
	}
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	c := newClient(t, &Options{AllowLoopback: true, RootCAs: pool})
	if body, err := c.Get(t.Context(), s.URL); err != nil || !strings.HasPrefix(string(body), "HTTP/") {
		t.Errorf("%q, %v", body, err)
	}
	if _, err := newClient(t, &Options{RootCAs: pool}).Get(t.Context(), s.URL); !errors.Is(err, ErrRefused) {
		t.Errorf("loopback with https: %v", err)
	}
}

// An environment that names a proxy does not change where requests go.
func TestNoProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	tr := newTransport(Options{})
	if tr.secure.Proxy != nil || tr.plain.Proxy != nil {
		t.Error("a proxy would be asked")
	}
}

// The same rules hold for a foreign http.Client.
func TestTransport(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, strings.Repeat("x", 2<<20)) })
	foreign := http.Client{Transport: newClient(t, nil).Transport()}
	if _, err := foreign.Post(s.URL, "text/plain", strings.NewReader("x")); !errors.Is(err, ErrRefused) {
		t.Errorf("loopback: %v", err)
	}
}

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"https://u:p@h/p?q=secret#f": "https://h/p",
		"https://h":                  "https://h",
		"%zz":                        "(an invalid URL)",
	} {
		if got := Redact(in); got != want {
			t.Errorf("%q: got %q", in, got)
		}
	}
}
