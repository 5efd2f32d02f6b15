package term

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

// doublePress bounds the time between two Ctrl-C that leave the program.
const doublePress = 2 * time.Second

// withdrawnHint is shown while keys are dropped; see [screen.withdraw].
const withdrawnHint = "The question was withdrawn. Press Esc to go on."

// key passes a key to what has the focus: a pane, the question that the user went
// to, a sheet, the cards, or the input. A question that just appeared never has
// it.
func (s *screen) key(stroke, text string) tea.Cmd {
	s.editing.Store(false)
	if s.withdrawn && stroke != "esc" && stroke != "ctrl+c" {
		return nil
	}
	s.hint = ""
	if s.withdrawn {
		s.withdrawn = false
		return nil
	}
	if stroke == "ctrl+c" {
		return s.interrupt()
	}
	s.leaving = time.Time{}
	if stroke != "esc" {
		s.clearing = time.Time{}
	}
	switch stroke {
	case "ctrl+z":
		return tea.Suspend
	case "ctrl+g":
		return s.goToQuestion()
	case "f2":
		s.pane = &serversPane{t: s.t}
		return nil
	case "f3":
		s.pane = newWirePane(s.t, "")
		return nil
	}
	switch {
	case s.pane != nil:
		cmd, closed := s.pane.key(stroke, text)
		if closed {
			s.pane = nil
		}
		return cmd
	case s.focused:
		return s.questionKey(stroke, text)
	case s.sheet != nil:
		return s.sheetKey(stroke, text)
	}
	if s.scrollKey(stroke) {
		return nil
	}
	if s.chosen != nil {
		if s.lookKey(stroke) {
			return nil
		}
		s.chosen = nil
	}
	return s.inputKey(stroke, text)
}

// interrupt leaves the question that the user went to; else it stops what runs;
// if nothing runs, or for the second time, it leaves the program.
func (s *screen) interrupt() tea.Cmd {
	if s.focused {
		s.leaveQuestion()
		s.hint = "the question stays open; Ctrl-C again stops the turn"
		return nil
	}
	if !s.leaving.IsZero() && time.Since(s.leaving) < doublePress {
		s.clearInput()
		return tea.Quit
	}
	s.leaving = time.Now()
	switch {
	case s.t.busy():
		s.t.stop()
		return s.passing(stoppingHint + "; " + quitHint)
	case s.input.text != "":
		s.clearInput()
		return s.passing(clearedHint + "; " + quitHint)
	}
	return s.passing(quitHint)
}

// clearInput clears the input. Up brings it back, also after the next start.
func (s *screen) clearInput() {
	if s.input.text == "" {
		return
	}
	if err := s.history.add(s.input.text); err != nil {
		s.note("?", "Cannot write the input history: "+err.Error())
	}
	s.input.set("")
	s.completed, s.picked = completion{}, -1
}

// clearedHint is shown after clearInput.
const clearedHint = "cleared; Up brings it back"

// quitHint is shown as long as another Ctrl-C leaves the program.
const quitHint = "Ctrl-C again quits"

// A passedMsg says that the hint with a number is no longer true.
type passedMsg int

// passing shows a hint about a key that is to be pressed a second time, as long as
// that counts.
func (s *screen) passing(hint string) tea.Cmd {
	s.hint = hint
	s.hints++
	n := passedMsg(s.hints)
	return tea.Tick(doublePress, func(time.Time) tea.Msg { return n })
}

// passed removes a hint that is no longer true. What still stops is said as long
// as it does.
func (s *screen) passed(n passedMsg) {
	switch {
	case int(n) != s.hints: // there is another
	case s.hint == stoppingHint+"; "+quitHint && s.turns > 0:
		s.hint = stoppingHint
	case strings.HasSuffix(s.hint, quitHint) || s.hint == clearHint:
		s.hint = ""
	}
}

