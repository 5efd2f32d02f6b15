//go:build race

package protect

// The race detector makes signatures many times as expensive.
const crossedCalls = 10_000
