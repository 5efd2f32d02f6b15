// Package faults breaks what is between two peers and checks what the user sees and
// what is left. Its tables have a cell for each fault, transport and role. It has
// tests for Linux and nothing else.
package faults
