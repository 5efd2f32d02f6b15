// Package typeahead handles input that the user typed at a terminal before a
// program asks for it. A question that matters discards it first, so that only
// what is typed after the question can answer it.
package typeahead

import "os"

// Discard drops all input of the terminal tty that was not read yet, including
// a line that is not finished. Errors are ignored: a file that is no terminal
// has nothing to drop.
func Discard(tty *os.File) { discard(tty) }

// HasLine reports whether a whole line waits to be read from tty, which must
// be in canonical mode. It reports false where the system cannot tell, as on
// Windows.
func HasLine(tty *os.File) bool { return hasLine(tty) }
