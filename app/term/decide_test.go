package term

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/llm/keyword"
	"github.com/tenon-mcp/tenon/app/workspace"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// A reason is typed in the question, and reaches the model. Nothing is sent before
// Enter, and Esc goes back to the options.
func TestDenyAndSayWhy(t *testing.T) {
	model := scripted(t, `{"script":1,"model":{"provider":"script","name":"demo"}}
{"expect":{"role":"user"}}
{"call":{"name":"calc__add","arguments":{"a":2,"b":3}}}
{"done":""}
{"expect":{"role":"tool","has":"The person denied this call and says: \"once is enough, use 7\". Follow that"}}
{"text":"Seven, then."}
{"done":""}
`)
	d := drive(t, model, nil, nil)
	d.types("sum?")
	d.press("enter")
	d.answer("Deny because…")
	d.press("enter") // without a reason
	d.shows("Write why, or press Esc")
	d.types("no")
	d.press("esc")
	if len(d.w.Host.Asks()) != 1 || !d.s.focused {
		t.Fatal("Esc answers the question, or leaves it")
	}
	d.answer("Deny because…")
	d.types("once is enough, use ")
	d.send(tea.PasteMsg{Content: "7"})
	d.both("reason")
	d.press("enter")
	d.shows("You denied it: once is enough, use 7")
	d.shows("Seven, then.")
}

// H1: a question that appears while a reason is typed takes no key of it, and one
// that ends meanwhile lets none of it into the chat line.
func TestReasonAndOtherQuestions(t *testing.T) {
	d := drive(t, nil, nil, nil)
	d.types("add 2 and 3")
	d.press("enter")
	d.answer("Deny because…")
	d.types("not ")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if c, _ := d.w.Host.NewSession().Call(t.Context(), "calc", "multiply", json.RawMessage(`{"a":1,"b":2}`)); c == nil || c.Phase != host.CallDenied {
			t.Errorf("the second call: %+v", c)
		}
	}()
	d.until("the second question", func() bool { return len(d.s.questions) == 2 })
	d.types("now, allow once")
	if got := d.s.questions[0].edit.text; got != "not now, allow once" {
		t.Errorf("the reason is %q", got)
	}
	d.press("enter")
	d.shows("You denied it: not now, allow once")
	d.until("the second question is next", func() bool { return len(d.s.questions) == 1 })
	d.press("ctrl+s")
	d.types("xyz")
	if len(d.w.Host.Asks()) != 1 || d.s.focused {
		t.Fatal("the next question took keys")
	}
	d.press("ctrl+u")
	d.answer("Deny")
	<-ended

	d.until("it is over", func() bool { return d.s.turns == 0 })
	d.types("add 2 and 4")
	d.press("enter")
	d.answer("Deny because…")
	d.types("half a sec")
	d.s.t.stop()
	d.until("the question is gone", func() bool { return len(d.s.questions) == 0 })
	d.types("ret")
	d.press("enter")
	if d.s.input.text != "" {
		t.Errorf("the line is %q", d.s.input.text)
	}
}

// Arguments are changed as JSON; invalid ones are not taken, and the call with the
// changed ones is shown before it is allowed.
func TestChangeArguments(t *testing.T) {
	d := drive(t, nil, nil, nil)
	d.types("add 2 and 3")
	d.press("enter")
	d.answer("Edit…")
	if got := d.s.questions[0].edit.text; got != "{\n  \"a\": 2,\n  \"b\": 3\n}" {
		t.Errorf("the editor has %q", got)
	}
	d.both("change")
	d.press("up", "up", "up", "ctrl+a", "ctrl+k")
	d.press("ctrl+s")
	d.shows("not valid JSON")
	d.types("{\"c\": 40,") // the editor is still open
	d.press("ctrl+s")
	if len(d.w.Host.Asks()) != 1 || !d.s.focused || d.s.questions[0].picked >= 0 {
		t.Fatal("the call was allowed by Ctrl-S")
	}
	d.shows("You changed the arguments:")
	d.shows("c: 40")
	d.both("changed-arguments")
	d.answer("Undo the changes")
	d.shows("a: 2")
	d.answer("Edit…")
	d.press("ctrl+u", "backspace", "ctrl+u", "backspace", "ctrl+u", "backspace", "ctrl+u")
	d.types(`{"a":50,"b":3}`)
	d.press("ctrl+s")
	d.answer("Allow once as changed")
	d.shows("Allowed once, with arguments that you changed")
	d.until("the turn is over", func() bool { return d.s.turns == 0 })
	d.press("ctrl+o")
	for _, want := range []string{"arguments that the model wanted", "50", "53"} {
		if !strings.Contains(d.view(), want) {
			t.Errorf("%q is not shown\n%s", want, d.view())
		}
	}
}

