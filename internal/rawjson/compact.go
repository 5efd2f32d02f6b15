package rawjson

import "bytes"

// AppendCompact appends raw as one line. Without a line break raw is
// appended unchanged; otherwise all white space between tokens is removed. A
// raw line break in a string, which checked JSON does not have, is escaped.
func AppendCompact(dst, raw []byte) []byte {
	if bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return append(dst, raw...)
	}
	done := 0
	for i := 0; i < len(raw); {
		switch b := raw[i]; {
		case b == '"':
			end := skipString(raw, i+1)
			dst = appendLine(append(dst, raw[done:i]...), raw[i:end])
			i, done = end, end
		case isSpace(b):
			dst = append(dst, raw[done:i]...)
			i = space(raw, i)
			done = i
		default:
			i++
		}
	}
	return append(dst, raw[done:]...)
}

// appendLine appends a quoted string with its raw line breaks escaped.
func appendLine(dst, s []byte) []byte {
	for {
		i := bytes.IndexAny(s, "\r\n")
		if i < 0 {
			return append(dst, s...)
		}
		dst = append(dst, s[:i]...)
		if s[i] == '\n' {
			dst = append(dst, '\\', 'n')
		} else {
			dst = append(dst, '\\', 'r')
		}
		s = s[i+1:]
	}
}
