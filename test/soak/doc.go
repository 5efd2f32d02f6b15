// Package soak runs gateways, servers and a host for a long time, with a fault
// every second, and looks whether anything grows, crosses or is lost.
//
//	make soak              # 30 minutes
//	make soak LENGTH=2m
//
// All of them are processes: two gateways with API keys for 100 principals, of
// which one is restarted now and then; servers of 2025-11-25 and of 2026-07-28
// over HTTP, and servers over stdio, of which some are killed and all are stopped
// for seconds; and a host with a model that plays a script. Clients of every
// revision call them without a pause. They check that each answer is their own,
// and write down what was acknowledged.
//
// The run fails if an answer reaches another principal, if an acknowledged change
// is lost or done twice, or if memory, goroutines, descriptors or times grow: see
// trend_test.go for what that means. A run of less than two minutes, as that of
// make test, is too short for the last.
package soak
