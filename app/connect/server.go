package connect

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/auth/login"
	"github.com/tenon-mcp/tenon/auth/tokens"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/internal/restart"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/streamclient"
)

// Options configure servers. Nil means no builtin servers, no user to ask and
// nothing observed.
type Options struct {
	// Client has our identity and the handlers of input requests.
	Client client.Options

	// Builtin creates the builtin server with a name. Nil: there are none.
	Builtin func(name string, query url.Values) (Builtin, error)

	// Direct passes calls to builtin servers as they are, with their principal and
	// the values of their context. No message is made of them, so Watch does not
	// see them. Without it a builtin server is behind a pipe, like a program, and
	// does not know who calls.
	Direct bool

	// Known is the revision to use instead of detecting it. It may be empty.
	Known mcp.Revision

	// ConnectTimeout bounds the time to connect. 0 means 30 s.
	ConnectTimeout time.Duration

	// Once gives up when the server ends or cannot be connected, for programs
	// that make one call. Else it is restarted.
	Once bool

	// KeepTrying restarts the server however often it has ended, after 5 s at
	// most. Without it, a program that ends five times within a minute has failed.
	KeepTrying bool

	// Pace slows down the reading of a server that sends far more messages than
	// it is asked for: about 1000 a second, and 100 for each call.
	Pace bool

	// Tokens stores logins. Nil stores them in memory.
	Tokens tokens.Store

	// Account separates the logins of several users in Tokens, as in
	// [login.Options], and their tokens in Secrets.
	Account string

	// Subject returns the token of the user for whom the connection is made, for
	// the grants of an entry that exchange it. Nil means that such entries cannot
	// be used.
	Subject func(ctx context.Context) (string, error)

	// Transport sends the requests to HTTP servers. Nil means one of
	// [streamclient.NewTransport] for each server, whose idle connections are
	// closed with the server.
	Transport http.RoundTripper

	// Proxy chooses the proxy for metadata and tokens of servers whose entry has
	// none, as in [login.Options]. Nil means none.
	Proxy func(*http.Request) (*url.URL, error)

	// OpenPage shows the user a login page, which the server has chosen: it must
	// not open it before the user agrees. If it fails, Warn gets the page. Nil:
	// only the state has the page.
	OpenPage func(server, page string) error

	// Secrets gets every token that is sent to the server, under the names of the
	// server and of the Account. Its values and the secrets of the entry are removed from states and
	// errors. Nil means an own set.
	Secrets *redact.Values

	// NoLogin disables logins: a server that requires one fails with an error.
	NoLogin bool

	// Watch returns the Watcher of each new connection. It may be nil.
	Watch func(server string) Watcher

	// Changed is called with every change of state, one at a time for each
	// server. It must not block. It may be nil.
	Changed func(State)

	// Warn is called with problems that could be ignored. It must not block. It
	// may be nil.
	Warn func(server, warning string)
}

// A Builtin is a server in this process.
type Builtin interface {
	mcp.Handler
	Close() error
}

// A Watcher observes one connection. Its methods must be safe for concurrent use
// and must not block, keep or change their arguments.
type Watcher interface {
	Frame(d jsonrpc.Direction, frame []byte)               // a message or an invalid frame
	Stderr(line string)                                    // a line of the process's standard error
	RoundTripper(next http.RoundTripper) http.RoundTripper // sees the HTTP requests
}

// A Server is the live server of an entry. It is an [mcp.Handler]: a call waits
// while the server starts, and fails at once if it has failed permanently.
type Server struct {
	entry  config.Server
	opts   Options
	client *client.Client
	own    *http.Transport // nil with Options.Transport

	pace   pacer
	orders sync.Mutex // one of Restart, Disable and Close at a time

	mu      sync.Mutex
	keeper  *restart.Supervisor[link]
	renewal chan struct{} // closed when Restart has set a new keeper; nil without a Restart
	profile *mcp.ClientProfile
	known   mcp.Revision
	state   State
	closed  bool
	pages   *login.PageLimit
	granted tokens.Memory // tokens that a grant can get again
	logins  int           // requests that wait for the user to log in
	before  Phase         // the phase before the login
	changes []State       // changes to report
	emitter bool          // a goroutine is reporting them
}

