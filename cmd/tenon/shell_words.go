package main

import (
	"errors"
	"strings"
)

// split splits a line into words, much as a shell does: spaces separate, quotes
// and backslashes keep together. Nothing else means anything.
func split(line string) ([]string, error) {
	words, _, open := scan(line)
	if open != 0 {
		return nil, errors.New("a quote is not closed: " + string(open))
	}
	return words, nil
}

// unfinished splits the beginning of a line into the words that are done, and
// the one that is being typed, which may be empty and begins at start.
func unfinished(line string) (done []string, word string, start int) {
	words, starts, open := scan(line)
	if open == 0 && (len(words) == 0 || strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `)) {
		return words, "", len(line)
	}
	last := len(words) - 1
	return words[:last], words[last], starts[last]
}

// scan returns the words of a line, where each begins, and the quote that is
// open at the end.
func scan(line string) (words []string, starts []int, open byte) {
	var word strings.Builder
	begun := -1
	for i := 0; i < len(line); i++ {
		c := line[i]
		if begun < 0 && c != ' ' && c != '\t' {
			begun = i
		}
		switch {
		case open != 0 && c == open:
			open = 0
		case c == '\\' && open != '\'' && i+1 < len(line) && (open == 0 || line[i+1] == '"' || line[i+1] == '\\'):
			i++
			word.WriteByte(line[i])
		case open != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			open = c
		case c == ' ' || c == '\t':
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

// quoted writes a word so that split reads it as one.
func quoted(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t'\"\\") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