// Hidden characters in arguments are visible in the editor and stay what they are.
func TestEditorShowsHiddenCharacters(t *testing.T) {
	raw := json.RawMessage("{\"a\":\"x\u202ey\u200b\U000e0041z\",\"é\":\"\\u001b[0m\"}")
	text := editable(raw)
	if strings.ContainsAny(text, "\u202e\u200b\U000e0041\x1b") || !strings.Contains(text, `x\u202ey\u200b`) || !strings.Contains(text, "é") {
		t.Errorf("%q", text)
	}
	var before, after map[string]string
	if json.Unmarshal(raw, &before) != nil || json.Unmarshal([]byte(text), &after) != nil || before["a"] != after["a"] || before["é"] != after["é"] {
		t.Errorf("%q is not %q", after, before)
	}
}

// Without a screen, a line gives the reason or other arguments.
func TestPlainReasonAndArguments(t *testing.T) {
	out := plainly(t, keyword.Model{}, nil,
		"add 2 and 3", "Deny because it is five",
		"add 2 and 4", `= {"a":1,`, `= {"a":10,"b":4}`, "/quit")
	has(t, out, "Deny because …, or = and other arguments as JSON: ", "⊘ calc/add", "You denied it: it is five",
		"not valid JSON", "✓ calc/add", "with arguments that you changed", "14")
}

// A rule for a folder is chosen in three steps; a second file in it is not asked
// about, and one beside it is. Esc goes back without an answer.
func TestAllowSimilarCallsInAFolder(t *testing.T) {
	files := server.New(mcp.Implementation{Name: "files", Version: "1"}, nil)
	server.AddTool(files, "write", "Write a file", func(_ context.Context, _ *mcp.Call, in struct {
		Path string `json:"path"`
	}) (string, error) {
		return "wrote " + in.Path, nil
	}, nil)
	feed := NewFeed()
	w := deskIn(t, t.TempDir(), keyword.Model{}, feed, map[string]*server.Server{"files": files}, func(o *workspace.Options) { o.Host.Folder = "/work/site" })
	d := driveOn(t, w, feed, nil)
	call := func(path string) {
		t.Helper()
		d.types("/call files/write path=" + path)
		d.press("enter")
	}
	call("/work/site/docs/a.md")
	d.answer("Allow similar…")
	d.both("similar")
	d.press("esc")
	if len(d.w.Host.Asks()) != 1 || !d.s.focused {
		t.Fatal("Esc answers the question, or leaves it")
	}
	d.answer("Allow similar…")
	d.pick("In /work/site/docs")
	d.press("enter")
	d.shows("Allow files/write in /work/site/docs:")
	d.press("enter", "enter") // nothing is picked
	if len(d.w.Host.Asks()) != 1 {
		t.Fatal("Enter without a choice answers")
	}
	d.both("similar-scope")
	d.answer("For the project /work/site")
	d.shows("wrote /work/site/docs/a.md")
	d.until("it is over", func() bool { return d.s.turns == 0 })
	call("/work/site/docs/b.md")
	d.shows("wrote /work/site/docs/b.md")
	d.shows("Allowed in /work/site/docs for the proj")
	d.until("it is over", func() bool { return d.s.turns == 0 })
	call("/work/site/docs2/c.md")
	d.asked()
	d.answer("Deny")
	d.until("it is over", func() bool { return d.s.turns == 0 })
}
