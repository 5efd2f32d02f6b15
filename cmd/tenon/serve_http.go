package main

import (
	"cmp"
	"crypto/tls"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/cluster"
	"github.com/tenon-mcp/tenon/internal/textclip"
)

// healthPath is for load balancers: it responds with 200 while the server accepts
// calls and 503 while it shuts down. It needs no token.
const healthPath = "/healthz"

// health answers at healthPath.
type health struct{ ending atomic.Bool }

func (h *health) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "use GET", http.StatusMethodNotAllowed)
	case h.ending.Load():
		http.Error(w, "ending", http.StatusServiceUnavailable)
	default:
		io.WriteString(w, "ok\n")
	}
}

// A certificate is read from two files, and read again when they change.
type certificate struct {
	certFile, keyFile string
	warn              func(error)

	mu      sync.Mutex
	current *tls.Certificate
	stamp   [2]fileState
	looked  time.Time
}

// A fileState tells whether a file has changed.
type fileState struct {
	modified time.Time
	size     int64
}

// certificateCheck is the minimum interval between checks of the files.
const certificateCheck = time.Second

// loadCertificate reads the files for the first time.
func loadCertificate(certFile, keyFile string, warn func(error)) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, warn: warn}
	return c, c.load(c.state())
}

func (c *certificate) state() (s [2]fileState) {
	for i, name := range []string{c.certFile, c.keyFile} {
		if info, err := os.Stat(name); err == nil {
			s[i] = fileState{info.ModTime(), info.Size()}
		}
	}
	return s
}

func (c *certificate) load(state [2]fileState) error {
	c.stamp = state
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return err
	}
	c.current = &pair
	return nil
}

// get returns the certificate for a new connection. If new files are invalid, such
// as a certificate without its new key, get returns the old certificate, and
// tries again after the next change.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	cert, err := c.refresh()
	if err != nil {
		c.warn(err)
	}
	return cert, nil
}

func (c *certificate) refresh() (cert *tls.Certificate, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.looked) >= certificateCheck {
		c.looked = now
		if state := c.state(); state != c.stamp {
			err = c.load(state)
		}
	}
	return c.current, err
}

// openAccessLog opens the file of an access log; "-" is standard error. The
// function it returns closes it.
func openAccessLog(name string, stderr io.Writer) (*slog.Logger, func() error, error) {
	if name == "-" {
		return slog.New(slog.NewJSONHandler(stderr, nil)), func() error { return nil }, nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, err
	}
	return slog.New(slog.NewJSONHandler(f, nil)), f.Close, nil
}

// logAccess writes one line for each request when it has ended. One that another
// replica has forwarded is a "forwarded request", since the "request" is in the log
// of that replica. It writes neither query strings nor headers, where secrets may be, except Mcp-Method.
func logAccess(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		seen := &responseLog{ResponseWriter: w}
		defer func() {
			if r.URL.Path == healthPath && seen.status < 400 {
				return
			}
			attrs := []any{"remote", r.RemoteAddr, "method", textclip.Clip(r.Method, 200), "path", textclip.Clip(r.URL.Path, 200), "proto", r.Proto,
				"status", seen.status, "bytes", seen.bytes, "ms", time.Since(began).Milliseconds()}
			if method := r.Header.Get("Mcp-Method"); method != "" {
				attrs = append(attrs, "mcp", textclip.Clip(method, 200))
			}
			if cluster.Forwarded(r.Context()) {
				log.Info("forwarded request", attrs...)
			} else {
				log.Info("request", attrs...)
			}
		}()
		next.ServeHTTP(seen, r)
	})
}

// A responseLog records the status and size of a response.
type responseLog struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (w *responseLog) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *responseLog) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *responseLog) Write(b []byte) (int, error) {
	w.status = cmp.Or(w.status, http.StatusOK)
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}
