package cluster

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options configures a [Replica]. A nil *Options means the defaults.
type Options struct {
	// Addr is the TCP address at which the replica serves the requests that
	// other replicas forward to it. Empty means a free port of 127.0.0.1,
	// which serves replicas on one machine only.
	Addr string

	// Advertise is the address at which other replicas reach this one; empty
	// means that of the listener. It has a host and a port, and is required if
	// Addr names no host.
	Advertise string

	// Name is shown to operators, such as the name of the machine or pod.
	Name string

	// Secret encrypts the keys of the cluster in the store. It has at least 16
	// bytes and is the same for all replicas. Without it, everyone who can read
	// the store has the keys. Empty means none.
	Secret []byte

	// Lease is how long a replica that has stopped without [Replica.Close]
	// counts as a member. 0 means 10 s. It is renewed three times as often; a
	// renewal that fails is tried again after a ninth of it, or a second if that
	// is less.
	Lease time.Duration

	// KeyLife is how long a replaced key still opens what it has sealed, unless
	// seven newer ones have replaced it. 0 means 24 h. The clock of the store
	// counts: while the store is away, keys do not expire. All replicas need the
	// same.
	KeyLife time.Duration

	// MaxForwards bounds the messages that are being forwarded in each
	// direction, and as many streams and broadcasts besides. One client takes a
	// quarter at most; see [WithClient]. 0 means 4096.
	MaxForwards int

	// Logger logs failures of the store and refused connections of other
	// replicas. Nil disables logging.
	Logger *slog.Logger
}

// A Replica is this process as a member of a cluster: replicas that share a
// [Store] serve the same clients, in any order. Make one with [Join].
type Replica struct {
	id      string
	store   Store
	opts    Options
	started time.Time

	listener net.Listener
	server   *http.Server
	streams  *http.Transport // to other replicas
	links    links
	outgoing *slots // of requests forwarded to others
	incoming *slots // and by others

	mu       sync.Mutex
	ring     *ring
	version  int64 // of the ring in the store
	tls      *tlsState
	watchers map[*keyWatcher]struct{}
	members  map[string]Member
	listed   time.Time // when members were read
	lookup   *lookup   // that has not begun; nil if there is none
	looked   time.Time // when the last one began
	renewed  time.Time // when the membership was renewed last
	doubted  time.Time // until when a replica may live though the store does not list it
	handler  http.Handler
	fallback http.Handler
	storeErr error // of the last renewal
	info     map[string]string

	wake   chan struct{} // makes the renewing goroutine look at the ring
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	stops  []func() // end subscriptions

	closing  sync.Once
	closeErr error
}

// A Member is a replica as others see it.
type Member struct {
	ID      string    `json:"id"`
	Name    string    `json:"name,omitempty"`
	Addr    string    `json:"addr"`
	Started time.Time `json:"started"`
	Ring    int64     `json:"ring"` // version of the key ring that it has loaded

	// Info is what the replica says about itself; see [Replica.SetInfo].
	Info map[string]string `json:"info,omitempty"`
}

// Names of what the replicas of a cluster share in the store.
const (
	groupKey  = "replicas"
	ringKey   = "keyring"
	ringTopic = "keyring"
)

// membersAge is how old the list of members may be when a request is forwarded.
// lookupEvery is how often the store is asked for it at most: clients can name
// replicas that do not exist.
const (
	membersAge  = time.Second
	lookupEvery = 50 * time.Millisecond
)

