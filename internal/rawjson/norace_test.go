//go:build !race

package rawjson

const raceEnabled = false
