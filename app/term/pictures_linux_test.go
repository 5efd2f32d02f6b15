package term

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/keyword"
	"github.com/tenon-mcp/tenon/app/term/internal/draw"
	"github.com/tenon-mcp/tenon/internal/ptytest"
	"github.com/tenon-mcp/tenon/mcp"
)

func aPNG(t *testing.T, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewNRGBA(image.Rect(0, 0, w, h))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The image of a tool's result is drawn with the protocol that the terminal says to
// have, and is a line of text where it has none, or is a multiplexer that would not
// pass it on.
func TestImagesOfResults(t *testing.T) {
	const kittyOK, cell, sixel, plain = "\x1b_Gi=31;OK\x1b\\", "\x1b[6;20;10t", "\x1b[?62;4;22c", "\x1b[?62;22c"
	const kittys, iterms, sixels = "\x1b_Ga=t,f=100,", "\x1b]1337;File=inline=1", "\x1bP0;1q"
	for name, c := range map[string]struct {
		env     map[string]string
		answers string
		want    string
	}{
		"kitty":           {nil, cell + kittyOK + plain, kittys},
		"kitty and sixel": {nil, cell + kittyOK + sixel, kittys},
		"iTerm2":          {map[string]string{"TERM_PROGRAM": "iTerm.app"}, plain, iterms},
		"sixel":           {nil, cell + sixel, sixels},
		"nothing":         {nil, plain, ""},
		"tmux":            {map[string]string{"TMUX": "/tmp/x", "TERM": "tmux-256color", "LC_TERMINAL": "iTerm2"}, plain, ""},
		"tmux with sixel": {map[string]string{"TMUX": "/tmp/x", "TERM": "tmux-256color"}, sixel, sixels},
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range []string{"NO_COLOR", "TMUX", "STY", "TERM_PROGRAM", "LC_TERMINAL"} {
				t.Setenv(v, c.env[v])
			}
			t.Setenv("TERM", "xterm-256color")
			if term := c.env["TERM"]; term != "" {
				t.Setenv("TERM", term)
			}
			keys, tty := ptytest.Open(t, 30, 90)
			defer keys.Close()
			defer tty.Close()
			var mu sync.Mutex
			var all []byte
			go func() { // ends when the terminal is closed
				p := make([]byte, 64<<10)
				for {
					n, err := keys.Read(p)
					if err != nil {
						return
					}
					mu.Lock()
					all = append(all, p[:n]...)
					mu.Unlock()
				}
			}()
			written := func() string {
				mu.Lock()
				defer mu.Unlock()
				return string(all)
			}
			sees := func(text string) {
				t.Helper()
				for end := time.Now().Add(time.Minute); !strings.Contains(written(), text); time.Sleep(5 * time.Millisecond) {
					if time.Now().After(end) {
						t.Fatalf("%q was not written:\n%q", text, written())
					}
				}
			}
			feed := NewFeed()
			w := desk(t, keyword.Model{}, feed, nil)
			session := w.Host.NewSession()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := make(chan error, 1)
			go func() {
				ended <- Run(ctx, w, Options{Feed: feed, Session: session, Theme: "dark", In: tty, Out: tty})
			}()
			sees("\x1b[c")
			if asks := strings.Contains(written(), "\x1b_Gi=31"); asks != (c.env["TMUX"] == "") {
				t.Errorf("it asks with kitty's protocol: %v", asks)
			}
			keys.WriteString(c.answers)
			feed.Event(host.Event{Kind: host.EventTool, Session: session.ID, Call: &host.ToolCall{ID: "1", Server: "camera", Tool: "shot", Phase: host.CallDone,
				Result: &mcp.CallToolResult{Content: []mcp.Content{mcp.Image(aPNG(t, 200, 100), "image/png")}}}})
			sees("image/png")
			if c.want != "" {
				sees(c.want)
			}
			keys.WriteString("\x04")
			if err := <-ended; err != nil {
				t.Error(err)
			}
			for _, other := range []string{kittys, iterms, sixels} {
				if other != c.want && strings.Contains(written(), other) {
					t.Errorf("%q was written", other)
				}
			}
		})
	}
}

// galleryOf gives a driver's screen a terminal with images, which are ready at once.
func (d *driver) galleryOf(g draw.Graphics) {
	d.s.theme.pictures = newGallery(func(load func() tea.Msg) {
		if m, ok := load().(pictureMsg); ok {
			d.all.Go(func() { d.msgs <- m })
		}
	})
	d.s.theme.pictures.graphics = g
}

