package speccheck

import (
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// members are the members of params or of a result that a conversation uses,
// found in one pass.
type members struct {
	meta, name, uri, taskID, ref, requestState, notifications,
	protocolVersion, capabilities, progressToken, progress, requestID,
	resultType, inputRequests, content, structuredContent, isError, task, tools []byte
}

func readMembers(j *jsonrpc.Message) (f members) {
	obj := j.Params
	if j.Result != nil {
		obj = j.Result
	}
	for m := rawjson.Object(obj); m.Next(); {
		if to := f.member(m.Name); to != nil {
			*to = m.Value
		}
	}
	return f
}

func (f *members) member(name []byte) *[]byte {
	switch string(name) {
	case "_meta":
		return &f.meta
	case "name":
		return &f.name
	case "uri":
		return &f.uri
	case "taskId":
		return &f.taskID
	case "ref":
		return &f.ref
	case "requestState":
		return &f.requestState
	case "notifications":
		return &f.notifications
	case "protocolVersion":
		return &f.protocolVersion
	case "capabilities":
		return &f.capabilities
	case "progressToken":
		return &f.progressToken
	case "progress":
		return &f.progress
	case "requestId":
		return &f.requestID
	case "resultType":
		return &f.resultType
	case "inputRequests":
		return &f.inputRequests
	case "content":
		return &f.content
	case "structuredContent":
		return &f.structuredContent
	case "isError":
		return &f.isError
	case "task":
		return &f.task
	case "tools":
		return &f.tools
	}
	return nil
}

// subject returns what a request is about, shortened.
func (f *members) subject() string {
	for _, raw := range [...][]byte{f.name, f.uri, f.taskID} {
		if s, ok := rawjson.String(raw); ok {
			return visible.Shorten(s, 120)
		}
	}
	for _, name := range [...]string{"name", "uri"} {
		if s, ok := rawjson.String(rawjson.Lookup(f.ref, name)); ok {
			return visible.Shorten(s, 120)
		}
	}
	return ""
}

// revisionIn parses a revision. Known ones share their text.
func revisionIn(raw []byte) (mcp.Revision, bool) {
	for _, r := range knownRevisions {
		if rawjson.EqualString(raw, string(r)) {
			return r, true
		}
	}
	s, ok := rawjson.String(raw)
	return mcp.Revision(visible.Shorten(s, 40)), ok
}

var knownRevisions = mcp.Revisions()
