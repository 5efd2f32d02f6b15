package term

import (
	"context"
	"errors"
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/keyword"
	"github.com/tenon-mcp/tenon/app/llm/script"
	"github.com/tenon-mcp/tenon/app/workspace"
	"github.com/tenon-mcp/tenon/builtin/calc"
	"github.com/tenon-mcp/tenon/internal/leaktest"
	"github.com/tenon-mcp/tenon/server"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	flag.Parse()
	leaktest.Main(m)
}

// desk is a workspace with builtin servers; calc is always there.
func desk(t *testing.T, model llm.Model, feed *Feed, others map[string]*server.Server) *workspace.Workspace {
	t.Helper()
	return deskIn(t, t.TempDir(), model, feed, others)
}

func deskIn(t *testing.T, dir string, model llm.Model, feed *Feed, others map[string]*server.Server, change ...func(*workspace.Options)) *workspace.Workspace {
	t.Helper()
	o := workspace.Options{Dir: dir, Model: model, Event: feed.Event, State: feed.State}
	for _, f := range change {
		f(&o)
	}
	o.Servers = []config.Server{{Name: "calc", Kind: config.Builtin, Builtin: "calc"}}
	for name := range others {
		o.Servers = append(o.Servers, config.Server{Name: name, Kind: config.Builtin, Builtin: name})
	}
	o.Builtin = func(name string, _ url.Values) (connect.Builtin, error) {
		if s := others[name]; s != nil {
			return s, nil
		}
		if name == "calc" {
			return calc.New(calc.Config{})
		}
		return nil, errors.New("there is no " + name)
	}
	w, err := workspace.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, s := range w.Fleet.All() {
		if err := w.Ready(t.Context(), s.Name()); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// scripted is a model that says what stands there.
func scripted(t *testing.T, text string) llm.Model {
	t.Helper()
	name := filepath.Join(t.TempDir(), "script.jsonl")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := script.Open(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A driver is what a terminal would be: it sends keys, and runs what Update
// wants run.
type driver struct {
	t    *testing.T
	s    *screen
	w    *workspace.Workspace
	msgs chan tea.Msg
	all  sync.WaitGroup
	quit bool
}

func drive(t *testing.T, model llm.Model, others map[string]*server.Server, change func(*Options)) *driver {
	t.Helper()
	if model == nil {
		model = keyword.Model{}
	}
	feed := NewFeed()
	w := desk(t, model, feed, others)
	return driveOn(t, w, feed, change)
}

func driveOn(t *testing.T, w *workspace.Workspace, feed *Feed, change func(*Options)) *driver {
	t.Helper()
	o := Options{Feed: feed, Theme: "plain", History: filepath.Join(t.TempDir(), "history")}
	if change != nil {
		change(&o)
	}
	ctx, stop := context.WithCancel(t.Context())
	d := &driver{t: t, w: w, s: newScreen(ctx, w, o), msgs: make(chan tea.Msg, 1000)}
	start := time.Now()
	d.s.now = func() time.Time { return start } // the spinner stands still
	d.all.Go(func() { feed.forward(ctx, func(some []any) { d.msgs <- changeMsg(some) }) })
	d.run(d.s.Init())
	t.Cleanup(func() {
		d.s.t.stop()
		stop()
		d.all.Wait()
	})
	return d
}

// send passes a message, and runs the commands that come of it.
func (d *driver) send(m tea.Msg) {
	if _, ok := m.(tea.QuitMsg); ok {
		d.quit = true
		return
	}
	if batch, ok := m.(tea.BatchMsg); ok {
		for _, c := range batch {
			d.run(c)
		}
		return
	}
	_, cmd := d.s.Update(m)
	d.run(cmd)
}

func (d *driver) run(cmd tea.Cmd) {
	if cmd != nil {
		d.all.Go(func() {
			if m := cmd(); m != nil {
				d.msgs <- m
			}
		})
	}
}

// until passes messages until something is so.
func (d *driver) until(what string, so func() bool) {
	d.t.Helper()
	late := time.After(time.Minute)
	for !so() {
		select {
		case m := <-d.msgs:
			d.send(m)
		case <-late:
			d.t.Fatalf("it never came to this: %s\n%s", what, d.view())
		}
	}
}

// shows waits until the view has a text.
func (d *driver) shows(text string) {
	d.t.Helper()
	d.until("the view shows "+text, func() bool { return strings.Contains(d.view(), text) })
}

// asked waits for a question.
func (d *driver) asked() {
	d.t.Helper()
	d.until("a question", func() bool { return len(d.s.questions) > 0 })
}

// pick goes to the first question and to one of its options.
func (d *driver) pick(label string) {
	d.t.Helper()
	d.asked()
	d.press("ctrl+g")
	for range 10 {
		d.press("right")
		if q := d.s.questions[0]; q.options()[q.picked].label == label {
			return
		}
	}
	d.t.Fatalf("there is no option %q\n%s", label, d.view())
}

// answer answers the first question with one of its options.
func (d *driver) answer(label string) {
	d.t.Helper()
	d.pick(label)
	d.press("enter")
}

var named = map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown,
	"backspace": tea.KeyBackspace, "left": tea.KeyLeft, "right": tea.KeyRight, "f2": tea.KeyF2, "f3": tea.KeyF3, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown}

// press presses keys by their names.
func (d *driver) press(keys ...string) {
	for _, k := range keys {
		var m tea.Key
		name := k
		if rest, ok := strings.CutPrefix(name, "ctrl+"); ok {
			m.Mod, name = m.Mod|tea.ModCtrl, rest
		}
		if rest, ok := strings.CutPrefix(name, "shift+"); ok {
			m.Mod, name = m.Mod|tea.ModShift, rest
		}
		if code, ok := named[name]; ok {
			m.Code = code
		} else {
			m.Code = []rune(name)[0]
			if m.Mod == 0 {
				m.Text = name
			}
		}
		d.send(tea.KeyPressMsg(m))
	}
}

// types presses the keys of a text.
func (d *driver) types(text string) {
	for _, r := range text {
		d.press(string(r))
	}
}

// view is the screen as text, without styles.
func (d *driver) view() string {
	text := ansi.Strip(d.s.View().Content)
	var lines []string
	for l := range strings.SplitSeq(text, "\n") {
		lines = append(lines, strings.TrimRight(l, " "))
	}
	return strings.Join(lines, "\n")
}

var (
	spans  = regexp.MustCompile(`\d+(\.\d+)? (µs|ms|s)\b`)
	clocks = regexp.MustCompile(`\d\d:\d\d:\d\d(\.\d+)?`)
	spins  = regexp.MustCompile("(?m)^[" + strings.Join(frames, "") + "] ")
	since  = regexp.MustCompile(`\bfor (\d+h)?(\d+m)?\d+s,`)
)

// golden waits until the view is what a file says. What the screen is told
// comes by two ways, the feed and the commands, in no fixed order: a view in
// between is not wrong, only early. Times are taken out.
func (d *driver) golden(name string) {
	d.t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		d.settle()
		if err := os.WriteFile(file, []byte(d.timeless()), 0o644); err != nil {
			d.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		d.t.Fatal(err)
	}
	late := time.After(time.Minute)
	for d.timeless() != string(want) {
		select {
		case m := <-d.msgs:
			d.send(m)
		case <-late:
			d.t.Fatalf("%s is not as it was (go test ./app/term -update writes it anew):\n%s\nwas\n%s", name, d.timeless(), want)
		}
	}
	d.fits()
}

// timeless is the view without durations and times of day.
func (d *driver) timeless() string {
	text := clocks.ReplaceAllString(spans.ReplaceAllString(d.view(), "0 ms"), "00:00:00")
	text = spins.ReplaceAllString(text, frames[0]+" ")
	return since.ReplaceAllString(text, "for 0s,") + "\n"
}

// settle passes messages until none has come for a while.
func (d *driver) settle() {
	quiet := time.After(300 * time.Millisecond)
	for {
		select {
		case m := <-d.msgs:
			if d.send(m); m != (tickMsg{}) {
				quiet = time.After(300 * time.Millisecond)
			}
		case <-quiet:
			return
		}
	}
}

// fits checks that the view is as large as the terminal: no line is wider, and
// there are exactly as many as there is room for.
func (d *driver) fits() {
	d.t.Helper()
	lines := strings.Split(d.s.View().Content, "\n")
	if len(lines) != d.s.height {
		d.t.Errorf("the view has %d lines, the terminal %d\n%s", len(lines), d.s.height, d.view())
	}
	for _, l := range lines {
		if w := ansi.StringWidth(l); w > d.s.width {
			d.t.Errorf("a line has %d columns, the terminal %d: %q", w, d.s.width, l)
		}
	}
}

func (d *driver) size(w, h int) { d.send(tea.WindowSizeMsg{Width: w, Height: h}) }
