package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/toolname"
	"github.com/tenon-mcp/tenon/mcp"
)

// How names of a server look to clients. All forms can be reversed without
// state, except for names of tools and prompts that are shortened.
//
//	tool, prompt       server__name, at most 64 characters; see package toolname
//	uri, template      file:///a becomes server+file:///a
//	ui:// and skill:// ui://a/b becomes ui://server/a/b: clients know these schemes
//	other ids          server__id
//
// For URIs and ids the server is written as its key.

// keyOf returns the name of a server as it is written in URIs: letters, digits
// and hyphens, beginning with a letter. A name that has other characters gets a
// digest, so that different names have different keys.
func keyOf(server string) string {
	key := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '-':
			return r
		}
		return '-'
	}, server)
	if key == server && key != "" && 'a' <= key[0] && key[0] <= 'z' && !strings.HasPrefix(key, "x-") {
		return key
	}
	sum := sha256.Sum256([]byte(server))
	return "x-" + strings.Trim(key, "-") + "-" + hex.EncodeToString(sum[:4])
}

// outward returns the name that clients see.
func (u *upstream) outward(kind, name string) string {
	switch kind {
	case protocol.KindTool, protocol.KindPrompt:
		return toolname.Join(u.name, name, 0)
	case protocol.KindURI, protocol.KindTemplate:
		for _, scheme := range sharedSchemes {
			if rest, ok := strings.CutPrefix(name, scheme); ok {
				return scheme + u.key + "/" + rest
			}
		}
		return u.key + "+" + name
	}
	return u.key + idSeparator + name
}

// sharedSchemes are those that clients know.
var sharedSchemes = []string{"ui://", "skill://"}

const idSeparator = "__"

// inward returns the server that a name belongs to and the name that the server
// has for it. ok is false if there is none. It may wait for lists of servers; see
// inwardName.
func (r *Router) inward(ctx context.Context, kind, name string) (u *upstream, own string, ok bool) {
	return r.table.Load().inward(ctx, kind, name)
}

func (t *table) inward(ctx context.Context, kind, name string) (u *upstream, own string, ok bool) {
	switch kind {
	case protocol.KindTool, protocol.KindPrompt:
		return t.inwardName(ctx, kind, name)
	case protocol.KindURI, protocol.KindTemplate:
		for _, scheme := range sharedSchemes {
			if rest, shared := strings.CutPrefix(name, scheme); shared {
				key, path, found := strings.Cut(rest, "/")
				u = t.byKey[key]
				return u, scheme + path, found && u != nil
			}
		}
		key, uri, found := strings.Cut(name, "+")
		u = t.byKey[key]
		return u, uri, found && u != nil
	}
	key, id, found := strings.Cut(name, idSeparator)
	u = t.byKey[key]
	return u, id, found && u != nil
}

// inwardName finds the server of a tool or prompt. Most names say it; a
// shortened name is looked up in the lists, which are read first if necessary.
func (t *table) inwardName(ctx context.Context, kind, name string) (u *upstream, own string, ok bool) {
	for _, u := range t.upstreams {
		if own, ok := strings.CutPrefix(name, u.name+"__"); ok && toolname.Join(u.name, own, 0) == name {
			return u, own, true
		}
	}
	if !toolname.HasDigest(name) {
		return nil, "", false
	}
	if u, own, ok := t.shortened(kind, name); ok {
		return u, own, true
	}
	for _, l := range lists {
		if l.kind == kind {
			t.read(ctx, l)
		}
	}
	return t.shortened(kind, name)
}

// shortened finds a shortened name in the lists.
func (t *table) shortened(kind, name string) (u *upstream, own string, ok bool) {
	for _, u := range t.upstreams {
		if own, ok := u.shortened(kind, name); ok {
			return u, own, true
		}
	}
	return nil, "", false
}

// rename changes the names in a part of a message from u.
func (u *upstream) rename(method string, in mcp.MessagePart, resultType string, part []byte) []byte {
	out, _ := protocol.RenameNames(method, in, resultType, part, func(kind, name string) (string, error) {
		return u.outward(kind, name), nil
	})
	return out
}

// notification changes the names in a notification from u.
func (u *upstream) notification(n mcp.Notification) mcp.Notification {
	n.Params = u.rename(n.Method, mcp.InParams, "", n.Params)
	return n
}

// A Resolver says which server a name that clients use belongs to, and how that
// server calls it. Kind is a kind of name of package internal/protocol, such as
// "tool". The links of a gateway need one to decide by server; a [Router] is one.
type Resolver interface {
	Resolve(ctx context.Context, kind, name string) (server, own string, ok bool)
}

// Resolve implements [Resolver].
func (r *Router) Resolve(ctx context.Context, kind, name string) (server, own string, ok bool) {
	u, own, ok := r.inward(ctx, kind, name)
	if !ok {
		return "", "", false
	}
	return u.name, own, true
}
