//go:build unix

package bm25

import "syscall"

// mapRegion returns memory from the system, or nil if there is none.
func mapRegion(size int) []byte {
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	return b
}

func unmapRegion(b []byte) { syscall.Munmap(b) }
