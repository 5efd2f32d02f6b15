package protocol

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// Header values that are not plain ASCII text are sent as Base64 between these
// markers.
const (
	headerOpen  = "=?base64?"
	headerClose = "?="
)

// EncodeHeader encodes a string as the value of an HTTP header: unchanged, or
// in Base64 if a header could not preserve it.
func EncodeHeader(s string) string {
	if headerSafe(s) && !(strings.HasPrefix(s, headerOpen) && strings.HasSuffix(s, headerClose)) {
		return s
	}
	return headerOpen + base64.StdEncoding.EncodeToString([]byte(s)) + headerClose
}

// headerSafe reports whether a header preserves s unchanged.
func headerSafe(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c >= 0x7f {
			return false
		}
	}
	return strings.Trim(s, " \t") == s
}

// DecodeHeader reverses [EncodeHeader]. It returns false for invalid Base64 and
// for characters that a header value must not contain.
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
