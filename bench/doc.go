// Package bench measures Tenon beside its peers in one run. It is a module of
// its own, so that nobody who uses Tenon gets the peers.
package bench
