package page

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// persons are the sentences of the person that the chat shows.
func (p *tab) persons(want ...string) {
	p.t.Helper()
	p.until(`[...document.querySelectorAll('.chat-entry.person p')].map((e) => e.innerText).join('|') === ` + quote(strings.Join(want, "|")))
}

// openElsewhere is a page on a session that another host has open.
func openElsewhere(t *testing.T) (p *tab, h *fixture, session string) {
	t.Helper()
	dir := t.TempDir()
	other := newFixture(t, setup{servers: samples(t)[:1], dir: dir})
	one := other.work.Host.NewSession()
	if err := one.Send(t.Context(), "good morning"); err != nil {
		t.Fatal(err)
	}
	h = newFixture(t, setup{servers: samples(t)[:1], dir: dir})
	p = open(t, h.address(), desk)
	p.clickText("Chat")
	p.click(`.sessions li a`)
	p.persons("good morning")
	p.say("and a good day")
	p.sees("is open in process")
	return p, h, one.ID
}

// A session that another process has open is taken over, and goes on here.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	p, h, id := openElsewhere(t)
	p.clickText("Take over")
	p.until(`![...document.querySelectorAll('.composer button')].some((b) => b.innerText === 'Take over' && b.checkVisibility())`)
	p.clickText("Send")
	p.persons("good morning", "and a good day")
	if all, err := h.work.Host.Sessions(); err != nil || len(all) != 1 || all[0].ID != id {
		t.Errorf("the sessions are %+v, %v", all, err)
	}
}

// A session that another process has open goes on as a copy.
func TestContinueInACopy(t *testing.T) {
	t.Parallel()
	p, h, id := openElsewhere(t)
	p.clickText("Continue in a copy")
	p.until(`location.hash.startsWith('#/chat/') && !location.hash.endsWith(` + quote(id) + `)`)
	p.persons("good morning")
	p.clickText("Send")
	p.persons("good morning", "and a good day")
	if all, err := h.work.Host.Sessions(); err != nil || len(all) != 2 {
		t.Errorf("the sessions are %+v, %v", all, err)
	}
}

// Undo takes the last turn out of the conversation, gives its words back, and says
// which changes stay.
func TestUndo(t *testing.T) {
	t.Parallel()
	lamp := server.New(mcp.Implementation{Name: "lamp", Version: "1"}, nil)
	server.AddTool(lamp, "brightness", "Tell the brightness of the lamp", func(context.Context, *mcp.Call, struct{}) (string, error) {
		return "quite dark", nil
	}, &server.ToolOptions{Annotations: server.ReadOnly()})
	server.AddTool(lamp, "paint", "Paint the lamp", func(context.Context, *mcp.Call, struct{}) (string, error) {
		return "as red as a rose", nil
	}, nil)
	h := newFixture(t, setup{
		servers: []config.Server{builtinServer("lamp", "lamp", nil)},
		builtin: func(string, url.Values) (connect.Builtin, error) { return lamp, nil },
		rules:   []config.Rule{{Effect: config.Allow, Server: "lamp", Tool: "*"}},
	})
	h.ready(t, "lamp")
	p := open(t, h.address(), desk)
	p.clickText("Chat")
	p.say("brightness")
	p.sees("quite dark")
	p.sends()
	p.say("paint")
	p.sees("as red as a rose")
	p.persons("brightness", "paint")
	p.sends()
	p.clickText("Undo")
	p.persons("brightness")
	p.sees("What these calls changed stays: lamp/paint")
	p.until(`document.querySelector('.composer textarea').value === 'paint'`)
	p.sees("quite dark") // the call before it stays
	p.clickText("Undo")
	p.persons("")
	p.sees("The last turn was removed.")
	p.until(`!document.body.innerText.includes('What these calls changed')`) // this one only read
	p.until(`![...document.querySelectorAll('.talk button')].some((b) => b.innerText === 'Undo' && b.checkVisibility())`)
}

// H16: Run says by which rule a call is denied.
func TestDeniedRun(t *testing.T) {
	t.Parallel()
	h := newFixture(t, setup{servers: samples(t)[:1], rules: []config.Rule{{Effect: config.Deny, Server: "calc", Tool: "add"}}})
	h.ready(t, "calc")
	p := open(t, h.address(), desk)
	p.until(`document.querySelector('.counts')`)
	eval[string](p, `location.hash = '#/drive/calc/tools/add'`)
	p.click(`.fields input`)
	p.press("1")
	p.clickText("Run")
	p.clickText("Send anyway")
	p.until(`document.querySelector('.run-meta .state')?.innerText === '#1 denied'`)
	p.sees(`Denied by the rule "deny" for calc/add`)
}

// asker is a server whose tool has changed since it was approved, and that asks.
func asker(t *testing.T) *fixture {
	t.Helper()
	return newFixture(t, setup{servers: []config.Server{builtinServer("kit", "kit", nil)}, builtin: func(string, url.Values) (connect.Builtin, error) { return askingServer(), nil }})
}

// askingServer has a tool that asks for a name.
func askingServer() connect.Builtin {
	s := server.New(mcp.Implementation{Name: "kit", Version: "1"}, nil)
	server.AddTool(s, "greet", "Greets, and more than before", func(_ context.Context, c *mcp.Call, _ struct{}) (string, error) {
		who, err := server.Elicit[struct {
			Name string `json:"name"`
		}](c, "who", "Who are you?")
		if _, ok := errors.AsType[*server.Declined](err); ok {
			return "nobody", nil
		}
		return "hello " + who.Name, err
	}, nil)
	return s
}

// A tool that is held back shows what has changed, and is approved.
func TestApproveHeldTool(t *testing.T) {
	t.Parallel()
	h := asker(t)
	h.ready(t, "kit")
	if err := h.work.Book.Approve("kit", &mcp.Tool{Name: "greet", Description: "Greets"}); err != nil {
		t.Fatal(err)
	}
	p := open(t, h.address(), desk)
	p.until(`document.querySelector('.counts')`)
	eval[string](p, `location.hash = '#/drive/kit/tools/greet'`)
	p.sees("Hidden from the model: it has changed since you approved it.")
	p.until(`[...document.querySelectorAll('.held ins')].some((e) => e.innerText.includes('more than before'))`)
	p.clickText("Approve")
	p.until(`!document.querySelector('.held')`)
	for _, tool := range h.work.Host.Tools(t.Context()) {
		if tool.Held != "" || len(tool.Changes) > 0 {
			t.Errorf("it is still held back: %+v", tool)
		}
	}
}

// A server that was muted says so, and asks again after Unmute.
func TestUnmute(t *testing.T) {
	t.Parallel()
	h := asker(t)
	h.ready(t, "kit")
	p := open(t, h.address(), desk)
	p.until(`document.querySelector('.counts')`)
	eval[string](p, `location.hash = '#/drive/kit/tools/greet'`)
	p.clickText("Run")
	p.sees("Who are you?")
	p.clickText("Mute kit")
	p.sees("kit is muted. Its questions are declined.")
	p.until(`document.querySelector('.outcome')?.innerText.includes('nobody')`)
	p.clickText("Unmute")
	p.until(`!document.querySelector('.muted')`)
	p.clickText("Run")
	p.sees("Who are you?")
}