// stopped removes the hint that something still stops.
func (s *screen) stopped() {
	switch s.hint {
	case stoppingHint:
		s.hint = ""
	case stoppingHint + "; " + quitHint:
		s.hint = quitHint
	}
}

func (s *screen) scrollKey(stroke string) bool {
	page := max(1, s.height/2)
	if len(s.questions) > 0 && s.sheet == nil && s.questions[0].readKey(stroke) {
		return true
	}
	switch stroke {
	case "pgup", "shift+up", "ctrl+up":
		if stroke != "pgup" {
			page = 1
		}
		s.above += page // View bounds it
	case "pgdown", "shift+down", "ctrl+down":
		if stroke != "pgdown" {
			page = 1
		}
		s.above = max(0, s.above-page)
	case "ctrl+o":
		for i := len(s.talked.all) - 1; i >= 0; i-- {
			if s.foldEntry(s.talked.all[i]) {
				break
			}
		}
	case "shift+tab":
		s.look(-1)
	default:
		return false
	}
	return true
}

func (s *screen) foldEntry(e *entry) bool {
	f, ok := e.block.(folding)
	if ok {
		f.fold()
		e.width = 0
	}
	return ok
}

// look goes to the next or previous card.
func (s *screen) look(by int) {
	var cards []*entry
	at := -1
	for _, e := range s.talked.all {
		if _, ok := e.block.(folding); ok {
			if e == s.chosen {
				at = len(cards)
			}
			cards = append(cards, e)
		}
	}
	switch {
	case len(cards) == 0:
		return
	case at < 0:
		at = len(cards) - 1
	default:
		at = max(0, min(at+by, len(cards)-1))
	}
	s.chosen = cards[at]
}

// lookKey handles keys while the user looks through the cards.
func (s *screen) lookKey(stroke string) bool {
	switch stroke {
	case "up", "k":
		s.look(-1)
	case "down", "j":
		s.look(1)
	case "enter", "space", "left", "right":
		s.foldEntry(s.chosen)
	case "esc", "tab":
		s.chosen = nil
	default:
		return false
	}
	return true
}

// sheetKey handles keys while the user fills in arguments.
func (s *screen) sheetKey(stroke, text string) tea.Cmd {
	switch stroke {
	case "esc":
		s.sheet, s.sheetFor = nil, nil
		return nil
	case "ctrl+s":
	default:
		if !s.sheet.key(stroke, text) {
			return nil
		}
	}
	if !s.sheet.complete() {
		return nil
	}
	what := s.sheetFor
	s.sheet, s.sheetFor = nil, nil
	return s.background(func(ctx context.Context, _ *buffer) (outcome, error) { return what.done(ctx, s.t) })
}

func (s *screen) inputKey(stroke, text string) tea.Cmd {
	popup := len(s.completed.choices) > 0
	switch {
	case stroke == "ctrl+d" && s.input.text == "":
		return tea.Quit
	case stroke == "ctrl+l":
		return tea.ClearScreen
	case stroke == "ctrl+v":
		return s.pasteImage()
	case popup && (stroke == "tab" || stroke == "down" && s.picked >= 0):
		return s.pick(1)
	case popup && s.picked >= 0 && stroke == "up":
		return s.pick(-1)
	case popup && stroke == "esc":
		s.completed, s.picked = completion{}, -1
		return nil
	case stroke == "enter":
		if popup && s.picked >= 0 {
			s.completed, s.picked = completion{}, -1
			return s.complete() // the input already has the picked word
		}
		s.completed, s.picked = completion{}, -1
		s.asked++ // a result on its way is too late
		if s.input.text == "" && len(s.questions) == 0 && s.waiting == nil {
			return s.sendQueue()
		}
		if s.input.text == "" {
			if len(s.questions) == 0 && s.waiting == nil {
				return nil
			}
			return s.goToQuestion()
		}
		return s.send(s.input.text)
	case stroke == "tab" && s.input.text == "":
		return s.try()
	case stroke == "tab":
		return s.complete()
	case stroke == "esc":
		return s.escape()
	case stroke == "up" && s.input.text == "" && len(s.queue) > 0:
		s.takeBack()
		return nil
	case stroke == "up" || stroke == "down":
		if s.input.key(stroke, "") {
			return nil
		}
		s.recall(stroke == "up")
		return nil
	}
	before := s.input.text
	if !s.input.key(stroke, text) || s.input.text == before {
		return nil
	}
	return s.complete()
}

