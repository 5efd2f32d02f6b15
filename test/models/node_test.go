package models

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/anthropic"
	"github.com/tenon-mcp/tenon/app/llm/llmtest"
	"github.com/tenon-mcp/tenon/app/llm/openai"
)

// A nodeAnswer is what a JavaScript SDK understood.
type nodeAnswer struct {
	Text, Thinking, Stop string
	Calls                []nodeCall
	Input, Output        int
	Error, Type          string
	Status               int
}

type nodeCall struct {
	ID, Name  string
	Arguments json.RawMessage
}

// A nodeJob is a request that a JavaScript SDK sends.
type nodeJob struct {
	API     string          `json:"api"`
	BaseURL string          `json:"baseURL"`
	Key     string          `json:"key"`
	Request json.RawMessage `json:"request"`

	judge func(nodeAnswer)
}

// ask sends all requests with the JavaScript SDKs in one process, and judges the
// answers.
func ask(t *testing.T, jobs []nodeJob) {
	t.Helper()
	if _, err := os.Stat("node/node_modules/.installed.json"); err != nil {
		if os.Getenv("MUST_RUN") != "" {
			t.Fatal("the JavaScript SDKs are missing: run test/models/install.sh")
		}
		t.Skip("the JavaScript SDKs are missing: run test/models/install.sh")
	}
	var in, errs bytes.Buffer
	for _, j := range jobs {
		if err := json.NewEncoder(&in).Encode(j); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("node", "node/client.mjs")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")} // no keys of the user
	cmd.Stdin, cmd.Stderr = &in, &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &errs)
	}
	lines := json.NewDecoder(bytes.NewReader(out))
	for i, j := range jobs {
		var a nodeAnswer
		if err := lines.Decode(&a); err != nil {
			t.Fatalf("answer %d: %v\n%s", i, err, &errs)
		}
		j.judge(a)
	}
}

// nodeWires are the three APIs: how our wire asks, and the base URL for the SDK.
var nodeWires = map[string]struct {
	model func(s *llmtest.Server) llm.Model
	base  func(s *llmtest.Server) string
}{
	"messages": {
		func(s *llmtest.Server) llm.Model {
			return anthropic.New("claude-opus-4-6", &anthropic.Options{Key: llmtest.Key, BaseURL: s.URL, Client: s.Client(), Attempts: 1})
		},
		func(s *llmtest.Server) string { return s.URL },
	},
	"chat": {
		func(s *llmtest.Server) llm.Model {
			return openai.New("gpt-5", &openai.Options{Key: llmtest.Key, BaseURL: s.V1(), Dialect: openai.OpenAI, API: openai.Chat, Client: s.Client(), Attempts: 1})
		},
		(*llmtest.Server).V1,
	},
	"responses": {
		func(s *llmtest.Server) llm.Model {
			return openai.New("gpt-5", &openai.Options{Key: llmtest.Key, BaseURL: s.V1(), Dialect: openai.OpenAI, API: openai.Responses, Client: s.Client(), Attempts: 1})
		},
		(*llmtest.Server).V1,
	},
}

