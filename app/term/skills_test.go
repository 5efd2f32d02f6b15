package term

import (
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/mcp"
)

// A question that counts each time only offers no answer that would count
// longer, and one about a skill says what a skill does.
func TestQuestionsAboutSkills(t *testing.T) {
	call := &host.ToolCall{Server: "docs", Tool: "skill://pdf/SKILL.md"}
	tool := &mcp.Tool{Name: call.Tool, Description: "Fill in forms"}
	for _, a := range []host.Ask{
		{Kind: host.AskFlow, Server: "docs", From: "evil", Call: call, EachTime: true, Loud: true},
		{Kind: host.AskApproval, Server: "docs", Call: call, Tool: tool, EachTime: true, Skill: true, Loud: true},
	} {
		q := newQuestion(a)
		for _, o := range q.options() {
			if o.action == "session" || o.action == "always" {
				t.Errorf("%s offers %s", a.Kind, o.label)
			}
		}
		words, text, _ := q.words()
		for word, action := range words {
			if action == "session" || action == "always" {
				t.Errorf("%s accepts %q", a.Kind, word)
			}
		}
		if strings.Contains(text, "session") {
			t.Errorf("%s asks for %s", a.Kind, text)
		}
	}
	q := newQuestion(host.Ask{Kind: host.AskApproval, Server: "docs", Call: call, Tool: tool, Skill: true})
	if got := q.risk(); got != "Gives the model instructions that docs wrote" {
		t.Errorf("risk: %q", got)
	}
	if !slices.ContainsFunc(q.options(), func(o option) bool { return o.action == "always" }) {
		t.Errorf("an approval of a skill with digests can be kept: %v", q.options())
	}
}
