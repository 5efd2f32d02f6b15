// Package redis provides a [cluster.Store] on Redis 7 or later.
//
// All keys begin with a prefix ("tenon:" unless the URL or the options say
// another) and have a time to live. Values, leases and limits go by the clock of
// the Redis server. Redis should be configured with maxmemory-policy noeviction:
// a server that evicts keys may forget a lease or a used key early.
package redis

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/tenon-mcp/tenon/cluster"
)

// Options configures [Open]; nil means the defaults.
type Options struct {
	// Prefix begins all keys and channels. It replaces the one in the URL. If
	// both are empty, it is "tenon:".
	Prefix string
	// Timeout bounds each operation. 0 means 2 seconds.
	Timeout time.Duration
	// TLS replaces what a rediss URL says about certificates.
	TLS *tls.Config
	// Log receives a message when Redis becomes unavailable and when it is
	// available again. Nil means slog.Default().
	Log *slog.Logger
}

// A Store is a [cluster.Store] on Redis.
//
// While Redis is away, all operations return [cluster.ErrUnavailable] at once;
// the Store probes in the background and goes on when Redis answers again.
type Store struct {
	prefix  string
	timeout time.Duration
	option  rueidis.ClientOption
	log     *slog.Logger

	ctx  context.Context // ends with Close
	stop context.CancelFunc
	wg   sync.WaitGroup

	conn   atomic.Pointer[rueidis.Client]
	dials  atomic.Int64           // connections made so far
	outage atomic.Pointer[outage] // nil while Redis answers

	mu     sync.Mutex // guards closed, and outage against two probes
	closed bool

	epoch epoch
	hub   hub
}

var _ cluster.Store = (*Store)(nil)

const (
	defaultPrefix  = "tenon:"
	defaultTimeout = 2 * time.Second
	keepAlive      = time.Second // interval of pings on a connection
	bufferSize     = 64 << 10    // of each connection, for reading and for writing
)

// Open connects to the Redis that a URL names and returns a Store. The caller
// closes it. If Redis cannot be reached, the error is a
// [cluster.ErrUnavailable]. Errors do not contain the URL's password.
//
// The URL has the form
//
//	redis://user:password@host:port/database?prefix=tenon:
//
// or rediss:// for TLS, with the parameters ca (a file with CA certificates;
// the system's if it is missing), cert and key (files with a client certificate
// and its key) and server_name. The parameter cluster=true connects to a Redis
// Cluster, master=NAME to the primary that Sentinel knows by this name
// (sentinel_user and sentinel_password authenticate there); further nodes or
// sentinels can be given as addr=host:port.
func Open(ctx context.Context, url string, o *Options) (*Store, error) {
	t, err := parseURL(url)
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	if o == nil {
		o = &Options{}
	}
	s := &Store{
		prefix:  cmp.Or(o.Prefix, t.prefix, defaultPrefix),
		timeout: cmp.Or(o.Timeout, defaultTimeout),
		option:  t.option,
		log:     cmp.Or(o.Log, slog.Default()),
	}
	if o.TLS != nil {
		s.option.TLSConfig = o.TLS
	}
	s.configure()
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.hub.init(s)
	client, err := rueidis.NewClient(s.option)
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("connect to Redis: %w: %w", cluster.ErrUnavailable, err)
	}
	s.conn.Store(&client)
	if _, err := s.Epoch(ctx); err != nil {
		s.Close()
		return nil, fmt.Errorf("connect to Redis: %w", err)
	}
	s.wg.Go(s.hub.run)
	return s, nil
}

// configure sets what does not depend on the URL.
func (s *Store) configure() {
	o := &s.option
	o.ClientName = "tenon"
	o.Sentinel.TLSConfig = o.TLSConfig
	o.Sentinel.ClientName = o.ClientName
	o.Dialer = net.Dialer{Timeout: s.timeout, KeepAlive: keepAlive}
	o.Sentinel.Dialer = o.Dialer
	o.ConnWriteTimeout = s.timeout
	o.ReadBufferEachConn, o.WriteBufferEachConn = bufferSize, bufferSize
	o.PipelineMultiplex = -1 // one connection, which fails and recovers as a whole
	o.DisableCache = true
	o.DisableRetry = true // the outage decides when to try again
	o.DialCtxFn = func(ctx context.Context, addr string, d *net.Dialer, c *tls.Config) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, s.timeout)
		defer cancel()
		s.dials.Add(1)
		if c == nil {
			return d.DialContext(ctx, "tcp", addr)
		}
		return (&tls.Dialer{NetDialer: d, Config: c}).DialContext(ctx, "tcp", addr)
	}
}

// clustered reports whether the store is a Redis Cluster.
func (s *Store) clustered() bool {
	return !s.option.ForceSingleClient && s.option.Sentinel.MasterSet == ""
}

// client returns the present client.
func (s *Store) client() rueidis.Client { return *s.conn.Load() }

// key returns the key in Redis of something of a kind. All that belongs to one
// name is in one slot of a Redis Cluster.
func (s *Store) key(kind, name string) string { return s.prefix + kind + ":{" + name + "}" }

// Close implements [cluster.Store].
func (s *Store) Close() error {
	s.mu.Lock()
	again := s.closed
	s.closed = true
	s.mu.Unlock()
	if again {
		return nil
	}
	s.stop()
	s.hub.close()
	s.client().Close()
	s.wg.Wait()
	return nil
}
