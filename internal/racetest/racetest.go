// Package racetest tells tests whether the race detector is on, which makes code
// about ten times as expensive and lets sync.Pool drop things at random. Tests
// that only compute can be smaller then: make flood runs the largest of them at
// full size without it. It is imported by tests only.
package racetest

// Size returns full, or small if the race detector is on.
func Size(full, small int) int {
	if Enabled {
		return small
	}
	return full
}
