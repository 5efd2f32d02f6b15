package protocol_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/mcp"
)

func init() {
	mcp.RegisterExtension(mcp.Extension{
		ID: "com.example/names",
		Names: []mcp.NameRule{
			{Method: "names/get", In: mcp.InParams, Path: "id", Kind: "id", Header: true},
			{Method: "names/list", In: mcp.InResult, Path: "names[].uri", Kind: "uri"},
			{Method: "names/list", In: mcp.InResult, Path: "names[].parts[].uri", Kind: "uri"},
			{Method: "tools/call", In: mcp.InResult, ResultType: "name", Path: "id", Kind: "id"},
			{Method: "subscriptions/listen", In: mcp.InParams, Path: "notifications.ids[]", Kind: "id"},
		},
	})
}

func TestRenameNames(t *testing.T) {
	for _, tc := range []struct {
		method     string
		in         mcp.MessagePart
		resultType string
		part, want string
	}{
		{"names/get", mcp.InParams, "", `{"id":"a","other":1}`, `{"id":"id:a","other":1}`},
		{"names/get", mcp.InResult, "", `{"id":"a"}`, `{"id":"a"}`},
		{"names/other", mcp.InParams, "", `{"id":"a"}`, `{"id":"a"}`},
		{"names/get", mcp.InParams, "", `{"id":7}`, `{"id":7}`},
		{"names/get", mcp.InParams, "", ``, ``},
		{"names/list", mcp.InResult, "", `{"names":[{"uri":"x","parts":[{"uri":"y"},{}]},{"uri":"z"}]}`, `{"names":[{"uri":"uri:x","parts":[{"uri":"uri:y"},{}]},{"uri":"uri:z"}]}`},
		{"names/list", mcp.InResult, "", `{"names":{}}`, `{"names":{}}`},
		{"tools/call", mcp.InResult, "name", `{"id":"a"}`, `{"id":"id:a"}`},
		{"tools/call", mcp.InResult, "", `{"id":"a"}`, `{"id":"a"}`},
		{"subscriptions/listen", mcp.InParams, "", `{"notifications":{"ids":["a","b"]}}`, `{"notifications":{"ids":["id:a","id:b"]}}`},
	} {
		got, err := protocol.RenameNames(tc.method, tc.in, tc.resultType, json.RawMessage(tc.part), func(kind, name string) (string, error) {
			return kind + ":" + name, nil
		})
		if err != nil || string(got) != tc.want {
			t.Errorf("%s %s: %s, %v; want %s", tc.method, tc.part, got, err, tc.want)
		}
	}
	_, err := protocol.RenameNames("names/get", mcp.InParams, "", json.RawMessage(`{"id":"a"}`), func(_, name string) (string, error) {
		return "", errors.New("unknown " + name)
	})
	if err == nil || !strings.Contains(err.Error(), "unknown a") {
		t.Errorf("error %v", err)
	}
}

func TestHeaderName(t *testing.T) {
	for method, want := range map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri", "names/get": "id", "names/list": "", "tools/list": ""} {
		if got := protocol.HeaderName(method); got != want {
			t.Errorf("%s: %q, want %q", method, got, want)
		}
	}
}
