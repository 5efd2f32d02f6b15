// Package httpsse is the HTTP+SSE transport of revision 2024-11-05: the server
// sends messages as server-sent events, and the client sends each message with
// POST. It is for clients and servers without streamable HTTP.
//
// A [Handler] is the server, for one path of a mux. A session lasts as long as
// its stream and cannot be resumed. Its messages may be of any revision.
//
// An [Endpoint] is the client.
//
// Deprecated: use packages streamable and streamclient.
package httpsse

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/internal/httpguard"
)

// Options configures a [Handler]. A nil *Options means the defaults.
type Options struct {
	// Hosts lists further values of the Host header to accept: a name or an
	// address, with a port, or without for any port. If unset, requests to a
	// loopback address must name a loopback host; others may name any.
	Hosts []string

	// AnyHost disables the check of the Host header.
	AnyHost bool

	// Origins lists further values of the Origin header to accept, such as
	// https://app.example; their pages may read responses. If unset, a page must
	// have the same origin or, on a loopback address, a loopback host. "*"
	// accepts all.
	Origins []string

	// Principal returns the verified client of a request. A session belongs to
	// the principal that opened it and does not exist for others. Nil means
	// that clients are unverified.
	Principal func(*http.Request) *mcp.Principal

	// PostPath is the path for messages, if it is not the path of the stream;
	// the Handler must serve both. Empty means the same path.
	PostPath string

	// MaxSessions is the maximum number of open sessions. 0 means 1000.
	MaxSessions int

	// MaxBody is the largest message in bytes. 0 means 4 MiB.
	MaxBody int

	// BodyIdle is how long the client may pause while it sends a message. 0
	// means 30 s.
	BodyIdle time.Duration

	// WriteIdle is how long a client may read nothing while messages wait for
	// it, before its session ends. 0 means 30 s.
	WriteIdle time.Duration

	// KeepAlive is the interval of keep-alive comments on an idle stream. 0
	// means 25 s.
	KeepAlive time.Duration

	// Era configures the served eras, keys and limits.
	Era era.ServerOptions

	// Logger logs each refused request, for the server's operator. Nil
	// disables logging.
	Logger *slog.Logger
}

// A Handler serves one [mcp.Handler] to many clients. GET opens a session, POST
// sends a message to one.
type Handler struct {
	opts     Options
	guard    *httpguard.Guard
	server   *era.Server
	sessions sessions
}

// NewHandler returns a Handler that serves h. The error says what is wrong with
// the options.
func NewHandler(h mcp.Handler, o *Options) (*Handler, error) {
	made := &Handler{}
	if o != nil {
		made.opts = *o
	}
	o = &made.opts
	o.WriteIdle = cmp.Or(max(o.WriteIdle, 0), 30*time.Second)
	o.KeepAlive = cmp.Or(max(o.KeepAlive, 0), 25*time.Second)
	o.MaxSessions = cmp.Or(max(o.MaxSessions, 0), 1000)
	if o.PostPath != "" && !strings.HasPrefix(o.PostPath, "/") {
		return nil, errors.New("PostPath must begin with a slash")
	}
	var err error
	made.guard, err = httpguard.New(httpguard.Options{
		Hosts: o.Hosts, AnyHost: o.AnyHost, Origins: o.Origins,
		Principal: o.Principal, MaxBody: o.MaxBody, BodyIdle: o.BodyIdle, Logger: o.Logger,
	})
	if err != nil {
		return nil, err
	}
	if made.server, err = era.NewServer(h, &o.Era); err != nil {
		return nil, err
	}
	made.sessions.init(o.MaxSessions)
	return made, nil
}

// Shutdown ends all sessions, refuses new ones, and waits until they have ended
// or ctx ends. http.Server.Shutdown waits for their streams, so call this first.
func (h *Handler) Shutdown(ctx context.Context) error { return h.sessions.shutdown(ctx) }

// corsRules is what pages of listed origins may do.
var corsRules = &httpguard.Sharing{Methods: "GET, POST", Headers: "Content-Type, Authorization, MCP-Protocol-Version"}

// ServeHTTP serves GET, until the session ends, and POST.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f := h.guard.Admit(r); f != nil {
		h.guard.Refuse(w, r, f)
		return
	}
	if h.guard.Share(w, r, corsRules) {
		return
	}
	switch r.Method {
	case http.MethodGet:
		h.open(w, r)
	case http.MethodPost:
		h.deliver(w, r)
	default:
		w.Header().Set("Allow", "GET, POST")
		h.guard.Refuse(w, r, &httpguard.Refusal{Status: http.StatusMethodNotAllowed, Reason: "GET opens a stream, POST sends a message"})
	}
}

// open serves the stream of a new session.
func (h *Handler) open(w http.ResponseWriter, r *http.Request) {
	who := h.guard.Principal(r)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	s := &session{id: rand.Text(), owner: who.Key(), end: cancel, stream: newStream(w, &h.opts)}
	if reason := h.sessions.add(s); reason != "" {
		w.Header().Set("Retry-After", "10")
		h.guard.Refuse(w, r, &httpguard.Refusal{Status: http.StatusServiceUnavailable, Reason: reason})
		return
	}
	defer h.sessions.remove(s)
	if err := s.stream.begin(r); err != nil {
		http.Error(w, "this server cannot stream: its response writer must support Flush, or Unwrap", http.StatusInternalServerError)
		return
	}
	defer s.stream.finish()
	// The error of a session is ignored: the client has disconnected.
	if s.stream.event("endpoint", []byte(h.endpoint(r, s.id))) == nil {
		_ = h.server.ServeStreamFor(ctx, s.stream, who)
	}
}

// sessionParam is the query parameter with the session of a POST.
const sessionParam = "sessionId"

// endpoint returns the URL for messages of a session. It has no host, so that it
// works behind a proxy.
func (h *Handler) endpoint(r *http.Request, id string) string {
	path := h.opts.PostPath
	if path == "" {
		// The path of the client: a mux may have changed r.URL.
		u, err := url.ParseRequestURI(r.RequestURI)
		if err != nil {
			u = r.URL
		}
		// Two slashes would start a host.
		path = "/" + strings.TrimLeft(u.EscapedPath(), "/")
	}
	return path + "?" + sessionParam + "=" + id
}

// deliver serves POST: it queues a message for its session.
func (h *Handler) deliver(w http.ResponseWriter, r *http.Request) {
	if f := h.guard.IsJSON(r); f != nil {
		h.guard.Refuse(w, r, f)
		return
	}
	s := h.sessions.find(r.URL.Query()[sessionParam], h.guard.Principal(r).Key())
	if s == nil {
		h.guard.Refuse(w, r, &httpguard.Refusal{Status: http.StatusNotFound, Reason: "there is no such session: open one with GET"})
		return
	}
	body, f := h.guard.Body(w, r)
	if f != nil {
		h.guard.Refuse(w, r, f)
		return
	}
	switch err := s.stream.enqueue(body); {
	case errors.Is(err, errFull):
		w.Header().Set("Retry-After", "1")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	case err != nil:
		http.Error(w, "there is no such session: open one with GET", http.StatusNotFound)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}
