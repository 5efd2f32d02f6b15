// Package ptytest has terminals for tests: real ones of the operating system,
// with the test in the place of the person. They are there on Linux only.
package ptytest
