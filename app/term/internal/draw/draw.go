// Package draw shows frames on a terminal: lines of text, a cursor and images. It
// draws a frame at once if the terminal was quiet, and otherwise at most so many in a
// second; it writes only what differs from the frame before, in one write.
//
// Another program, bubbletea here, switches the modes of the same terminal: the
// alternate screen, bracketed paste, the keyboard. Its output passes
// [Terminal.Writer], so that frames are drawn only while the alternate screen is
// shown, and again in full after everything that it writes.
package draw

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// A Frame is what the terminal shows.
type Frame struct {
	Lines         []string // styled with SGR sequences, without other control characters
	Width, Height int      // of the terminal
	X, Y          int      // the cursor; it is hidden if X is negative
	Images        []Placed // shown where the terminal can; see SetGraphics
}

// Rate is how many frames are drawn in a second at most, on average. Burst of them
// are drawn at once after a pause: a spinner and a new status must not delay the first
// word of an answer.
const (
	Rate  = 120
	Burst = 4
)

// A Terminal draws frames. Create one with New.
type Terminal struct {
	out    io.Writer
	scroll bool // lines may be moved with a scroll region

	mu       sync.Mutex
	wanted   Frame
	some     bool                // wanted is set
	style    func(string) string // for the colors of the terminal; nil: not known yet
	graphics Graphics
	stale    bool // everything must be drawn again
	failed   any  // what drawing panicked with
	synced   bool // the terminal shows what stands between two sequences at once

	writing sync.Mutex // held while bytes are written, so that those of two writers do not mix
	on      bool       // the alternate screen is shown
	shown   state
	sent    map[uint32]bool // images that the terminal has
	still   []Placed        // the images that are wanted since some time
	since   time.Time
	buf     bytes.Buffer

	wake chan struct{}
	done chan struct{}
	over chan struct{}
}

// A state is what the terminal shows. The zero state is not known.
type state struct {
	known         bool
	lines         []string // before their colors are adapted
	width, height int
	x, y          int
	images        []Placed
}

// New returns a Terminal that writes to out. If scroll is false, lines are always
// written again instead of being moved. The caller calls Close.
func New(out io.Writer, scroll bool) *Terminal {
	t := &Terminal{out: out, scroll: scroll, sent: map[uint32]bool{},
		wake: make(chan struct{}, 1), done: make(chan struct{}), over: make(chan struct{})}
	go t.run()
	return t
}

// Close stops drawing. It does not wait for a frame.
func (t *Terminal) Close() {
	close(t.done)
	<-t.over
}

// Show makes f the frame to show. It does not block, and drops frames for which
// there is no time. The caller does not change f afterwards. If drawing the frame
// before has panicked, Show panics with the same value, where the caller can restore
// the terminal.
func (t *Terminal) Show(f Frame) {
	t.mu.Lock()
	t.wanted, t.some = f, true
	failed := t.failed
	t.mu.Unlock()
	if failed != nil {
		panic(failed)
	}
	t.stir()
}

// Style sets the function that adapts the colors of a line to the terminal. Nothing
// is drawn before it is called.
func (t *Terminal) Style(adapt func(line string) string) {
	t.mu.Lock()
	t.style, t.stale = adapt, true
	t.mu.Unlock()
	t.stir()
}

// Resized says that the terminal was resized, even if it has its old size again. What
// it shows is not known then, and the next frame is drawn in full.
func (t *Terminal) Resized() {
	t.mu.Lock()
	t.stale = true
	t.mu.Unlock()
}

// Synchronize says that the terminal knows synchronized output (mode 2026).
func (t *Terminal) Synchronize() {
	t.mu.Lock()
	t.synced = true
	t.mu.Unlock()
}

func (t *Terminal) stir() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// run draws until Close.
func (t *Terminal) run() {
	defer close(t.over)
	var p pace
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-t.wake:
		case <-t.done:
			return
		}
		if wait := p.wait(time.Now()); wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-t.done:
				return
			}
		}
		drawn, later := t.draw()
		if drawn {
			p.drew(time.Now())
		}
		if later > 0 {
			time.AfterFunc(later, t.stir)
		}
	}
}

// A pace bounds how often is drawn: Burst times at once, then Rate times a second.
type pace struct {
	full time.Time // when Burst may be drawn at once again
}

const spacing = time.Second / Rate

// wait returns how long to wait before the next frame.
func (p *pace) wait(now time.Time) time.Duration {
	return p.full.Add(-(Burst - 1) * spacing).Sub(now)
}

