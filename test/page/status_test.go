package page

import (
	"context"
	"fmt"
	"iter"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/llm"
)

// A toolModel calls the tool of the server odd that the message names, or fails
// if it is told to.
type toolModel struct{ calls atomic.Int64 }

func (*toolModel) Info() llm.Info { return llm.Info{Provider: "test", Name: "tools"} }

func (m *toolModel) Stream(_ context.Context, r *llm.Request) iter.Seq2[llm.Event, error] {
	last := r.Messages[len(r.Messages)-1]
	answer := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text("That was it.")}}
	tool, ok := strings.CutPrefix(last.Text(), "call ")
	if ok && last.Role == llm.RoleUser {
		answer.Parts = []llm.Part{{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: fmt.Sprintf("c%d", m.calls.Add(1)), Name: "odd__" + tool, Arguments: llm.RawMessage(`{}`)}}}
	}
	return func(yield func(llm.Event, error) bool) {
		if last.Text() == "break" {
			yield(llm.Event{}, &llm.Error{Kind: llm.ErrOverloaded, Message: "the model is overloaded"})
			return
		}
		yield(llm.Event{Kind: llm.EventDone, Message: &answer}, nil)
	}
}

// send sends a message in the chat once the turn before it has ended.
func (p *tab) send(text string) {
	p.t.Helper()
	p.until(`document.querySelector('.composer textarea') && [...document.querySelectorAll('.compose-row button')].some((b) => b.innerText === 'Send' && b.checkVisibility())`)
	eval[bool](p, `(() => { document.querySelector('.composer textarea').value = `+quote(text)+`; return true; })()`)
	p.clickText("Send")
}

// cards are the words of the calls in the chat.
const cards = `[...document.querySelectorAll('.card summary .state')].map((e) => e.innerText).join()`

// Calls of the chat have the same words as everywhere, also after a reload, and
// one that runs counts its seconds (P3).
func TestStatusWordsInChat(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{
		servers: []config.Server{builtinServer("odd", "odd", nil)}, model: &toolModel{},
		builtin: func(string, url.Values) (connect.Builtin, error) { return peculiar{}, nil },
		rules:   []config.Rule{{Effect: config.Ask, Server: "odd", Tool: "brace"}, {Effect: config.Allow, Server: "odd", Tool: "*"}},
	})
	h.ready(t, "odd")
	p := open(t, h.address(), desk)
	p.at("#/chat", `document.querySelector('.composer')`)
	want := ""
	for _, c := range [][2]string{{"log", "ok"}, {"failed", "tool failed"}, {"error", "error −32602"}, {"brace", "denied"}} {
		p.send("call " + c[0])
		if c[1] == "denied" {
			p.clickText("Deny")
		}
		want = strings.TrimPrefix(want+","+c[1], ",")
		p.until(cards + ` === ` + quote(want))
	}
	p.send("call wait")
	p.until(`/,waiting [2-9] s$/.test(` + cards + `)`)
	p.clickText("Stop")
	p.until(cards + ` === ` + quote(want+",cancelled"))
	p.must(chromedp.Do(p.ctx, chromedp.Reload()))
	p.until(cards + ` === ` + quote(want+",cancelled"))
}

// A response with a wrong id does not end a call: the call says so beside its
// progress (P8).
func TestUnmatchedResponse(t *testing.T) {
	t.Parallel()
	h := oddFixture(t)
	p := open(t, h.address(), desk)
	p.run("odd", "wait")
	p.until(`/^#1 waiting [1-9]\d* s$/.test(document.querySelector('.run-meta .state')?.innerText)`) // it counts
	h.frames(h.work.Log.Wire("odd"), `<{"jsonrpc":"2.0","id":4711,"result":{"content":[]}}`)
	p.until(`document.querySelector('.outcome').innerText.includes('belongs to no request')`)
	p.clickText("Open it in Wire")
	p.until(`document.querySelector('.message .state')?.innerText === 'unmatched'`)
	p.at("#/drive/odd/tools/wait", `document.querySelector('.outcome')?.innerText.includes('belongs to no request')`)
	p.clickText("Cancel")
	p.until(`document.querySelector('.run-meta .state')?.innerText === '#1 cancelled'`)
}

// The page keeps neither the results of all calls nor the events of all turns.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{
		servers: []config.Server{builtinServer("odd", "odd", nil)}, model: &toolModel{},
		builtin: func(string, url.Values) (connect.Builtin, error) { return peculiar{}, nil },
		rules:   []config.Rule{{Effect: config.Allow, Server: "odd", Tool: "*"}},
	})
	h.ready(t, "odd")
	p := open(t, h.address(), desk)
	p.at("#/wire", `document.querySelector('.wiretable')`)
	eval[bool](p, `(async () => { window.store = await import(document.querySelector('link[rel=modulepreload]').href).then((m) => m.store); return true; })()`)
	const sessions = 12
	for range sessions {
		one := h.work.Host.NewSession()
		if err := one.Send(t.Context(), "call log"); err != nil {
			t.Fatal(err)
		}
	}
	p.until(fmt.Sprintf(`store.cards.size === %d && [...store.cards.values()].every((c) => c.phase === 'done' && !('result' in c))`, sessions))
	p.until(`store.state.busy.size === 0 && store.turns.size === 8`)
	p.at("#/model", `[...document.querySelectorAll('.facts dd')].some((e) => e.innerText === '12')`)
}

