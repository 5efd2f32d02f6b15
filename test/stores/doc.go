// Package stores tests that what Tenon stores survives faults: in a process of its
// own, each call of the system that changes a file fails once, and the process is
// killed once at each, by strace. After that, what was acknowledged is there, and
// nothing is there in part. It has tests and nothing else.
package stores
