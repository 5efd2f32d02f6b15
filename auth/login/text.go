package login

import (
	"strings"
	"unicode"
)

// clip makes one short printable line of text from a server, for an
// error that a terminal shows.
func clip(text string) string {
	const most = 200
	cut := len(text) > most
	if cut {
		text = text[:most]
	}
	text = strings.ToValidUTF8(text, "")
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if cut {
		text += "…"
	}
	return text
}
