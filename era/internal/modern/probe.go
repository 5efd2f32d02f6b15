package modern

import (
	"context"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// Probe asks the server which revisions it supports. None at all means that
// whatever answered is not modern: some older servers give an empty result to
// any method.
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
		_, err := p.handleInput(&mcp.Call{Method: mcp.MethodDiscover}, a)
		return nil, err
	case <-ctx.Done():
		pending.Cancel()
		return nil, context.Cause(ctx)
	}
}

// Supported reads the revisions from an error that only a modern server makes,
// and reports whether e is such an error. The code for an unsupported version is
// in a range in which older servers may have codes of their own, so it counts
// only with the list of revisions in its data that the specification asks for.
// That list may be empty, or name no revision in any form that is known.
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
