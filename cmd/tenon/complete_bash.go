package main

import "strings"

// A bashLine is a command line of bash up to the cursor, as far as completion
// needs to understand it. Nothing in it is expanded.
type bashLine struct {
	done  []string // the words that are complete, without their quotes
	word  string   // the word at the cursor, without its quotes
	kept  int      // bytes of word that stand before what readline replaces
	quote byte     // the quote that is open at the cursor; 0 if none is
}

// parseBash splits a line as bash does, and finds where the word begins that
// readline replaces: after the quote that is open, or else after the last
// character of breaks that is not quoted.
func parseBash(line, breaks string) bashLine {
	var l bashLine
	var word strings.Builder
	begun := false
	for i := 0; i < len(line); i++ {
		c := line[i]
		space := c == ' ' || c == '\t' || c == '\n'
		begun = begun || !space || l.quote != 0
		switch {
		case l.quote != 0 && c == l.quote:
			l.quote = 0
		case c == '\\' && l.quote != '\'' && i+1 < len(line) && (l.quote == 0 || strings.IndexByte("$`\"\\", line[i+1]) >= 0):
			i++
			word.WriteByte(line[i])
		case l.quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			l.quote, l.kept = c, word.Len()
		case space:
			if begun {
				l.done = append(l.done, word.String())
			}
			word.Reset()
			begun, l.kept = false, 0
		default:
			word.WriteByte(c)
			if strings.IndexByte(breaks, c) >= 0 {
				l.kept = word.Len()
			}
		}
	}
	l.word = word.String()
	return l
}

// insert is the text that readline puts in the place of its word for a proposal.
// It is false for a proposal that cannot stand within the open quote. What a
// server proposes is quoted: it must not run when the line is entered.
func (l *bashLine) insert(proposal string, only bool) (string, bool) {
	if len(proposal) < l.kept {
		return "", false
	}
	text := proposal[l.kept:]
	switch l.quote {
	case '\'':
		return text, !strings.Contains(text, "'")
	case '"':
		return strings.NewReplacer("$", `\$`, "`", "\\`", `"`, `\"`, `\`, `\\`).Replace(text), !strings.Contains(text, "!")
	}
	var b strings.Builder
	for _, c := range []byte(text) {
		if c < 0x80 && (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && strings.IndexByte("_@%+=:,./-", c) < 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	if only && !goesOn(proposal) {
		b.WriteByte(' ')
	}
	return b.String(), true
}
