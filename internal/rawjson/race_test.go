//go:build race

package rawjson

// With the race detector on, sync.Pool drops things at random.
const raceEnabled = true
