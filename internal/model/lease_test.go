package model

import (
	"errors"
	"testing"
)

// The model of the leases of processes that run tasks: leaseTime, beat, leaseFailed
// and doubt in ext/tasks/manager.go, recoverSuspect in ext/tasks/takeover.go. The
// leases of replicas (renew, list and doubt in cluster/replica.go) follow the same
// rules with another length: "failed" is a replica that another one takes for dead.
//
// Process A runs a task, and B looks for tasks of processes without a lease. Either
// may lose the store and find it again, any number of times: times are relative to
// now and end at what makes no difference, so the model is finite without a limit
// on outages. A step of time is as long as A waits before it tries again to renew
// its lease.

const (
	leaseBeat   = 3               // Manager.beatTime; Manager.retryTime is 1
	leaseOption = 6 * leaseBeat   // Options.Lease
	leaseTime   = 4 * leaseBeat   // Manager.leaseTime
	replicaTime = 3 * leaseBeat   // Options.Lease of a replica, which is also how long it doubts
	leaseCalm   = 2 * leaseOption // after which a dead process must have been noticed
	// upTime is how long the store stays, in whole steps, once it is back: longer
	// than the time until A tries again.
	upTime = 2
)

type leaseState struct {
	Age        int8 // since A renewed its lease
	Doubt      int8 // how long B doubts still
	UpA, UpB   bool // the store answers
	ForA, ForB int8 // how long it has, in whole steps
	Away       int8 // how long A could not count on the store
	TillA      int8 // until A renews
	TillB      int8 // until B looks
	Alive      bool // A
	Calm       int8 // how long A has been dead while the store answers B
	RunA, RunB bool
	Failed     bool // B has ended the task
	Wrongly    bool // of a process that could renew its lease
	DidA, DidB bool // what they do in this step
}

type leaseVariant struct {
	repeatable bool // another process may run the task
	together   bool // the store is away for both or for none
	replicas   bool // the leases are those of replicas
	// mistakes
	lateStop, noDoubt, neverLook, lateRetry bool
}

func leaseModel(v leaseVariant) Model[leaseState] {
	start := leaseState{UpA: true, UpB: true, ForA: upTime, ForB: upTime, Alive: true, RunA: true, TillA: leaseBeat, TillB: leaseBeat}
	leaseTime, doubt := int8(leaseTime), int8(leaseOption)
	if v.replicas {
		leaseTime, doubt = replicaTime, replicaTime
	}
	m := Model[leaseState]{Start: start}
	m.Steps = func(s leaseState) (steps []Step[leaseState]) {
		if s.RunB || s.Failed {
			return nil
		}
		add := func(name string, change func(*leaseState)) {
			to := s
			change(&to)
			steps = append(steps, Step[leaseState]{name, to})
		}
		if !s.UpA || s.ForA >= upTime {
			name := "the store comes or goes for A"
			if v.together {
				name = "the store comes or goes"
			}
			add(name, func(to *leaseState) {
				to.UpA, to.ForA = !s.UpA, 0
				if v.together {
					to.UpB, to.ForB, to.Calm = to.UpA, 0, 0
				}
			})
		}
		if !v.together && (!s.UpB || s.ForB >= upTime) {
			add("the store comes or goes for B", func(to *leaseState) { to.UpB, to.ForB, to.Calm = !s.UpB, 0, 0 })
		}
		if s.Alive {
			add("A dies", func(to *leaseState) { to.Alive, to.RunA, to.Away, to.Calm = false, false, 0, 0 })
		}
		if s.Alive && s.TillA == 0 && !s.DidA {
			add("A renews its lease", func(to *leaseState) {
				to.DidA = true
				limit := leaseTime - leaseBeat // a beat before the lease ends
				if v.lateStop {
					limit = leaseTime + 1
				}
				to.TillA = leaseBeat
				switch {
				case s.UpA:
					to.Age = 0
				default: // leaseFailed
					if !v.lateRetry {
						to.TillA = 1
					}
					if s.Age >= limit && v.repeatable {
						to.RunA = false // lose
					}
				}
			})
		}
		if s.TillB == 0 && !s.DidB {
			add("B looks", func(to *leaseState) {
				to.DidB, to.TillB = true, leaseBeat
				switch {
				case v.neverLook:
				case !s.UpB:
					to.Doubt = doubt
				case s.Age < leaseTime, s.Doubt > 0 && !v.noDoubt:
				case v.repeatable:
					to.RunB = true // takeOver
				default:
					to.Failed = true
					to.Wrongly = s.Alive && (v.together || s.Away < leaseTime-leaseBeat)
				}
			})
		}
		if (s.DidA || s.TillA > 0 || !s.Alive) && (s.DidB || s.TillB > 0) {
			add("time passes", func(to *leaseState) {
				to.DidA, to.DidB = false, false
				to.Age = min(s.Age+1, leaseTime+1)
				to.Doubt, to.TillB = max(0, s.Doubt-1), s.TillB-1
				if s.Alive {
					to.TillA = s.TillA - 1
				}
				if s.UpA {
					to.ForA = min(s.ForA+1, upTime)
				}
				if s.UpB {
					to.ForB = min(s.ForB+1, upTime)
				}
				to.Away = 0
				if s.Alive && to.ForA < upTime && !v.together {
					to.Away = min(s.Away+1, leaseTime)
				}
				if !s.Alive && s.UpB {
					to.Calm = min(s.Calm+1, leaseCalm)
				}
			})
		}
		return steps
	}
	m.Always = func(s leaseState) error {
		switch {
		case s.RunA && s.RunB:
			return errors.New("two processes run the task")
		case s.Wrongly:
			return errors.New("the task of a process that lives, and could renew its lease, is failed")
		case s.Calm >= leaseCalm:
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

// A store that goes away for everybody, however often, costs no live process its
// task, if it stays for longer than the time of a retry whenever it comes back.
func TestOutagesOfTheStoreEndNoTask(t *testing.T) {
	t.Parallel()
	right := leaseVariant{together: true}
	holds(t, right, map[string]leaseVariant{
		"leases that ended during an outage count at once":           {together: true, noDoubt: true},
		"a process that missed the store waits for a beat before it": {together: true, lateRetry: true},
	}, leaseModel)
}

// The same for the memberships of replicas.
func TestOutagesOfTheStoreEndNoMembership(t *testing.T) {
	t.Parallel()
	right := leaseVariant{together: true, replicas: true}
	holds(t, right, map[string]leaseVariant{
		"leases that ended during an outage count at once":           {together: true, replicas: true, noDoubt: true},
		"a replica that missed the store waits for a beat before it": {together: true, replicas: true, lateRetry: true},
	}, leaseModel)
}

// A process that misses the store while others reach it loses its task, or a replica
// its membership, only if it
// could not count on the store for the time of a lease without its last beat: the
// others cannot know more.
func TestOutageForOneEndsItsTaskOnlyAfterALease(t *testing.T) {
	t.Parallel()
	holds(t, leaseVariant{replicas: true}, map[string]leaseVariant{
		"a replica that missed the store waits for a beat before it": {replicas: true, lateRetry: true},
		"nobody looks for dead replicas":                             {replicas: true, neverLook: true},
	}, leaseModel)
	holds(t, leaseVariant{}, map[string]leaseVariant{
		"a process that missed the store waits for a beat before it": {lateRetry: true},
		"nobody looks for dead processes":                            {neverLook: true},
	}, leaseModel)
}
