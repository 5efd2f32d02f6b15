// Package words holds how problems are worded, so that a Plan and a Validator
// say the same thing the same way. Whatever is given to it, its texts are
// short: much of what they quote was chosen by somebody else.
package words

import (
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// Items counts items: "1 item", "2 items".
func Items(n int) string { return plural(n, "item") }

// Characters counts characters.
func Characters(n int) string { return plural(n, "character") }

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// List joins the first few values, each already written as JSON.
func List(values []string) string {
	const most = 20
	if len(values) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(values[:most], ", "), len(values)-most)
	}
	return strings.Join(values, ", ")
}

// Quote quotes text that somebody else chose, at a length fit for an error.
func Quote(text string) string { return rawjson.Quote(text) }

// Clip cuts text to about a line.
func Clip(text string) string { return cut(text, 80) }

// OneLine makes one bounded line of an error text that somebody else wrote.
func OneLine(text string) string { return cut(strings.Join(strings.Fields(text), " "), 200) }

func cut(text string, most int) string {
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
