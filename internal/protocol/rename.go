package protocol

import (
	"encoding/json"
	"strings"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// RenameNames returns a part of a message with the names replaced that
// registered extensions put there; see [mcp.NameRule]. method is that of the
// request or notification, resultType that of a result. It returns the first
// error of rename.
func RenameNames(method string, in mcp.MessagePart, resultType string, part json.RawMessage, rename func(kind, name string) (string, error)) (json.RawMessage, error) {
	var failed error
	for _, e := range mcp.RegisteredExtensions() {
		for _, r := range e.Names {
			if r.Method != method || r.In != in || in == mcp.InResult && r.ResultType != resultType {
				continue
			}
			part = renameAt(part, r.Path, func(value []byte) []byte {
				name, ok := rawjson.String(value)
				if !ok || failed != nil {
					return value
				}
				renamed, err := rename(r.Kind, name)
				if err != nil {
					failed = err
					return value
				}
				return rawjson.AppendString(nil, renamed)
			})
		}
	}
	return part, failed
}

// renameAt applies change to the values that a path leads to.
func renameAt(value []byte, path string, change func([]byte) []byte) []byte {
	if path == "" {
		return change(value)
	}
	name, rest, _ := strings.Cut(path, ".")
	name, isArray := strings.CutSuffix(name, "[]")
	return rawjson.RewriteMember(value, name, func(member []byte) []byte {
		if !isArray {
			return renameAt(member, rest, change)
		}
		return rawjson.RewriteElements(member, func(element []byte) []byte { return renameAt(element, rest, change) })
	})
}
