package keyword

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/llm"
)

func tool(name, about, schema string) llm.Tool {
	return llm.Tool{Name: name, Description: about, Schema: json.RawMessage(schema)}
}

var shelf = []llm.Tool{
	tool("calc__add", "Add two numbers", `{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`),
	tool("calc__divide", "Divide a by b", `{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`),
	tool("notes__create_note", "Create a note", `{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path"]}`),
	tool("notes__search_notes", "Search the notes of the vault", `{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer"}},"required":["query"]}`),
	tool("notes__get_recent_notes", "The notes that were changed last", `{"type":"object","properties":{"tag":{"type":"string"},"limit":{"type":"integer"}}}`),
	tool("fs__read_text_file", "Read a file as text", `{"type":"object","properties":{"path":{"type":"string"},"head":{"type":"integer"}},"required":["path"]}`),
	tool("fs__move_file", "Move or rename a file", `{"type":"object","properties":{"source":{"type":"string"},"destination":{"type":"string"}},"required":["source","destination"]}`),
	tool("sql__run_query", "Run a read-only SQL query", `{"type":"object","properties":{"sql":{"type":"string"}},"required":["sql"]}`),
	tool("weather__forecast", "The weather of the next days", `{"type":"object","properties":{"city":{"type":"string"},"unit":{"enum":["celsius","fahrenheit"]}},"required":["city"]}`),
	tool("read_result", "Read more of a result", `{"type":"object","properties":{"handle":{"type":"string"}},"required":["handle"]}`),
}

func TestSentences(t *testing.T) {
	for sentence, want := range map[string]string{
		"add 2 and 3":                              `calc__add {"a":2,"b":3}`,
		"add 2 3":                                  `calc__add {"a":2,"b":3}`,
		"please add -1.5 and 20":                   `calc__add {"a":-1.5,"b":20}`,
		"divide 10 by 4":                           `calc__divide {"a":10,"b":4}`,
		"divide b=4 a=10":                          `calc__divide {"a":10,"b":4}`,
		"create a note called Plan":                `notes__create_note {"path":"Plan"}`,
		`create a note called "Plan for Friday"`:   `notes__create_note {"path":"Plan for Friday"}`,
		"search notes for budget meeting":          `notes__search_notes {"query":"budget meeting"}`,
		"search notes for budget limit 3":          `notes__search_notes {"limit":3,"query":"budget"}`,
		"show recent notes with tag work":          `notes__get_recent_notes {"tag":"work"}`,
		"read the file docs/plan.md":               `fs__read_text_file {"path":"docs/plan.md"}`,
		"read text file README.md head 5":          `fs__read_text_file {"head":5,"path":"README.md"}`,
		`move file "a b.txt" to "c.txt"`:           `fs__move_file {"destination":"c.txt","source":"a b.txt"}`,
		"run query 'select 1'":                     `sql__run_query {"sql":"select 1"}`,
		"weather forecast for New York in celsius": `weather__forecast {"city":"New York","unit":"celsius"}`,
		"weather forecast in fahrenheit for Oslo":  `weather__forecast {"city":"Oslo","unit":"fahrenheit"}`,
	} {
		text, call := answer(&llm.Request{Messages: []llm.Message{llm.User(sentence)}, Tools: shelf})
		if call == nil {
			t.Errorf("%s: nothing is proposed, but said %q", sentence, text)
			continue
		}
		if got := call.Name + " " + string(call.Arguments); got != want {
			t.Errorf("%s came to %s, not %s", sentence, got, want)
		}
		if !strings.Contains(text, Label) {
			t.Errorf("%s: the proposal %q is not labelled", sentence, text)
		}
	}
}

// A schema of a hostile server costs nothing but its own tool.
func TestHostileSchemas(t *testing.T) {
	long := strings.Repeat("x", 5<<20)
	tools := append([]llm.Tool{
		tool("evil__add", "Add", `{"type":"object","properties":{"`+long+`":{"type":"string"}},"required":["`+long+`"]}`),
		tool("evil__add2", "Add", `{"type":"object","properties":{"a":{"enum":["","`+long+`",null,7,"(?("]}}}`),
		tool("evil__add3", "Add", `{"type":"object","properties":{"a)(":{"type":"number"},"\u0000":{"type":"string"}}}`),
		tool("evil__add4", "Add", `[`),
		tool("evil__add5", "Add", `{"properties":[]}`),
	}, shelf...)
	_, call := answer(&llm.Request{Messages: []llm.Message{llm.User("calc add 2 and 3")}, Tools: tools})
	if call == nil || call.Name != "calc__add" {
		t.Errorf("called %+v", call)
	}
}

func TestNothingIsInvented(t *testing.T) {
	for sentence, want := range map[string]string{
		"what is the meaning of life?": "No tool matches",
		"add 2":                        "needs b",
		"read":                         "needs path",
	} {
		text, call := answer(&llm.Request{Messages: []llm.Message{llm.User(sentence)}, Tools: shelf})
		if call != nil || !strings.Contains(text, want) || !strings.Contains(text, Label) {
			t.Errorf("%s: said %q and called %v", sentence, text, call)
		}
	}
}

func TestResultIsSaidAsItIs(t *testing.T) {
	r := &llm.Request{Tools: shelf, Messages: []llm.Message{
		llm.User("add 2 and 3"),
		{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "1", Name: "calc__add"}}}},
		llm.Results(llm.TextResult("1", "<result from=\"calc/add\" id=\"x\">\n5\n</result id=\"x\">")),
	}}
	if text, call := answer(r); text != "5" || call != nil {
		t.Errorf("said %q, called %v", text, call)
	}
}

func TestSearchesWhereThereAreTooMany(t *testing.T) {
	many := []llm.Tool{tool("search_tools", "", `{}`), tool("call_tool", "", `{}`)}
	r := &llm.Request{Tools: many, Messages: []llm.Message{llm.User("add 2 and 3")}}
	_, call := answer(r)
	if call == nil || call.Name != "search_tools" || !strings.Contains(string(call.Arguments), "add 2 and 3") {
		t.Fatalf("called %v", call)
	}
	found := `[{"name":"calc__add","description":"Add two numbers","inputSchema":` + string(shelf[0].Schema) + `}]`
	r.Messages = append(r.Messages, llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.PartToolCall, Call: call}}}, llm.Results(llm.TextResult(call.ID, found)))
	_, call = answer(r)
	if call == nil || call.Name != "call_tool" || string(call.Arguments) != `{"arguments":{"a":2,"b":3},"name":"calc__add"}` {
		t.Fatalf("called %+v", call)
	}
}

func TestStream(t *testing.T) {
	kinds := ""
	for e, err := range (Model{}).Stream(t.Context(), &llm.Request{Messages: []llm.Message{llm.User("add 2 and 3")}, Tools: shelf}) {
		if err != nil {
			t.Fatal(err)
		}
		kinds += string(e.Kind) + " "
	}
	if kinds != "text tool_call done " {
		t.Errorf("events: %s", kinds)
	}
}
