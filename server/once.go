package server

import (
	"encoding/json"

	"github.com/tenon-mcp/tenon/mcp"
)

// Once runs f in the first round of a call and returns its value in that round
// and in all that follow, for a side effect before an input request that must
// not happen again when the handler is entered again. The key names it within
// the call. T has a JSON form.
//
// The value travels with the earlier responses: to a client of the newest
// revision in the sealed requestState, for older ones in the memory of the open
// call. So it is there in every round of the call, on every transport, also
// where another instance that shares the keys serves the next round. It counts
// against the 256 KiB that a call may carry to its next round.
//
// An error of f is returned and not kept: f runs again in the next round. Once
// is no transaction, and f runs again in a call that is made again from its
// beginning: by a client that retries after a lost answer, by one that sends the
// state of an earlier round once more, and after a crash between f and the end
// of the round. Where that must not happen, give f a key under which the service
// behind it recognizes a repetition.
//
// Once, [Elicit] and the like must not be called for one call by several
// goroutines at the same time.
func Once[T any](c *mcp.Call, key string, f func() (T, error)) (T, error) {
	var v T
	if raw, ok := c.Saved(key); ok {
		if err := json.Unmarshal(raw, &v); err != nil {
			return v, mcp.Errorf(mcp.CodeInternal, "the value that was kept under %q cannot be read: %v", key, err)
		}
		return v, nil
	}
	if _, err := json.Marshal(v); err != nil { // before f acts
		return v, mcp.Errorf(mcp.CodeInternal, "the value under %q cannot be kept: %v", key, err)
	}
	v, err := f()
	if err != nil {
		return v, err
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return v, mcp.Errorf(mcp.CodeInternal, "the value under %q cannot be kept: %v", key, err)
	}
	c.Save(key, raw)
	return v, nil
}
