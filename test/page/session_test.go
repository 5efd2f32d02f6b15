package page

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/keyword"
	"github.com/tenon-mcp/tenon/app/llm/script"
)

// A talker says what it is given, word by word, until there is no more.
type talker struct{ words chan string }

func (talker) Info() llm.Info { return llm.Info{Provider: "test", Name: "talker"} }

func (m talker) Stream(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		all := ""
		for {
			select {
			case <-ctx.Done():
				yield(llm.Event{}, ctx.Err())
				return
			case word, more := <-m.words:
				if !more {
					message := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.PartText, Text: all}}}
					yield(llm.Event{Kind: llm.EventDone, Message: &message}, nil)
					return
				}
				all += word
				if !yield(llm.Event{Kind: llm.EventText, Text: word}, nil) {
					return
				}
			}
		}
	}
}

func (p *tab) say(words string) {
	p.t.Helper()
	p.click(`.composer textarea`)
	p.press(strings.Split(words, "")...)
	p.press("\r")
}

// A page that is reloaded in the middle of an answer shows what was said
// before, goes on, and shows nothing twice.
func TestReloadInTheMiddle(t *testing.T) {
	t.Parallel()
	m := talker{make(chan string)}
	h := newFixture(t, setup{servers: samples(t)[:1], model: m})
	p := open(t, h.address(), desk)
	p.clickText("Chat")
	shows := func(answer string) {
		t.Helper()
		p.until(`[...document.querySelectorAll('.chat-entry.model')].map((e) => e.lastChild.innerText.trim()).join('|') === ` + quote(answer))
		p.until(`[...document.querySelectorAll('.chat-entry.person p')].map((e) => e.innerText).join('|') === 'tell me'`)
	}
	p.say("tell me")
	m.words <- "One, "
	m.words <- "two, "
	shows("One, two,")
	for range 2 {
		p.must(chromedp.Do(p.ctx, chromedp.Reload()))
		shows("One, two,")
	}
	p.until(`[...document.querySelectorAll('.talk button')].some((b) => b.innerText === 'Stop' && b.checkVisibility())`)
	m.words <- "three"
	shows("One, two, three")
	p.clickText("Learn")
	m.words <- ", four"
	p.clickText("Chat")
	p.click(`.sessions li a`)
	shows("One, two, three, four")
	m.words <- "."
	close(m.words)
	p.until(`[...document.querySelectorAll('.talk button')].some((b) => b.innerText === 'Send' && b.checkVisibility())`)
	shows("One, two, three, four.")
	p.must(chromedp.Do(p.ctx, chromedp.Reload()))
	shows("One, two, three, four.")
}

// Another model is chosen above the conversation, and answers from then on; one
// that cannot be had is said so.
func TestModelPicker(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "talk.jsonl")
	if err := os.WriteFile(file, []byte(`{"script":1,"model":{"provider":"script","name":"demo"}}`+"\n"+`{"when":{"role":"user"}}`+"\n"+`{"text":"I was written down."}`+"\n"+`{"done":""}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	written, err := script.Open(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := newFixture(t, setup{servers: samples(t)[:1], models: map[string]llm.Model{"none": keyword.Model{}, "script/demo": written, "gone/away": nil}})
	p := open(t, h.address(), desk)
	p.clickText("Chat")
	p.sees("No model connected · matching keywords")
	choose := func(name string) {
		t.Helper()
		p.until(`document.querySelector('.talk-head select')`)
		eval[bool](p, `(document.querySelector('.talk-head select').blur(), document.querySelector('.talk-head select').focus(), true)`)
		p.until(`[...document.querySelectorAll('.talk-head option')].some((o) => o.value === ` + quote(name) + `)`)
		eval[bool](p, `(() => { const s = document.querySelector('.talk-head select'); s.value = `+quote(name)+`; s.dispatchEvent(new Event('change')); return true; })()`)
	}
	choose("script/demo")
	p.sees("a script, not a language model")
	p.say("who are you")
	p.sees("I was written down.")
	choose("gone/away")
	p.sees("there is no model gone/away")
	p.until(`document.querySelector('.talk-head select').value === 'script/demo'`)
	choose("none")
	p.sees("No model connected · matching keywords")
	if got := h.work.Host.Model().Info(); got.String() != (keyword.Model{}).Info().String() {
		t.Errorf("the host has %+v", got)
	}
}

// A session is deleted after the person has said so, and not before.
func TestDeleteSession(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)[:1]})
	p := open(t, h.address(), desk)
	p.clickText("Chat")
	p.say("good morning")
	p.until(`document.querySelector('.sessions li strong')?.innerText === 'good morning'`)
	p.until(`[...document.querySelectorAll('.talk button')].some((b) => b.innerText === 'Send' && b.checkVisibility())`)
	asked := chromedp.Events(p.ctx, page.JavascriptDialogOpening)
	remove := func(agree bool) {
		t.Helper()
		done := make(chan string, 1)
		go func() {
			for e, err := range asked {
				if err != nil {
					done <- err.Error()
					return
				}
				_, err := chromedp.Call(p.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: agree})
				if err != nil {
					e.Message = err.Error()
				}
				done <- e.Message
				return
			}
		}()
		p.clickText("Delete good morning")
		if text := <-done; !strings.Contains(text, "good morning") {
			t.Fatalf("asked was: %s", text)
		}
	}
	remove(false)
	p.until(`document.querySelectorAll('.sessions li a').length === 1`)
	if all, err := h.work.Host.Sessions(); err != nil || len(all) != 1 {
		t.Fatalf("after a no there are %d sessions (%v)", len(all), err)
	}
	asked = chromedp.Events(p.ctx, page.JavascriptDialogOpening)
	remove(true)
	p.sees("No sessions yet.")
	p.sees("No messages yet.")
	if all, err := h.work.Host.Sessions(); err != nil || len(all) != 0 {
		t.Errorf("after a yes there are %d sessions (%v)", len(all), err)
	}
}
