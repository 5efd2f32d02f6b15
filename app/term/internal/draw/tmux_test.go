//go:build !windows

package draw

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/tenon-mcp/tenon/internal/needtest"
)

// A real terminal agrees with the emulator: tmux shows the last of many frames.
func TestTmuxShowsTheLastFrame(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("tmux"); err != nil {
		needtest.Missing(t, "tmux is missing")
	}
	socket := fmt.Sprintf("tenon-draw-%d", os.Getpid())
	tmux := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("tmux", append([]string{"-L", socket, "-f", "/dev/null"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	t.Cleanup(func() { exec.Command("tmux", "-L", socket, "kill-server").Run() })
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 21))
		s := &scene{next: r.IntN, f: Frame{Width: 60, Height: 15, X: -1}}
		var out bytes.Buffer
		term := bare(&out, true)
		for range 80 {
			s.step()
			for i, l := range s.f.Lines { // what tmux of today finds as wide as we do
				s.f.Lines[i] = strings.NewReplacer("👩‍👩‍👧", "", "🇫🇷", "", "\u200b", "").Replace(l)
			}
			term.Show(s.f)
			term.draw()
		}
		s.f.X, s.f.Y = 7, 3
		term.Show(s.f)
		term.draw()
		file := filepath.Join(t.TempDir(), "bytes")
		if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprint("s", seed)
		tmux("new-session", "-d", "-s", name, "-x", "60", "-y", "15", "-e", "LC_ALL=C.UTF-8", "stty -echo -opost; cat '"+file+"'; exec sleep 300")
		want := make([]string, 15)
		for i, l := range s.f.Lines {
			want[i] = strings.TrimRight(ansi.Strip(l), " ")
		}
		var got []string
		cursor := ""
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			got = strings.Split(strings.TrimSuffix(tmux("capture-pane", "-p", "-t", name), "\n"), "\n")
			for i, l := range got {
				got[i] = strings.TrimRight(l, " ")
			}
			cursor = strings.TrimSpace(tmux("display-message", "-p", "-t", name, "#{cursor_x},#{cursor_y}"))
			if slices.Equal(got, want) && cursor == "7,3" {
				break
			}
		}
		if !slices.Equal(got, want) || cursor != "7,3" {
			t.Fatalf("seed %d: tmux shows, with the cursor at %s,\n%s\nnot\n%s", seed, cursor, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}
