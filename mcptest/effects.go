package mcptest

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/mcp"
)

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
