package protocol

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// The kinds of names that the protocol itself has.
const (
	KindTool     = "tool"
	KindPrompt   = "prompt"
	KindURI      = "uri"
	KindTemplate = "template" // a URI template
)

// coreNames lists where messages of the protocol itself contain names.
var coreNames = []mcp.NameRule{
	{Method: mcp.MethodToolsList, In: mcp.InResult, Path: "tools[].name", Kind: KindTool},
	{Method: mcp.MethodToolsList, In: mcp.InResult, Path: "tools[]._meta.ui.resourceUri", Kind: KindURI},
	{Method: mcp.MethodToolsList, In: mcp.InResult, Path: "tools[]._meta.ui/resourceUri", Kind: KindURI}, // an older form
	{Method: mcp.MethodToolsCall, In: mcp.InParams, Path: "name", Kind: KindTool},
	{Method: mcp.MethodToolsCall, In: mcp.InResult, Path: "content[].uri", Kind: KindURI},
	{Method: mcp.MethodToolsCall, In: mcp.InResult, Path: "content[].resource.uri", Kind: KindURI},
	{Method: mcp.MethodPromptsList, In: mcp.InResult, Path: "prompts[].name", Kind: KindPrompt},
	{Method: mcp.MethodPromptsGet, In: mcp.InParams, Path: "name", Kind: KindPrompt},
	{Method: mcp.MethodPromptsGet, In: mcp.InResult, Path: "messages[].content.uri", Kind: KindURI},
	{Method: mcp.MethodPromptsGet, In: mcp.InResult, Path: "messages[].content.resource.uri", Kind: KindURI},
	{Method: mcp.MethodResourcesList, In: mcp.InResult, Path: "resources[].uri", Kind: KindURI},
	{Method: mcp.MethodResourceTemplatesList, In: mcp.InResult, Path: "resourceTemplates[].uriTemplate", Kind: KindTemplate},
	{Method: mcp.MethodResourcesRead, In: mcp.InParams, Path: "uri", Kind: KindURI},
	{Method: mcp.MethodResourcesRead, In: mcp.InResult, Path: "contents[].uri", Kind: KindURI},
	{Method: mcp.MethodComplete, In: mcp.InParams, Path: "ref.name", Kind: KindPrompt},
	{Method: mcp.MethodComplete, In: mcp.InParams, Path: "ref.uri", Kind: KindTemplate},
	{Method: mcp.MethodSubscriptionsListen, In: mcp.InParams, Path: "notifications.resourceSubscriptions[]", Kind: KindURI},
	{Method: mcp.NotificationSubscriptionsAcknowledged, In: mcp.InParams, Path: "notifications.resourceSubscriptions[]", Kind: KindURI},
	{Method: mcp.NotificationResourceUpdated, In: mcp.InParams, Path: "uri", Kind: KindURI},
}

// RenameNames returns a part of a message with the names in it replaced: those
// of the protocol itself and those of registered extensions; see
// [mcp.NameRule]. method is that of the request or notification, resultType that
// of a result. It returns the first error of rename.
func RenameNames(method string, in mcp.MessagePart, resultType string, part json.RawMessage, rename func(kind, name string) (string, error)) (json.RawMessage, error) {
	part, err := renameBy(coreNames, method, in, resultType, part, rename)
	for _, e := range mcp.RegisteredExtensions() {
		if err == nil {
			part, err = renameBy(e.Names, method, in, resultType, part, rename)
		}
	}
	return part, err
}

func renameBy(rules []mcp.NameRule, method string, in mcp.MessagePart, resultType string, part json.RawMessage, rename func(kind, name string) (string, error)) (json.RawMessage, error) {
	var failed error
	for _, r := range rules {
		if r.Method != method || r.In != in || in == mcp.InResult && r.ResultType != resultType {
			continue
		}
		if !mayHave(part, r.Path) {
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
			if renamed == name {
				return value
			}
			return rawjson.AppendString(nil, renamed)
		})
	}
	return part, failed
}

// mayHave reports whether a part may have the member at the end of a path. Most
// results have none, and looking for its name costs less than following the path.
func mayHave(part []byte, path string) bool {
	name := strings.TrimSuffix(path[strings.LastIndexByte(path, '.')+1:], "[]")
	for rest := part; ; {
		i := bytes.Index(rest, []byte(name))
		if i < 0 {
			break
		}
		if end := i + len(name); i > 0 && end < len(rest) && rest[i-1] == '"' && rest[end] == '"' {
			return true
		}
		rest = rest[i+1:]
	}
	return bytes.Contains(part, []byte(`\u`)) || bytes.Contains(part, []byte(`\/`)) // the name may be escaped
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
