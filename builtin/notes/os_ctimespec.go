//go:build darwin || freebsd || netbsd

package notes

import "syscall"

func changedAt(s *syscall.Stat_t) int64 {
	return int64(s.Ctimespec.Sec)*1e9 + int64(s.Ctimespec.Nsec)
}
