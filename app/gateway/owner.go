package gateway

import (
	"context"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// Owners returns middleware that keeps what calls create, such as tasks, for the
// principal that made the call: servers behind a gateway cannot tell its callers
// apart. To other principals an id does not exist. Callers that are not
// authenticated are one person, and pass.
//
// The owners of the last 100,000 ids are kept in memory: after a restart of the
// gateway, older ids do not exist for principals.
func Owners() mcp.Middleware {
	o := &owners{}
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			if c.Caller.Principal == nil {
				return next.Serve(ctx, c)
			}
			return o.serve(ctx, c, next)
		})
	}
}

// owners has the owners of ids. When recent is full it becomes older, whose ids
// are forgotten.
type owners struct {
	mu            sync.Mutex
	recent, older map[ownedID]string
}

type ownedID struct{ kind, id string }

const maxOwned = 50_000

func (o *owners) serve(ctx context.Context, c *mcp.Call, next mcp.Handler) (mcp.Result, error) {
	who := c.Caller.Principal.Key()
	if c.Method == mcp.MethodSubscriptionsListen {
		params, err := withoutNames(c, func(kind, id string) bool { return isCoreKind(kind) || o.owns(who, kind, id) })
		if err != nil {
			return mcp.Result{}, err
		}
		onward := *c
		onward.Params = params
		return next.Serve(ctx, &onward)
	}
	isCore := protocol.IsCore(c.Method)
	if !isCore {
		if hasFoldedTwins(c.Params) {
			return mcp.Result{}, ambiguousNames(c.Method)
		}
		_, err := protocol.RenameNames(c.Method, mcp.InParams, "", c.Params, func(kind, id string) (string, error) {
			if !isCoreKind(kind) && !o.owns(who, kind, id) {
				return "", unknown(kind, id)
			}
			return id, nil
		})
		if err != nil {
			return mcp.Result{}, err
		}
	}
	res, err := next.Serve(ctx, c)
	switch {
	case err != nil:
	case res.Type != "":
		o.keep(who, c.Method, res)
	case !isCore:
		res.Body = o.ownItems(who, c.Method, res.Body)
	}
	return res, err
}

// owns reports whether a principal created an id.
func (o *owners) owns(who, kind, id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	owner, ok := o.recent[ownedID{kind, id}]
	if !ok {
		owner, ok = o.older[ownedID{kind, id}]
	}
	return ok && owner == who
}

// keep remembers the ids in a result.
func (o *owners) keep(who, method string, res mcp.Result) {
	_, _ = protocol.RenameNames(method, mcp.InResult, res.Type, res.Body, func(kind, id string) (string, error) {
		if !isCoreKind(kind) {
			o.mu.Lock()
			defer o.mu.Unlock()
			if o.recent == nil || len(o.recent) >= maxOwned {
				o.recent, o.older = map[ownedID]string{}, o.recent
			}
			o.recent[ownedID{kind, id}] = who
		}
		return id, nil
	})
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
