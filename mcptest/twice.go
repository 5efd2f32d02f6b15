package mcptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// Twice checks that a handler which asks can be entered again, as it will be:
// with each answer it runs from its first line.
//
// Each round of the call is entered twice in the same way, and must both times
// ask the same questions or return the same result. The whole call is then made
// over the wire, once as the newest revision does it (the call ends and is made
// again) and once as the older ones do (the call stays open while the client is
// asked), and must return the same result again.
//
// So Twice finds handlers whose questions or results change from run to run. It
// sees a handler that acts before it asks only if the test records what the
// handler does, in an [Effects]: then the test fails if an effect happens in two
// rounds of one call, or differs when a round that asks is entered twice.
//
// answer gives the answer to a question as JSON; the same question must always
// get the same answer. A call that does not say who calls is made by a client
// with all capabilities. Twice makes the call several times, each round twice,
// so the handler must act on something that belongs to the test.
func Twice(t testing.TB, h mcp.Handler, c *mcp.Call, answer func(q mcp.InputRequest) string, effects ...*Effects) {
	t.Helper()
	var record *Effects
	switch len(effects) {
	case 0:
	case 1:
		record = effects[0]
	default:
		t.Fatal("mcptest.Twice takes one Effects at most")
	}
	if err := twice(t.Context(), h, c, answer, record); err != nil {
		t.Error(err)
	}
}

func twice(ctx context.Context, h mcp.Handler, c *mcp.Call, answer func(q mcp.InputRequest) string, record *Effects) error {
	call := *c
	if call.Caller.Capabilities == nil {
		persona := able()
		call.Caller.Client, call.Caller.Capabilities = &persona.Client, &persona.Capabilities
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

// A round is what a handler said when it was entered.
type round struct {
	questions []string // each as text, sorted; none in the last round
	outcome   string
	need      *mcp.InputRequired
	effects   []string // that were recorded meanwhile, sorted
}

func (r round) String() string {
	if r.need != nil {
		return "asked " + strings.Join(r.questions, " and ")
	}
	return "came to " + r.outcome
}

func enter(ctx context.Context, h mcp.Handler, c *mcp.Call) (r round) {
	res, err := h.Serve(ctx, c)
	if need, ok := errors.AsType[*mcp.InputRequired](err); ok {
		r.need = need
		for _, key := range slices.Sorted(maps.Keys(need.Requests)) {
			r.questions = append(r.questions, key+"="+questionText(need.Requests[key]))
		}
		return r
	}
	_, word, rest := outcomeOf(res, err)
	if word == "result" {
		rest = string(rawjson.AppendCanonical(nil, []byte(rest)))
	}
	return round{outcome: word + " " + rest}
}

func questionText(q mcp.InputRequest) string {
	return q.Method + " " + string(rawjson.AppendCanonical(nil, q.Params))
}

// enterTwice goes through the rounds of a call, entering each of them twice.
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
			return nil, fmt.Errorf("round %d of %s cannot be repeated: entered twice with the same call and the same answers, the handler\n\tfirst %s\n\tthen  %s\nA handler is entered again from its first line when an answer is there, so what it does before it asks must come out the same each time",
				n, call.Method, clip(first.String()), clip(second.String()))
		}
		rounds = append(rounds, first)
		if first.need == nil {
			return rounds, nil
		}
		if !slices.Equal(first.effects, second.effects) {
			return nil, fmt.Errorf("round %d of %s acts before it asks, and not in the same way each time: entered twice, the handler did\n\tfirst %s\n\tthen  %s",
				n, call.Method, effectsText(first.effects), effectsText(second.effects))
		}
		if n == mcp.MaxRounds {
			return nil, fmt.Errorf("%s still asks in round %d: %s", call.Method, n, clip(first.String()))
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
// rounds that it had without a wire.
func overTheWire(ctx context.Context, h mcp.Handler, rev mcp.Revision, call mcp.Call, answer func(q mcp.InputRequest) string, rounds []round, record *Effects) error {
	peer, stop, err := connect(ctx, h, rev)
	if err != nil {
		return err
	}
	var asked []string
	answering := mcp.HandleInput(peer, func(_ context.Context, _ *mcp.Call, _ string, q mcp.InputRequest) (json.RawMessage, error) {
		asked = append(asked, questionText(q))
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
		for _, q := range r.questions {
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
		return fmt.Errorf("in revision %s the handler of %s asked\n\t%s\nand without a wire\n\t%s\nso what it asks depends on more than the call and the answers", rev, call.Method, clip(strings.Join(asked, "\n\t")), clip(strings.Join(want, "\n\t")))
	}
	if end := rounds[len(rounds)-1].outcome; !sameEnd(last.outcome, end) {
		return fmt.Errorf("in revision %s %s came to\n\t%s\nand without a wire to\n\t%s", rev, call.Method, clip(last.outcome), clip(end))
	}
	return sameEffects(rev, call.Method, effects, rounds)
}

// sameEnd compares outcomes. Of errors only that they are some counts: older
// revisions have other codes, and not every message goes over a wire.
func sameEnd(a, b string) bool {
	return a == b || strings.HasPrefix(a, "error ") && strings.HasPrefix(b, "error ")
}
