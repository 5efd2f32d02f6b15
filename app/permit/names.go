package permit

import (
	"slices"
	"strings"
)

// pathWords are words in names of arguments whose values are paths.
var pathWords = []string{"path", "paths", "file", "files", "filename", "dir", "directory", "folder", "root", "source", "src", "destination", "dest", "dst", "cwd", "input", "output"}

// targetWords are words in names of arguments that say what a call acts on.
var targetWords = append([]string{"target", "from", "to", "cc", "bcc", "uri", "url", "host", "address", "recipient", "recipients", "email", "channel", "user", "account",
	"repo", "repository", "owner", "branch", "database", "db", "table", "command", "cmd", "sql", "query", "script", "code", "id", "key", "name"}, pathWords...)

// IsTarget reports whether an argument of this name says what a call acts on.
func IsTarget(name string) bool { return hasWord(name, targetWords) }

// hasWord reports whether a name such as sourcePath or source_path has one of the
// words.
func hasWord(name string, words []string) bool {
	var word strings.Builder
	found := false
	end := func() {
		found = found || slices.Contains(words, strings.ToLower(word.String()))
		word.Reset()
	}
	for _, r := range name {
		switch {
		case r == '_' || r == '-' || r == '.' || r == ' ':
			end()
			continue
		case r >= 'A' && r <= 'Z' && word.Len() > 0:
			end()
		}
		word.WriteRune(r)
	}
	end()
	return found
}
