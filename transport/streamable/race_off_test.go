//go:build !race

package streamable_test

const underRace = false
