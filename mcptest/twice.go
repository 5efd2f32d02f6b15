package mcptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// Twice checks that a handler that requests input can be called again, from its
// first line, with each response.
//
// It makes each round of the call twice in the same way; both must send the
// same input requests or return the same result. It then makes the whole call
// over messages, once as in the newest revision (the call ends and is made
// again) and once as in older ones (the call stays open while the client
// responds), and compares the results.
//
// So Twice finds handlers whose requests or results change from run to run. It
// finds a handler that acts before it requests input only if effects is not nil
// and the test records what the handler does: the test then fails if an effect
// happens in two rounds of one call, or differs when a round is repeated.
//
// answer returns the response to an input request as JSON; the same request
// must always get the same response. A call without Caller is made by a client
// with all capabilities. Twice makes the call several times, so the handler
// must act on data of the test only.
func Twice(t testing.TB, h mcp.Handler, c *mcp.Call, answer func(q mcp.InputRequest) string, effects *Effects) {
	t.Helper()
	if err := twice(t.Context(), h, c, answer, effects); err != nil {
		t.Error(err)
	}
}

func twice(ctx context.Context, h mcp.Handler, c *mcp.Call, answer func(q mcp.InputRequest) string, record *Effects) error {
	call := *c
	if call.Caller.Capabilities == nil {
		profile := able()
		call.Caller.Client, call.Caller.Capabilities = &profile.Client, &profile.Capabilities
	}
	record.take() // what was done before this call
	rounds, err := enterTwice(ctx, h, call, answer, record)
	if err == nil {
		err = repeatedEffect(call.Method, rounds)
	}
	if err != nil {
		return err
	}
	newest := mcp.Revisions()[:2] // one of each era
	for _, rev := range newest {
		if err := overTheWire(ctx, h, rev, call, answer, rounds, record); err != nil {
			return err
		}
	}
	return nil
}

// A round is the outcome of one call of a handler.
type round struct {
	requests []string // each as text, sorted; none in the last round
	outcome  string
	need     *mcp.InputRequired
	effects  []string // that were recorded meanwhile, sorted
}

func (r round) String() string {
	if r.need != nil {
		return "requested " + strings.Join(r.requests, " and ")
	}
	return "returned " + r.outcome
}

func enter(ctx context.Context, h mcp.Handler, c *mcp.Call) (r round) {
	res, err := h.Serve(ctx, c)
	if need, ok := errors.AsType[*mcp.InputRequired](err); ok {
		r.need = need
		for _, key := range slices.Sorted(maps.Keys(need.Requests)) {
			r.requests = append(r.requests, key+"="+requestText(need.Requests[key]))
		}
		return r
	}
	_, word, rest := outcomeOf(res, err)
	if word == "result" {
		rest = string(rawjson.AppendCanonical(nil, []byte(rest)))
	}
	return round{outcome: word + " " + rest}
}

func requestText(q mcp.InputRequest) string {
	return q.Method + " " + string(rawjson.AppendCanonical(nil, q.Params))
}

// enterTwice makes each round of a call twice.
func enterTwice(ctx context.Context, h mcp.Handler, call mcp.Call, answer func(q mcp.InputRequest) string, record *Effects) ([]round, error) {
	var rounds []round
	now := call
	for {
		n := len(rounds) + 1
		first := enter(ctx, h, &now)
		first.effects = record.take()
		second := enter(ctx, h, &now)
		second.effects = record.take()
		if first.String() != second.String() {
			return nil, fmt.Errorf("round %d of %s cannot be repeated: called twice in the same way, the handler\n\tfirst %s\n\tthen  %s\nA handler is called again from its first line with each response, so what it does before it requests input must be the same each time",
				n, call.Method, clip(first.String()), clip(second.String()))
		}
		rounds = append(rounds, first)
		if first.need == nil {
			return rounds, nil
		}
		if !slices.Equal(first.effects, second.effects) {
			return nil, fmt.Errorf("round %d of %s acts before it requests input, and not in the same way each time: called twice, the handler did\n\tfirst %s\n\tthen  %s",
				n, call.Method, effectsText(first.effects), effectsText(second.effects))
		}
		if n == mcp.MaxRounds {
			return nil, fmt.Errorf("%s still requires input in round %d: %s", call.Method, n, clip(first.String()))
		}
		next := call
		next.State, next.InputResponses = first.need.State, maps.Clone(first.need.PriorResponses)
		if next.InputResponses == nil {
			next.InputResponses = map[string]json.RawMessage{}
		}
		for key, q := range first.need.Requests {
			next.InputResponses[key] = json.RawMessage(answer(q))
		}
		now = next
	}
}

