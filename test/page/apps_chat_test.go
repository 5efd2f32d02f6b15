package page

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/ext/apps"
)

// A caller is a model that calls the tool that the person names, and then says
// that it is done.
type caller struct {
	server   string // of the tool; empty: viewer
	mu       sync.Mutex
	requests []*llm.Request
}

func (*caller) Info() llm.Info { return llm.Info{Provider: "test", Name: "caller"} }

func (m *caller) Stream(_ context.Context, r *llm.Request) iter.Seq2[llm.Event, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, r)
	n := len(m.requests)
	last := r.Messages[len(r.Messages)-1]
	message := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text(fmt.Sprintf("done %d", n))}}
	if tool, ok := strings.CutPrefix(last.Text(), "call "); ok && last.Role == llm.RoleUser {
		message.Parts = []llm.Part{{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: fmt.Sprintf("c%d", n), Name: cmp.Or(m.server, "viewer") + "__" + tool, Arguments: llm.RawMessage(`{}`)}}}
	}
	return func(yield func(llm.Event, error) bool) { yield(llm.Event{Kind: llm.EventDone, Message: &message}, nil) }
}

// last returns the last request to the model.
func (m *caller) last() *llm.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.requests[len(m.requests)-1]
}

// In a conversation, a view stays the same while the chat is drawn again, tells
// the model something with the next message, suggests a message, and is there
// after a reload.
func TestViewInChat(t *testing.T) {
	t.Parallel()
	m := &caller{}
	st := newViewFixture(t, `run(async () => {
		const r = await init();
		await got('ui/notifications/tool-result');
		await req('ui/update-model-context', {content: [{type: 'text', text: 'first thoughts'}]});
		await req('ui/update-model-context', {content: [{type: 'text', text: 'the code is 4711'}], structuredContent: {n: 1}});
		await req('ui/message', {role: 'user', content: [{type: 'text', text: 'What is <b>the</b> code?'}]});
		return r.hostCapabilities;
	});`, apps.ViewUI{}, setup{model: m})
	p := open(t, st.address(), desk)
	p.watch()
	p.clickText("Chat")
	p.say("call show")
	var can map[string]json.RawMessage
	if err := json.Unmarshal(st.report(p, 0), &can); err != nil {
		t.Fatal(err)
	}
	if string(can["updateModelContext"]) == "" || string(can["sampling"]) == "" {
		t.Errorf("capabilities: %v", can)
	}
	for _, tool := range m.last().Tools {
		if strings.Contains(tool.Name, "report") {
			t.Errorf("the model sees %s, which is for views", tool.Name)
		}
	}
	p.sees("done 2")
	p.sees("The view suggests that you say:")
	p.sees("What is <b>the</b> code?")
	p.clickText("Put into the chat")
	p.until(`document.querySelector('.composer textarea').value === 'What is <b>the</b> code?'`)
	if n := len(m.requests); n != 2 {
		t.Errorf("the model got %d requests before the person sent the message", n)
	}
	p.clickText("Send")
	p.sees("done 3")
	sent := m.last().Messages[len(m.last().Messages)-1]
	var texts []string
	for _, part := range sent.Parts {
		texts = append(texts, part.Text)
	}
	all := strings.Join(texts, "\n")
	if !strings.Contains(all, "the code is 4711") || strings.Contains(all, "first thoughts") || !strings.Contains(all, `<result from="viewer/the view of show"`) {
		t.Errorf("the model got %q", all)
	}
	p.until(`seen.filter(({m}) => m.method === 'ui/initialize').length === 1`) // it was not loaded again
	conform(t, p.watched())
	p.must(chromedp.Do(p.ctx, chromedp.Reload()))
	p.until(`document.querySelectorAll('.app-frame').length === 1`)
	st.report(p, 1)
	if got := strings.Join(st.audited(t, "view"), " "); !strings.Contains(got, "show") || !strings.Contains(got, "ui/message") || !strings.Contains(got, "ui/update-model-context") {
		t.Errorf("the audit log has %q", got)
	}
	if got := strings.Join(st.audited(t, "call"), " "); got != "report report show" {
		t.Errorf("the audit log has the calls %q", got)
	}
}

