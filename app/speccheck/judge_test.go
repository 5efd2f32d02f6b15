package speccheck

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/talktest"
	"github.com/tenon-mcp/tenon/mcp"
)

// Each case is a conversation whose last message breaks exactly this rule, at
// this place; nothing before it breaks any.
var broken = []struct{ rule, pointer, talk string }{
	{ruleStdout, "", `< Server ready!`},
	{ruleMessage, "", `< {"jsonrpc":"2.0","id":null,"result":{}}`},
	{ruleMessage, "", `> {"jsonrpc":"1.0","id":1,"method":"ping"}`},
	{ruleMessage, "/1", `HELLO(2025-03-26) > [{"jsonrpc":"2.0","id":1,"method":"ping"},{"id":2}]`},
	{ruleReused, "/id", `HELLO(2025-11-25)
		> {"jsonrpc":"2.0","id":1,"method":"ping"}
		< {"jsonrpc":"2.0","id":1,"result":{}}
		> {"jsonrpc":"2.0","id":1,"method":"ping"}`},
	{ruleReused, "/id", `> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}
		> {"jsonrpc":"2.0","id":1,"method":"prompts/list","params":{META}}`},
	{ruleUnknownResponse, "/id", `HELLO(2025-06-18) < {"jsonrpc":"2.0","id":99,"result":{}}`},
	{ruleTwice, "/id", `HELLO(2025-06-18)
		> {"jsonrpc":"2.0","id":1,"method":"ping"}
		< {"jsonrpc":"2.0","id":1,"result":{}}
		< {"jsonrpc":"2.0","id":1,"result":{}}`},
	{ruleNoteID, "/id", `HELLO(2025-06-18) < {"jsonrpc":"2.0","id":5,"method":"notifications/tools/list_changed"}`},
	{ruleNoID, "", `HELLO(2025-06-18) > {"jsonrpc":"2.0","method":"tools/list"}`},
	{ruleBatch, "", `HELLO(2025-06-18) > [{"jsonrpc":"2.0","id":1,"method":"ping"}]`},
	{ruleBatchInit, "/0", `> [{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}]`},
	{ruleFirst, "/method", `> {"jsonrpc":"2.0","id":1,"method":"tools/list"}`},
	{ruleInitTwice, "/method", `HELLO(2025-06-18) > {"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`},
	{ruleInitialized, "/method", `> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
		< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}
		> {"jsonrpc":"2.0","id":2,"method":"tools/list"}`},
	{ruleVersion, "/result/protocolVersion", `> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
		< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1.0","resultType":"complete","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`},
	{ruleCapability, "/method", `HELLO(2025-06-18) > {"jsonrpc":"2.0","id":1,"method":"prompts/list"}`},
	{ruleCapability, "/method", `HELLO(2025-06-18) < {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}`},
	{ruleMethod, "/method", `> {"jsonrpc":"2.0","id":1,"method":"ping","params":{META}}`},
	{ruleMethod, "/method", `HELLO(2025-03-26) < {"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"x"}}`},
	{ruleDirection, "/method", `HELLO(2025-03-26) < {"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}}`},
	{ruleServerAsks, "/method", `> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}
		< {"jsonrpc":"2.0","id":1,"method":"vendor/ask","params":{META}}`},
	{ruleClientSays, "", `> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}
		< {"jsonrpc":"2.0","id":7,"method":"vendor/ask","params":{META}}
		> {"jsonrpc":"2.0","id":7,"result":{"resultType":"complete"}}`},
	{ruleEnvelope, "/params/_meta", `> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`},
	{ruleResultType, "/result", `> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
		< {"jsonrpc":"2.0","id":1,"result":{"content":[]}}`},
	{ruleResultType, "/result/resultType", `> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
		< {"jsonrpc":"2.0","id":1,"result":{"content":[],"resultType":"strange"}}`},
	{ruleCache, "/result", `> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}
		< {"jsonrpc":"2.0","id":1,"result":{"tools":[],"resultType":"complete","ttlMs":0}}`},
	{ruleInputWhere, "/result/resultType", `> {"jsonrpc":"2.0","id":1,"method":"vendor/x","params":{META}}
		< {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s"}}`},
	{ruleInputEmpty, "/result", `> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
		< {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required"}}`},
	{ruleInputCap, "/result/inputRequests/a~1b/method", `> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
		< {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"a/b":{"method":"roots/list"}}}}`},
	{ruleState, "/params/requestState", `> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","requestState":"mine",META}}`},
	{ruleToken, "/params/progressToken", `HELLO(2025-06-18) < {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}`},
	{ruleTokenReused, "/params/_meta/progressToken", `HELLO(2025-06-18)
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":"t"}}}
		> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":"t"}}}`},
	{ruleProgress, "/params/progress", `HELLO(2025-06-18)
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":"t"}}}
		< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":0.5}}
		< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":0.5}}`},
	{ruleCancelWhat, "/params/requestId", `HELLO(2025-06-18) > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`},
	{ruleCancelInit, "/params/requestId", `HELLO(2025-06-18) > {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"init"}}`},
	{ruleCancelAnswered, "", `HELLO(2025-06-18)
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}
		> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
		< {"jsonrpc":"2.0","id":1,"result":{"content":[]}}`},
	{ruleSubscription, "/params/_meta", `> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
		< {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":9}}}`},
	{ruleAck, "/method", `> {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},META}}
		< {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}`},
	{ruleNotAsked, "/method", `> {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},META}}
		< {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}
		< {"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}`},
	{ruleLog, "/method", `> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
		< {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`},
	{ruleCode, "/error/code", `> {"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a:b",META}}
		< {"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"gone"}}`},
	{ruleCode, "/error/code", `> {"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a:b",META}}
		< {"jsonrpc":"2.0","id":1,"error":{"code":-32050,"message":"mine"}}`},
	{ruleCodeTool, "/error/code", `HELLO(2025-06-18)
		> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
		< {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}
		> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}
		< {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no tool"}}`},
	{ruleCodeArgs, "/error/code", `HELLO(2025-11-25)
		> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
		< {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}}
		> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}
		< {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"b is missing"}}`},
	{ruleRequired, "/params", `HELLO(2025-06-18) > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{}}}`},
	{ruleRequired, "", `HELLO(2025-06-18) > {"jsonrpc":"2.0","id":1,"method":"tools/call"}`},
	{ruleType, "/params/name", `HELLO(2025-06-18) > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`},
	{ruleType, "/result/content/0", `HELLO(2025-06-18)
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}
		< {"jsonrpc":"2.0","id":1,"result":{"content":["text"]}}`},
	{ruleMember, "/result/structuredContent", `HELLO(2024-11-05)
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}
		< {"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{}}}`},
	{ruleMetaKey, "/params/_meta/io.modelcontextprotocol~1mine", `HELLO(2025-06-18) > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"io.modelcontextprotocol/mine":1}}}`},
	{ruleMetaKey, "/params/_meta/not a key", `HELLO(2025-06-18) > {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"not a key":1}}}`},
	{ruleToolName, "/result/tools/0/name", toolsTalk(`{"name":"a tool","inputSchema":{"type":"object"}}`)},
	{ruleToolTwice, "/result/tools/1/name", toolsTalk(`{"name":"a","inputSchema":{"type":"object"}},{"name":"a","inputSchema":{"type":"object"}}`)},
	{ruleIcon, "/result/tools/0/icons/0/src", toolsTalk(`{"name":"a","inputSchema":{"type":"object"},"icons":[{"src":"javascript:alert(1)"}]}`)},
	{ruleOutput, "/result", `HELLO(2025-11-25)
		> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
		< {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}]}}
		> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}
		< {"jsonrpc":"2.0","id":2,"result":{"content":[]}}`},
	{ruleBase64, "/result/content/0/data", `HELLO(2025-06-18)
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}
		< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"image","data":"???","mimeType":"image/png"}]}}`},
	{ruleCompletion, "/result/completion/values", `HELLO(2025-06-18)
		> {"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}}
		< {"jsonrpc":"2.0","id":1,"result":{"completion":{"values":["x"` + strings.Repeat(`,"x"`, 100) + `]}}}`},
	{ruleRoot, "/result/roots/0/uri", `HELLO(2025-06-18)
		< {"jsonrpc":"2.0","id":1,"method":"roots/list"}
		> {"jsonrpc":"2.0","id":1,"result":{"roots":[{"uri":"https://x"}]}}`},
}

