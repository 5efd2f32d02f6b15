// Package wrapping has only tests. They wrap every Handler of the library in
// middleware that forwards Serve and nothing else, and check that nothing is
// lost.
package wrapping
