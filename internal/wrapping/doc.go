// Package wrapping has tests only: they wrap every Handler that the library
// makes in middleware that forwards Serve and nothing else, and hold that
// nothing is lost.
package wrapping
