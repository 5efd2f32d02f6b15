// Package words holds how problems are worded, so that a Plan and a Validator
// say the same thing the same way. Whatever is given to it, its texts are
// short: much of what they quote was chosen by somebody else.
package words

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

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

// Path puts two parts of a path together: "a" and "b[2]" are "a.b[2]".
func Path(step, rest string) string {
	if step == "" || rest == "" || rest[0] == '[' {
		return step + rest
	}
	return step + "." + rest
}

// Index writes the number of an element as a step of a path.
func Index(i int) string { return fmt.Sprintf("[%d]", i) }

// Member writes a property name as a step of a path: as it is if it reads
// well there, else quoted and cut to a bearable length.
func Member(name string) string {
	plain := name != "" && len(name) <= 64
	for i := 0; plain && i < len(name); i++ {
		c := name[i]
		plain = c == '_' || c == '-' || c == '$' || c >= utf8.RuneSelf ||
			c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	if plain {
		return name
	}
	return "[" + Quote(name) + "]"
}

// AppendFloat writes a float as the shortest JSON number that reads back as
// the same float.
func AppendFloat(dst []byte, v float64, bits int) []byte {
	form := byte('f')
	if size := math.Abs(v); size != 0 && (size < 1e-6 || size >= 1e21) {
		form = 'e'
	}
	return strconv.AppendFloat(dst, v, form, -1, bits)
}