func toolsTalk(tools string) string {
	return `HELLO(2025-11-25)
		> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
		< {"jsonrpc":"2.0","id":1,"result":{"tools":[` + tools + `]}}`
}

func TestRulesThatAreBroken(t *testing.T) {
	for _, c := range broken {
		t.Run(c.rule, func(t *testing.T) {
			ms := Check(talk(t, c.talk))
			for _, m := range ms[:len(ms)-1] {
				if len(m.Problems) > 0 && !(c.rule == ruleClientSays && m.Problems[0].Rule == ruleServerAsks) {
					t.Errorf("%s is fine, and has the problems %+v", m.Frame, m.Problems)
				}
			}
			last := ms[len(ms)-1]
			if len(last.Problems) != 1 || last.Problems[0].Rule != c.rule || last.Problems[0].Pointer != c.pointer {
				t.Errorf("%s %s should break %s at %q alone; problems: %+v", last.Dir, last.Frame, c.rule, c.pointer, last.Problems)
			}
		})
	}
}

// Rules that cannot be broken alone, or need more than frames.
var brokenElsewhere = map[string]string{
	ruleInputKind:   "TestQuestionsThatNoServerMayAsk",
	ruleToolSchema:  "TestAToolSchemaIsOfAnObject",
	ruleForm:        "TestFormsAndSamplingAreJudged",
	ruleSampling:    "TestFormsAndSamplingAreJudged",
	ruleHTTPVersion: "http_test.go", ruleHTTPMirror: "http_test.go", ruleHTTPSession: "http_test.go", ruleHTTPNoSess: "http_test.go",
	ruleHTTPAccept: "http_test.go", ruleHTTPStatus: "http_test.go", ruleHTTPType: "http_test.go",
}

