//go:build unix

package safefile

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// flock is unix.Flock; tests replace it to simulate a file system without it.
var flock = unix.Flock

func identify(dir *os.File) (identity, error) {
	var s unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &s); err != nil {
		return identity{}, &os.PathError{Op: "stat", Path: dir.Name(), Err: err}
	}
	return identity{uint64(s.Dev), s.Ino}, nil
}

// tryLock locks a directory, or a file in it if that is not possible.
func tryLock(dir *os.File, _ identity) (release func(), err error) {
	err = lockFD(int(dir.Fd()))
	if err == nil {
		return func() { flock(int(dir.Fd()), unix.LOCK_UN) }, nil
	}
	if !errors.Is(err, ErrNoLocks) {
		return nil, err
	}
	return tryLockFile(int(dir.Fd()))
}

// lockOpen locks an open file without waiting, for this process alone or
// together with others that do not want it alone.
func lockOpen(f *os.File, alone bool) error {
	if alone {
		return lockFD(int(f.Fd()))
	}
	return lockFDAs(int(f.Fd()), unix.LOCK_SH)
}

// lockFD locks an open file without waiting.
func lockFD(fd int) error { return lockFDAs(fd, unix.LOCK_EX) }

func lockFDAs(fd, kind int) error {
	for {
		err := flock(fd, kind|unix.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errBusy
		case err != nil: // EBADF on NFS, ENOLCK, ENOTSUP, EINVAL, ENOSYS elsewhere
			return ErrNoLocks
		default:
			return nil
		}
	}
}

// tryLockFile locks a file in the directory. The holder removes the file
// before it releases the lock, so the next one checks whether the file still
// exists.
func tryLockFile(dir int) (release func(), err error) {
	fd, err := unix.Openat(dir, lockName, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o666)
	if err != nil {
		return nil, &os.PathError{Op: "lock", Path: lockName, Err: err}
	}
	if err := lockFD(fd); err != nil {
		if errors.Is(err, ErrNoLocks) {
			unix.Unlinkat(dir, lockName, 0)
		}
		unix.Close(fd)
		return nil, err
	}
	var locked, there unix.Stat_t
	if unix.Fstat(fd, &locked) != nil || unix.Fstatat(dir, lockName, &there, unix.AT_SYMLINK_NOFOLLOW) != nil || locked.Ino != there.Ino || locked.Dev != there.Dev {
		unix.Close(fd)
		return nil, errBusy
	}
	return func() {
		unix.Unlinkat(dir, lockName, 0)
		unix.Close(fd)
	}, nil
}
