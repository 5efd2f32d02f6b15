// Package stack grows the stacks of new goroutines.
package stack

import "os"

// Grow grows the stack of the calling goroutine to 16 KiB, which most handlers
// need. A new goroutine begins with 2 KiB; growing step by step, with a copy at
// each step, costs about as much as a short call.
//
//go:noinline
func Grow() byte {
	var frame [12 << 10]byte
	return frame[min(len(os.Args), 1)] // so that the compiler keeps the frame
}