// overTheWire makes the whole call in one revision and compares it with the
// rounds of the direct call.
func overTheWire(ctx context.Context, h mcp.Handler, rev mcp.Revision, call mcp.Call, answer func(q mcp.InputRequest) string, rounds []round, record *Effects) error {
	peer, stop, err := connect(ctx, h, rev, able())
	if err != nil {
		return err
	}
	var asked []string
	answering := mcp.HandleInput(peer, func(_ context.Context, _ *mcp.Call, _ string, q mcp.InputRequest) (json.RawMessage, error) {
		asked = append(asked, requestText(q))
		return json.RawMessage(answer(q)), nil
	}, 10*mcp.MaxRounds)
	last := enter(ctx, answering, &call)
	if err := stop(); err != nil {
		return err
	}
	effects := record.take()
	var want []string
	for _, r := range rounds {
		var each []string
		for _, q := range r.requests {
			_, text, _ := strings.Cut(q, "=")
			each = append(each, text)
		}
		slices.Sort(each)
		if n := len(want); n+len(each) <= len(asked) {
			slices.Sort(asked[n : n+len(each)]) // within a round the order is free
		}
		want = append(want, each...)
	}
	if !slices.Equal(asked, want) {
		return fmt.Errorf("in revision %s the handler of %s requested\n\t%s\nand in a direct call\n\t%s\nso its requests depend on more than the call and the responses", rev, call.Method, clip(strings.Join(asked, "\n\t")), clip(strings.Join(want, "\n\t")))
	}
	if end := rounds[len(rounds)-1].outcome; !sameEnd(last.outcome, end) {
		return fmt.Errorf("in revision %s %s returned\n\t%s\nand in a direct call\n\t%s", rev, call.Method, clip(last.outcome), clip(end))
	}
	return sameEffects(rev, call.Method, effects, rounds)
}

// sameEnd compares outcomes. All errors are equal, because older revisions have
// other codes and messages.
func sameEnd(a, b string) bool {
	return a == b || strings.HasPrefix(a, "error ") && strings.HasPrefix(b, "error ")
}

// Effects records the side effects of a handler, so that [Twice] finds a
// handler that acts before it requests input. Without it, both runs send the
// same request and return the same result, and a second charge goes unnoticed.
//
// A test calls Record where the effect happens: in the fake of a payment
// service, or in a hook before a file is written. The zero value is ready to
// use and safe for concurrent use.
type Effects struct {
	mu   sync.Mutex
	done []string
}

// Record records one effect. The text must be the same for the same effect:
// "charge 5 EUR to ada", not "charge number 3".
func (e *Effects) Record(effect string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done = append(e.done, effect)
}

// take returns the effects since the last take, sorted.
func (e *Effects) take() []string {
	if e == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	done := e.done
	e.done = nil
	slices.Sort(done)
	return done
}

// repeatedEffect returns an error if an effect happens in several rounds of a
// call.
func repeatedEffect(method string, rounds []round) error {
	first := map[string]int{}
	for i, r := range rounds {
		for _, effect := range slices.Compact(slices.Clone(r.effects)) {
			if n, ok := first[effect]; ok {
				return fmt.Errorf("%s does %q in round %d and again in round %d: a handler is called again from its first line with each response, so what it does before it requests input is done in each round. Ask first and act after, or use server.Once",
					method, clip(effect), n, i+1)
			}
		}
		for _, effect := range r.effects {
			first[effect] = i + 1
		}
	}
	return nil
}

// sameEffects compares the effects of a call over messages with those of a
// direct call.
func sameEffects(rev mcp.Revision, method string, got []string, rounds []round) error {
	var want []string
	for _, r := range rounds {
		want = append(want, r.effects...)
	}
	if len(got) == len(want) {
		return nil
	}
	slices.Sort(want)
	return fmt.Errorf("in revision %s %s did\n\t%s\nand in a direct call\n\t%s", rev, method, effectsText(got), effectsText(want))
}

func effectsText(effects []string) string {
	if len(effects) == 0 {
		return "nothing"
	}
	return clip(strings.Join(effects, ", "))
}
