//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package typeahead

import (
	"os"

	"golang.org/x/sys/unix"
)

const (
	fread    = 1          // FREAD of <sys/fcntl.h>: the input queue
	fionread = 0x4004667f // FIONREAD of <sys/filio.h>
)

func discard(tty *os.File) { unix.IoctlSetPointerInt(int(tty.Fd()), unix.TIOCFLUSH, fread) }

func hasLine(tty *os.File) bool {
	n, err := unix.IoctlGetInt(int(tty.Fd()), fionread)
	return err == nil && n > 0
}
