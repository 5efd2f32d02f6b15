package visible

// Shorten cuts s after at most n bytes, between two characters, and marks the cut
// with an ellipsis. A text of at most n bytes is returned as it is.
func Shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}