// A view of a call that is stopped is told, and a call of a view that no rule
// covers is asked about, in the name of the view.
func TestViewIsAskedAbout(t *testing.T) {
	t.Parallel()
	m := &caller{}
	st := newViewFixture(t, `run(async () => {
		await init();
		const m = await got('ui/notifications/tool-cancelled');
		const answers = [];
		for (const name of ['ask', 'secret']) { try { answers.push(JSON.stringify(await req('tools/call', {name, arguments: {}, _meta: {progressToken: 7}}))); } catch (e) { answers.push(e.code + ' ' + e.message); } }
		return {cancelled: m.params, answers};
	});`, apps.ViewUI{}, setup{model: m, rules: []config.Rule{{Effect: config.Allow, Server: "viewer", Tool: "hang"}, {Effect: config.Allow, Server: "viewer", Tool: "report"}}})
	p := open(t, st.address(), desk)
	p.watch()
	p.clickText("Chat")
	p.say("call hang")
	p.until(`document.querySelector('.app-frame')`)
	p.until(`seen.some(({sent, m}) => sent && m.method === 'ui/notifications/tool-input')`)
	p.clickText("Stop")
	p.sees("Requested by the view of hang, not by you or the model")
	p.clickText("Allow once")
	p.sees("Which colour?")
	p.click(`.ask input, .ask textarea`)
	p.press("r", "e", "d")
	p.clickText("Send")
	var got struct {
		Cancelled map[string]string
		Answers   []string
	}
	if err := json.Unmarshal(st.report(p, 0), &got); err != nil {
		t.Fatal(err)
	}
	if got.Cancelled["reason"] == "" || !strings.Contains(got.Answers[0], "colour red") || !strings.Contains(got.Answers[1], "-32602") {
		t.Errorf("%+v", got)
	}
	conform(t, p.watched())
}

// A view that fills the screen makes room when a question waits, and does not fill
// it before the question is answered.
func TestQuestionEndsFullScreen(t *testing.T) {
	t.Parallel()
	st := newViewFixture(t, `run(async () => {
		await init({availableDisplayModes: ['inline', 'fullscreen']});
		await until(() => heard.find((m) => m.params?.displayMode === 'fullscreen'));
		await report('full');
		const asked = req('tools/call', {name: 'ask', arguments: {}}).catch((e) => e);
		await until(() => heard.findLast((m) => m.params?.displayMode)?.params.displayMode === 'inline');
		const mode = (await req('ui/request-display-mode', {mode: 'fullscreen'})).mode;
		return {mode, asked: JSON.stringify(await asked)};
	});`, apps.ViewUI{}, setup{rules: []config.Rule{{Effect: config.Allow, Server: "viewer", Tool: "show"}, {Effect: config.Allow, Server: "viewer", Tool: "report"}}})
	p := open(t, st.address(), desk)
	p.watch()
	st.run(p, "show")
	p.until(`seen.some(({sent, m}) => sent && m.method === 'ui/notifications/tool-result')`)
	p.clickText("Full screen")
	st.report(p, 0)
	p.sees("Requested by the view of show, not by you or the model")
	p.until(`!document.querySelector('.app-view.whole')`)
	p.clickText("Full screen") // the person cannot hide it, either
	p.sees("A question waits for you")
	p.clickText("Deny") // nothing lies on it
	var got map[string]string
	if err := json.Unmarshal(st.report(p, 1), &got); err != nil {
		t.Fatal(err)
	}
	if got["mode"] != "inline" || !strings.Contains(got["asked"], "-32000") {
		t.Errorf("%v", got)
	}
	p.clickText("Full screen")
	p.until(`document.querySelector('.app-view.whole')`)
}
