package typeahead

import (
	"os"

	"golang.org/x/sys/windows"
)

func discard(tty *os.File) { windows.FlushConsoleInputBuffer(windows.Handle(tty.Fd())) }

func hasLine(*os.File) bool { return false }
