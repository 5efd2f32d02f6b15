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
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/stdio"
)

// Options say how servers are met and who watches. Nil means that nobody
// watches, that nobody can be asked, and that there are no builtin servers.
type Options struct {
	// Client is how we introduce ourselves, and who answers questions.
	Client client.Options

	// Builtin makes the builtin server of a name. Nil: there are none.
	Builtin func(name string, query url.Values) (Builtin, error)

	// Known is the revision to speak, without asking the server what it
	// knows. Empty means that it is found out.
	Known mcp.Revision

	// ConnectTimeout is how long it may take until the server is met. 0
	// means 30 s.
	ConnectTimeout time.Duration

	// Once gives up when the server ends or cannot be met, for programs that
	// make one call. Unset, it is started again.
	Once bool

	// Tokens keeps what logins bring. Nil keeps it in memory.
	Tokens tokens.Store

	// Proxy chooses the proxy for metadata and tokens of servers whose entry
	// names none, as in [login.Options]. Nil means that none is used.
	Proxy func(*http.Request) (*url.URL, error)

	// OpenPage shows the person a page to log in at, which the server has
	// chosen: it must not open it before the person agrees. An error has the
	// page told by Warn. Nil: the state says where to log in, and nothing is
	// opened.
	OpenPage func(server, page string) error

	// Secrets gets every token that is sent to the server under the server's
	// name, and is taken out of states and errors, beside what the entry says
	// is secret. Nil means that the server has a set of its own.
	Secrets *redact.Values

	// NoLogin refuses to log in: a server that wants it fails with an error
	// that says so.
	NoLogin bool

	// Watch is asked for a Watcher each time a connection is made. Nil:
	// nobody watches.
	Watch func(server string) Watcher

	// Changed hears of every change of state, one at a time for each server.
	// It must not block. Nil: nobody does.
	Changed func(State)

	// Warn hears of what was wrong and could be passed over. It must not
	// block. Nil drops warnings.
	Warn func(server, warning string)
}

// A Builtin is a server in this process.
type Builtin interface {
	mcp.Handler
	Close() error
}

// A Watcher sees everything that passes on one connection. Its methods may be
// called by many goroutines and must not block, keep or change what they get.
type Watcher interface {
	Frame(d jsonrpc.Direction, frame []byte)               // a message, or what came in the place of one
	Stderr(line string)                                    // a line of the process's standard error
	RoundTripper(next http.RoundTripper) http.RoundTripper // sees the HTTP requests
}

// A Server is one entry, alive. It is an [mcp.Handler]: a call waits for the
// server while it starts, and fails at once when it has failed for good.
type Server struct {
	entry  config.Server
	opts   Options
	client *client.Client

	orders sync.Mutex // one of Restart, Disable and Close at a time

	mu      sync.Mutex
	keeper  *stdio.Restarter[link]
	renewal chan struct{} // closed when Restart has put a new keeper in place; nil if none is due
	profile *mcp.ClientProfile
	known   mcp.Revision
	state   State
	closed  bool
	pages   *login.PageLimit
	logins  int     // requests that wait for the person to log in
	before  Phase   // what a login has interrupted
	changes []State // changes that nobody was told of yet
	emitter bool    // somebody is telling them
}

// New starts the server of an entry in the background. A disabled entry is not
// started before Restart.
func New(entry config.Server, o *Options) *Server {
	s := &Server{entry: entry}
	if o != nil {
		s.opts = *o
	}
	if s.opts.Secrets == nil {
		s.opts.Secrets = redact.New(entry.Secrets...)
	}
	s.known = s.opts.Known
	if entry.Timeout != 0 {
		s.opts.Client.IdleTimeout = entry.Timeout
	}
	s.state = State{Server: entry.Name, Kind: entry.Kind, Phase: Starting, Since: time.Now()}
	// The client's persona answers what belongs to no call, so the client is
	// made around this server and not the other way round. Dial cannot fail:
	// it hands the server over as it is.
	s.client, _ = client.Dial(context.Background(), wrapped{s}, &s.opts.Client)
	if entry.Disabled {
		s.enter(Disabled, "switched off in the configuration", nil)
		return s
	}
	s.start()
	return s
}

