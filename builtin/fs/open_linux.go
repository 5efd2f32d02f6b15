package fs

import (
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// kernelFile reports whether an open file is in a kernel file system,
// wherever it is mounted.
func kernelFile(f *os.File) bool {
	var s unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &s); err != nil {
		return false
	}
	switch int64(s.Type) {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC,
		unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.DEVPTS_SUPER_MAGIC, unix.BPF_FS_MAGIC, unix.EFIVARFS_MAGIC:
		return true
	}
	return false
}

// times returns the creation and access times of a file; zero means unknown.
func times(p location, info fs.FileInfo) (created, accessed time.Time) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		accessed = time.Unix(s.Atim.Unix())
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return created, accessed
	}
	f, err := p.root.dir.OpenFile(p.rel, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return created, accessed
	}
	defer f.Close()
	var x unix.Statx_t
	if err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &x); err == nil && x.Mask&unix.STATX_BTIME != 0 {
		created = time.Unix(x.Btime.Sec, int64(x.Btime.Nsec))
	}
	return created, accessed
}