// Join makes this process a member of the cluster that uses store. It listens
// for requests that other replicas forward, and stays a member until
// [Replica.Close] is called. ctx applies to Join itself only.
func Join(ctx context.Context, store Store, o *Options) (*Replica, error) {
	r := &Replica{id: newID(), store: store, started: time.Now().UTC(), watchers: map[*keyWatcher]struct{}{}, wake: make(chan struct{}, 1)}
	if o != nil {
		r.opts = *o
	}
	if err := CheckSecretLength(r.opts.Secret); err != nil {
		return nil, fmt.Errorf("join the cluster: %w", err)
	}
	if r.opts.Logger == nil {
		r.opts.Logger = slog.New(slog.DiscardHandler)
	}
	r.opts.Lease = cmp.Or(max(r.opts.Lease, 0), 10*time.Second)
	r.opts.KeyLife = cmp.Or(max(r.opts.KeyLife, 0), 24*time.Hour)
	n := cmp.Or(max(r.opts.MaxForwards, 0), 4096)
	r.outgoing, r.incoming = newSlots(n), newSlots(n)
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.links = links{by: map[string]*link{}, probe: func(m Member) error { return r.probe(context.Background(), m, probeTimeout) }}
	if err := r.join(ctx); err != nil {
		r.Close()
		return nil, fmt.Errorf("join the cluster: %w", err)
	}
	return r, nil
}

// newID returns an id that is valid as a DNS label.
func newID() string { return strings.ToLower(rand.Text()[:16]) }

func (r *Replica) join(ctx context.Context) error {
	if err := r.loadRing(ctx); err != nil {
		return err
	}
	stop, err := r.store.Subscribe(ctx, ringTopic, func([]byte) { r.look() }, r.look)
	if err != nil {
		return err
	}
	r.stops = append(r.stops, stop)
	if err := r.listen(); err != nil {
		return err
	}
	if err := r.register(ctx); err != nil {
		return err
	}
	// A rotation that did not wait for this replica may have replaced the keys.
	before := r.version
	if err := r.loadRing(ctx); err != nil {
		return err
	}
	if r.version != before {
		r.look()
	}
	r.wg.Go(r.renew)
	return nil
}

