// Package model checks small models of Tenon's state machines by trying every
// order of their steps. The models are the tests of this package: parked calls
// (parked_test.go), leases (lease_test.go) and tasks (tasks_test.go). Each model
// says which code it is of, and that code refers to it.
//
// A model is a state, which can be compared with ==, and a function that returns
// the steps that are possible in a state. A step is what the code does without
// another part coming between: one section under a lock, one change of a record.
package model

import (
	"fmt"
	"strings"
)

// A Step is one thing that can happen next.
type Step[S comparable] struct {
	Name string
	To   S
}

// A Model is a state machine with what must be true of it.
type Model[S comparable] struct {
	Start S
	// Steps returns what can happen in a state. A state without steps is an end.
	Steps func(S) []Step[S]
	// Always returns an error if a state must not occur.
	Always func(S) error
	// AtEnd returns an error if the machine must not stop in a state. Nil means
	// that it may stop in any.
	AtEnd func(S) error
}

// A Result says how much was checked.
type Result struct{ States, Steps, Ends int }

// Check visits every state that can be reached. The error has the shortest way to
// a state that must not be.
func (m Model[S]) Check() (Result, error) {
	type visit struct {
		from S
		step string
	}
	var r Result
	seen := map[S]visit{m.Start: {}}
	way := func(s S) string {
		var names []string
		for s != m.Start {
			v := seen[s]
			names = append([]string{v.step}, names...)
			s = v.from
		}
		return strings.Join(names, " → ")
	}
	for queue := []S{m.Start}; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		r.States++
		if err := m.Always(s); err != nil {
			return r, fmt.Errorf("%w, after %s", err, way(s))
		}
		steps := m.Steps(s)
		if len(steps) == 0 {
			r.Ends++
			if m.AtEnd != nil {
				if err := m.AtEnd(s); err != nil {
					return r, fmt.Errorf("%w, at the end of %s", err, way(s))
				}
			}
		}
		for _, step := range steps {
			r.Steps++
			if _, known := seen[step.To]; !known {
				seen[step.To] = visit{s, step.Name}
				queue = append(queue, step.To)
			}
		}
	}
	return r, nil
}
