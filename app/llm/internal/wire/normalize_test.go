package wire

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/llm"
)

var loose = IDs{Pattern: regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`), Length: 20}

func call(id string) llm.Part {
	return llm.Part{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: id, Name: "t"}}
}

func says(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.RoleAssistant, Parts: parts} }

// brief is a conversation on one line.
func brief(all []llm.Message) string {
	var b strings.Builder
	for _, m := range all {
		b.WriteString(string(m.Role) + "(")
		for i, p := range m.Parts {
			if i > 0 {
				b.WriteString(" ")
			}
			switch {
			case p.Call != nil:
				b.WriteString("call:" + p.Call.ID)
			case p.Result != nil:
				text := llm.Message{Parts: p.Result.Parts}.Text()
				if text == lostResult {
					text = "lost"
				}
				b.WriteString("result:" + p.Result.CallID + "=" + text)
			default:
				b.WriteString(p.Text)
			}
		}
		b.WriteString(") ")
	}
	return strings.TrimSpace(b.String())
}

func TestNormalize(t *testing.T) {
	for _, test := range []struct {
		name string
		in   []llm.Message
		want string
	}{
		{"fine", []llm.Message{llm.User("a"), says(llm.Text("b"))}, "user(a) assistant(b)"},
		{"two in a row", []llm.Message{llm.User("a"), llm.User("b")}, "user(a b)"},
		{"nothing said", []llm.Message{llm.User(" "), llm.User("a"), says(), says(llm.Text("\n"))}, "user(a)"},
		{"order of results", []llm.Message{llm.User("a"), says(call("1"), call("2")), llm.Results(llm.TextResult("2", "B"), llm.TextResult("1", "A"))}, "user(a) assistant(call:1 call:2) tool(result:1=A result:2=B)"},
		{"results one by one, and words between", []llm.Message{says(call("1"), call("2")), llm.Results(llm.TextResult("1", "A")), llm.User("and"), llm.Results(llm.TextResult("2", "B"))}, "assistant(call:1 call:2) tool(result:1=A result:2=B) user(and)"},
		{"interrupted", []llm.Message{llm.User("a"), says(call("1"), call("2")), llm.Results(llm.TextResult("1", "A")), llm.User("stop")}, "user(a) assistant(call:1 call:2) tool(result:1=A result:2=lost) user(stop)"},
		{"interrupted at the end", []llm.Message{llm.User("a"), says(call("1"))}, "user(a) assistant(call:1) tool(result:1=lost)"},
		{"a result of nothing", []llm.Message{llm.Results(llm.TextResult("9", "X")), llm.User("a")}, "user([Result of an earlier call:] X a)"},
		{"a result twice", []llm.Message{says(call("1")), llm.Results(llm.TextResult("1", "A"), llm.TextResult("1", "B"))}, "assistant(call:1) tool(result:1=A) user([Result of an earlier call:] B)"},
		{"ids used again", []llm.Message{says(call("1")), llm.Results(llm.TextResult("1", "A")), says(call("1")), llm.Results(llm.TextResult("1", "B"))}, "assistant(call:1) tool(result:1=A) assistant(call:" + loose.generate("1'") + ") tool(result:" + loose.generate("1'") + "=B)"},
		{"the same id twice in one message", []llm.Message{says(call("1"), call("1")), llm.Results(llm.TextResult("1", "A"), llm.TextResult("1", "B"))}, "assistant(call:1 call:" + loose.generate("1'") + ") tool(result:1=A result:" + loose.generate("1'") + "=B)"},
		{"ids that do not fit", []llm.Message{says(call("fn:a/b 1")), llm.Results(llm.TextResult("fn:a/b 1", "A"))}, "assistant(call:" + loose.generate("fn:a/b 1") + ") tool(result:" + loose.generate("fn:a/b 1") + "=A)"},
		{"no id", []llm.Message{says(call("")), llm.Results(llm.TextResult("", "A"))}, "assistant(call:" + loose.generate("") + ") tool(result:" + loose.generate("") + "=A)"},
	} {
		before, _ := json.Marshal(test.in)
		if got := brief(Normalize(test.in, loose)); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
		if after, _ := json.Marshal(test.in); string(after) != string(before) {
			t.Errorf("%s: the given messages were changed", test.name)
		}
	}
}

func TestArguments(t *testing.T) {
	for _, test := range []struct{ in, want, problem string }{
		{"", "{}", ""},
		{" {\"a\":1}\n", `{"a":1}`, ""},
		{"null", "{}", ""},
		{`"{\"a\":1}"`, `{"a":1}`, ""},
		{`[1]`, "{}", "they are an array"},
		{`"x"`, "{}", "they are a string"},
		{`{"a":`, "{}", "must be one JSON object"},
		{`{"a":1,"a":2}`, "{}", "must be one JSON object"},
		{`{"a":1}{"b":2}`, "{}", "must be one JSON object"},
	} {
		got, problem := Arguments(test.in)
		if string(got) != test.want || (problem == "") != (test.problem == "") || !strings.Contains(problem, test.problem) {
			t.Errorf("%s: %s, %q", test.in, got, problem)
		}
	}
}
