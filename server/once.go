package server

import (
	"encoding/json"

	"github.com/tenon-mcp/tenon/mcp"
)

// Once runs f in the first round of a call and returns its value in that round
// and in all later ones. Use it for a side effect before an input request that
// must not happen again when the handler is called again. The key identifies
// the value within the call. T must have a JSON form.
//
// The value travels with the earlier responses: to clients of the newest
// revision in the sealed requestState, for older ones in the memory of the open
// call. It is therefore available in every round, on every transport, also if
// another instance with the same keys serves the next round. It counts toward
// the limit of 256 KiB of state per call.
//
// If f fails, Once returns the error and stores nothing: f runs again in the
// next round. Once is not a transaction: f also runs again if the client
// repeats the call from its beginning, sends the state of an earlier round
// twice, or retries after a crash between f and the end of the round. Where
// that must not happen, give f an idempotency key.
//
// Once, [Elicit] and the like must not be called concurrently for one call.
func Once[T any](c *mcp.Call, key string, f func() (T, error)) (T, error) {
	var v T
	if raw, ok := c.Saved(key); ok {
		if err := json.Unmarshal(raw, &v); err != nil {
			return v, mcp.Errorf(mcp.CodeInternal, "decode the value saved under %q: %v", key, err)
		}
		return v, nil
	}
	if _, err := json.Marshal(v); err != nil { // before f has an effect
		return v, mcp.Errorf(mcp.CodeInternal, "save the value under %q: %v", key, err)
	}
	v, err := f()
	if err != nil {
		return v, err
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return v, mcp.Errorf(mcp.CodeInternal, "save the value under %q: %v", key, err)
	}
	c.Save(key, raw)
	return v, nil
}
