package wirelog

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/app/speccheck"
)

// A Query selects messages. Unset fields match every message.
type Query struct {
	Server string
	Conn   uint64
	Dir    speccheck.Dir
	Kinds  []speccheck.Kind
	Method string // a prefix: "tools/" finds all of tools
	Tool   string
	Joins  uint64 // the request with this number and all that belongs to it
	Text   string // stands in the frame, whatever its case
	// Problems leaves only messages that break a rule, and Rule only those
	// that break this one.
	Problems bool
	Rule     string
}

// Matches reports whether a message matches. The message must come from a method
// of a [Log], which checks its shape.
func (q *Query) Matches(m *speccheck.Message) bool {
	return q.cheap(m) && (!q.Problems || len(m.Problems) > 0) &&
		(q.Rule == "" || slices.ContainsFunc(m.Problems, func(p speccheck.Problem) bool { return p.Rule == q.Rule }))
}

// cheap evaluates the fields that do not depend on the shape of the message.
func (q *Query) cheap(m *speccheck.Message) bool {
	return (q.Server == "" || q.Server == m.Server) &&
		(q.Conn == 0 || q.Conn == m.Conn) &&
		(q.Dir == "" || q.Dir == m.Dir) &&
		(len(q.Kinds) == 0 || slices.Contains(q.Kinds, m.Kind)) &&
		strings.HasPrefix(m.Method, q.Method) &&
		(q.Tool == "" || q.Tool == m.Tool) &&
		(q.Joins == 0 || q.Joins == m.Seq || q.Joins == m.Joins) &&
		(q.Text == "" || containsFold(m.Frame, q.Text))
}

// Filter returns at most limit matching messages with a Seq below before, newest
// first. A before of 0 starts at the newest; a limit of 0 or less means 100. Pass
// next as before to continue; it is 0 at the end.
func (l *Log) Filter(q Query, before uint64, limit int) (ms []speccheck.Message, next uint64) {
	if limit <= 0 {
		limit = 100
	}
	before = cmp.Or(before, l.Last()+1)
	const page = 512
	for len(ms) < limit {
		some := l.before(before, page)
		if len(some) == 0 {
			return ms, 0
		}
		for i := range some {
			m := &some[i]
			before = m.Seq
			if !q.cheap(m) {
				continue
			}
			if l.read(m); q.Matches(m) {
				if ms = append(ms, *m); len(ms) == limit {
					break
				}
			}
		}
	}
	return ms, before
}

// before returns at most limit messages before the number given, newest first.
func (l *Log) before(seq uint64, limit int) []speccheck.Message {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ms []speccheck.Message
	for s := min(seq, l.next) - 1; len(ms) < limit; s-- {
		m := l.at(s)
		if m == nil {
			break
		}
		ms = append(ms, m.Message)
	}
	return ms
}

// containsFold is a search that ignores the case of ASCII letters, without a
// copy of the text.
func containsFold(text []byte, what string) bool {
	for len(text) >= len(what) {
		i := indexFold(text, what[0])
		if i < 0 || len(text)-i < len(what) {
			return false
		}
		if equalFold(text[i:i+len(what)], what) {
			return true
		}
		text = text[i+1:]
	}
	return false
}

func indexFold(text []byte, c byte) int {
	i, other := bytes.IndexByte(text, lower(c)), upper(c)
	if other == lower(c) {
		return i
	}
	if i >= 0 {
		text = text[:i]
	}
	if j := bytes.IndexByte(text, other); j >= 0 {
		return j
	}
	return i
}

func equalFold(a []byte, b string) bool {
	for i := range a {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}
