package mcptest

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/mcp"
)

// Effects records what a handler does to the world, so that [Twice] finds a
// handler that acts before it asks. Without a record nothing shows that a charge
// was made twice: both runs ask the same question and return the same result.
//
// A test calls Record where the effect happens: in the fake of a payment
// service, in a hook before a file is written. The zero value is ready to use,
// by several goroutines.
type Effects struct {
	mu   sync.Mutex
	done []string
}

// Record notes one effect. The text says what is done, the same each time:
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

// repeatedEffect reports an effect that happens in more than one round of a
// call.
func repeatedEffect(method string, rounds []round) error {
	first := map[string]int{}
	for i, r := range rounds {
		for _, effect := range slices.Compact(slices.Clone(r.effects)) {
			if n, ok := first[effect]; ok {
				return fmt.Errorf("%s does %q in round %d and again in round %d: a handler is entered again from its first line with each answer, so what it does before it asks is done once for each round. Ask first and act after, or make sure that the effect happens once",
					method, clip(effect), n, i+1)
			}
		}
		for _, effect := range r.effects {
			first[effect] = i + 1
		}
	}
	return nil
}

// sameEffects compares what was done over the wire with what was done without
// one.
func sameEffects(rev mcp.Revision, method string, got []string, rounds []round) error {
	var want []string
	for _, r := range rounds {
		want = append(want, r.effects...)
	}
	if len(got) == len(want) {
		return nil
	}
	slices.Sort(want)
	return fmt.Errorf("in revision %s %s did\n\t%s\nand without a wire\n\t%s", rev, method, effectsText(got), effectsText(want))
}

func effectsText(effects []string) string {
	if len(effects) == 0 {
		return "nothing"
	}
	return clip(strings.Join(effects, ", "))
}
