package term

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/tenon-mcp/tenon/app/args"
	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/app/term/internal/draw"
	"github.com/tenon-mcp/tenon/app/workspace"
)

// A screen is the state of the terminal. Only Update changes it, in the goroutine
// of the program.
type screen struct {
	t     *talk
	theme theme
	now   func() time.Time

	width, height int
	talked        transcript
	welcome       *entry            // the first screen; nil: none
	cards         map[string]*entry // by call
	above         int               // lines that the view is above the end
	chosen        *entry            // while the user looks through blocks

	// editing is set from the start of the user's editor until the next key after
	// it: an interrupt is then for the editor.
	editing atomic.Bool

	input            editor
	history          history
	completed        completion         // candidates for the word before the cursor
	picked           int                // the picked one; -1: none
	asked            int                // counts requests for completions; results of old ones are dropped
	cancelCompletion context.CancelFunc // cancels the last one

	queue    []host.Queued // messages that wait
	held     bool          // they wait until the user sends them
	shown    string        // the ID of the session on the screen
	clearing time.Time     // the time of the first Esc in a line

	questions []*question
	withdrawn bool       // the focused question has ended: keys are dropped until Esc
	focused   bool       // the first question has the focus
	waiting   func()     // opens what became ready while the user was typing; nil: nothing
	sheet     *sheetView // arguments that are being filled in
	sheetFor  *callSheet
	pane      pane

	turns   int       // running turns and commands
	act     activity  // what is waited for
	ticking bool      // a tickMsg is on its way
	usage   llm.Usage // of the session
	context int       // tokens of the conversation
	at      time.Time // of the event that is handled
	leaving time.Time // the time of the first Ctrl-C
	hint    string    // shown until the next key

	placed []draw.Placed // the images of the last View
	hints  int           // how many hints were shown that pass; see [screen.passing]
}

// The messages to the screen.
type (
	changeMsg   []any    // host.Event and connect.State
	wireMsg     struct{} // messages were logged
	completeMsg struct {
		asked int
		found completion
	}
	doneMsg struct { // a command or turn has ended
		after outcome
		out   func(width int, color bool) []string
		err   error
		turn  bool
		back  string // with turn: the message, if it was not sent

		failed bool // with turn: it did not end normally
	}
)

func newScreen(ctx context.Context, w *workspace.Workspace, o Options) *screen {
	s := &screen{t: newTalk(ctx, w, o), now: time.Now, theme: newTheme(o.Theme, darkTerminal()), width: 80, height: 24, cards: map[string]*entry{}, picked: -1}
	if err := s.history.load(o.History, w.Secrets()); err != nil {
		s.note("?", "Cannot read the input history: "+err.Error())
	}
	s.t.terminal = true
	for _, l := range o.Greeting {
		s.note("", l)
	}
	s.showWelcome()
	s.showSession()
	for _, a := range w.Host.Asks() {
		s.questions = append(s.questions, s.t.question(a))
	}
	return s
}

// Init requests the terminal's background color if the theme needs it.
func (s *screen) Init() tea.Cmd {
	all := []tea.Cmd{s.tick(), s.askAllOffers()}
	if s.theme.color && (s.t.o.Theme == "" || s.t.o.Theme == "auto") {
		all = append(all, tea.RequestBackgroundColor)
	}
	if s.t.o.Resume {
		all = append(all, s.typed("/resume"))
	}
	return tea.Batch(all...)
}

// Update handles one message.
func (s *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch m := msg.(type) {
	case tea.WindowSizeMsg:
		s.width, s.height = max(m.Width, 10), max(m.Height, 5)
		if s.welcome != nil {
			s.welcome.width = 0 // its height counts, too
		}
	case tea.BackgroundColorMsg:
		pictures := s.theme.pictures
		s.theme = newTheme(s.t.o.Theme, m.IsDark())
		s.theme.pictures = pictures
		s.talked.stale()
	case tea.PasteMsg:
		return s, s.paste(m.Content)
	case tea.KeyPressMsg:
		return s, s.key(m.Keystroke(), m.Text)
	case changeMsg:
		var cmds []tea.Cmd
		for _, v := range m {
			cmds = append(cmds, s.handle(v))
		}
		cmds = append(cmds, s.tick())
		return s, tea.Batch(cmds...)
	case completeMsg:
		if m.asked == s.asked {
			s.completed, s.picked = m.found, -1
		}
	case wireMsg:
		if p, ok := s.pane.(*wirePane); ok {
			p.load()
		}
	case saidMsg:
		m.p.said = m.text
	case doneMsg:
		return s, s.done(m)
	case pastedMsg:
		s.pasted(m)
	case editedMsg:
		s.edited(m)
	case offeringMsg:
		s.offers(m)
	case modelsMsg:
		return s, m.to.fill(m)
	case passedMsg:
		s.passed(m)
	case tickMsg:
		s.ticking = false
		return s, s.tick()
	}
	return s, nil
}

