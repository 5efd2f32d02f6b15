// Package faults breaks what is between two peers and checks what the user sees and
// what is left. Its table has a cell for each fault, transport and role; those of
// the role client over stdio and HTTP are the first. It has tests and nothing else.
package faults
