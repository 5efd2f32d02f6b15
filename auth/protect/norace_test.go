//go:build !race

package protect

const crossedCalls = 100_000