// showSession shows the session from its beginning.
func (s *screen) showSession() {
	now := s.t.now()
	s.usage, s.context = now.Summary().Usage, now.ContextUsed()
	s.queue, s.shown = now.Queued(), now.ID
	s.held = len(s.queue) > 0
	for _, b := range savedBlocks(now.Messages()) {
		e := s.talked.add(b)
		if c, ok := b.(*card); ok {
			s.cards[c.call.ID] = e
		}
	}
	s.above, s.chosen = 0, nil
}

func (s *screen) note(mark, text string) { s.add(note{text: text, mark: mark}) }

func (s *screen) add(b block) *entry {
	if e := s.talked.last(); e != nil {
		if t, ok := e.block.(*thinking); ok && !t.over {
			t.end(s.at)
			e.width = 0
		}
	}
	return s.talked.add(b)
}

// send sends the typed text.
func (s *screen) send(text string) tea.Cmd {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil
	}
	c, words, err := s.t.parsed(text)
	if err := s.history.add(text); err != nil {
		s.note("?", "Cannot write the input history: "+err.Error())
	}
	s.input.set("")
	s.above = 0
	switch {
	case err != nil:
		s.note("!", err.Error())
		return nil
	case c == nil:
		return s.say(text)
	}
	return s.command(c, words, text)
}

// turn starts a turn.
func (s *screen) turn(text string) tea.Cmd {
	return s.sends(text, func(now *host.Session, ctx context.Context, o *host.SendOptions) (*host.TurnResult, error) {
		return now.SendInput(ctx, host.Input{Typed: text}, o)
	})
}

// command runs a command, or opens its pane.
func (s *screen) command(c *command, words []string, text string) tea.Cmd {
	switch c.name {
	case "servers":
		s.pane = &serversPane{t: s.t}
		return nil
	case "wire":
		server := ""
		if len(words) > 0 {
			server = words[0]
		}
		s.pane = newWirePane(s.t, server)
		return nil
	case "help":
		s.pane = helpPane()
		return nil
	case "editor":
		return s.openEditor()
	case "model":
		if len(words) == 0 && s.t.o.Choose != nil {
			return s.openModels()
		}
		if s.turns > 0 {
			s.note("!", "A turn is still running. Esc stops it.")
			return nil
		}
	case "clear", "resume", "compact":
		if s.turns > 0 && (c.name == "clear" || c.name == "compact" || len(words) > 0) {
			s.note("!", "A turn is still running. Ctrl-C stops it.")
			return nil
		}
	}
	s.add(userMessage{text: text})
	width, color := s.width, s.theme.color // they may change meanwhile
	return s.background(func(ctx context.Context, out *buffer) (outcome, error) {
		return c.run(ctx, s.t, words, out.printer(width, color))
	})
}

// done carries out what a command or a turn returned.
func (s *screen) done(m doneMsg) tea.Cmd {
	if s.turns--; s.turns == 0 {
		s.stopped()
	}
	if m.turn {
		return s.turnOver(m)
	}
	return tea.Batch(s.commandOver(m), s.goOn())
}

