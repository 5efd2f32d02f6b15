package page

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// chatUntilAsked opens the chat and has the model call add; the question about the call is
// open then.
func (p *tab) chatUntilAsked(words string) {
	p.t.Helper()
	p.clickText("Chat")
	p.say(words)
	p.sees("Allow this call?")
}

// session returns everything that the host has saved of the session in sight.
func (p *tab) session() string {
	p.t.Helper()
	return eval[string](p, `fetch('/api/v1/sessions/' + location.hash.split('/')[2]).then((r) => r.text())`)
}

const sendIsShown = `[...document.querySelectorAll('.talk button')].some((b) => b.innerText === 'Send' && b.checkVisibility())`

// A call is denied with a reason, which the model gets.
func TestDenyWithAReason(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)[:1]})
	p := open(t, h.address(), desk)
	p.chatUntilAsked("add 20 and 22")
	p.clickText("Deny with a reason …")
	p.until(`document.activeElement.matches('.ask-choice textarea')`)
	p.accessible(axe(t), "a reason", desk)
	p.press(strings.Split("subtract them instead", "")...)
	p.clickText("Deny and say why")
	p.until(`document.querySelectorAll('.ask').length === 0`)
	p.until(`document.querySelector('.card .state')?.innerText.includes('denied')`)
	p.until(sendIsShown)
	if got := p.session(); !strings.Contains(got, "subtract them instead") {
		t.Errorf("the model does not get the reason: %s", got)
	}
}

// A carrier is a model that passes a result of calc on to notes.
type carrier struct{}

func (carrier) Info() llm.Info { return llm.Info{Provider: "test", Name: "carrier"} }

func (carrier) Stream(_ context.Context, r *llm.Request) iter.Seq2[llm.Event, error] {
	message := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text("It was not passed on.")}}
	calls := []llm.ToolCall{{ID: "c0", Name: "calc__add", Arguments: llm.RawMessage(`{"a":20,"b":22}`)}, {ID: "c1", Name: "notes__search_notes", Arguments: llm.RawMessage(`{"query":"42"}`)}}
	done := 0
	for _, m := range r.Messages {
		if m.Role == llm.RoleAssistant {
			done++
		}
	}
	if done < len(calls) {
		message.Parts = []llm.Part{{Kind: llm.PartToolCall, Call: &calls[done]}}
	}
	return func(yield func(llm.Event, error) bool) { yield(llm.Event{Kind: llm.EventDone, Message: &message}, nil) }
}

// Data is not passed on to another server, with a reason, which the model gets.
func TestDenyAFlowWithAReason(t *testing.T) {
	t.Parallel()
	all := samples(t)
	h := newFixture(t, setup{
		servers: []config.Server{all[0], all[2]}, model: carrier{},
		rules: []config.Rule{{Effect: config.Allow, Server: "*", Tool: "*"}}, pairs: []config.Pair{{From: "calc", To: "notes"}},
	})
	h.ready(t, "calc", "notes")
	p := open(t, h.address(), desk)
	p.clickText("Chat")
	p.say("look up the sum")
	p.sees("Allow this data to be passed on?")
	p.clickText("Deny with a reason …")
	p.until(`document.activeElement.matches('.ask-choice textarea')`)
	p.accessible(axe(t), "a reason for data", desk)
	p.press(strings.Split("sums are private", "")...)
	p.clickText("Deny and say why")
	p.until(`document.querySelectorAll('.ask').length === 0`)
	p.sees("It was not passed on.")
	p.until(sendIsShown)
	if got := p.session(); !strings.Contains(got, "sums are private") {
		t.Errorf("the model does not get the reason: %s", got)
	}
}

// The arguments of a call are changed before it is allowed. What is not JSON or does
// not fit the schema is said, and answers nothing.
func TestEditArguments(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)[:1]})
	p := open(t, h.address(), desk)
	p.chatUntilAsked("add 20 and 22")
	p.clickText("Edit arguments …")
	p.clickText("Edit as JSON")
	p.accessible(axe(t), "other arguments", desk)
	write := func(text string) {
		t.Helper()
		p.until(`document.querySelector('.ask-choice .raw')`)
		eval[bool](p, `(() => { const r = document.querySelector('.ask-choice .raw'); r.value = `+quote(text)+`; r.dispatchEvent(new Event('input')); return true; })()`)
		p.clickText("Allow once with these arguments")
	}
	for text, problem := range map[string]string{`{"a": `: "This is not JSON yet", `{"a": "x", "b": 2}`: "This must be a number."} {
		write(text)
		p.sees(problem)
		if n := eval[int](p, `document.querySelectorAll('.ask').length`); n != 1 {
			t.Fatalf("%s answered the question", text)
		}
	}
	write(`{"a": 100, "b": 11}`)
	p.until(`[...document.querySelectorAll('.card .pairs dd')].some((e) => e.innerText === '111')`)
	p.sees("with arguments that you changed")
}