// Why a turn failed, and the notices, are there after a reload and in a host that
// starts later.
func TestEndOfTurnSurvivesReload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	servers := []config.Server{builtinServer("calc", "calc", nil)}
	h := newFixture(t, setup{servers: servers, model: &toolModel{}, dir: dir})
	p := open(t, h.address(), desk)
	p.at("#/chat", `document.querySelector('.composer')`)
	p.send("break")
	const why = `document.querySelector('.chat-log')?.innerText.includes('overloaded')`
	p.until(why)
	for _, text := range []string{"first notice", "second notice"} {
		h.web.Event(host.Event{Seq: 1e6, Kind: host.EventNotice, Server: "calc", Text: text})
	}
	p.until(`document.querySelector('.notices')?.innerText === '1 notice'`) // the other has the same number
	p.must(chromedp.Do(p.ctx, chromedp.Reload()))
	p.until(why)
	p.until(`document.querySelector('.notices')?.innerText === '2 notices'`)
	p.click(`.notices`)
	p.sees("calc: first notice")
	p.clickText("Clear")
	p.must(chromedp.Do(p.ctx, chromedp.Reload()))
	p.until(why)
	p.until(`!document.querySelector('.notices').checkVisibility()`)
	one := strings.TrimPrefix(eval[string](p, `location.hash`), "#/chat/")
	saved, err := h.work.Host.Session(one)
	if err != nil {
		t.Fatal(err)
	}
	if stop, problem := saved.LastEnd(); stop != "error" || !strings.Contains(problem, "overloaded") {
		t.Errorf("the turn ended with %q, %q", stop, problem)
	}
	later := newFixture(t, setup{servers: servers, model: &toolModel{}, dir: dir})
	q := open(t, later.address(), desk)
	q.at("#/chat/"+one, why)
	q.send("well?")
	q.clickText("Take over") // the first host has it open
	q.until(`!document.body.innerText.includes('is open in process')`)
	q.send("well?")
	q.until(`document.querySelector('.chat-log').innerText.includes('That was it.') && !(` + why + `)`)
}

// A call of the chat leads to its own messages, also if an equal call was made
// later, and a question to the message in which the server asks it.
func TestLinksToTheVeryMessages(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{
		servers: []config.Server{builtinServer("odd", "odd", nil), builtinServer("kit", "kit", nil)}, model: &toolModel{},
		builtin: func(name string, _ url.Values) (connect.Builtin, error) {
			if name == "odd" {
				return peculiar{}, nil
			}
			return askingServer(), nil
		},
		rules: []config.Rule{{Effect: config.Allow, Server: "odd", Tool: "*"}},
	})
	h.ready(t, "odd", "kit")
	p := open(t, h.address(), desk)
	p.at("#/chat", `document.querySelector('.composer')`)
	p.send("call log")
	p.until(cards + ` === 'ok'`)
	p.send("call log")
	p.until(cards + ` === 'ok,ok'`)
	chat := eval[string](p, `location.hash`)
	sent := eval[[]int](p, `(async () => (await (await fetch('/api/v1/wire?server=odd&method=tools/call&kind=request')).json()).messages.map((m) => m.seq).reverse())()`)
	if len(sent) != 2 {
		t.Fatalf("the calls are %v", sent)
	}
	for _, reload := range []bool{false, true} {
		for i, seq := range sent {
			p.at(chat, cards+` === 'ok,ok'`)
			if reload {
				p.must(chromedp.Do(p.ctx, chromedp.Reload()))
				p.until(cards + ` === 'ok,ok'`)
				eval[bool](p, `(() => { for (const d of document.querySelectorAll('.card')) d.open = true; return true; })()`)
			}
			p.clickOn(fmt.Sprintf(`[...document.querySelectorAll('.card .tools button')].filter((b) => b.innerText === 'Its messages')[%d]`, i), "Its messages")
			p.until(fmt.Sprintf(`location.hash.startsWith('#/wire/%d')`, seq))
		}
	}
	p.at("#/drive/kit/tools/greet", `document.querySelector('.tool')`)
	p.clickText("Run")
	p.sees("Who are you?")
	p.clickText("Its message")
	p.until(`document.querySelector('.message .json')?.innerText.includes('Who are you?')`)
}
