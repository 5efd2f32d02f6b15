package page

import (
	"context"
	"fmt"
	"net/url"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/ext/tasks"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// kettle is a server whose tool is a task that ends when a test says so.
func kettle(t *testing.T, ready <-chan struct{}) *server.Server {
	s := server.New(mcp.Implementation{Name: "kettle", Version: "1"}, nil)
	m, err := tasks.NewManager(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	server.AddTool(s, "brew", "Brew tea", func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
		server.Progress(c, 1, 0, "heating the water")
		select {
		case <-ready:
			return "the tea is ready", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}, m.Tool(tasks.Required, &server.ToolOptions{Annotations: server.ReadOnly()}))
	return s
}

// sends waits until the person can write again.
func (p *tab) sends() {
	p.t.Helper()
	p.until(`[...document.querySelectorAll('.talk button')].some((b) => b.innerText === 'Send' && b.checkVisibility())`)
}

// brewing is a chat with a task that runs.
func brewing(t *testing.T, ready <-chan struct{}) *tab {
	t.Helper()
	h := newFixture(t, setup{
		servers: []config.Server{builtinServer("kettle", "kettle", nil)},
		builtin: func(string, url.Values) (connect.Builtin, error) { return kettle(t, ready), nil },
		rules:   []config.Rule{{Effect: config.Allow, Server: "kettle", Tool: "*"}},
	})
	h.ready(t, "kettle")
	p := open(t, h.address(), desk)
	p.clickText("Chat")
	p.say("brew tea")
	p.sees("heating the water")
	return p
}

// axe judges the list of tasks, in both themes, on a desk and on a phone.
func TestTasksAreAccessible(t *testing.T) {
	t.Parallel()
	code := axe(t)
	p := brewing(t, nil)
	p.clickText("1 task running")
	p.until(`document.querySelector('#tasks li button.deny')`)
	for kind, l := range map[string]screen{"light": desk, "dark": night, "small": phone} {
		p.resize(l)
		p.accessible(code, "the list of tasks, "+kind, l)
	}
}

// A task is put into the background, and its result comes into the conversation
// later; another one is cancelled in the list.
func TestTasks(t *testing.T) {
	t.Parallel()
	ready := make(chan struct{})
	p := brewing(t, ready)
	p.clickText("Run in background")
	p.sends()
	p.say("brew tea")
	p.until(`[...document.querySelectorAll('#top button')].some((b) => b.innerText.includes('2 tasks running'))`)
	p.clickText("2 tasks running")
	p.sees("working, in the background")
	p.click(`#tasks li button.deny`) // the latest is first
	p.sends()
	p.until(`document.querySelector('#tasks').innerText.includes('cancelled')`)
	close(ready)
	p.until(`document.querySelector('#tasks').innerText.includes('completed')`)
	p.until(`document.querySelector('.chat-log').innerText.includes('the tea is ready')`)
}

// What changes while a button is pressed does not lose the click: tasks say what they
// do at any time, and the list is drawn again.
func TestAPressOnWhatIsDrawnAgainIsAClick(t *testing.T) {
	t.Parallel()
	heats := make(chan string)
	h := newFixture(t, setup{
		servers: []config.Server{builtinServer("kettle", "kettle", nil)},
		builtin: func(string, url.Values) (connect.Builtin, error) {
			s := server.New(mcp.Implementation{Name: "kettle", Version: "1"}, nil)
			m, err := tasks.NewManager(s, nil)
			if err != nil {
				return nil, err
			}
			server.AddTool(s, "brew", "Brew tea", func(ctx context.Context, c *mcp.Call, _ struct{}) (string, error) {
				for i := 1; ; i++ {
					select {
					case text := <-heats:
						server.Progress(c, float64(i), 0, text)
					case <-ctx.Done():
						return "", ctx.Err()
					}
				}
			}, m.Tool(tasks.Required, &server.ToolOptions{Annotations: server.ReadOnly()}))
			return s, nil
		},
		rules: []config.Rule{{Effect: config.Allow, Server: "kettle", Tool: "*"}},
	})
	h.ready(t, "kettle")
	p := open(t, h.address(), desk)
	p.clickText("Chat")
	p.say("brew tea")
	heats <- "50 degrees"
	p.sees("50 degrees")
	// press presses an element, lets the task say something, and lets go.
	press := func(element, text string) {
		t.Helper()
		p.until(element)
		p.rest()
		at := eval[struct{ X, Y float64 }](p, `(() => { const e = `+element+`; const r = e.getBoundingClientRect(); e.querySelectorAll('*').forEach((x) => { x.wasPressed = true; }); e.wasPressed = true; return {X: r.x + r.width / 2, Y: r.y + r.height / 2}; })()`)
		mouse := func(kind input.DispatchMouseEventType) {
			t.Helper()
			_, err := chromedp.Call(p.ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: kind, X: at.X, Y: at.Y, Button: input.MouseButtonLeft, ClickCount: 1})
			p.must(err)
		}
		mouse(input.DispatchMouseEventTypeMousePressed)
		heats <- text
		p.until(fmt.Sprintf(`document.body.innerText.includes(%q)`, text))
		p.until(fmt.Sprintf(`!document.elementFromPoint(%f, %f).wasPressed`, at.X, at.Y))
		mouse(input.DispatchMouseEventTypeMouseReleased)
	}
	press(`[...document.querySelectorAll('#top button')].find((b) => b.innerText.includes('1 task running'))`, "60 degrees")
	p.until(`document.querySelector('#tasks').innerText.includes('60 degrees')`)
	press(`document.querySelector('#tasks li button.deny')`, "70 degrees")
	p.until(`document.querySelector('#tasks').innerText.includes('cancelled')`)
}

// The pictures of tasks: in the list of all, and of their server.
func TestTaskPictures(t *testing.T) {
	t.Parallel()
	ready := make(chan struct{})
	p := brewing(t, ready)
	p.clickText("Run in background")
	p.sends()
	close(ready)
	p.sees("the tea is ready")
	p.say("brew tea")
	p.sends()
	p.clickText("Tasks")
	p.until(`document.querySelector('#tasks').innerText.includes('completed')`)
	for _, l := range night2 {
		p.resize(l.screen)
		p.rest()
		keep(t, "tasks"+l.suffix, p)
	}
	p.resize(wideDesk)
	p.clickText("Close")
	p.at("#/drive/kettle/tasks", `document.querySelector('.aboutbox')`)
	p.rest()
	keep(t, "server-tasks", p)
}
