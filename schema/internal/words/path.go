package words

import (
	"fmt"
	"unicode/utf8"
)

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
