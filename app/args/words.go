package args

import (
	"fmt"
	"strings"
)

// Split splits a line into words at spaces and line breaks. Single or double
// quotes keep text together, also in the middle of a word, as in name="two
// words". Outside of single quotes, a backslash escapes a quote, a backslash or a
// space. An open quote is an error.
func Split(line string) ([]string, error) {
	words, _, open := scan(line)
	if open != 0 {
		return nil, fmt.Errorf("the quote %c is not closed; write \\%c for the character itself", open, open)
	}
	return words, nil
}

// Unfinished splits the beginning of a line into complete words and the word
// being typed, which may be empty and begins at start.
func Unfinished(line string) (done []string, word string, start int) {
	words, starts, open := scan(line)
	if open == 0 && (len(words) == 0 || strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `)) {
		return words, "", len(line)
	}
	last := len(words) - 1
	return words[:last], words[last], starts[last]
}

// scan returns the words of a line, where each begins, and the quote that is open
// at the end; 0 if none is.
func scan(line string) (words []string, starts []int, open byte) {
	var word strings.Builder
	begun := -1
	for i := 0; i < len(line); i++ {
		c := line[i]
		space := c == ' ' || c == '\t' || c == '\n'
		if begun < 0 && !space {
			begun = i
		}
		switch {
		case open != 0 && c == open:
			open = 0
		case c == '\\' && open != '\'' && i+1 < len(line) && strings.IndexByte(`"'\ `, line[i+1]) >= 0:
			i++
			word.WriteByte(line[i])
		case open != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			open = c
		case space:
			if begun >= 0 {
				words, starts = append(words, word.String()), append(starts, begun)
				word.Reset()
				begun = -1
			}
		default:
			word.WriteByte(c)
		}
	}
	if begun >= 0 {
		words, starts = append(words, word.String()), append(starts, begun)
	}
	return words, starts, open
}

// Quote returns a word so that Split reads it as one.
func Quote(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\n'\"\\") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