// Open starts a server and waits until it was met. When that fails the server
// is closed.
func Open(ctx context.Context, entry config.Server, o *Options) (*Server, error) {
	s := New(entry, o)
	if err := s.Wait(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// wrapped is a Dialer that finds the server made already.
type wrapped struct{ s *Server }

func (a wrapped) Dial(_ context.Context, p *mcp.ClientProfile) (mcp.Conn, error) {
	a.s.profile = p
	return handler(a), nil
}

// handler keeps the client from closing the server.
type handler struct{ s *Server }

func (h handler) Serve(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	return h.s.Serve(ctx, c)
}

func (h handler) Close() error { return nil }

// start gives the server a keeper of its own. The lock must not be held.
func (s *Server) start() {
	backoff := &stdio.Backoff{}
	switch {
	case s.opts.Once:
		backoff.Limit, backoff.Window = 1, 24*time.Hour
	case s.entry.Kind == config.HTTP || s.entry.Kind == config.SSE:
		backoff.Limit = -1 // an address comes back when its network does
	}
	keeper := stdio.NewRestarter(s.connect, &stdio.RestartOptions{Backoff: backoff, Changed: s.kept})
	s.mu.Lock()
	s.keeper = keeper
	s.mu.Unlock()
	keeper.Get(endedContext()) // a keeper begins when somebody wants what it keeps
}

// endedContext returns a context that has ended: a call with it returns what is
// there and does not wait.
func endedContext() context.Context {
	ctx, end := context.WithCancel(context.Background())
	end()
	return ctx
}

// Name is the server's name in the configuration.
func (s *Server) Name() string { return s.entry.Name }

// Entry is what the server was made from.
func (s *Server) Entry() config.Server { return s.entry }

// Client makes typed calls to the server. Closing it is not needed.
func (s *Server) Client() *client.Client { return s.client }

// State is how the server is doing now.
func (s *Server) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Wait waits until the server was met, and returns why it cannot be.
func (s *Server) Wait(ctx context.Context) error {
	_, err := s.current(ctx)
	return err
}

// Stderr returns the last lines that the server's process wrote to standard
// error; it has none if it is not a process.
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
	began := time.Now()
	r, err := l.Serve(ctx, c)
	if closed, ok := errors.AsType[*mcp.ClosedError](err); ok {
		err = closed.Cause // of one connection: another follows
	}
	if wants := wantsPerson(err); wants != nil {
		err = wants
	}
	s.account(ctx, c, l, time.Since(began), err)
	return r, err
}

// current returns the connection that calls go to now, and waits for one while
// the server starts.
func (s *Server) current(ctx context.Context) (link, error) {
	for {
		keeper, err := s.theKeeper(ctx)
		if err != nil {
			return nil, err
		}
		l, err := keeper.Get(ctx)
		switch {
		case err == nil:
			return l, nil
		case errors.Is(err, stdio.ErrClosed):
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

// renewed reports whether another keeper has taken the place of one that was
// closed, or is about to.
func (s *Server) renewed(closed *stdio.Restarter[link]) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.renewal != nil || s.keeper != nil && s.keeper != closed
}

// theKeeper returns what keeps the server running, and waits for it during a
// Restart.
func (s *Server) theKeeper(ctx context.Context) (*stdio.Restarter[link], error) {
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

// Restart ends the server and starts it anew, also if it has failed or was
// disabled. Calls that are open fail; calls that come now wait for the new one.
func (s *Server) Restart() error {
	s.orders.Lock()
	defer s.orders.Unlock()
	renewal := make(chan struct{})
	s.mu.Lock()
	s.renewal = renewal
	s.pages = nil // the person asked for it, and may log in again
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

// Close ends the server, its process and all that it started. It may be called
// more than once.
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

// stop ends the keeper. The error says only that the server is closed already;
// how the process ended is in the state. The orders are held.
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
	return nil
}