func (p *pace) drew(now time.Time) {
	if p.full.Before(now) {
		p.full = now
	}
	p.full = p.full.Add(spacing)
}

// draw writes what differs from the wanted frame. It reports whether anything did,
// and after which time something more can be drawn.
func (t *Terminal) draw() (drawn bool, later time.Duration) {
	defer func() {
		if v := recover(); v != nil {
			t.mu.Lock()
			t.failed = v
			t.mu.Unlock()
		}
	}()
	t.writing.Lock()
	defer t.writing.Unlock()
	if !t.on {
		return false, 0
	}
	t.buf.Reset()
	later = t.compose()
	if t.buf.Len() == 0 {
		return false, later
	}
	t.write(t.buf.Bytes())
	return true, later
}

// write writes bytes. If that fails, the terminal shows something unknown.
func (t *Terminal) write(p []byte) (int, error) {
	n, err := t.out.Write(p)
	if err != nil {
		t.shown.known = false
	}
	return n, err
}

// compose appends to buf what turns the shown frame into the wanted one.
func (t *Terminal) compose() (later time.Duration) {
	t.mu.Lock()
	f, some, adapt, synced, graphics := t.wanted, t.some, t.style, t.synced, t.graphics
	if t.stale {
		t.stale, t.shown = false, state{}
	}
	t.mu.Unlock()
	if !some || adapt == nil || f.Width < 1 || f.Height < 1 {
		return 0
	}
	before := t.shown
	if before.width != f.Width || before.height != f.Height {
		before = state{}
	}
	now := state{known: true, lines: make([]string, f.Height), width: f.Width, height: f.Height,
		x: min(f.X, f.Width-1), y: max(0, min(f.Y, f.Height-1))}
	copy(now.lines, f.Lines)
	var text bytes.Buffer
	now.images, later = t.places(f, graphics, before)
	d := differ{w: &text, adapt: adapt, width: f.Width,
		scroll: t.scroll && len(before.images) == 0 && len(now.images) == 0} // terminals move images or not
	d.lines(t.hide(&text, graphics, before, now.images), now.lines)
	t.place(&text, graphics, before, now.images)
	t.frame(text.Bytes(), before, now, synced)
	t.shown = now
	return later
}

// frame appends text with the cursor where it belongs. The cursor is not seen
// moving.
func (t *Terminal) frame(text []byte, before, now state, synced bool) {
	visible := before.known && before.x >= 0 // it is certain
	if len(text) == 0 && before.known && now.x == before.x && now.y == before.y {
		return
	}
	if synced && len(text) > 0 {
		t.buf.WriteString(beginSync)
		defer t.buf.WriteString(endSync)
	}
	if now.x < 0 && (visible || !before.known) || !synced && len(text) > 0 && (visible || !before.known) {
		t.buf.WriteString(hideCursor)
		visible = false
	}
	if len(text) > 0 {
		t.buf.WriteString(noWrap)
		t.buf.Write(text)
		t.buf.WriteString(wraps)
	}
	if now.x >= 0 {
		moveTo(&t.buf, now.x, now.y)
		if !visible {
			t.buf.WriteString(showCursor)
		}
	}
}

// Writer returns the writer for the program that switches the modes of the terminal.
// It is a file of a terminal if the Terminal writes to one.
func (t *Terminal) Writer() io.Writer {
	if f, ok := t.out.(file); ok {
		return fileWriter{writer{t}, f}
	}
	return writer{t}
}

type file interface {
	io.ReadWriteCloser
	Fd() uintptr
}

type writer struct{ t *Terminal }

type fileWriter struct {
	writer
	file file
}

func (w fileWriter) Read(p []byte) (int, error) { return w.file.Read(p) }
func (w fileWriter) Close() error               { return w.file.Close() }
func (w fileWriter) Fd() uintptr                { return w.file.Fd() }

// Write writes p, and the frame again if the alternate screen is shown after p.
func (w writer) Write(p []byte) (int, error) {
	t := w.t
	t.writing.Lock()
	defer t.writing.Unlock()
	enters, leaves := bytes.LastIndex(p, []byte(altScreen)), bytes.LastIndex(p, []byte(mainScreen))
	if enters != leaves { // at least one is there
		t.on = enters > leaves
	}
	t.shown = state{}
	if !t.on {
		if len(t.sent) > 0 {
			clear(t.sent)
			t.write([]byte(kittyForget))
		}
		return t.write(p)
	}
	t.buf.Reset()
	t.buf.Write(p)
	if t.compose() > 0 {
		t.stir()
	}
	n, err := t.write(t.buf.Bytes())
	return min(n, len(p)), err
}
