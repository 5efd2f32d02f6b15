// Package storetest tests implementations of [cluster.Store].
package storetest

import (
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/cluster"
)

// hangGuard is how long something may take that never does. It is not a
// measure.
const hangGuard = time.Minute

// A Subject is an empty store under test.
type Subject struct {
	// Open returns a Store on the same data each time it is called, as several
	// replicas would open it. The test closes it.
	Open func() cluster.Store
	// Advance lets time pass for the store. A store with a real clock sleeps.
	Advance func(d time.Duration)
	// Slow means that the clock of the store runs by itself, so a short time to
	// live may be over before the next step of a test.
	Slow bool
}

// moment is a short time to live. A store with a real clock must do a few
// operations within it.
const moment = 2 * time.Second

// Run runs all tests, each on a Subject of its own. around runs one test, for
// example in a synctest bubble; nil means directly and in parallel.
func Run(t *testing.T, start func(t *testing.T) Subject, around func(t *testing.T, test func(t *testing.T))) {
	for name, test := range map[string]func(*testing.T, Subject){
		"a value is found as it was stored":                values,
		"a value is replaced only if its version is known": versions,
		"a version does not come back":                     freshVersions,
		"of many who create a value one succeeds":          createConcurrently,
		"concurrent changes are all kept":                  changeConcurrently,
		"a value expires":                                  valueExpires,
		"reading extends the time to live":                 extend,
		"what is returned may be modified":                 independent,
		"of many uses one is the first":                    once,
		"a use is forgotten after its time":                onceExpires,
		"a lease has one holder":                           lease,
		"of many who acquire a lease one holds it":         acquireConcurrently,
		"a lease that is not renewed is free":              leaseExpires,
		"a lease that is renewed is kept":                  leaseRenewed,
		"members are listed":                               members,
		"a member that is not renewed is gone":             memberExpires,
		"a bucket is full at first and then empty":         bucket,
		"a bucket fills by its rate":                       bucketFills,
		"tokens are given back":                            bucketGivesBack,
		"concurrent takers get no more than there is":      takeConcurrently,
		"a log is read from any position":                  log,
		"a log keeps a number of entries":                  logEntries,
		"a log keeps a number of bytes":                    logBytes,
		"a log that expired is not continued":              logExpires,
		"concurrent entries of a log are all kept":         appendConcurrently,
		"a message reaches the subscribers of its topic":   publish,
		"messages have an order":                           publishInOrder,
		"a slow receiver is told that it lost messages":    slowReceiver,
		"nothing is received after the end":                unsubscribe,
		"subscribers come and go":                          subscribers,
		"the epoch is the same for all":                    epoch,
		"the time is that of the store":                    now,
		"the same key names different things":              kinds,
		"invalid arguments are refused":                    invalid,
		"an ended context ends an operation":               ended,
		"a closed store says so":                           closed,
	} {
		run := func(t *testing.T) { test(t, start(t)) }
		t.Run(name, func(t *testing.T) {
			if around != nil {
				around(t, run)
				return
			}
			t.Parallel()
			run(t)
		})
	}
}

// open opens a store that is closed at the end of the test.
func open(t *testing.T, s Subject) cluster.Store {
	store := s.Open()
	t.Cleanup(func() { store.Close() })
	return store
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wait waits for a channel.
func wait[T any](t *testing.T, c <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(hangGuard):
		t.Fatal("timeout while waiting for " + what)
	}
	return v
}