// recall shows an earlier input.
func (s *screen) recall(back bool) {
	text, ok := "", false
	if back {
		text, ok = s.history.back(s.input.text)
	} else {
		text, ok = s.history.forth()
	}
	if ok {
		s.input.set(text)
		s.completed, s.picked = completion{}, -1
	}
}

// pick puts the next completion into the input.
func (s *screen) pick(by int) tea.Cmd {
	n := len(s.completed.choices)
	s.picked = ((s.picked+by)%n + n) % n
	c := s.completed.choices[s.picked]
	text := line(c.word) // hidden characters in a server's word are made visible
	if !c.open {
		text += " "
	}
	rest := s.input.text[s.input.at:]
	s.input.text = s.input.text[:s.completed.from] + text + rest
	s.input.at = s.completed.from + len(text)
	s.asked++
	if n == 1 {
		s.completed, s.picked = completion{}, -1
		return s.complete()
	}
	return nil
}

// complete requests completions of the word before the cursor.
func (s *screen) complete() tea.Cmd {
	s.asked++
	if s.cancelCompletion != nil {
		s.cancelCompletion() // the older request is obsolete
		s.cancelCompletion = nil
	}
	asked, text, at := s.asked, s.input.text, s.input.at
	word := text[strings.LastIndexAny(text[:at], " \n\t")+1 : at]
	if !strings.HasPrefix(text, "/") && !strings.HasPrefix(word, "@") {
		s.completed, s.picked = completion{}, -1
		return nil
	}
	ctx, cancel := context.WithCancel(s.t.ctx)
	s.cancelCompletion = cancel
	return func() tea.Msg {
		defer cancel()
		return completeMsg{asked, s.t.complete(ctx, text, at)}
	}
}

// paste inserts text at the cursor.
func (s *screen) paste(text string) tea.Cmd {
	if s.withdrawn {
		return nil
	}
	if s.focused {
		switch q := s.questions[0]; {
		case q.inside && q.edit != nil:
			q.edit.insert(text)
			return nil
		case q.inside:
			q.sheet.editor.insert(text)
			return nil
		}
		s.leaveQuestion()
	}
	switch {
	case s.pane != nil:
	case s.sheet != nil:
		s.sheet.editor.insert(text)
	case text == "": // as terminals paste what is not text
		return s.pasteImage()
	default:
		s.input.insert(attachable(text))
	}
	return nil
}

// attachable returns @path for the pasted path of an image, as terminals paste files
// that are dropped on them, and other text as it is.
func attachable(text string) string {
	path := strings.TrimSpace(text)
	if n := len(path); n > 1 && (path[0] == '\'' || path[0] == '"') && path[n-1] == path[0] {
		path = path[1 : n-1]
	}
	if rest, ok := strings.CutPrefix(path, "file://"); ok {
		path = rest
		if plain, err := url.PathUnescape(rest); err == nil {
			path = plain
		}
	}
	if runtime.GOOS != "windows" {
		path = strings.ReplaceAll(path, `\ `, " ")
	}
	if !isImageFile(path) || !filepath.IsAbs(path) || strings.ContainsAny(path, "\"\n") {
		return text
	}
	if strings.Contains(path, " ") {
		return `@"` + path + `" `
	}
	return "@" + path + " "
}

// isImageFile reports whether a path is a file with the name of an image.
func isImageFile(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
		info, err := os.Stat(path)
		return err == nil && info.Mode().IsRegular()
	}
	return false
}
