// Package stress has tests and nothing else: many clients of both eras connect,
// listen, drop, resume and cancel while the lists and resources of one server
// change.
package stress
