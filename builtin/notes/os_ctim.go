//go:build linux || openbsd || dragonfly || solaris || aix

package notes

import "syscall"

func changedAt(s *syscall.Stat_t) int64 { return int64(s.Ctim.Sec)*1e9 + int64(s.Ctim.Nsec) }
