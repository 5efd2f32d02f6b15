//go:build race

package jsonrpc

// With the race detector on, sync.Pool drops things at random.
const raceEnabled = true
