package term

import (
	"io"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
)

// A terminal that was made smaller and larger again has lost a part of the screen: a
// size that is the one it had draws all of it.
func TestTheSameSizeAgainDrawsEverything(t *testing.T) {
	d := drive(t, nil, nil, nil)
	in, out := io.Pipe()
	dr := newDrawn(d.s, out)
	written := make(chan string, 100)
	go func() {
		defer close(written)
		buf := make([]byte, 64<<10)
		for {
			n, err := in.Read(buf)
			if err != nil {
				return
			}
			written <- string(buf[:n])
		}
	}()
	defer func() { in.Close(); dr.out.Close() }()
	io.WriteString(dr.out.Writer(), "\x1b[?1049h")
	<-written
	dr.Update(tea.ColorProfileMsg{Profile: colorprofile.TrueColor})
	for i := range 2 {
		dr.Update(tea.WindowSizeMsg{Width: 70, Height: 15})
		dr.View()
		if all := <-written; strings.Count(all, "\x1b[K") < 10 {
			t.Fatalf("time %d: %q", i, all)
		}
	}
}