// Every rule is shown to be broken somewhere, and says where it stands in the
// specification in each revision that it counts for.
func TestEveryRuleIsShown(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules() {
		if seen[r.ID] {
			t.Errorf("%s stands there twice", r.ID)
		}
		seen[r.ID] = true
		shown := brokenElsewhere[r.ID] != ""
		for _, c := range broken {
			shown = shown || c.rule == r.ID
		}
		if !shown {
			t.Errorf("%s is never shown to be broken", r.ID)
		}
		if len(r.Revisions()) == 0 || r.Text == "" || r.Severity == "" {
			t.Errorf("%s says too little about itself: %+v", r.ID, r)
		}
		for _, rev := range r.Revisions() {
			page := r.Page(rev)
			if page == "" {
				t.Errorf("%s counts in %s and names no page", r.ID, rev)
			}
		}
	}
}

func TestQuestionsThatNoServerMayAsk(t *testing.T) {
	ms := Check(talk(t, `> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
		< {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"ping"}}}}`))
	if got := rulesOf(ms[1]); !slices.Contains(got, ruleInputKind) {
		t.Errorf("problems are %v", got)
	}
}

func TestAToolSchemaIsOfAnObject(t *testing.T) {
	ms := Check(talk(t, toolsTalk(`{"name":"a","inputSchema":{"type":"string"}}`)))
	if got := rulesOf(ms[len(ms)-1]); !slices.Contains(got, ruleToolSchema) {
		t.Errorf("problems are %v", got)
	}
}

func TestFormsAndSamplingAreJudged(t *testing.T) {
	able := strings.ReplaceAll(talktest.Hello("2025-11-25"), `"roots":{}`, `"elicitation":{},"sampling":{"tools":{}}`)
	ms := Check(talk(t, able+`
		< {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"object","properties":{}}}}}}
		< {"jsonrpc":"2.0","id":2,"method":"sampling/createMessage","params":{"maxTokens":5,"messages":[{"role":"user","content":{"type":"tool_result","toolUseId":"x","content":[]}}]}}`))
	if got := rulesOf(ms[len(ms)-2]); !slices.Contains(got, ruleForm) {
		t.Errorf("problems of the form are %v", got)
	}
	if got := rulesOf(ms[len(ms)-1]); !slices.Contains(got, ruleSampling) {
		t.Errorf("problems of the sampling are %v", got)
	}
}

