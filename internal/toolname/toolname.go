// Package toolname joins the name of a server and the name of one of its tools
// into one name that models accept. The host and the gateway use it.
package toolname

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// The joint name is server__tool. Different tools always get different names,
// independent of other tools, so that a saved conversation keeps its meaning.
//
// A name ends in a digest of the two real names if it would be ambiguous, too
// long, or has characters that providers refuse (Gemini also requires a letter or
// _ first), or if it looks as if it ended in a digest.

// DefaultLen is the length of names that all known providers accept.
const DefaultLen = 64

const digestLen = 8

// Join returns the joint name. Limit is the longest name that is accepted; 0
// means DefaultLen.
func Join(server, tool string, limit int) string {
	if limit <= 0 {
		limit = DefaultLen
	}
	limit = max(limit, 24)
	if len(server)+len("__")+len(tool) <= limit && plainServer(server) && tool != "" && isPlain(tool) {
		if name := server + "__" + tool; !HasDigest(name) {
			return name
		}
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	digest := "_" + hex.EncodeToString(sum[:digestLen/2])
	// The server's part is cut first: the tool's name tells the model more.
	room := limit - len(digest) - 2
	s, t := spell(server), spell(tool)
	if s != "" && !canBegin(s[0]) {
		s = "_" + s
	}
	t = t[:min(len(t), max(room*3/4, room-len(s)))]
	s = s[:min(len(s), room-len(t))]
	return s + "__" + t + digest
}

// Split returns the server and the tool of a joint name that has no digest. ok is
// false for all other names.
func Split(name string) (server, tool string, ok bool) {
	server, tool, ok = strings.Cut(name, "__")
	return server, tool, ok && len(name) <= DefaultLen && plainServer(server) && tool != "" && isPlain(tool) && !HasDigest(name)
}

// Valid reports whether a name matches ^[a-zA-Z0-9_-]{1,64}$.
func Valid(name string) bool { return name != "" && len(name) <= DefaultLen && isPlain(name) }

// HasDigest reports whether a joint name may end in a digest.
func HasDigest(name string) bool {
	at := len(name) - digestLen - 1
	if at < 0 || name[at] != '_' {
		return false
	}
	for i := at + 1; i < len(name); i++ {
		if c := name[i]; !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return false
		}
	}
	return true
}

// plainServer reports whether the first __ after a server's name separates it from
// the tool, and a joint name may begin with it.
func plainServer(s string) bool {
	return s != "" && canBegin(s[0]) && isPlain(s) && s[len(s)-1] != '_' && !strings.Contains(s, "__")
}

func canBegin(c byte) bool { return isPlainByte(c) && c != '-' && !('0' <= c && c <= '9') }

func isPlain(s string) bool {
	for i := range len(s) {
		if !isPlainByte(s[i]) {
			return false
		}
	}
	return true
}

func isPlainByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// spell replaces characters that providers refuse.
func spell(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && isPlainByte(byte(r)) {
			return r
		}
		return '_'
	}, s)
}