// New starts the server of an entry in the background. A disabled entry starts
// with Restart.
func New(entry config.Server, o *Options) *Server {
	s := &Server{entry: entry}
	if o != nil {
		s.opts = *o
	}
	if s.opts.Transport == nil && entry.URL != "" {
		s.own = streamclient.NewTransport()
		s.opts.Transport = s.own
	}
	if s.opts.Secrets == nil {
		s.opts.Secrets = redact.New(entry.Secrets...)
	}
	s.known = s.opts.Known
	if entry.Timeout != 0 {
		s.opts.Client.IdleTimeout = entry.Timeout
	}
	s.state = State{Server: entry.Name, Kind: entry.Kind, Phase: Starting, Since: time.Now()}
	// The client is created around this server, since its handlers also serve
	// requests outside of calls. Dial cannot fail: wrapped returns the server.
	s.client, _ = client.Dial(context.Background(), wrapped{s}, &s.opts.Client)
	if entry.Disabled {
		s.enter(Disabled, "switched off in the configuration", nil)
		return s
	}
	s.start()
	return s
}

// Open starts a server and waits until it is connected. If that fails, the server
// is closed.
func Open(ctx context.Context, entry config.Server, o *Options) (*Server, error) {
	s := New(entry, o)
	if err := s.Wait(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// wrapped is a Dialer that returns an existing server.
type wrapped struct{ s *Server }

func (a wrapped) Dial(_ context.Context, p *mcp.ClientProfile) (mcp.Conn, error) {
	a.s.profile = p
	return mcp.ChainConn(handler(a), tasks.Client), nil
}

// handler keeps the client from closing the server.
type handler struct{ s *Server }

func (h handler) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	return h.s.Serve(ctx, c)
}

func (h handler) Close() error { return nil }

// start creates the keeper. The lock must not be held.
func (s *Server) start() {
	var backoff restart.Backoff
	switch {
	case s.opts.Once:
		backoff.Limit, backoff.Window = 1, 24*time.Hour
	case s.opts.KeepTrying:
		backoff.Limit, backoff.Max = -1, 5*time.Second
	case s.entry.Kind == config.HTTP || s.entry.Kind == config.SSE:
		backoff.Limit = -1 // a URL becomes reachable with its network
	}
	keeper := restart.New(s.connect, &restart.Options{Backoff: backoff, Changed: s.onStatus})
	s.mu.Lock()
	s.keeper = keeper
	s.mu.Unlock()
	keeper.Get(endedContext()) // a keeper starts with the first Get
}

// endedContext returns a context that has ended, for calls that must not wait.
func endedContext() context.Context {
	ctx, end := context.WithCancel(context.Background())
	end()
	return ctx
}

// Name returns the server's name in the configuration.
func (s *Server) Name() string { return s.entry.Name }

// Entry returns the entry of the server.
func (s *Server) Entry() config.Server { return s.entry }

// Client returns the client of the server. It need not be closed. It waits for
// the results of tool calls that the server runs as tasks.
func (s *Server) Client() *client.Client { return s.client }

// State returns the current state.
func (s *Server) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Wait waits until the server is connected, or returns why it cannot be.
func (s *Server) Wait(ctx context.Context) error {
	_, err := s.current(ctx)
	return err
}

// Stderr returns the last lines of the process's standard error; empty if it is
// not a process.
func (s *Server) Stderr() string {
	if l, err := s.current(endedContext()); err == nil {
		return s.opts.Secrets.Text(l.lastWords())
	}
	return s.State().Stderr
}

// Serve makes a call.
func (s *Server) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	l, err := s.current(ctx)
	if err != nil {
		return mcp.Result{}, err
	}
	s.pace.asked()
	began := time.Now()
	r, err := l.Serve(ctx, c)
	if closed, ok := errors.AsType[*mcp.ClosedError](err); ok {
		err = &LostError{Server: s.entry.Name, Cause: closed.Cause} // of one connection: another one follows
	}
	if wants := needsUser(err); wants != nil {
		err = wants
	}
	s.account(ctx, c, l, time.Since(began), err)
	return r, err
}

