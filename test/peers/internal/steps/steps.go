// Package steps prints what a client program sees, one JSON line for each step
// of the script that every client in this folder runs. The README lists the
// steps and the values to expect.
package steps

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// Patience is how long a step waits for what should come at once.
const Patience = 10 * time.Second

type line struct {
	Step    string `json:"step"`
	OK      bool   `json:"ok"`
	Value   any    `json:"value,omitempty"`
	Error   string `json:"error,omitempty"`
	Skipped string `json:"skipped,omitempty"`
}

// Run does one step and prints how it went.
func Run(step string, do func() (any, error)) {
	value, err := do()
	if err != nil {
		write(line{Step: step, Error: err.Error()})
		return
	}
	write(line{Step: step, OK: true, Value: value})
}

// Skip says that this client cannot do the step, and why.
func Skip(step, why string) { write(line{Step: step, Skipped: why}) }

// Fail prints that the program cannot go on, and ends it.
func Fail(step string, err error) {
	write(line{Step: step, Error: err.Error()})
	os.Exit(1)
}

func write(l line) {
	b, err := json.Marshal(l)
	if err != nil {
		b, _ = json.Marshal(line{Step: l.Step, Error: "the value cannot be printed: " + err.Error()})
	}
	fmt.Println(string(b))
}

// A Collection gathers what notifications bring.
type Collection[T any] struct {
	mu    sync.Mutex
	items []T
	grown chan struct{}
}

// Add puts an item in.
func (c *Collection[T]) Add(item T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.items = append(c.items, item)
	if c.grown != nil {
		close(c.grown)
		c.grown = nil
	}
}

// Reset forgets the items.
func (c *Collection[T]) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.items = nil
}

// Wait returns the items once there are at least n, or fewer when patience
// has run out: notifications may come after the result they belong to.
func (c *Collection[T]) Wait(n int) []T {
	timeout := time.After(Patience)
	for {
		c.mu.Lock()
		if len(c.items) >= n {
			defer c.mu.Unlock()
			return append([]T(nil), c.items...)
		}
		if c.grown == nil {
			c.grown = make(chan struct{})
		}
		grown := c.grown
		c.mu.Unlock()
		select {
		case <-grown:
		case <-timeout:
			c.mu.Lock()
			defer c.mu.Unlock()
			return append([]T{}, c.items...)
		}
	}
}
