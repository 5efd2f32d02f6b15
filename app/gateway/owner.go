package gateway

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// OwnerOptions configures [Owners]; nil means the defaults.
type OwnerOptions struct {
	// Keys returns the keys that sign ids, each of 16 random bytes at least: the
	// first signs, and all are accepted. It is called for each id, by many
	// goroutines at once, so that keys can be replaced while calls go on, and must
	// not block. Gateways with the same keys accept the ids of each other. Nil means
	// a random key; then ids are accepted until this Owners is not used any more.
	Keys func() ([][]byte, error)
	// Log receives the first error of Keys. While Keys fails, a random key is used.
	// Nil means slog.Default().
	Log *slog.Logger
}

// Owners returns middleware that keeps what calls create, such as tasks, for the
// principal that made the call: servers behind a gateway cannot tell its callers
// apart. To other principals an id does not exist. Callers that are not
// authenticated are one person, and pass.
//
// An id says whose it is: clients see it with a signature of the principal and the
// id, which Owners checks and removes. So ids are accepted after a restart and by
// other gateways that have the keys. Lists of ids that servers make have those that
// passed this Owners, 100,000 at most.
func Owners(opts *OwnerOptions) mcp.Middleware {
	o := &owners{}
	if opts != nil {
		o.opts = *opts
	}
	if o.opts.Log == nil {
		o.opts.Log = slog.Default()
	}
	o.random = sync.OnceValue(randomKey)
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			if c.Caller.Principal == nil || c.IsNotification {
				return next.Serve(ctx, c)
			}
			return o.serve(ctx, c, next)
		})
	}
}

// owners signs ids, and has the owners of those that passed, for lists. When recent
// is full it becomes older, whose ids are forgotten.
type owners struct {
	opts   OwnerOptions
	random func() []byte // the key if there is no other
	failed sync.Once     // logs that there is no key

	mu            sync.Mutex
	recent, older map[ownership]struct{}
}

// An ownership is the hash of a principal, a kind and an id. The gateway keeps many
// for a long time.
type ownership [16]byte

func ownershipOf(who, kind, id string) ownership {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", who, kind, id))
	return ownership(sum[:16])
}

type ownedID struct{ kind, id string }

const maxOwned = 50_000

// keys returns the keys of ids, the one that signs first.
func (o *owners) keys() [][]byte {
	if o.opts.Keys != nil {
		keys, err := o.opts.Keys()
		if err == nil && len(keys) > 0 {
			return keys
		}
		o.failed.Do(func() {
			o.opts.Log.Warn("gateway: the ids of tasks are not accepted after a restart: there is no key", "error", err)
		})
	}
	return [][]byte{o.random()}
}

func randomKey() []byte {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // it never fails
	return key
}

// ownerMark separates an id from its signature.
const ownerMark = "~"

// signature returns the signature of an id of a principal.
func signature(key []byte, who, kind, id string) string {
	h := hmac.New(sha256.New, key)
	fmt.Fprintf(h, "tenon gateway id %q %q %q", who, kind, id)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16])
}

// signed returns an id as its owner sees it.
func (o *owners) signed(who, kind, id string) string {
	return id + ownerMark + signature(o.keys()[0], who, kind, id)
}

// opened returns the id of the server; ok is false if it is not that of the
// principal.
func (o *owners) opened(who, kind, name string) (id string, ok bool) {
	i := strings.LastIndex(name, ownerMark)
	if i < 0 {
		return "", false
	}
	id, given := name[:i], name[i+len(ownerMark):]
	for _, key := range o.keys() {
		if hmac.Equal([]byte(given), []byte(signature(key, who, kind, id))) {
			return id, true
		}
	}
	return "", false
}

