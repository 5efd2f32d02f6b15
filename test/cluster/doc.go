// Package cluster tests gateways on many machines: real processes of tenon
// gateway behind a real nginx with round robin, with a real Redis.
package cluster
