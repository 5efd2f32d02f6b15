package protocol

import (
	"strings"

	"github.com/tenon-mcp/tenon/mcp"
)

// ValidToolName reports whether name follows the recommendation of the
// specification: 1 to 128 letters, digits, dots, hyphens and underscores.
func ValidToolName(name string) bool {
	for i := range len(name) {
		if c := name[i]; !isAlnum(c) && c != '_' && c != '-' && c != '.' {
			return false
		}
	}
	return 1 <= len(name) && len(name) <= 128
}

// ValidMetaKey reports whether key is a valid _meta key: an optional prefix of
// dotted labels that ends with a slash, followed by a name.
func ValidMetaKey(key string) bool {
	prefix, name, found := strings.Cut(key, "/")
	if !found {
		return key != "" && validMetaName(key)
	}
	for label := range strings.SplitSeq(prefix, ".") {
		if !validMetaLabel(label) {
			return false
		}
	}
	return validMetaName(name)
}

// ReservedMetaKey reports whether key is reserved for the protocol and its
// official extensions: the second label of its prefix is mcp or
// modelcontextprotocol, or it is one of the reserved names without a prefix.
func ReservedMetaKey(key string) bool {
	prefix, _, found := strings.Cut(key, "/")
	if !found {
		switch key {
		case mcp.MetaProgressToken, mcp.MetaTraceparent, mcp.MetaTracestate, mcp.MetaBaggage:
			return true
		}
		return false
	}
	_, rest, _ := strings.Cut(prefix, ".")
	second, _, _ := strings.Cut(rest, ".")
	return second == "modelcontextprotocol" || second == "mcp"
}

func validMetaLabel(s string) bool {
	if s == "" || !isLetter(s[0]) || !isAlnum(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if !isAlnum(s[i]) && s[i] != '-' {
			return false
		}
	}
	return true
}

func validMetaName(s string) bool {
	if s == "" {
		return true
	}
	if !isAlnum(s[0]) || !isAlnum(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if !isAlnum(s[i]) && s[i] != '-' && s[i] != '_' && s[i] != '.' {
			return false
		}
	}
	return true
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func isAlnum(c byte) bool  { return isLetter(c) || '0' <= c && c <= '9' }
