// Package typeahead handles input that the user typed at a terminal before a
// program asks for it. Discard it before an important prompt, so that only later
// input answers the prompt.
package typeahead

import "os"

// Discard drops all input of the terminal tty that was not read yet, including
// an unfinished line. It does nothing if tty is not a terminal.
func Discard(tty *os.File) { discard(tty) }

// HasLine reports whether a whole line can be read from tty, which must be in
// canonical mode. It returns false on systems without support, such as Windows.
func HasLine(tty *os.File) bool { return hasLine(tty) }
