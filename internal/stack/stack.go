// Package stack grows the stacks of new goroutines.
package stack

// Grow grows the stack of the calling goroutine to 16 KiB, which most handlers
// need. A new goroutine begins with 2 KiB; growing step by step, with a copy at
// each step, costs about as much as a short call.
//
// The frame of grow is what grows the stack; grow returns before it would clear
// the frame.
func Grow() { grow(0) }

//go:noinline
func grow(n int) byte {
	if n == 0 {
		return 0
	}
	var frame [12 << 10]byte
	frame[n] = 1
	return frame[n/2]
}
