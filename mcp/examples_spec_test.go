package mcp_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/spectest"
	"github.com/tenon-mcp/tenon/mcp"
)

// The keys of the envelope: what package era takes off a message before any of
// it becomes vocabulary, and therefore the only members of an example that may
// be missing after a round trip.
var (
	envelopeOfFrame  = []string{"jsonrpc", "id", "method"}
	envelopeOfMeta   = []string{mcp.MetaProtocolVersion, mcp.MetaClientInfo, mcp.MetaClientCapabilities, mcp.MetaServerInfo, mcp.MetaSubscriptionID, mcp.MetaProgressToken}
	envelopeOfResult = []string{"resultType", "ttlMs", "cacheScope", "supportedVersions"}
	envelopeOfNote   = map[string][]string{
		"ProgressNotificationParams":  {"progressToken"},
		"CancelledNotificationParams": {"requestId", "reason"}, // a context ends instead
	}
)

// Members that are left out again when they say what is true without them.
var sameAsAbsent = map[string]string{"CallToolResult": "isError", "CompleteResult": "completion.hasMore"}

// What an example of each type is decoded into.
var typeOf = map[string]func() any{
	"AudioContent":                                one[mcp.AudioContent],
	"BlobResourceContents":                        one[mcp.ResourceContents],
	"CallToolRequestParams":                       one[mcp.CallToolParams],
	"CallToolResult":                              one[mcp.CallToolResult],
	"CancelledNotificationParams":                 one[struct{}],
	"ClientCapabilities":                          one[mcp.ClientCapabilities],
	"CompleteRequestParams":                       one[mcp.CompleteParams],
	"CompleteResult":                              one[mcp.CompleteResult],
	"CreateMessageRequest":                        one[mcp.InputRequest],
	"CreateMessageRequestParams":                  one[mcp.CreateMessageParams],
	"CreateMessageResult":                         one[mcp.CreateMessageResult],
	"DiscoverRequestParams":                       one[struct{}],
	"DiscoverResult":                              one[mcp.Discovery],
	"ElicitRequest":                               one[mcp.InputRequest],
	"ElicitRequestFormParams":                     one[mcp.ElicitParams],
	"ElicitRequestURLParams":                      one[mcp.ElicitParams],
	"ElicitResult":                                one[mcp.ElicitResult],
	"EmbeddedResource":                            one[mcp.EmbeddedResource],
	"Error":                                       one[mcp.Error],
	"GetPromptRequestParams":                      one[mcp.GetPromptParams],
	"GetPromptResult":                             one[mcp.GetPromptResult],
	"ImageContent":                                one[mcp.ImageContent],
	"InputRequests":                               one[map[string]mcp.InputRequest],
	"InputResponses":                              one[answers],
	"InputRequiredResult":                         one[inputRequired],
	"ListPromptsRequestParams":                    one[mcp.PageParams],
	"ListPromptsResult":                           one[mcp.ListPromptsResult],
	"ListResourceTemplatesRequestParams":          one[mcp.PageParams],
	"ListResourceTemplatesResult":                 one[mcp.ListResourceTemplatesResult],
	"ListResourcesRequestParams":                  one[mcp.PageParams],
	"ListResourcesResult":                         one[mcp.ListResourcesResult],
	"ListRootsRequest":                            one[mcp.InputRequest],
	"ListRootsResult":                             one[mcp.ListRootsResult],
	"ListToolsRequestParams":                      one[mcp.PageParams],
	"ListToolsResult":                             one[mcp.ListToolsResult],
	"LoggingMessageNotificationParams":            one[mcp.LogMessage],
	"ModelPreferences":                            one[mcp.ModelPreferences],
	"PaginatedRequestParams":                      one[mcp.PageParams],
	"ProgressNotificationParams":                  one[mcp.ProgressParams],
	"PromptListChangedNotificationParams":         one[struct{}],
	"ReadResourceRequestParams":                   one[mcp.ReadResourceParams],
	"ReadResourceResult":                          one[mcp.ReadResourceResult],
	"Resource":                                    one[mcp.Resource],
	"ResourceLink":                                one[mcp.ResourceLink],
	"ResourceListChangedNotificationParams":       one[struct{}],
	"ResourceUpdatedNotificationParams":           one[mcp.ResourceUpdatedParams],
	"Root":                                        one[mcp.Root],
	"SamplingMessage":                             one[mcp.SamplingMessage],
	"ServerCapabilities":                          one[mcp.ServerCapabilities],
	"SubscriptionsAcknowledgedNotificationParams": one[mcp.SubscriptionsAcknowledgedParams],
	"SubscriptionsListenRequestParams":            one[mcp.ListenParams],
	"SubscriptionsListenResult":                   one[struct{}],
	"TextContent":                                 one[mcp.TextContent],
	"TextResourceContents":                        one[mcp.ResourceContents],
	"Tool":                                        one[mcp.Tool],
	"ToolListChangedNotificationParams":           one[struct{}],
	"ToolResultContent":                           one[mcp.ToolResultContent],
	"ToolUseContent":                              one[mcp.ToolUseContent],

	// A field has its name from the form around it.
	"BooleanSchema":                  one[mcp.Form],
	"NumberSchema":                   one[mcp.Form],
	"StringSchema":                   one[mcp.Form],
	"TitledMultiSelectEnumSchema":    one[mcp.Form],
	"TitledSingleSelectEnumSchema":   one[mcp.Form],
	"UntitledMultiSelectEnumSchema":  one[mcp.Form],
	"UntitledSingleSelectEnumSchema": one[mcp.Form],
}

