package mcp

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// A value that cannot stand in an HTTP header as it is travels between these
// two markers, in Base64.
const (
	headerOpen  = "=?base64?"
	headerClose = "?="
)

// EncodeHeader writes a text so that it can be the value of an HTTP header: as
// it is, or, where it has characters or edges that a header would not keep, in
// Base64.
func EncodeHeader(s string) string {
	if headerSafe(s) && !(strings.HasPrefix(s, headerOpen) && strings.HasSuffix(s, headerClose)) {
		return s
	}
	return headerOpen + base64.StdEncoding.EncodeToString([]byte(s)) + headerClose
}

// headerSafe reports whether a header keeps the text as it is.
func headerSafe(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c >= 0x7f {
			return false
		}
	}
	return strings.Trim(s, " \t") == s
}

// DecodeHeader reads what [EncodeHeader] wrote. It reports false for a value
// that is marked as Base64 and is not, and for one that no header may have.
func DecodeHeader(s string) (text string, ok bool) {
	if len(s) < len(headerOpen)+len(headerClose) || !strings.HasPrefix(s, headerOpen) || !strings.HasSuffix(s, headerClose) {
		return s, headerSafe(s)
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(s[len(headerOpen) : len(s)-len(headerClose)])
	if err != nil || !utf8.Valid(raw) {
		return "", false
	}
	return string(raw), true
}
