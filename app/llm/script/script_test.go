package script

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/llmtest"
	"github.com/tenon-mcp/tenon/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func written(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func opened(t *testing.T, text string) *Player {
	t.Helper()
	p, err := Open(written(t, text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func ask(p llm.Model, messages ...llm.Message) string {
	return llmtest.Transcript(p.Stream(context.Background(), &llm.Request{Messages: messages, Tools: []llm.Tool{{Name: "add"}}}))
}

const talk = `# A conversation.
{"script":1,"model":{"provider":"script","name":"demo","context":1000}}

{"expect":{"role":"user","has":"SUM","tools":["add"]}}
{"thinking":"Easy.","signature":"x:1"}
{"text":"Let me "}
{"text":"add."}
{"call":{"name":"add","arguments":{"a":2,"b":3}}}
{"call":{"id":"mine","name":"add"}}
{"usage":{"input":10,"output":5}}
{"done":""}
{"expect":{"role":"tool","match":"sum.*5"}}
{"text":"It is ${results.0.sum}, said ${result}."}
{"call":{"name":"add","arguments":{"a":"${results.0.sum}","id":"${results.0.items.1.id}","s":"<${results.0.items.1.id}>"}}}
// a third turn without any condition
{"done":"length"}
{"error":{"kind":"overloaded","status":529,"message":"busy","retry_after":"2s"}}
`

func TestScript(t *testing.T) {
	p := opened(t, talk)
	if i := p.Info(); i.Name != "demo" || i.Context != 1000 || i.Label == "" {
		t.Errorf("info %+v", i)
	}
	want := `thinking "Easy." x:1
text "Let me "
text "add."
tool_call_start call_1 add 
tool_call_delta "{\"a\":2,\"b\":3}" call_1 add 
tool_call call_1 add {"a":2,"b":3}
tool_call_start mine add 
tool_call_delta "{}" mine add 
tool_call mine add {}
usage in=10 out=5 read=0 write=0 cost=0
done tool_calls in=10 out=5 read=0 write=0 cost=0
`
	if got := ask(p, llm.User("the sum of 2 and 3")); got != want {
		t.Errorf("first turn:\n%s", got)
	}
	results := llm.Results(llm.TextResult("call_1", `ok: {"sum":5,"items":[{"id":"7"},{"id":"8"}]}`), llm.TextResult("mine", "nothing"))
	got := ask(p, llm.User("x"), results)
	for _, want := range []string{`text "It is 5, said nothing."`, `{"a":5,"id":"8","s":"<8>"}`, "done length"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in second turn:\n%s", want, got)
		}
	}
	if p.Left() != 1 {
		t.Errorf("%d turns left", p.Left())
	}
	_, err := llm.Ask(t.Context(), p, &llm.Request{})
	if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != llm.ErrOverloaded || e.Status != 529 || e.RetryAfter != 2*time.Second {
		t.Errorf("third turn: %v", err)
	}
	if got := ask(p, llm.User("more")); !strings.Contains(got, `all 3 turns of the script were played, and the last message is "more"`) {
		t.Errorf("after the end: %s", got)
	}
}

func TestExpectations(t *testing.T) {
	for _, test := range []struct{ expect, says string }{
		{`{"role":"tool"}`, `must have role "tool", but has "user"`},
		{`{"text":"good day"}`, `must be "good day"`},
		{`{"has":"evening"}`, `must contain "evening"`},
		{`{"match":"^d"}`, `must match "^d"`},
		{`{"tools":["sub"]}`, `the tool sub must be offered; offered: add`},
		{`{"absent":["add"]}`, `the tool add must not be offered`},
		{`{"system":"pirate"}`, `must contain "pirate"`},
		{`{"error":true}`, `must have a failed result`},
	} {
		p := opened(t, "\n"+`{"expect":`+test.expect+`}`+"\n"+`{"text":"x"}`)
		if got := ask(p, llm.User("good morning")); !strings.Contains(got, test.says) || !strings.Contains(got, "s.jsonl:2") || !strings.HasPrefix(got, "error bad_request") {
			t.Errorf("%s: %s", test.expect, got)
		}
		if p.Left() != 1 {
			t.Errorf("%s: a turn that did not fit was used up", test.expect)
		}
	}
}

func TestWhenAndRepeat(t *testing.T) {
	p := opened(t, `{"script":1,"repeat":true}
{"when":{"has":"help"}}
{"text":"H"}
{"expect":{}}
{"text":"1"}
{"expect":{}}
{"text":"2"}
`)
	var got string
	for _, say := range []string{"a", "please help", "b", "help", "c"} {
		a, err := llm.Ask(t.Context(), p, &llm.Request{Messages: []llm.Message{llm.User(say)}})
		if err != nil {
			t.Fatal(err)
		}
		got += a.Message.Text()
	}
	if got != "1H2H1" {
		t.Errorf("got %s", got)
	}
}

func TestDelays(t *testing.T) {
	name := written(t, `{"text":"a"}`+"\n"+`{"delay":"3s"}`+"\n"+`{"text":"b"}`+"\n"+`{"done":""}`+"\n"+`{"delay":"1h"}`+"\n"+`{"text":"c"}`)
	synctest.Test(t, func(t *testing.T) {
		p, err := Open(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if got := ask(p, llm.User("x")); !strings.HasSuffix(got, "done end\n") || time.Since(start) != 3*time.Second {
			t.Errorf("after %s: %s", time.Since(start), got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := llm.Ask(ctx, p, &llm.Request{}); llm.KindOf(err) != llm.ErrCanceled || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestMistakesInFiles(t *testing.T) {
	for _, test := range []struct{ text, says string }{
		{"", "has no turn"},
		{`{"text":"a"`, "s.jsonl:1: a line must be one JSON object"},
		{"\n" + `{"txt":"a"}`, "s.jsonl:2: "},
		{`{"txt":"a"}`, "a line has one of script, request, expect"},
		{`{"text":"a","call":{"name":"x"}}`, "exactly one kind, this one has 2"},
		{`{"signature":"a"}`, "exactly one kind, this one has 0"},
		{`{"script":9}`, "version 9"},
		{`{"text":"a"}` + "\n" + `{"script":1}`, "must be the first line"},
		{`{"call":{"arguments":{}}}`, "needs a tool name"},
		{`{"call":{"name":"x","arguments":[1]}}`, "must be a JSON object"},
		{`{"delay":"soon"}`, "not a duration"},
		{`{"error":{"kind":"sad"}}`, `unknown error kind "sad"`},
		{`{"done":"maybe"}`, "must be end, tool_calls"},
		{`{"expect":{"match":"("}}`, "match: "},
	} {
		if _, err := Open(written(t, test.text), nil); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", test.text, err)
		}
	}
	if _, err := Open("nowhere.jsonl", nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	p := opened(t, `{"text":"${result.a}"}`)
	if got := ask(p, llm.Results(llm.TextResult("1", `{"b":1}`))); !strings.Contains(got, `s.jsonl:1: ${result.a}: no "a" in`) {
		t.Errorf("got %s", got)
	}
}

// What is recorded replays, in any order, with everything that happened.
func TestRecordAndReplay(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.jsonl")
	if err := os.WriteFile(name, []byte("older"), 0o644); err != nil {
		t.Fatal(err)
	}
	rec, err := Record(name, opened(t, talk), nil)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := os.Stat(name); err != nil || runtime.GOOS != "windows" && s.Mode().Perm() != 0o600 {
		t.Errorf("others may read it: %v, %v", s.Mode(), err)
	}
	one := []llm.Message{llm.User("sum")}
	two := []llm.Message{llm.User("sum"), llm.Results(llm.ToolResult{CallID: "1", Parts: []llm.Part{llm.Text(`{"sum":5,"items":[1,{"id":2}]}`)}})}
	first, second, third := ask(rec, one...), ask(rec, two...), ask(rec, one...)
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	p, err := Replay(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := ask(p, two...); got != second {
		t.Errorf("second:\n%s\nwas\n%s", got, second)
	}
	if got := ask(p, one...); got != first {
		t.Errorf("first:\n%s\nwas\n%s", got, first)
	}
	if got := ask(p, one...); got != third || !strings.Contains(got, "overloaded") {
		t.Errorf("third:\n%s\nwas\n%s", got, third)
	}
	if got := ask(p, one...); !strings.Contains(got, "recorded 2 times and is made once more") {
		t.Errorf("fourth: %s", got)
	}
	if i := p.Info(); i.Name != "demo" || i.Label != "a recording, not a language model" {
		t.Errorf("info %+v", i)
	}
}

func TestReplayShowsTheDifference(t *testing.T) {
	name := written(t, `{"script":1,"ignore":["system"]}
{"request":{"system":"It is Monday.","messages":[{"role":"user","parts":[{"kind":"text","text":"hello"}]}],"tools":[{"name":"add"}]}}
{"text":"hi"}
{"done":"end"}
`)
	for _, test := range []struct {
		r    *llm.Request
		want string
	}{
		{&llm.Request{System: "It is Tuesday.", Messages: []llm.Message{llm.User("hello")}, Tools: []llm.Tool{{Name: "add"}}}, `text "hi"`},
		{&llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.PartText, Text: "hello", CacheMark: true}}}}, Tools: []llm.Tool{{Name: "add"}}}, `text "hi"`},
		{&llm.Request{Messages: []llm.Message{llm.User("help")}, Tools: []llm.Tool{{Name: "add"}}}, `messages[0].parts[0].text: recorded "hello", now "help"`},
		{&llm.Request{Messages: []llm.Message{llm.User("hello")}, Tools: []llm.Tool{{Name: "add"}, {Name: "sub"}}}, `tools[1]: now {"name":"sub"}, not recorded`},
		{&llm.Request{Messages: []llm.Message{llm.User("hello")}}, `tools: recorded [{"name":"add"}], now missing`},
	} {
		p, err := Replay(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := llmtest.Transcript(p.Stream(t.Context(), test.r)); !strings.Contains(got, test.want) {
			t.Errorf("got %s\nwant %s", got, test.want)
		}
	}
}

// A recording of an answer that nobody waited for is not written.
func TestRecordLeavesOutWhatWasCancelled(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.jsonl")
	rec, err := Record(name, opened(t, `{"text":"a"}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range rec.Stream(t.Context(), &llm.Request{}) {
		break
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	if raw, _ := os.ReadFile(name); strings.Count(string(raw), "\n") != 1 {
		t.Errorf("wrote %s", raw)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(talk)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := read("f", strings.NewReader(text))
		if err != nil {
			return
		}
		p := newPlayer(s, &Options{NoDelays: true}, "script", "", (*Player).byRequest)
		got := ask(p, llm.User("x"))
		llmtest.CheckEnd(t, got, got)
	})
}