// What the specification itself shows as an example breaks no rule of form.
func TestPublishedExamplesBreakNoRule(t *testing.T) {
	dirs, err := os.ReadDir(filepath.Join(protocolDir, "examples"))
	if err != nil {
		t.Skipf("the published examples are not here: %v", err)
	}
	n := 0
	for _, d := range dirs {
		form := exampleForms[d.Name()]
		files, _ := filepath.Glob(filepath.Join(protocolDir, "examples", d.Name(), "*.json"))
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			w := &walker{letter: letterOf(mcp.Revisions()[0]), extras: true, bad: func(rule, pointer, text string) {
				found = append(found, rule+" at "+pointer+": "+text)
			}}
			var j map[string]json.RawMessage
			if err := json.Unmarshal(text, &j); err != nil {
				continue // not an object
			}
			switch {
			case form != "":
				w.value(kind{base: form}, text, "")
			case j["jsonrpc"] != nil:
				r := ParseFrame(text)
				method := r.Message.Method
				if method == "" {
					method = exampleMethods[strings.TrimSuffix(d.Name(), "ResultResponse")]
				}
				w.message(&r.Message, method, "")
			default:
				continue
			}
			n++
			if d.Name() == "ReadResourceResultResponse" {
				found = slices.DeleteFunc(found, func(f string) bool { return strings.HasPrefix(f, ruleCache) }) // the example lacks what its own schema requires
			}
			for _, f := range found {
				t.Errorf("%s/%s: %s", d.Name(), filepath.Base(file), f)
			}
		}
	}
	if n < 60 {
		t.Errorf("only %d examples were judged", n)
	}
}

var exampleMethods = map[string]string{
	"CallTool": "tools/call", "Complete": "completion/complete", "Discover": "server/discover", "GetPrompt": "prompts/get",
	"ListPrompts": "prompts/list", "ListResources": "resources/list", "ListResourceTemplates": "resources/templates/list",
	"ListTools": "tools/list", "ReadResource": "resources/read", "SubscriptionsListen": "subscriptions/listen",
}

var exampleForms = map[string]string{
	"AudioContent": "Audio", "BlobResourceContents": "BlobResource", "BooleanSchema": "BoolField", "CallToolRequestParams": "CallParams",
	"CallToolResult": "CallResult", "CancelledNotificationParams": "CancelledParams", "ClientCapabilities": "ClientCapabilities",
	"CompleteRequestParams": "CompleteParams", "CompleteResult": "CompleteResult", "CreateMessageRequestParams": "SamplingParams",
	"CreateMessageResult": "SamplingResult", "DiscoverResult": "DiscoverResult", "ElicitRequestFormParams": "ElicitForm",
	"ElicitRequestURLParams": "ElicitURL", "ElicitResult": "ElicitResult", "EmbeddedResource": "Embedded", "GetPromptRequestParams": "PromptParams",
	"GetPromptResult": "PromptResult", "ImageContent": "Image", "InputRequiredResult": "InputRequired", "ListPromptsResult": "PromptsResult",
	"ListResourceTemplatesResult": "TemplatesResult", "ListResourcesResult": "ResourcesResult", "ListRootsResult": "RootsResult",
	"ListToolsResult": "ToolsResult", "ModelPreferences": "ModelPreferences", "NumberSchema": "NumberField", "PaginatedRequestParams": "PageParams",
	"ReadResourceResult": "ReadResult", "Resource": "Resource", "ResourceLink": "ResourceLink", "Root": "Root", "SamplingMessage": "SamplingMessage",
	"ServerCapabilities": "ServerCapabilities", "StringSchema": "TextField", "TextContent": "Text", "TextResourceContents": "TextResource",
	"TitledMultiSelectEnumSchema": "ManyField", "TitledSingleSelectEnumSchema": "TitledChoice", "Tool": "Tool", "ToolResultContent": "ToolAnswer",
	"ToolUseContent": "ToolUse", "UntitledMultiSelectEnumSchema": "ManyField", "UntitledSingleSelectEnumSchema": "ChoiceField",
	"LoggingMessageNotificationParams": "LogParams", "ProgressNotificationParams": "ProgressParams", "ResourceUpdatedNotificationParams": "UpdatedParams",
	"SubscriptionsListenResult": "ListenResult",
}