// The requests that our wires make, sent by the vendors' JavaScript SDKs, reach the
// fake as they are, and the SDKs understand the fake's answers as our wires do.
func TestNodeSDKs(t *testing.T) {
	var jobs []nodeJob
	for api, w := range nodeWires {
		for name, turn := range turns {
			s := llmtest.New(t, turn)
			r := &llm.Request{System: "Be brief.", Effort: "high", MaxTokens: 4000,
				Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{llm.Text("hi"), {Kind: llm.PartImage, MIME: "image/png", Data: []byte("png")}}}},
				Tools:    []llm.Tool{{Name: "add", Schema: llm.RawMessage(`{"type":"object","properties":{"a":{"type":"number"}}}`)}, {Name: "sub", Schema: llm.RawMessage(`{"type":"object","properties":{}}`)}}}
			mine, err := llm.Ask(t.Context(), w.model(s), r)
			sent := s.Last()
			jobs = append(jobs, nodeJob{api, w.base(s), llmtest.Key, sent, func(theirs nodeAnswer) {
				if again := s.Last(); !sameJSON(sent, again) {
					t.Errorf("%s, %s: our request:\n%s\nand the SDK's:\n%s", api, name, sent, again)
				}
				if turn.Fail != "" {
					if err == nil || theirs.Error == "" {
						t.Errorf("%s, %s: our error: %v, and theirs: %+v", api, name, err, theirs)
					}
					return
				}
				if got := ourAnswer(mine); err != nil || got != theirs.String() {
					t.Errorf("%s, %s: our answer (%v):\n%s\nand theirs:\n%s", api, name, err, got, theirs)
				}
				if n := mine.Usage.Read(); turn.Usage != (llm.Usage{}) && (theirs.Input != n || theirs.Output != mine.Usage.Output) {
					t.Errorf("%s, %s: our usage: %+v, and theirs: %+v", api, name, mine.Usage, theirs)
				}
			}})
		}
	}
	ask(t, jobs)
}

// ourAnswer returns the text, thinking and calls of an answer.
func ourAnswer(a llm.Answer) string {
	n := nodeAnswer{Text: a.Message.Text()}
	for _, p := range a.Message.Parts {
		switch {
		case p.Kind == llm.PartThinking:
			n.Thinking += p.Text
		case p.Call != nil:
			n.Calls = append(n.Calls, nodeCall{p.Call.ID, p.Call.Name, json.RawMessage(p.Call.Arguments)})
		}
	}
	return n.String()
}

func (a nodeAnswer) String() string {
	text := fmt.Sprintf("text %q, thinking %q", a.Text, a.Thinking)
	for _, c := range a.Calls {
		text += fmt.Sprintf(", call %s %s %s", c.ID, c.Name, canonical(c.Arguments))
	}
	if a.Error != "" {
		text += ", " + a.Type + ": " + a.Error
	}
	return text
}

// The fakes are strict: what the vendors reject, the SDKs see as their errors, with
// the status.
func TestNodeSDKsSeeErrors(t *testing.T) {
	var jobs []nodeJob
	for api, w := range nodeWires {
		for _, status := range []int{400, 401, 429, 500} {
			s := llmtest.New(t, llmtest.Turn{Status: status})
			_, _ = llm.Ask(t.Context(), w.model(s), &llm.Request{Messages: []llm.Message{llm.User("hi")}})
			key := llmtest.Key
			if status == 401 {
				key = "sk-wrong"
			}
			jobs = append(jobs, nodeJob{api, w.base(s), key, s.Last(), func(a nodeAnswer) {
				if a.Status != status || !strings.HasSuffix(a.Type, "Error") {
					t.Errorf("%s, %d: %+v", api, status, a)
				}
			}})
		}
		// Requests that the API does not accept.
		s := llmtest.New(t, llmtest.Turn{Text: []string{"ok"}})
		for _, wrong := range []string{
			`{"model":"m","max_tokens":10,"messages":[{"role":"tool","tool_call_id":"x","content":"y"}],"input":[{"type":"function_call_output","call_id":"x","output":"y"}]}`,
			`{"model":"m","max_tokens":10,"messages":[{"role":"user","content":"hi"}],"input":[],"tools":[{"type":"function","name":"no good","input_schema":{"type":"object"},"parameters":{"type":"object"},"function":{"name":"no good","parameters":{"type":"object"}}}]}`,
		} {
			jobs = append(jobs, nodeJob{api, w.base(s), llmtest.Key, json.RawMessage(wrong), func(a nodeAnswer) {
				if a.Status != 400 || a.Type != "BadRequestError" {
					t.Errorf("%s accepts %s: %+v", api, wrong, a)
				}
			}})
		}
	}
	ask(t, jobs)
}

// sameJSON reports whether two values are the same apart from spaces and order.
func sameJSON(a, b []byte) bool { return canonical(a) == canonical(b) }

func canonical(raw []byte) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	out, _ := json.Marshal(v)
	return string(out)
}
