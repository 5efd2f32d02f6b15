package typeahead

import (
	"os"

	"golang.org/x/sys/unix"
)

func discard(tty *os.File) { unix.IoctlSetInt(int(tty.Fd()), unix.TCFLSH, unix.TCIFLUSH) }

func hasLine(tty *os.File) bool {
	n, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCINQ)
	return err == nil && n > 0
}