// listen starts to serve the requests of other replicas.
func (r *Replica) listen() error {
	l, err := (&net.ListenConfig{KeepAliveConfig: keepAlive}).Listen(context.Background(), "tcp", cmp.Or(r.opts.Addr, "127.0.0.1:0"))
	if err != nil {
		return err
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && tcp.IP.IsUnspecified() && r.opts.Advertise == "" {
		l.Close()
		return fmt.Errorf("the address %s names no host: say at which address other replicas reach this one", r.opts.Addr)
	}
	if err := checkAdvertise(r.opts.Advertise); err != nil {
		l.Close()
		return err
	}
	r.opts.Advertise = cmp.Or(r.opts.Advertise, l.Addr().String())
	r.listener = l
	r.streams = r.newTransport()
	r.server = r.newServer()
	r.wg.Go(func() { r.server.ServeTLS(l, "", "") })
	return nil
}

// checkAdvertise returns an error if others cannot connect to an address. Empty means
// that of the listener.
func checkAdvertise(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if addr != "" && (err != nil || host == "" || port == "" || port == "0") {
		return fmt.Errorf("other replicas cannot reach this one at %q: the address to advertise must be host:port", addr)
	}
	return nil
}

// ID returns the id of this replica. Each call of [Join] makes another.
func (r *Replica) ID() string { return r.id }

// Store returns the store of the cluster.
func (r *Replica) Store() Store { return r.store }

// Addr returns the address at which other replicas reach this one.
func (r *Replica) Addr() string { return r.opts.Advertise }

// Shutdown leaves the cluster without interrupting requests: it waits until the
// requests that other replicas have forwarded to this one are served, and then
// closes the replica. Until then it stays a member, so that responses of clients
// still arrive. Call it after the servers that use the replica have shut down:
// their handlers must end streams and refuse new requests. If ctx ends first,
// Shutdown cuts the requests in flight and returns the error of ctx.
func (r *Replica) Shutdown(ctx context.Context) error {
	waited := r.waitIdle(ctx)
	r.closing.Do(func() { r.closeErr = r.close(ctx) })
	return errors.Join(waited, r.closeErr)
}

// waitIdle waits until no request of another replica is being served.
func (r *Replica) waitIdle(ctx context.Context) error {
	every := time.NewTicker(20 * time.Millisecond)
	defer every.Stop()
	for r.incoming.inUse() > 0 {
		select {
		case <-every.C:
		case <-r.ctx.Done(): // closed meanwhile
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Close leaves the cluster: other replicas no longer forward requests to this
// one, and those in flight are cut; [Replica.Shutdown] waits for them. Call it
// after the servers that use the replica have shut down. It does not close the
// store. Further calls wait and return the same error.
func (r *Replica) Close() error {
	cut, cancel := context.WithCancel(context.Background())
	cancel()
	r.closing.Do(func() { r.closeErr = r.close(cut) })
	return r.closeErr
}

// close leaves the cluster. Until ctx ends, it waits for what is still to be sent
// of the responses to other replicas.
func (r *Replica) close(ctx context.Context) error {
	r.cancel()
	for _, stop := range r.stops {
		stop()
	}
	var err error
	if r.server != nil {
		leave, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		err = r.store.Unregister(leave, groupKey, r.id)
		if ctx.Err() == nil {
			r.server.Shutdown(ctx)
		}
		r.server.Close()
		r.streams.CloseIdleConnections()
		r.links.closeIdle(true)
	}
	r.wg.Wait()
	return err
}

// register says to the others that this replica is a member.
func (r *Replica) register(ctx context.Context) error {
	r.mu.Lock()
	m := r.selfLocked()
	r.mu.Unlock()
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	at := time.Now()
	if err := r.store.Register(ctx, groupKey, r.id, data, r.opts.Lease); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if at.After(r.renewed) {
		r.renewed = at
	}
	return nil
}

func (r *Replica) selfLocked() Member {
	return Member{ID: r.id, Name: r.opts.Name, Addr: r.opts.Advertise, Ring: r.version, Started: r.started, Info: r.info}
}

// SetInfo makes this replica say something about itself to the others, such as its
// version: it is in [Member], at once if the store answers, or with the next renewal
// of the membership. Info is not encrypted in the store, and should be short. The
// caller must not change it afterwards.
func (r *Replica) SetInfo(ctx context.Context, info map[string]string) error {
	r.mu.Lock()
	r.info = info
	r.mu.Unlock()
	return r.register(ctx)
}

// look makes the renewing goroutine look at the key ring now.
func (r *Replica) look() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// renew renews the membership and follows changes of the key ring.
func (r *Replica) renew() {
	next := time.NewTimer(r.renewTime())
	defer next.Stop()
	for {
		select {
		case <-r.wake:
		case <-next.C:
		case <-r.ctx.Done():
			return
		}
		r.links.closeIdle(false)
		err := r.loadRing(r.ctx)
		if r.list(r.ctx) != nil { // others may not have registered again either
			r.doubt()
		}
		if e := r.register(r.ctx); err == nil {
			err = e
		}
		if r.ctx.Err() != nil {
			return
		}
		r.mu.Lock()
		before := r.storeErr
		r.storeErr = err
		r.mu.Unlock()
		switch {
		case err != nil && before == nil:
			r.opts.Logger.Error("cluster membership not renewed", "error", err)
		case err == nil && before != nil:
			r.opts.Logger.Info("cluster membership renewed again")
		}
		if err != nil {
			next.Reset(r.retryTime())
		} else {
			next.Reset(r.renewTime())
		}
	}
}

// renewTime is how often the membership is renewed.
func (r *Replica) renewTime() time.Duration { return r.opts.Lease / 3 }

// retryTime is how soon a renewal that failed is tried again. A store that is back
// for longer than that has all live replicas as members, however often it goes away:
// see internal/model/lease_test.go.
func (r *Replica) retryTime() time.Duration { return min(r.renewTime()/3, time.Second) }

// errUnlisted is the error of a list of members that may lack live replicas.
var errUnlisted = errors.New("the replicas have not all renewed their membership yet")

// doubt keeps the members that were last known for one more lease: they have lost
// their leases because the store was away, was emptied or is full, and not because
// they have stopped. internal/model/lease_test.go tries this rule out.
func (r *Replica) doubt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.doubted = time.Now().Add(r.opts.Lease)
}

// Members returns the live replicas, this one included, by id. While the store is
// away or has lost the membership of this replica, Members returns those that were
// last known, and an error.
func (r *Replica) Members(ctx context.Context) ([]Member, error) {
	err := r.refresh(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(maps.Values(r.members), func(a, b Member) int { return strings.Compare(a.ID, b.ID) }), err
}

// refresh reads the members from the store. If these lack this replica, it
// registers again.
func (r *Replica) refresh(ctx context.Context) error {
	err := r.list(ctx)
	if errors.Is(err, errUnlisted) {
		r.look()
	}
	return err
}

// list reads the members from the store. A list without this replica says nothing
// about others: list keeps those that were last known and returns errUnlisted. It
// also keeps them while this replica is late with its renewal, for the store may be
// full, so that others cannot renew theirs either.
func (r *Replica) list(ctx context.Context) error {
	at := time.Now()
	raw, err := r.store.Members(ctx, groupKey)
	if err != nil {
		return err
	}
	members := make(map[string]Member, len(raw))
	for id, data := range raw {
		var m Member
		if err := json.Unmarshal(data, &m); err == nil && m.ID == id {
			members[id] = m
		}
	}
	r.mu.Lock()
	late := at.Sub(r.renewed) > r.opts.Lease/2
	r.mu.Unlock()
	_, listed := members[r.id]
	if !listed || late {
		r.doubt()
	}
	if !listed {
		err = errUnlisted
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if at.After(r.listed) {
		if at.Before(r.doubted) {
			for id, m := range r.members {
				if _, ok := members[id]; !ok {
					members[id] = m
				}
			}
		}
		r.members, r.listed = members, at
	}
	return err
}

// peer returns a replica that may be live: the connection to it tells. If the store
// is away, peer uses the members that were last known.
func (r *Replica) peer(ctx context.Context, id string) (Member, error) {
	m, known, age := r.known(id)
	if known && age < membersAge {
		return m, nil
	}
	err := r.refreshOnce(ctx)
	if m, known, _ = r.known(id); known {
		return m, nil
	}
	if err == nil && r.doubtful() {
		err = errUnlisted
	}
	if err != nil {
		return m, err
	}
	return m, ErrGone
}

// A lookup reads the members for all that wait for it.
type lookup struct {
	done chan struct{}
	err  error // valid when done is closed
}

// refreshOnce is refresh for many at a time: all that call it before the store is
// asked share the answer.
func (r *Replica) refreshOnce(ctx context.Context) error {
	r.mu.Lock()
	l := r.lookup
	if l == nil {
		l = &lookup{done: make(chan struct{})}
		r.lookup = l
		wait := lookupEvery - time.Since(r.looked)
		go r.runLookup(l, wait)
	}
	r.mu.Unlock()
	select {
	case <-l.done:
		return l.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// runLookup reads the members after a while.
func (r *Replica) runLookup(l *lookup, after time.Duration) {
	if after > 0 {
		select {
		case <-time.After(after):
		case <-r.ctx.Done():
		}
	}
	r.mu.Lock()
	r.lookup, r.looked = nil, time.Now()
	r.mu.Unlock()
	l.err = r.refresh(r.ctx)
	close(l.done)
}

// doubtful reports whether a replica that the store does not list may live.
func (r *Replica) doubtful() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Before(r.doubted)
}

func (r *Replica) known(id string) (m Member, ok bool, age time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, ok = r.members[id]
	return m, ok, time.Since(r.listed)
}

// A Status describes a replica for operators.
type Status struct {
	Self    Member   `json:"self"`
	Members []Member `json:"members"`         // the live ones, this one included
	Keys    []Key    `json:"keys"`            // the newest first
	Error   string   `json:"error,omitempty"` // why the store did not answer
}

// Status returns the state of the cluster as this replica sees it.
func (r *Replica) Status(ctx context.Context) Status {
	members, err := r.Members(ctx)
	s := Status{Members: members, Keys: r.keys()}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		err = r.storeErr
	}
	if err != nil {
		s.Error = err.Error()
	}
	s.Self = r.selfLocked()
	return s
}
