package modern

import (
	"context"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// Probe returns the revisions that the server supports. None means that the
// server is not modern: some legacy servers return an empty result for any
// method.
func (p *Peer) Probe(ctx context.Context) ([]mcp.Revision, error) {
	id := p.link.NextID()
	params, err := p.stamps.request(&mcp.Call{Method: mcp.MethodDiscover}, id)
	if err != nil {
		return nil, err
	}
	pending, err := p.link.Start(ctx, id, mcp.MethodDiscover, params)
	if err != nil {
		return nil, err
	}
	select {
	case a := <-pending.Response():
		pending.Release()
		if a.Err == nil && a.Error == nil {
			return revisions(rawjson.Lookup(a.Result, keyVersions)), nil
		}
		_, err := p.readResponse(&mcp.Call{Method: mcp.MethodDiscover}, a)
		return nil, err
	case <-ctx.Done():
		pending.Cancel()
		return nil, context.Cause(ctx)
	}
}

// Supported returns the revisions in an error that only a modern server sends,
// and reports whether e is such an error. Legacy servers may use the code for an
// unsupported version for errors of their own, so it counts only with a list of
// revisions in its data, as the specification requires. That list may be empty
// or invalid.
func Supported(e *mcp.Error) (revs []mcp.Revision, ok bool) {
	switch e.Code {
	case mcp.CodeUnsupportedVersion:
		list := rawjson.Lookup(e.Data, "supported")
		return revisions(list), rawjson.IsArray(list)
	case mcp.CodeHeaderMismatch, mcp.CodeMissingCapability:
		return []mcp.Revision{Revision}, true
	}
	return nil, false
}

func revisions(raw []byte) (revs []mcp.Revision) {
	for e := rawjson.Array(raw); e.Next(); {
		if s, ok := rawjson.String(e.Value); ok {
			revs = append(revs, mcp.Revision(s))
		}
	}
	return revs
}
