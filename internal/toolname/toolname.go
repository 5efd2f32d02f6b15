// Package toolname joins the name of a server and the name of one of its tools
// into one name that models accept. The host and the gateway use it.
package toolname

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"sync"
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

var plainName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`) })
var digested = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`_[0-9a-f]{8}$`) })

// Join returns the joint name. Limit is the longest name that is accepted; 0
// means DefaultLen.
func Join(server, tool string, limit int) string {
	if limit <= 0 {
		limit = DefaultLen
	}
	limit = max(limit, 24)
	name := server + "__" + tool
	unique := !strings.Contains(server, "__") && !strings.HasSuffix(server, "_") // the first __ separates them
	if unique && plainName().MatchString(name) && len(name) <= limit && server != "" && tool != "" && !digested().MatchString(name) {
		return name
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	digest := "_" + hex.EncodeToString(sum[:digestLen/2])
	// The server's part is cut first: the tool's name tells the model more.
	room := limit - len(digest) - 2
	s, t := spell(server), spell(tool)
	if s != "" && !plainName().MatchString(s[:1]) {
		s = "_" + s
	}
	t = t[:min(len(t), max(room*3/4, room-len(s)))]
	s = s[:min(len(s), room-len(t))]
	return s + "__" + t + digest
}

// HasDigest reports whether a joint name may end in a digest.
func HasDigest(name string) bool { return digested().MatchString(name) }

// spell replaces characters that providers refuse.
func spell(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && plainName().MatchString("_"+string(r)) {
			return r
		}
		return '_'
	}, s)
}