// commandOver carries out what a command returned.
func (s *screen) commandOver(m doneMsg) tea.Cmd {
	s.context = s.t.now().ContextUsed()
	if m.out != nil {
		s.add(output{m.out})
	}
	for _, n := range m.after.notes {
		s.note("", n)
	}
	if m.err != nil {
		s.note("!", m.err.Error())
		return nil
	}
	switch a := m.after; {
	case a.clipboard != "":
		return tea.SetClipboard(a.clipboard)
	case a.quit:
		return tea.Quit
	case a.session:
		before := s.shown
		s.talked, s.cards, s.welcome = transcript{}, map[string]*entry{}, nil
		s.showSession()
		for _, n := range a.notes {
			s.note("", n)
		}
		if sum := s.t.now().Summary(); sum.Title != "" && s.shown != before {
			s.note("", "Resumed: "+sum.Title)
		}
	case a.say != "":
		return s.say(a.say)
	case a.fill != nil:
		s.whenIdle(a.fill.title, func() { s.sheet, s.sheetFor = newSheetView(a.fill.sheet), a.fill })
	case a.list != "":
		s.whenIdle("The list of "+a.list, func() { s.choose(a) })
	}
	return nil
}

// whenIdle opens something that takes keys: at once, or, while the user is
// typing, when they go to it.
func (s *screen) whenIdle(what string, open func()) {
	if s.input.text == "" && !s.focused {
		open()
		return
	}
	s.waiting = open
	s.note("", what+" is ready: Ctrl-G opens it.")
}

// choose opens a list to choose from.
func (s *screen) choose(a outcome) {
	p := &choicePane{items: a.items}
	switch a.list {
	case "permissions":
		s.pane = &permissionsPane{t: s.t}
		return
	case "sessions":
		p.name, p.empty, p.filters = "Resume a conversation", "No saved conversations yet.", true
		p.chosen = func(id string) tea.Cmd { return s.typed("/resume " + id) }
	case "models":
		p.name, p.empty = "Models", "No API key and no local model was found. /model provider/name selects a model; tenon help chat lists the keys."
		p.chosen = func(name string) tea.Cmd { return s.typed("/model " + args.Quote(name)) }
		p.filters, p.refused = true, func(i listItem) { s.note("", i.text+" cannot be used: "+i.about) }
	}
	s.pane = p
}

// typed runs a command as if the user had typed it.
func (s *screen) typed(text string) tea.Cmd {
	c, words, err := s.t.parsed(text)
	if err != nil || c == nil {
		return nil
	}
	return s.command(c, words, text)
}

// A buffer collects the output of a command.
type buffer struct{ strings.Builder }

func (b *buffer) printer(width int, color bool) *show.Printer {
	return &show.Printer{W: &b.Builder, Width: width, Color: color}
}

// background runs a command that writes output. The user can stop it like a turn.
func (s *screen) background(f func(ctx context.Context, out *buffer) (outcome, error)) tea.Cmd {
	tick := s.began()
	return tea.Batch(tick, func() tea.Msg {
		var out buffer
		var m doneMsg
		m.err = s.t.do(func(ctx context.Context) (err error) {
			m.after, err = f(ctx, &out)
			return err
		})
		if text := out.String(); strings.TrimSpace(text) != "" {
			m.out = func(width int, _ bool) []string { return lay(text, width) }
		}
		return m
	})
}

// helpPane is the pane of /help.
func helpPane() *textPane {
	return &textPane{name: "Help", write: func(width int, color bool) []string {
		lines := printed(width, color, func(p *show.Printer) {
			runHelp(context.Background(), nil, nil, p)
			p.Terms("Keys", keysHelp)
		})
		return lines
	}}
}

// keysHelp says what keys do.
var keysHelp = [][2]string{
	{"Enter", "send, or queue while something runs; accept the selected completion"},
	{"Alt-Enter, Ctrl-J", "a new line"},
	{"Tab", "complete; Tab again for the next"},
	{"Up, Down", "input history; on an empty line, Up takes back the last queued message"},
	{"PgUp, PgDn", "scroll"},
	{"Ctrl-O", "expand or collapse the last card, or the question"},
	{"Enter on an empty line, Ctrl-G", "go to the question; Right and Left select, Enter confirms"},
	{"Ctrl-G without a question", "write the message in your editor: VISUAL or EDITOR"},
	{"Ctrl-V", "attach the image in the clipboard"},
	{"Shift-Tab", "browse the cards: Up and Down select, Enter expands or collapses"},
	{"F2, F3", "servers, wire"},
	{"Ctrl-C", "leave the question; stop the running turn; clear the line; twice quits"},
	{"Esc", "close a pane; stop the running step and keep the answer so far; twice clears the line"},
}
