package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
)

// MaxRounds is how often HandleInput makes one call unless told otherwise.
const MaxRounds = 10

// An InputHandler gives the answer to a question. An error from it refuses the
// question, see [Call.Refuse]: the call goes on, so that a server that can do
// without the answer does. Once ctx has ended, an error ends the call.
type InputHandler func(ctx context.Context, c *Call, key string, q InputRequest) (json.RawMessage, error)

// HandleInput makes h's calls again until nothing more is asked. At most rounds
// rounds are made (0 means [MaxRounds]); a server that wants more gets none.
// After a question that is refused, the other questions of its round are not
// asked. A handler that asks a refused question again, with the same State, does
// not know of refusals: the call ends with the refusal.
//
// It serves a host, whose answers come from the person, as well as the door of
// an older protocol, whose answers come from a request to the client.
func HandleInput(h Handler, answer InputHandler, rounds int) Handler {
	return HandlerFunc(func(ctx context.Context, c *Call) (Result, error) {
		res, err := h.Serve(ctx, c)
		if err == nil { // as most calls: the rest is kept off their stack
			return res, nil
		}
		return ContinueInput(ctx, h, c, err, answer, rounds)
	})
}

// ContinueInput is the rest of what [HandleInput] does: it goes on with a call that has
// been made once and came to err.
func ContinueInput(ctx context.Context, h Handler, c *Call, err error, answer InputHandler, rounds int) (Result, error) {
	if rounds <= 0 {
		rounds = MaxRounds
	}
	var last *Call       // the round before
	var refusals []error // what answer returned
	for n := 1; ; n++ {
		need, asked := errors.AsType[*InputRequired](err)
		if !asked {
			return Result{}, original(err, refusals)
		}
		if refused := ignored(last, need); refused != nil {
			Abandon(need)
			return Result{}, original(refused, refusals)
		}
		if n == rounds {
			Abandon(need)
			return Result{}, &Error{Code: CodeInternal, Local: true, Message: fmt.Sprintf("gave up on %s: the server asked for input in each of %d rounds", c.Method, rounds)}
		}
		next, refused, failed := respondAll(ctx, c, need, answer)
		if failed != nil {
			Abandon(need)
			return Result{}, failed
		}
		if last = next; refused != nil {
			refusals = append(refusals, refused)
		}
		var res Result
		res, err = h.Serve(ctx, next)
		// Nothing is held for a round that was made. But something may have
		// refused the call on its way there.
		Abandon(need)
		if err == nil {
			return res, nil
		}
	}
}

// ignored returns the refusal of a question that need asks again although the
// round before, c, carried the refusal; nil if there is none. A new state shows
// that the handler has moved on and may ask another question under the same key.
func ignored(c *Call, need *InputRequired) error {
	if c == nil || need.State != c.State {
		return nil
	}
	for _, key := range c.refusedKeys() {
		if _, again := need.Requests[key]; again {
			return c.Refused(key)
		}
	}
	return nil
}

// original returns the refusal that err is, as the answering function returned
// it; err itself if it is none.
func original(err error, refusals []error) error {
	e, ok := errors.AsType[*Error](err)
	for _, r := range refusals {
		if as := refusal(r); ok && e.Code == as.Code && e.Message == as.Message {
			return r
		}
	}
	return err
}

// respondAll has the questions answered and returns the call of the next round,
// and why a question was refused, if one was.
func respondAll(ctx context.Context, c *Call, need *InputRequired, answer InputHandler) (next *Call, refused, failed error) {
	copied := *c
	next = &copied
	next.State, next.InputResponses = need.State, maps.Clone(need.PriorResponses)
	if next.InputResponses == nil {
		next.InputResponses = make(map[string]json.RawMessage, len(need.Requests))
	}
	for _, key := range slices.Sorted(maps.Keys(need.Requests)) {
		a, err := answer(ctx, c, key, need.Requests[key])
		if err != nil && ctx.Err() != nil {
			return nil, nil, err
		}
		if err != nil {
			next.Refuse(key, err)
			return next, err, nil
		}
		next.InputResponses[key] = a
	}
	return next, nil, nil
}

// Recover turns a panic in h into an internal error of that one call. What
// panicked goes to report with its stack, never to the caller.
func Recover(report func(c *Call, panicked any, stack []byte)) Middleware {
	return func(h Handler) Handler {
		return HandlerFunc(func(ctx context.Context, c *Call) (res Result, err error) {
			defer func() {
				if p := recover(); p != nil {
					if report != nil {
						report(c, p, debug.Stack())
					}
					res, err = Result{}, Errorf(CodeInternal, "the handler of %s failed unexpectedly", c.Method)
				}
			}()
			return h.Serve(ctx, c)
		})
	}
}
