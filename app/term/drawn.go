package term

import (
	"io"
	"os"
	"runtime"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/tenon-mcp/tenon/app/term/internal/draw"
)

// drawn is a screen that is drawn by package draw: bubbletea, which draws only when
// its clock ticks, reads keys and switches the modes of the terminal. It is told that
// the screen is empty.
type drawn struct {
	*screen
	out           *draw.Terminal
	width, height int  // of the terminal, which may be smaller than the screen
	kitty         bool // the terminal knows kitty's protocol for images
}

func newDrawn(s *screen, out io.Writer) *drawn {
	// Some terminals of Windows move lines wrongly.
	return &drawn{screen: s, out: draw.New(out, runtime.GOOS != "windows")}
}

// Init asks the terminal what it can show, too.
func (d *drawn) Init() tea.Cmd {
	if !d.theme.color {
		return d.screen.Init()
	}
	return tea.Batch(d.screen.Init(), tea.Raw(askGraphics(os.Getenv)))
}

// Update handles one message.
func (d *drawn) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch m := msg.(type) {
	case tea.WindowSizeMsg:
		d.width, d.height = m.Width, m.Height
		d.out.Resized()
	case tea.ColorProfileMsg:
		d.out.Style(func(l string) string { return adapted(l, m.Profile) })
	case tea.ModeReportMsg:
		if m.Mode == ansi.ModeSynchronizedOutput && m.Value == ansi.ModeReset {
			d.out.Synchronize()
		}
	}
	d.answered(msg)
	_, cmd := d.screen.Update(msg)
	return d, cmd
}

// View shows the screen, and returns an empty one for bubbletea.
func (d *drawn) View() tea.View {
	v := d.screen.View()
	f := draw.Frame{Lines: strings.Split(v.Content, "\n"), Width: d.width, Height: d.height, X: -1, Images: d.placed}
	if d.width == 0 || d.height == 0 { // not known, as without a terminal
		f.Width, f.Height = d.screen.width, d.screen.height
	}
	if v.Cursor != nil {
		f.X, f.Y = v.Cursor.X, v.Cursor.Y
	}
	d.out.Show(f)
	v.Content, v.Cursor = " ", nil
	return v
}

// adapted returns a line with the colors that a terminal has.
func adapted(l string, p colorprofile.Profile) string {
	if p == colorprofile.TrueColor || !strings.Contains(l, "\x1b") {
		return l
	}
	var b strings.Builder
	w := colorprofile.Writer{Forward: &b, Profile: p}
	w.WriteString(l)
	return b.String()
}
