// Package ptytest provides pseudo-terminals for tests, with the test as the
// user. It works on Linux only.
package ptytest
