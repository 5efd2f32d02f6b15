package draft

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
)

// maxName is the length that all hosts accept for names.
const maxName = 64

// uniqueNames gives each operation a name of its own.
func uniqueNames(all []*operation) {
	used := map[string]bool{}
	for _, op := range all {
		name := snake(op.id)
		if name == "" {
			name = snake(strings.ToLower(op.method) + " " + strings.NewReplacer("{", " by ", "}", " ").Replace(op.path))
		}
		name = shorten(name, op.method+" "+op.path)
		for base, i := name, 2; used[name]; i++ {
			suffix := fmt.Sprintf("_%d", i)
			name = base[:min(len(base), maxName-len(suffix))] + suffix
		}
		used[name] = true
		op.name = name
	}
}

// snake returns s in the form list_repository_issues.
func snake(s string) string {
	var b strings.Builder
	runes := []rune(s)
	for i, r := range runes {
		switch {
		case r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r):
			if b.Len() > 0 && !strings.HasSuffix(b.String(), "_") {
				b.WriteByte('_')
			}
			continue
		case unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || unicode.IsDigit(runes[i-1]) || i+1 < len(runes) && unicode.IsUpper(runes[i-1]) && unicode.IsLower(runes[i+1])):
			if !strings.HasSuffix(b.String(), "_") {
				b.WriteByte('_')
			}
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Trim(b.String(), "_")
}

// shorten cuts a name that is too long at a word and appends a hash of what it
// stands for.
func shorten(name, of string) string {
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(of))
	cut := name[:maxName-7]
	if i := strings.LastIndexByte(cut, '_'); i > maxName/2 {
		cut = cut[:i]
	}
	return cut + "_" + hex.EncodeToString(sum[:3])
}