func one[T any]() any { return new(T) }

// What package era reads from an input_required result into an InputRequired.
type inputRequired struct {
	Questions map[string]mcp.InputRequest `json:"inputRequests,omitzero"`
	State     string                      `json:"requestState,omitzero"`
}

// The one example of answers, with the types its questions call for.
type answers struct {
	Login   mcp.ElicitResult        `json:"github_login"`
	Capital mcp.CreateMessageResult `json:"capital_of_france"`
}

func TestExamplesRoundTrip(t *testing.T) {
	spec := spectest.Load(t)
	n := 0
	for e := range spec.Examples(t) {
		n++
		t.Run(e.Type+"/"+e.Name, func(t *testing.T) {
			kind, value := vocabulary(t, e.Type, parse(t, e.Data))
			typ := typeOf[kind]
			if typ == nil {
				t.Fatalf("no Go type is known for %s", kind)
			}
			if _, form := typ().(*mcp.Form); form {
				value = object{"type": "object", "properties": object{"field": value}}
			}
			for name, encode := range map[string]func(any) ([]byte, error){
				"json v2": func(v any) ([]byte, error) { return mcp.Marshal(v) },
				"json v1": json.Marshal,
			} {
				got := typ()
				if err := mcp.Unmarshal(write(t, value), got); err != nil {
					t.Fatalf("decode: %v", err)
				}
				again, err := encode(got)
				if err != nil {
					t.Fatalf("encode with %s: %v", name, err)
				}
				if back := parse(t, again); !reflect.DeepEqual(back, any(value)) {
					t.Errorf("%s changed the message\nbefore %s\nafter  %s", name, write(t, value), again)
				}
			}
		})
	}
	if n != 129 {
		t.Errorf("found %d examples, want 129", n)
	}
}

// The form of an elicitation survives as a Form too, fields in their order.
func TestExampleFormsRoundTrip(t *testing.T) {
	n := 0
	for e := range spectest.Load(t).Examples(t) {
		var p mcp.ElicitParams
		if e.Type != "ElicitRequestFormParams" {
			continue
		}
		n++
		if err := mcp.Unmarshal(e.Data, &p); err != nil {
			t.Fatal(err)
		}
		form, err := mcp.ParseForm(p.RequestedSchema)
		if err != nil {
			t.Fatal(err)
		}
		again, err := form.Schema()
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(parse(t, again), parse(t, p.RequestedSchema)) {
			t.Errorf("the form of %s changed\nbefore %s\nafter  %s", e.Name, p.RequestedSchema, again)
		}
	}
	if n != 2 {
		t.Errorf("found %d forms, want 2", n)
	}
}

type object = map[string]any

// vocabulary takes the envelope off an example and says what is left. It fails
// on any member of a frame that it does not know.
func vocabulary(t *testing.T, kind string, v any) (string, object) {
	o := v.(object)
	if base, ok := strings.CutSuffix(kind, "ResultResponse"); ok {
		return vocabulary(t, base+"Result", inner(t, o, "result"))
	}
	if _, frame := o["jsonrpc"]; frame {
		if _, failed := o["error"]; failed {
			return vocabulary(t, "Error", inner(t, o, "error"))
		}
		return vocabulary(t, kind+"Params", inner(t, o, "params"))
	}
	switch {
	case strings.HasSuffix(kind, "Error"):
		return "Error", o
	case kind == "ListRootsRequest":
		delete(o, "id") // the example has one, although its definition has not
	case kind == "SubscriptionsListenResult", strings.HasSuffix(kind, "Params"):
		dropMeta(o)
	}
	if strings.HasSuffix(kind, "Result") {
		dropMeta(o)
		for _, key := range envelopeOfResult {
			delete(o, key)
		}
	}
	for _, key := range envelopeOfNote[kind] {
		delete(o, key)
	}
	dropDefault(o, sameAsAbsent[kind])
	return kind, o
}

// inner is what a frame carries at key; the frame must carry nothing else.
func inner(t *testing.T, frame object, key string) any {
	t.Helper()
	for name := range maps.Keys(frame) {
		if name != key && !slices.Contains(envelopeOfFrame, name) {
			t.Fatalf("the frame has a member %q that nobody accounts for", name)
		}
	}
	v, ok := frame[key]
	if !ok {
		t.Fatalf("the frame has no %q", key)
	}
	return v
}

// dropMeta takes the envelope's keys out of _meta, and _meta with the last.
func dropMeta(o object) {
	meta, ok := o["_meta"].(object)
	if !ok {
		return
	}
	for _, key := range envelopeOfMeta {
		delete(meta, key)
	}
	if len(meta) == 0 {
		delete(o, "_meta")
	}
}

func dropDefault(o object, path string) {
	key, rest, deeper := strings.Cut(path, ".")
	if deeper {
		dropDefault(o[key].(object), rest)
	} else if o[key] == false {
		delete(o, key)
	}
}

func parse(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	if err := mcp.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func write(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := mcp.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