// Similar calls are allowed: the same call is not asked about again, another is.
func TestAllowSimilar(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)[:1], folder: t.TempDir()})
	p := open(t, h.address(), desk)
	p.chatUntilAsked("add 20 and 22")
	p.clickText("Allow similar …")
	p.sees("For this project")
	p.sees("all calls of this tool")
	p.accessible(axe(t), "similar calls", desk)
	p.clickText("For this session")
	const cards = `[...document.querySelectorAll('.card .pairs dd')].filter((e) => e.innerText === '42').length === `
	p.until(cards + "1")
	p.until(sendIsShown)
	p.say("add 20 and 22")
	p.until(cards + "2")
	p.until(sendIsShown)
	p.say("add 1 and 2")
	p.sees("Allow this call?")
	p.clickText("Allow similar …")
	p.clickText("all calls of this tool")
	p.clickText("For this project")
	p.until(`[...document.querySelectorAll('.card .pairs dd')].some((e) => e.innerText === '3')`)
	p.until(sendIsShown)
	p.clickText("New session")
	p.say("add 3 and 4")
	p.until(`[...document.querySelectorAll('.card .pairs dd')].some((e) => e.innerText === '7')`)
}

// What is sent while a turn runs waits in sight, also after a reload, and can be
// taken back into the input; the model gets it. A turn is undone and redone.
func TestQueueUndoAndRedo(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)[:1]})
	p := open(t, h.address(), desk)
	p.chatUntilAsked("add 20 and 22")
	p.say("add 1 and 3")
	const queued = `document.querySelector('.queued')?.innerText.includes('add 1 and 3')`
	p.until(queued)
	p.accessible(axe(t), "a queued message", desk)
	p.until(`(() => { document.querySelector('.queued button').click(); return true; })()`)
	p.until(`document.querySelector('.queued').hidden && document.querySelector('.compose-row textarea').value === 'add 1 and 3'`)
	p.press("\r")
	p.until(queued)
	p.must(chromedp.Do(p.ctx, chromedp.Reload()))
	p.until(queued)
	p.clickText("Allow for this session")
	p.until(`document.querySelector('.queued').hidden`)
	p.until(sendIsShown)
	if got := p.session(); !strings.Contains(got, "add 1 and 3") {
		t.Errorf("the model does not get the message: %s", got)
	}
	p.clickText("Undo")
	p.sees("The last turn was removed.")
	p.clickText("Redo")
	p.sees("The turn is back.")
	p.until(`document.querySelector('.chat-log').innerText.includes('add 20 and 22')`)
}

// A broken is a model whose first answer is cut off.
type broken struct{ asked *atomic.Int32 }

func (broken) Info() llm.Info { return llm.Info{Provider: "test", Name: "broken"} }

func (m broken) Stream(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if m.asked.Add(1) == 1 {
			_ = yield(llm.Event{Kind: llm.EventText, Text: "Half an answ"}, nil) && yield(llm.Event{}, &llm.Error{Kind: llm.ErrNetwork})
			return
		}
		message := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.PartText, Text: "A whole answer."}}}
		_ = yield(llm.Event{Kind: llm.EventText, Text: "A whole answer."}, nil) && yield(llm.Event{Kind: llm.EventDone, Message: &message}, nil)
	}
}

// What the model wrote before its connection was lost is removed when it is asked
// again. The notice that says so is there after a reload.
func TestRetract(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)[:1], model: broken{new(atomic.Int32)}})
	p := open(t, h.address(), desk)
	p.clickText("Chat")
	p.until(`document.querySelector('.talk')`)
	eval[bool](p, `(() => { window.both = false; new MutationObserver(() => { const t = document.querySelector('.talk').innerText; if (t.includes('Half an answ') && t.includes('A whole answer')) window.both = true; }).observe(document.querySelector('.talk'), {subtree: true, childList: true, characterData: true}); return true; })()`)
	p.say("tell me")
	p.sees("A whole answer.")
	p.until(sendIsShown)
	if eval[bool](p, `window.both`) {
		t.Error("half an answer is shown beside the whole one")
	}
	const notice = "The connection to test was lost after 12 characters."
	p.sees(notice)
	p.must(chromedp.Do(p.ctx, chromedp.Reload()))
	p.sees("A whole answer.")
	p.sees(notice)
}

// A large result is not part of the list of runs, and is there when its run is
// shown again.
func TestLargeResultOfARunAfterReload(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)[:1], builtin: largeResults})
	p := open(t, h.address(), desk)
	p.at("#/drive/calc/tools/large", `document.querySelector('.runbar')`)
	p.clickText("Run")
	p.until(`document.querySelector('.outcome')?.innerText.includes('the beginning')`)
	p.must(chromedp.Do(p.ctx, chromedp.Reload()))
	p.until(`document.querySelector('.outcome')?.innerText.includes('the beginning')`)
	if n := eval[int](p, `fetch('/api/v1/servers/calc/runs?tool=large').then((r) => r.text()).then((t) => t.length)`); n > 4000 {
		t.Errorf("the list of one run has %d characters", n)
	}
}

func largeResults(string, url.Values) (connect.Builtin, error) {
	s := server.New(mcp.Implementation{Name: "large", Version: "1"}, nil)
	return s, s.AddRawTool(mcp.Tool{Name: "large", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.Call, json.RawMessage) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text("the beginning" + strings.Repeat(" and more", 20_000))}}, nil
	})
}
