// Package protocol has rules of the protocol that several packages of this module
// need and users of package mcp do not.
package protocol

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// MethodRevision returns the revision that a connection uses, as a
// [RevisionResult]. The connection itself serves it; it is never sent. A Handler
// that is not a connection returns [mcp.MethodNotFound].
const MethodRevision = "tenon/revision"

// IsPrivate reports whether a method, such as [MethodRevision], is one that never
// leaves a process. Peers must not call it.
func IsPrivate(method string) bool { return strings.HasPrefix(method, "tenon/") }

// IsCore reports whether the protocol itself, in some revision, has a request
// with this method. The others are those of extensions.
func IsCore(method string) bool {
	switch method {
	case mcp.MethodInitialize, mcp.MethodDiscover, mcp.MethodPing, mcp.MethodLoggingSetLevel, mcp.MethodComplete,
		mcp.MethodToolsList, mcp.MethodToolsCall, mcp.MethodPromptsList, mcp.MethodPromptsGet,
		mcp.MethodResourcesList, mcp.MethodResourceTemplatesList, mcp.MethodResourcesRead,
		mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe, mcp.MethodSubscriptionsListen:
		return true
	}
	return false
}

// MayRequireInput reports whether a call of this method may return an
// [mcp.InputRequired] error.
func MayRequireInput(method string) bool {
	return method == mcp.MethodToolsCall || method == mcp.MethodPromptsGet || method == mcp.MethodResourcesRead
}

// MayCache reports whether results of this method may carry a cache hint: those
// that must, and those of methods of extensions.
func MayCache(method string) bool { return Cacheable(method) || !IsCore(method) && !IsPrivate(method) }

// Cacheable reports whether results of this method carry a cache hint in every
// case.
func Cacheable(method string) bool {
	switch method {
	case mcp.MethodDiscover, mcp.MethodToolsList, mcp.MethodPromptsList, mcp.MethodResourcesList, mcp.MethodResourceTemplatesList, mcp.MethodResourcesRead:
		return true
	}
	return false
}

// RevisionResult is the result of a [MethodRevision] call.
type RevisionResult struct {
	Revision mcp.Revision `json:"revision"`
}

// DecodeEach decodes the elements of a JSON array one by one. It leaves out
// invalid elements and returns an error for each of them. The list must have
// been validated, as [mcp.Result.Body] has.
func DecodeEach[T any](list json.RawMessage) (good []T, bad []error) {
	i := 0
	for e := rawjson.Array(list); e.Next(); i++ {
		var v T
		if rawjson.IsNull(e.Value) {
			bad = append(bad, fmt.Errorf("[%d]: expected a value, found null", i))
		} else if err := mcp.Unmarshal(e.Value, &v); err != nil {
			bad = append(bad, fmt.Errorf("[%d]: %w", i, err))
		} else {
			good = append(good, v)
		}
	}
	return good, bad
}

// DecodeDiscovery decodes the result of a [mcp.MethodDiscover] call.
func DecodeDiscovery(r mcp.Result) (*mcp.Discovery, error) {
	d := new(mcp.Discovery)
	if err := r.Decode(d); err != nil {
		return nil, fmt.Errorf("result of %s: %w", mcp.MethodDiscover, err)
	}
	d.Server = r.Server
	return d, nil
}

// MaxCompletions is the maximum number of values in a [mcp.Completion].
const MaxCompletions = 100

// Completions returns a mcp.Completion with the first [MaxCompletions] values of
// all and their total number.
func Completions(all []string) mcp.Completion {
	total := int64(len(all))
	values := all[:min(len(all), MaxCompletions)]
	return mcp.Completion{Values: values, Total: &total, HasMore: len(values) < len(all)}
}

// Recover returns middleware that turns a panic in a mcp.Handler into an internal
// error of that call. It passes the recovered value and the stack to report,
// which may be nil; the caller of the mcp.Handler does not see them.
func Recover(report func(c *mcp.Call, panicked any, stack []byte)) mcp.Middleware {
	return func(h mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (res mcp.Result, err error) {
			defer func() {
				if p := recover(); p != nil {
					if report != nil {
						report(c, p, debug.Stack())
					}
					res, err = mcp.Result{}, mcp.Errorf(mcp.CodeInternal, "internal error while serving %s", c.Method)
				}
			}()
			return h.Serve(ctx, c)
		})
	}
}
