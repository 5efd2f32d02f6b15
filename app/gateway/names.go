package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/toolname"
	"github.com/tenon-mcp/tenon/mcp"
)

// How names of a server look to clients. All forms can be reversed without
// state, except for names of tools and prompts that are shortened.
//
//	tool, prompt       server__name, at most 64 characters; see package toolname.
//	                   An Override may give it another name.
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
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
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
		if out, ok := u.r.overridesOf(kind).outward(u, name); ok {
			return out
		}
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

// prefixOf returns what the names of a server's tools and prompts begin with, if no
// Override changes them.
func prefixOf(name string) string {
	const shortest = 14 // what a long name of a tool leaves of the server's
	server, _, _ := strings.Cut(toolname.Join(name, "x", 0), "__x")
	if len(server) > shortest {
		return server[:shortest]
	}
	return server + "__"
}

// inward returns the server that a name belongs to and the name that the server
// has for it. ok is false if there is none, or if it is not in the set that the
// call is limited to. It may read lists of servers; see ofName.
func (r *Router) inward(ctx context.Context, c *mcp.Caller, kind, name string) (u *upstream, own string, ok bool) {
	return r.table.Load().inward(ctx, c, kind, name)
}

func (t *table) inward(ctx context.Context, c *mcp.Caller, kind, name string) (u *upstream, own string, ok bool) {
	switch kind {
	case protocol.KindTool, protocol.KindPrompt:
		u, own, ok = t.inwardName(ctx, c, kind, name)
	case protocol.KindURI, protocol.KindTemplate:
		u, own, ok = t.inwardURI(name)
	default:
		var key string
		key, own, ok = strings.Cut(name, idSeparator)
		u = t.byKey[key]
	}
	return u, own, ok && u != nil && selectionOf(ctx).has(u, kind, name)
}

func (t *table) inwardURI(name string) (u *upstream, own string, ok bool) {
	for _, scheme := range sharedSchemes {
		if rest, shared := strings.CutPrefix(name, scheme); shared {
			key, path, found := strings.Cut(rest, "/")
			return t.byKey[key], scheme + path, found
		}
	}
	key, uri, found := strings.Cut(name, "+")
	if slices.ContainsFunc(sharedSchemes, func(scheme string) bool { return strings.HasPrefix(uri, scheme) }) {
		return nil, "", false // another spelling of a name that has its own form
	}
	return t.byKey[key], uri, found
}

// inwardName finds the server of a tool or prompt.
func (t *table) inwardName(ctx context.Context, c *mcp.Caller, kind, name string) (u *upstream, own string, ok bool) {
	o := t.r.overridesOf(kind)
	key, renamed := o.renamed[name]
	if renamed {
		u, own, ok = t.ofKey(ctx, c, kind, key)
	} else {
		u, own, ok = t.ofName(ctx, c, kind, name)
	}
	if !ok {
		return nil, "", false
	}
	v := o.find(u, own)
	return u, own, !v.Hidden && (v.Name != "") == renamed
}

// ofName finds the server of a tool or prompt by the name that it has without an
// Override. Most names say it; a shortened name is looked up in the lists that the
// caller gets. If it is in none, those of the servers that may have it are read,
// also if the caller has no connection any more. A nil caller stands for all, and
// nothing is read.
func (t *table) ofName(ctx context.Context, c *mcp.Caller, kind, name string) (u *upstream, own string, ok bool) {
	if server, own, ok := toolname.Split(name); ok {
		i, found := slices.BinarySearchFunc(t.upstreams, server, func(u *upstream, s string) int { return strings.Compare(u.name, s) })
		if !found {
			return nil, "", false
		}
		return t.upstreams[i], own, true
	}
	if !toolname.HasDigest(name) {
		return nil, "", false
	}
	if u, own, ok := t.shortened(c, kind, name); ok || c == nil {
		return u, own, ok
	}
	all := connect(c, t.upstreams, func(u *upstream) bool { return strings.HasPrefix(name, u.prefix) && mayContact(ctx, u) })
	defer releaseAll(all)
	for _, l := range lists {
		if l.kind == kind {
			t.read(ctx, all, l)
		}
	}
	return t.shortened(c, kind, name)
}

// ofKey is like ofName for the key of an Override, which may also have the names
// of the server and of its tool or prompt in full.
func (t *table) ofKey(ctx context.Context, c *mcp.Caller, kind, key string) (u *upstream, own string, ok bool) {
	if u, own, ok = t.ofName(ctx, c, kind, key); ok {
		return u, own, true
	}
	for _, s := range t.upstreams {
		if its, has := strings.CutPrefix(key, s.name+"__"); has && (u == nil || len(s.name) > len(u.name)) {
			u, own, ok = s, its, true
		}
	}
	return u, own, ok
}

// shortened finds a shortened name in the lists that a caller gets; nil stands for
// all callers. If two servers have it, neither gets the call: digests are short
// enough that a server could look for one that another server has.
func (t *table) shortened(c *mcp.Caller, kind, name string) (of *upstream, own string, ok bool) {
	for _, u := range t.upstreams {
		for _, one := range u.connections(c) {
			its, has := one.shortened(kind, name)
			if !has || of == u && own == its {
				continue
			}
			if ok {
				return nil, "", false
			}
			of, own, ok = u, its, true
		}
	}
	return of, own, ok
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

// errorFor returns an error of a server about a call with the names that clients
// see.
func (r *Router) errorFor(ctx context.Context, u *upstream, c *mcp.Call, err error) error {
	e, ok := err.(*mcp.Error) // an error that wraps one says more
	if !ok || e.Local {
		return err
	}
	changed := *e
	_, _ = protocol.RenameNames(c.Method, mcp.InParams, "", c.Params, func(kind, name string) (string, error) {
		_, own, ok := r.inward(ctx, &c.Caller, kind, name)
		switch {
		case !ok || own == "":
		case kind == protocol.KindURI || kind == protocol.KindTemplate:
			changed.Message = strings.ReplaceAll(changed.Message, own, name)
		default:
			changed.Message = strings.ReplaceAll(changed.Message, `"`+own+`"`, `"`+name+`"`)
		}
		return name, nil
	})
	changed.Data = rawjson.RewriteMember(e.Data, "uri", func(value []byte) []byte {
		uri, ok := rawjson.String(value)
		if !ok {
			return value
		}
		return rawjson.AppendString(nil, u.outward(protocol.KindURI, uri))
	})
	return &changed
}

// A Resolver says which server a name that clients use belongs to, and how that
// server calls it. Kind is a kind of name of package internal/protocol, such as
// "tool". The links of a gateway need one to decide by server; a [Router] is one.
//
// Names may differ between callers, and a lookup may read lists of servers. With a
// nil caller it does not: then it says what is known of any caller, which is good
// for displays only.
type Resolver interface {
	Resolve(ctx context.Context, c *mcp.Caller, kind, name string) (server, own string, ok bool)
}

// Resolve implements [Resolver].
func (r *Router) Resolve(ctx context.Context, c *mcp.Caller, kind, name string) (server, own string, ok bool) {
	u, own, ok := r.inward(ctx, c, kind, name)
	if !ok {
		return "", "", false
	}
	return u.name, own, true
}
