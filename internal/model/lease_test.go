package model

import (
	"errors"
	"testing"
)

// The model of the leases of processes that run tasks: leaseTime, beat, leaseFailed
// and doubt in ext/tasks/manager.go, recoverSuspect in ext/tasks/takeover.go. The
// leases of replicas (cluster/replica.go) follow the same rules.
//
// Process A runs a task, and B looks for tasks of processes without a lease. Time
// is counted in beats; a lease of 6 of them is told to the store as 4. The store
// may be away for either of them.

const (
	leaseOption = 6               // Options.Lease
	leaseTime   = 4               // Manager.leaseTime
	leaseEnd    = 3 * leaseOption // of the model
)

type leaseState struct {
	Now              int8
	Renewed          int8 // by A, in the store
	Doubt            int8 // until when B doubts
	UpA, UpB         bool // the store answers
	Alive            bool // A
	RunA, RunB       bool
	Failed           bool // B has ended the task
	Beaten, Looked   bool // in this beat
	Changes          int8 // of what is up, and of A
	Quiet            int8 // when the last of them was
	LostWithoutCause bool
}

type leaseVariant struct {
	repeatable bool // another process may run the task
	together   bool // the store is away for both or for none
	// mistakes
	lateStop, noDoubt, neverLook bool
}

func leaseModel(v leaseVariant) Model[leaseState] {
	m := Model[leaseState]{Start: leaseState{UpA: true, UpB: true, Alive: true, RunA: true}}
	m.Steps = func(s leaseState) (steps []Step[leaseState]) {
		add := func(name string, change func(*leaseState)) {
			to := s
			change(&to)
			steps = append(steps, Step[leaseState]{name, to})
		}
		most := int8(4)
		if v.together {
			most = 2 // one outage
		}
		if s.Changes < most && s.Now < leaseEnd/2 {
			changed := func(name string, change func(*leaseState)) {
				add(name, func(to *leaseState) {
					to.Changes++
					to.Quiet = to.Now
					change(to)
				})
			}
			switch {
			case v.together:
				changed("the store comes or goes", func(to *leaseState) { to.UpA, to.UpB = !s.UpA, !s.UpA })
			default:
				changed("the store comes or goes for A", func(to *leaseState) { to.UpA = !s.UpA })
				changed("the store comes or goes for B", func(to *leaseState) { to.UpB = !s.UpB })
			}
			if s.Alive {
				changed("A dies", func(to *leaseState) { to.Alive, to.RunA = false, false })
			}
		}
		if s.Alive && !s.Beaten {
			add("A beats", func(to *leaseState) {
				to.Beaten = true
				limit := int8(leaseTime - 1) // a beat before the lease ends
				if v.lateStop {
					limit = leaseTime + 1
				}
				switch {
				case s.UpA:
					to.Renewed = s.Now
				case s.Now-s.Renewed >= limit && v.repeatable: // leaseFailed, lose
					to.RunA = false
				}
			})
		}
		if !s.Looked {
			add("B looks", func(to *leaseState) {
				to.Looked = true
				switch {
				case v.neverLook:
				case !s.UpB:
					to.Doubt = s.Now + leaseOption
				case s.Now < s.Renewed+leaseTime, s.Now < s.Doubt && !v.noDoubt, s.RunB, s.Failed:
				case v.repeatable:
					to.RunB = true // takeOver
				default:
					to.Failed = true
					to.LostWithoutCause = s.Alive && v.together
				}
			})
		}
		if (s.Beaten || !s.Alive) && s.Looked && s.Now < leaseEnd {
			add("a beat passes", func(to *leaseState) {
				to.Now++
				to.Beaten, to.Looked = false, false
			})
		}
		return steps
	}
	m.Always = func(s leaseState) error {
		switch {
		case s.RunA && s.RunB:
			return errors.New("two processes run the task")
		case s.LostWithoutCause:
			return errors.New("the task of a process that lives is failed, because the store was away for all")
		}
		return nil
	}
	m.AtEnd = func(s leaseState) error {
		if !s.Alive && s.UpB && !s.RunB && !s.Failed && s.Now-s.Quiet > leaseOption+leaseTime {
			return errors.New("nobody has noticed that the process is dead")
		}
		return nil
	}
	return m
}

// While clocks run and processes are not suspended, a task runs in one process at
// a time, and the task of a dead one is taken over.
func TestOneProcessRunsATask(t *testing.T) {
	t.Parallel()
	right := leaseVariant{repeatable: true}
	holds(t, right, map[string]leaseVariant{
		"a process stops its tasks after its lease has ended": {repeatable: true, lateStop: true},
		"nobody looks for dead processes":                     {repeatable: true, neverLook: true},
	}, leaseModel)
}

// An outage of the store for everybody costs no live process its task. A store
// that comes and goes, so that one process misses it at each of its beats and the
// other never, does: the other cannot know.
func TestOutageOfTheStoreEndsNoTask(t *testing.T) {
	t.Parallel()
	right := leaseVariant{together: true}
	holds(t, right, map[string]leaseVariant{
		"leases that ended during an outage count at once": {together: true, noDoubt: true},
	}, leaseModel)
}
