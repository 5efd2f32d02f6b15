package protect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

const (
	maxBatch  = 100
	bodyIdle  = 30 * time.Second
	firstRead = 16 << 10 // initial buffer for a body
)

// needs returns the scopes that a request needs. If operations have their
// own scopes, it reads the body and restores it for the handler. It parses
// the body strictly, so that the handler cannot see another call in the same
// bytes.
func (g *Guard) needs(w http.ResponseWriter, r *http.Request) ([]string, *refusal) {
	if g.opts.Require == nil || r.Method != http.MethodPost {
		return g.opts.Scopes, nil
	}
	body, no := g.readBody(w, r)
	if no != nil {
		return nil, no
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	r.TransferEncoding = nil
	if err := rawjson.Check(body); err != nil {
		return nil, badMessage(-32700, "the body is not JSON: "+err.Error())
	}
	if !rawjson.IsArray(body) {
		return g.needsOf(g.opts.Scopes, body)
	}
	all, count := g.opts.Scopes, 0
	for item := rawjson.Array(body); item.Next(); count++ {
		if count == maxBatch {
			return nil, badMessage(-32600, fmt.Sprintf("a batch may have at most %d messages", maxBatch))
		}
		if all, no = g.needsOf(all, item.Value); no != nil {
			return nil, no
		}
	}
	return all, nil
}

// needsOf adds the scopes of one message.
func (g *Guard) needsOf(scopes []string, message []byte) ([]string, *refusal) {
	if !rawjson.IsObject(message) {
		return nil, badMessage(-32600, "a message must be an object")
	}
	method, no := member(message, "method")
	if no != nil {
		return nil, no
	}
	called := "name"
	if strings.HasPrefix(method, "resources/") {
		called = "uri" // never params.name
	}
	name, no := member(rawjson.Lookup(message, "params"), called)
	if no != nil {
		return nil, no
	}
	return union(scopes, g.opts.Require(method, name)), nil
}

// member returns a string member, or "" if it is missing. Another type is an
// error.
func member(object []byte, name string) (string, *refusal) {
	raw := rawjson.Lookup(object, name)
	if raw == nil {
		return "", nil
	}
	s, ok := rawjson.String(raw)
	if !ok {
		return "", badMessage(-32600, name+" must be a string")
	}
	return s, nil
}

// readBody reads a body of bounded length with an idle timeout.
func (g *Guard) readBody(w http.ResponseWriter, r *http.Request) ([]byte, *refusal) {
	limit := int64(g.opts.MaxBody)
	tooLarge := &refusal{status: http.StatusRequestEntityTooLarge, code: "invalid_request", description: fmt.Sprintf("the body is too large; the maximum is %d bytes", limit)}
	if r.ContentLength > limit {
		return nil, tooLarge
	}
	control := http.NewResponseController(w)
	last := lastRead(r)
	body := make([]byte, 0, min(max(r.ContentLength, 512), firstRead)+1) // do not trust Content-Length
	for {
		at := time.Now().Add(bodyIdle)
		if !last.IsZero() && last.Before(at) {
			at = last
		}
		_ = control.SetReadDeadline(at) // if not supported, the limits of the server apply
		if len(body) == cap(body) {
			body = slices.Grow(body, len(body))
		}
		n, err := r.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > limit:
			return nil, tooLarge
		case errors.Is(err, io.EOF):
			_ = control.SetReadDeadline(time.Time{})
			return body, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, &refusal{status: http.StatusRequestTimeout, code: "invalid_request", description: "reading the body timed out"}
		case err != nil:
			return nil, &refusal{status: http.StatusBadRequest, code: "invalid_request", description: "reading the body failed"}
		}
	}
}

// lastRead returns the server's read deadline for a request; zero means none.
func lastRead(r *http.Request) time.Time {
	if s, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && s.ReadTimeout > 0 {
		return time.Now().Add(s.ReadTimeout)
	}
	return time.Time{}
}

// isScope reports whether s is one scope-token of RFC 6749.
func isScope(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return s != ""
}

// A hierarchy maps each broad scope to all scopes that it includes.
type hierarchy map[string][]string

// newHierarchy computes the transitive closure, so that cycles do no harm.
func newHierarchy(implies map[string][]string) hierarchy {
	h := hierarchy{}
	for broad := range implies {
		seen := []string{broad}
		for i := 0; i < len(seen); i++ {
			for _, narrow := range implies[seen[i]] {
				if !slices.Contains(seen, narrow) {
					seen = append(seen, narrow)
				}
			}
		}
		h[broad] = seen
	}
	return h
}

// cover reports whether the granted scopes, with all they include, contain
// every needed one.
func (h hierarchy) cover(granted, needed []string) bool {
	for _, need := range needed {
		if !slices.ContainsFunc(granted, func(s string) bool { return s == need || slices.Contains(h[s], need) }) {
			return false
		}
	}
	return true
}

// union returns scopes with those of more that it lacks, in a new slice.
func union(scopes, more []string) []string {
	all := slices.Clip(scopes)
	for _, s := range more {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// splitScopes splits the scope member of a token at spaces.
func splitScopes(s string) []string {
	return slices.DeleteFunc(strings.Split(s, " "), func(one string) bool { return one == "" })
}