// current returns the current connection. It waits while the server starts.
func (s *Server) current(ctx context.Context) (link, error) {
	for {
		keeper, err := s.waitKeeper(ctx)
		if err != nil {
			return nil, err
		}
		l, err := keeper.Get(ctx)
		switch {
		case err == nil:
			return l, nil
		case errors.Is(err, restart.ErrClosed):
			if !s.renewed(keeper) {
				return nil, &UnavailableError{State: s.State(), known: s.opts.Secrets}
			}
		case ctx.Err() != nil && errors.Is(err, ctx.Err()):
			return nil, err
		default:
			return nil, &UnavailableError{State: s.State(), Cause: err, known: s.opts.Secrets}
		}
	}
}

// renewed reports whether another keeper has replaced, or will replace, a closed
// one.
func (s *Server) renewed(closed *restart.Supervisor[link]) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.renewal != nil || s.keeper != nil && s.keeper != closed
}

// waitKeeper returns the keeper. It waits during a Restart.
func (s *Server) waitKeeper(ctx context.Context) (*restart.Supervisor[link], error) {
	for {
		s.mu.Lock()
		keeper, renewal, state := s.keeper, s.renewal, s.state
		s.mu.Unlock()
		if keeper != nil {
			return keeper, nil
		}
		if renewal == nil {
			return nil, &UnavailableError{State: state, known: s.opts.Secrets}
		}
		select {
		case <-renewal:
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for server %s to restart: %w", state.Server, context.Cause(ctx))
		}
	}
}

// Restart restarts the server, also if it has failed or was disabled. Open calls
// fail; new calls wait for the restart.
func (s *Server) Restart() error {
	s.orders.Lock()
	defer s.orders.Unlock()
	renewal := make(chan struct{})
	s.mu.Lock()
	s.renewal = renewal
	s.pages = nil // the user may log in again
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.renewal = nil
		s.mu.Unlock()
		close(renewal)
	}()
	if err := s.stop(); err != nil {
		return err
	}
	s.enter(Starting, "", nil)
	s.start()
	return nil
}

// Disable ends the server; calls fail until Restart.
func (s *Server) Disable() error {
	s.orders.Lock()
	defer s.orders.Unlock()
	if err := s.stop(); err != nil {
		return err
	}
	s.enter(Disabled, "switched off", nil)
	return nil
}

// Close ends the server with its process and that one's children. It may be
// called more than once.
func (s *Server) Close() error {
	s.orders.Lock()
	defer s.orders.Unlock()
	if s.stop() != nil {
		return nil
	}
	s.client.Close()
	s.enter(Closed, "", nil)
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	return nil
}

// stop ends the keeper. The error reports only that the server is closed already;
// the state has how the process ended. The orders are held.
func (s *Server) stop() error {
	s.mu.Lock()
	keeper, state, closed := s.keeper, s.state, s.closed
	s.keeper = nil
	s.mu.Unlock()
	if closed {
		return &UnavailableError{State: state, known: s.opts.Secrets}
	}
	if keeper != nil {
		keeper.Close()
	}
	if s.own != nil {
		s.own.CloseIdleConnections()
	}
	return nil
}

// noWatcher is a Watcher that does nothing.
type noWatcher struct{}

func (noWatcher) Frame(jsonrpc.Direction, []byte)                       {}
func (noWatcher) Stderr(string)                                         {}
func (noWatcher) RoundTripper(next http.RoundTripper) http.RoundTripper { return next }
