package term

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// The path of an image that is dropped on the terminal is attached; other text stays
// as it is.
func TestPastedImagesAreAttached(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.png", "two words.jpg", "a.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	image, spaced := filepath.Join(dir, "a.png"), filepath.Join(dir, "two words.jpg")
	for text, want := range map[string]string{
		image:                          "@" + image + " ",
		"'" + spaced + "'":             `@"` + spaced + `" `,
		filepath.Join(dir, "a.txt"):    filepath.Join(dir, "a.txt"),
		filepath.Join(dir, "none.png"): filepath.Join(dir, "none.png"),
		"look at " + image:             "look at " + image,
	} {
		if got := attachable(text); got != want {
			t.Errorf("%q becomes %q, not %q", text, got, want)
		}
	}
	d := drive(t, scripted(t, longTalk), nil, nil)
	d.types("what is this? ")
	d.send(tea.PasteMsg{Content: image})
	d.press("enter")
	d.shows("not accept images; choose another model with /model")
	d.until("the turn is over", func() bool { return d.s.turns == 0 })
	if !strings.HasPrefix(d.s.input.text, "what is this? @") {
		t.Errorf("the message is lost: %q", d.s.input.text)
	}
}

// The program can begin with the list of sessions.
func TestBeginsWithTheList(t *testing.T) {
	d := drive(t, nil, nil, func(o *Options) { o.Resume = true })
	d.shows("Resume a conversation")
}
