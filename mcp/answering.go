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

// MaxRounds is how often Answering makes one call unless told otherwise.
const MaxRounds = 10

// An Answer gives the answer to a question. An error from it ends the call.
type Answer func(ctx context.Context, c *Call, key string, q Question) (json.RawMessage, error)

// Answering makes h's calls again until nothing more is asked. At most rounds
// rounds are made (0 means [MaxRounds]); a server that wants more gets none.
//
// It serves a host, whose answers come from the person, as well as the door of
// an older protocol, whose answers come from a request to the client.
func Answering(h Handler, answer Answer, rounds int) Handler {
	return HandlerFunc(func(ctx context.Context, c *Call) (Result, error) {
		res, err := h.Serve(ctx, c)
		if err == nil { // as most calls: the rest is kept off their stack
			return res, nil
		}
		return Answered(ctx, h, c, err, answer, rounds)
	})
}

// Answered is the rest of what [Answering] does: it goes on with a call that has
// been made once and came to err.
func Answered(ctx context.Context, h Handler, c *Call, err error, answer Answer, rounds int) (Result, error) {
	if rounds <= 0 {
		rounds = MaxRounds
	}
	for n := 1; ; n++ {
		need, asked := errors.AsType[*NeedInput](err)
		if !asked {
			return Result{}, err
		}
		if n == rounds {
			Abandon(need)
			return Result{}, &Error{Code: CodeInternal, Local: true, Message: fmt.Sprintf("gave up on %s: the server asked for input in each of %d rounds", c.Method, rounds)}
		}
		next, failed := answerAll(ctx, c, need, answer)
		if failed != nil {
			Abandon(need)
			return Result{}, failed
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

// answerAll has the questions answered and returns the call of the next round.
func answerAll(ctx context.Context, c *Call, need *NeedInput, answer Answer) (*Call, error) {
	next := *c
	next.State, next.Answers = need.State, maps.Clone(need.Kept)
	if next.Answers == nil {
		next.Answers = make(map[string]json.RawMessage, len(need.Questions))
	}
	for _, key := range slices.Sorted(maps.Keys(need.Questions)) {
		a, err := answer(ctx, c, key, need.Questions[key])
		if err != nil {
			return nil, err
		}
		next.Answers[key] = a
	}
	return &next, nil
}

// Recovering turns a panic in h into an internal error of that one call. What
// panicked goes to report with its stack, never to the caller.
func Recovering(report func(c *Call, panicked any, stack []byte)) Middleware {
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
