// Package textclip shortens text from others for errors and messages.
package textclip

import "strings"

// Clip returns s, or its first max bytes followed by "…" if it is longer. It
// does not split a UTF-8 sequence.
func Clip(s string, max int) string {
	if len(s) <= max {
		return s
	}
	return strings.ToValidUTF8(s[:max], "") + "…"
}
