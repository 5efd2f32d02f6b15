//go:build !unix

package host

import "os"

// processAlive reports whether a process of this machine runs.
func processAlive(pid int) bool {
	p, err := os.FindProcess(pid) // fails on Windows if there is none
	if err != nil {
		return false
	}
	p.Release()
	return true
}
