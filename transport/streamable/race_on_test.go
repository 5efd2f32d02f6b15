//go:build race

package streamable_test

// underRace has the largest tests be smaller; make flood runs them in full.
const underRace = true