func (o *owners) serve(ctx context.Context, c *mcp.Call, next mcp.Handler) (mcp.Result, error) {
	who := c.Caller.Principal.Key()
	var own map[ownedID]bool // that the call names
	if c.Method == mcp.MethodSubscriptionsListen || !protocol.IsCore(c.Method) {
		var err error
		if c, own, err = o.inward(who, c); err != nil {
			return mcp.Result{}, err
		}
	}
	res, err := next.Serve(ctx, c)
	switch {
	case err != nil:
	case res.Type != "": // the ids of what the call has created
		res.Body = o.outward(who, c.Method, mcp.InResult, res.Type, res.Body, func(string, string) bool { return true })
	case own != nil:
		res.Body = o.ownItems(who, c.Method, res.Body)
		res.Body = o.outward(who, c.Method, mcp.InResult, "", res.Body, func(kind, id string) bool {
			return own[ownedID{kind, id}] || o.owns(who, kind, id)
		})
	}
	return res, err
}

// inward returns a call with the ids of servers, and these ids. It is an error if
// one is not that of the principal; subscriptions are without it. Notifications of
// the call have the ids that the principal sees.
func (o *owners) inward(who string, c *mcp.Call) (_ *mcp.Call, own map[ownedID]bool, err error) {
	onward := *c
	switch {
	case c.Method == mcp.MethodSubscriptionsListen:
		onward.Params, err = withoutNames(c, func(kind, name string) bool {
			_, ok := o.opened(who, kind, name)
			return ok || isCoreKind(kind)
		})
	case hasFoldedTwins(c.Params):
		err = ambiguousNames(c.Method)
	}
	if err != nil {
		return nil, nil, err
	}
	own = map[ownedID]bool{}
	onward.Params, err = protocol.RenameNames(c.Method, mcp.InParams, "", onward.Params, func(kind, name string) (string, error) {
		if isCoreKind(kind) {
			return name, nil
		}
		id, ok := o.opened(who, kind, name)
		if !ok {
			return "", unknown(kind, name)
		}
		own[ownedID{kind, id}] = true
		o.keep(who, kind, id)
		return id, nil
	})
	if notify := c.OnNotification; notify != nil {
		onward.OnNotification = func(n mcp.Notification) {
			n.Params = o.outward(who, n.Method, mcp.InParams, "", n.Params, func(kind, id string) bool { return own[ownedID{kind, id}] })
			notify(n)
		}
	}
	return &onward, own, err
}

// outward returns a part of a message from a server with the ids that the principal
// sees: those that mine selects are signed.
func (o *owners) outward(who, method string, in mcp.MessagePart, resultType string, part []byte, mine func(kind, id string) bool) []byte {
	out, _ := protocol.RenameNames(method, in, resultType, part, func(kind, id string) (string, error) {
		if isCoreKind(kind) || !mine(kind, id) {
			return id, nil
		}
		o.keep(who, kind, id)
		return o.signed(who, kind, id), nil
	})
	return out
}

// owns reports whether an id of a principal has passed.
func (o *owners) owns(who, kind, id string) bool {
	own := ownershipOf(who, kind, id)
	o.mu.Lock()
	defer o.mu.Unlock()
	_, recent := o.recent[own]
	_, older := o.older[own]
	return recent || older
}

// keep remembers whose an id is.
func (o *owners) keep(who, kind, id string) {
	own := ownershipOf(who, kind, id)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.recent == nil || len(o.recent) >= maxOwned {
		o.recent, o.older = map[ownership]struct{}{}, o.recent
	}
	o.recent[own] = struct{}{}
}

// ownItems returns a list without the items of other principals.
func (o *owners) ownItems(who, method string, body []byte) []byte {
	for _, e := range mcp.RegisteredExtensions() {
		for _, rule := range e.Names {
			member, path, isArray := strings.Cut(rule.Path, "[].")
			if rule.Method != method || rule.In != mcp.InResult || rule.ResultType != "" || !isArray || isCoreKind(rule.Kind) {
				continue
			}
			body = rawjson.RewriteMember(body, member, func(items []byte) []byte {
				return keepItems(items, func(item []byte) bool {
					id, ok := rawjson.String(rawjson.Lookup(item, path))
					return ok && o.owns(who, rule.Kind, id)
				})
			})
		}
	}
	return body
}
