// Package clusterkeys verifies API keys that the replicas of a cluster share.
//
// [Open] returns a [protect.Verifier] that follows the keys in the cluster's store,
// and [Update] changes them for all replicas. The store has hashes of the keys, never
// the keys, and these are encrypted if there is a secret.
package clusterkeys

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/auth/protect"
	"github.com/tenon-mcp/tenon/cluster"
)

const (
	storeKey = "api keys"           // of the document, and its topic
	ttl      = 400 * 24 * time.Hour // since a replica ran last
	poll     = 2 * time.Second      // interval for looking at the store
)

// DefaultMaxAge is how long keys are accepted while the store does not answer.
const DefaultMaxAge = 15 * time.Minute

// ErrNone means that the store has no keys: none was ever added.
var ErrNone = errors.New("the replicas have no API keys")

// Options configures [Open] and [Update]; nil means the defaults.
type Options struct {
	// Secret encrypts and authenticates the keys in the store: without it, who can
	// write the store can add keys. It has at least 16 bytes and is the same for all
	// replicas. Empty means none.
	Secret []byte
	// GroupClaim is the claim with the groups of the principals. Empty means
	// "groups".
	GroupClaim string
	// MaxAge is how long keys are accepted while the store does not answer, since a
	// removal cannot be noticed then. 0 means [DefaultMaxAge].
	MaxAge time.Duration
	// Log gets a message when the keys in the store cannot be used, and when every
	// key is refused because the store does not answer. Nil means [slog.Default].
	Log *slog.Logger
}

func (o *Options) secret() []byte {
	if o == nil {
		return nil
	}
	return o.Secret
}

// Keys is a [protect.Verifier] for the API keys in the store of a cluster. The
// principals have the issuer "api-key".
//
// A change of the keys counts at once for all replicas that reach the store. While
// one does not reach it, that replica accepts the keys that it knows for
// [Options.MaxAge]; then it accepts none, and the error is
// [protect.ErrUnavailable]. If the store was emptied or went back to an earlier
// state, the replicas store the newest keys again.
type Keys struct {
	store cluster.Store
	opts  Options
	wake  chan struct{}
	end   context.CancelFunc
	stop  func() // ends the subscription
	wg    sync.WaitGroup

	state   atomic.Pointer[state]
	checked atomic.Pointer[time.Time] // when the store answered last
	problem error                     // of the keys in the store; only run uses it
	old     bool                      // the keys are older than MaxAge; only run uses it
}

// A state is a version of the keys, as they are used.
type state struct {
	document
	verifier protect.Verifier
}

// Open returns the keys of a cluster. It returns [ErrNone] if there are none, and an
// error if the store does not answer or its keys cannot be used. The caller closes
// them before the store.
func Open(ctx context.Context, store cluster.Store, o *Options) (*Keys, error) {
	k := &Keys{store: store, wake: make(chan struct{}, 1)}
	if o != nil {
		k.opts = *o
	}
	k.opts.MaxAge = cmp.Or(max(k.opts.MaxAge, 0), DefaultMaxAge)
	k.opts.Log = cmp.Or(k.opts.Log, slog.Default())
	if err := k.check(ctx); err != nil {
		return nil, err
	}
	if k.state.Load() == nil {
		return nil, ErrNone
	}
	stop, err := store.Subscribe(ctx, storeKey, func([]byte) { k.look() }, k.look)
	if err != nil {
		return nil, fmt.Errorf("follow the API keys: %w", err)
	}
	k.stop = stop
	run, end := context.WithCancel(context.Background())
	k.end = end
	k.look() // a change before the subscription
	k.wg.Go(func() { k.run(run) })
	return k, nil
}

// Close stops following the keys.
func (k *Keys) Close() {
	k.end()
	k.stop()
	k.wg.Wait()
}

// Verify implements [protect.Verifier].
func (k *Keys) Verify(ctx context.Context, token string, r *http.Request) (*protect.Identity, error) {
	if age := time.Since(*k.checked.Load()); age > k.opts.MaxAge {
		return nil, fmt.Errorf("%w: the API keys could not be checked for %v", protect.ErrUnavailable, age.Round(time.Second))
	}
	return k.state.Load().verifier.Verify(ctx, token, r)
}

// look makes run look at the store now.
func (k *Keys) look() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// run follows the keys until ctx ends.
func (k *Keys) run(ctx context.Context) {
	every := time.NewTicker(poll)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-k.wake:
		case <-ctx.Done():
			return
		}
		err := k.check(ctx)
		if ctx.Err() != nil {
			return
		}
		k.report(err)
	}
}

// report logs what has changed for the worse, once, and that it is well again.
func (k *Keys) report(err error) {
	old := time.Since(*k.checked.Load()) > k.opts.MaxAge
	switch {
	case old && !k.old:
		k.opts.Log.Error("every API key is refused: they could not be checked", "since", k.checked.Load().UTC().Round(time.Second), "error", err)
	case !old && k.old:
		k.opts.Log.Info("API keys are accepted again")
	}
	k.old = old
	if errors.Is(err, cluster.ErrUnavailable) {
		return // the store says so
	}
	if err != nil && (k.problem == nil || k.problem.Error() != err.Error()) {
		k.opts.Log.Error("the API keys in the store are not used; the keys of before stay in use", "error", err)
	}
	k.problem = err
}

// check reads the keys, and uses them if they are newer. If the store has older ones
// or none, it stores those in use. These count as checked also if that fails: the
// store has answered, and has no newer ones.
func (k *Keys) check(ctx context.Context) error {
	asked := time.Now()
	d, version, err := load(ctx, k.store, k.opts.Secret)
	if err != nil {
		return err
	}
	switch now := k.state.Load(); {
	case now == nil && version == 0:
		return nil
	case now != nil && now.serial > d.serial:
		k.checked.Store(&asked)
		if err := save(ctx, k.store, now.document, version, k.opts.Secret); err != nil && !errors.Is(err, cluster.ErrConflict) {
			return fmt.Errorf("store the API keys again: %w", err)
		}
		return nil
	case now == nil || now.serial != d.serial || now.digest != d.digest:
		v, err := protect.VerifyStored(d.keys, k.opts.GroupClaim)
		if err != nil {
			return err
		}
		k.state.Store(&state{d, v})
	}
	k.checked.Store(&asked)
	return nil
}

// List returns the keys in the store; [ErrNone] if none was ever added.
func List(ctx context.Context, store cluster.Store, o *Options) ([]protect.StoredKey, error) {
	d, version, err := load(ctx, store, o.secret())
	if err == nil && version == 0 {
		err = ErrNone
	}
	return d.keys, err
}

// Update changes the keys for all replicas. It may call change several times, if
// others change the keys too. An error of change is returned as it is. Update stores
// no keys that replicas could not use, such as two with the same name.
func Update(ctx context.Context, store cluster.Store, o *Options, change func([]protect.StoredKey) ([]protect.StoredKey, error)) error {
	for {
		d, version, err := load(ctx, store, o.secret())
		if err != nil {
			return err
		}
		keys, err := change(d.keys)
		if err != nil {
			return err
		}
		now, err := store.Now(ctx)
		if err != nil {
			return err
		}
		next := document{serial: max(d.serial+1, uint64(now.UnixMicro())), keys: keys}
		err = save(ctx, store, next, version, o.secret())
		if errors.Is(err, cluster.ErrConflict) {
			continue
		}
		if err != nil {
			return err
		}
		store.Publish(ctx, storeKey, nil) // a replica that misses it looks by itself
		return nil
	}
}