// An image that is attached to a message is shown below it, if all of it is on the
// screen; a file that is none is not.
func TestAttachedImagesAreShown(t *testing.T) {
	d := drive(t, nil, nil, nil)
	d.galleryOf(draw.Kitty)
	dr := &drawn{screen: d.s, out: draw.New(&bytes.Buffer{}, true)}
	defer dr.out.Close()
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.png"), filepath.Join(dir, "bad.png")
	os.WriteFile(good, aPNG(t, 300, 100), 0o600)
	os.WriteFile(bad, []byte("\x1b]52;c;x\a"), 0o600)
	d.s.add(userMessage{text: "look at @" + good + " and @" + bad})
	d.s.View()
	for late := time.After(time.Minute); len(d.s.placed) == 0; d.s.View() {
		select {
		case m := <-d.msgs:
			dr.answered(m)
			d.send(m)
		case <-late:
			t.Fatalf("no image is shown\n%s", d.view())
		}
	}
	if len(d.s.placed) != 1 || d.s.placed[0].Image.Rows != 5 {
		t.Fatalf("%+v\n%s", d.s.placed, d.view())
	}
	d.fits()
	if strings.Contains(d.s.View().Content, pictureMark) {
		t.Error("the marks of images are on the screen")
	}
	for range 14 { // the image leaves the screen at its top
		d.s.note("", "more")
	}
	d.s.View()
	top := d.s.placed
	for range 3 {
		d.s.note("", "more")
	}
	d.s.View()
	if len(top) != 1 || len(d.s.placed) != 0 {
		t.Errorf("%+v, then %+v", top, d.s.placed)
	}
	saved := savedBlocks([]llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{llm.Text("see"), {Kind: llm.PartImage, MIME: "image/png", Data: aPNG(t, 9, 9)}}}})
	if u, ok := saved[0].(userMessage); len(saved) != 1 || !ok || len(u.pictures()) != 1 {
		t.Errorf("a saved message has %+v", saved)
	}
}

// Ctrl-V, and what terminals paste instead of an image, attach the image in the
// clipboard, which the program of this session reads.
func TestImagesFromTheClipboard(t *testing.T) {
	picture := aPNG(t, 3, 3)
	for name, c := range map[string]struct {
		program string
		env     map[string]string
		prints  []byte
		want    string // a part of the message to the user; "": the image is attached
	}{
		"macOS":    {"osascript", nil, []byte("«data PNGf" + strings.ToUpper(hex.EncodeToString(picture)) + "»\n"), ""},
		"Windows":  {"powershell.exe", nil, []byte(base64.StdEncoding.EncodeToString(picture) + "\r\n"), ""},
		"Wayland":  {"wl-paste", map[string]string{"WAYLAND_DISPLAY": "w"}, picture, ""},
		"X11":      {"xclip", map[string]string{"DISPLAY": ":0"}, picture, ""},
		"text":     {"wl-paste", map[string]string{"WAYLAND_DISPLAY": "w"}, nil, "no image in the clipboard"},
		"no image": {"wl-paste", map[string]string{"WAYLAND_DISPLAY": "w"}, []byte("hello"), "cannot be used"},
		"nothing":  {"wl-paste", nil, picture, "no program reads images"},
		"SSH":      {"wl-paste", map[string]string{"WAYLAND_DISPLAY": "w", "SSH_TTY": "x"}, picture, "another machine"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			os.WriteFile(filepath.Join(dir, "out"), c.prints, 0o600)
			script := "#!/bin/sh\n[ -s " + dir + "/out ] || exit 1\nexec /bin/cat " + dir + "/out\n"
			if err := os.WriteFile(filepath.Join(dir, c.program), []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", dir)
			for _, v := range []string{"WAYLAND_DISPLAY", "DISPLAY", "SSH_CONNECTION", "SSH_TTY"} {
				t.Setenv(v, c.env[v])
			}
			pasted := filepath.Join(dir, "pasted")
			d := drive(t, nil, nil, func(o *Options) { o.Pasted = pasted })
			d.types("see ")
			if name == "X11" {
				d.send(tea.PasteMsg{})
			} else {
				d.press("ctrl+v")
			}
			d.until("an answer", func() bool { return d.s.hint != "" })
			files, _ := filepath.Glob(filepath.Join(pasted, "*"))
			if c.want != "" {
				if !strings.Contains(d.s.hint, c.want) || len(files) != 0 || d.s.input.text != "see " {
					t.Errorf("%q, %q, %q", d.s.hint, files, d.s.input.text)
				}
				return
			}
			if len(files) != 1 || d.s.input.text != "see @"+files[0]+" " {
				t.Fatalf("the message is %q, the files %q: %s", d.s.input.text, files, d.s.hint)
			}
			if got, _ := os.ReadFile(files[0]); !bytes.Equal(got, picture) {
				t.Errorf("%q", got)
			}
			old := time.Now().Add(-keptPasted - time.Hour)
			os.Chtimes(files[0], old, old)
			if _, err := savePasted(pasted, picture); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(files[0]); err == nil {
				t.Error("an old image is kept")
			}
		})
	}
}

// A terminal that does not tell its background has the one that COLORFGBG says, and
// a dark one without it.
func TestThemeWithoutAnAnswer(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm-256color")
	for value, want := range map[string]string{"": "dark", "15;0": "dark", "0;15": "light", "0;default;15": "light", "0;7": "light", "7;8": "dark", "x;y": "dark", "15;4": "dark"} {
		t.Setenv("COLORFGBG", value)
		d := drive(t, nil, nil, func(o *Options) { o.Theme = "" })
		if d.s.theme.name != want {
			t.Errorf("%q: %s", value, d.s.theme.name)
		}
	}
}
