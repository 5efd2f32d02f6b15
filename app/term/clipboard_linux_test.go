package term

import (
	"os"
	"path/filepath"
	"testing"
)

// The program for the clipboard of this session is used, with the right arguments:
// that of Wayland, else of X11, and none over SSH, where the clipboard of another
// machine is meant.
func TestClipboardPrograms(t *testing.T) {
	for name, c := range map[string]struct {
		programs []string
		env      map[string]string
		want     string // program, arguments and text
	}{
		"macOS":           {[]string{"pbcopy"}, nil, "pbcopy: text"},
		"WSL":             {[]string{"clip.exe", "xclip"}, map[string]string{"DISPLAY": ":0"}, "clip.exe: text"},
		"Wayland":         {[]string{"wl-copy", "xclip"}, map[string]string{"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, "wl-copy: text"},
		"X11":             {[]string{"wl-copy", "xclip", "xsel"}, map[string]string{"DISPLAY": ":0"}, "xclip: -selection clipboard text"},
		"X11 with xsel":   {[]string{"xsel"}, map[string]string{"DISPLAY": ":0"}, "xsel: --clipboard --input text"},
		"without display": {[]string{"wl-copy", "xclip", "xsel"}, nil, ""},
		"SSH":             {[]string{"pbcopy", "xclip"}, map[string]string{"DISPLAY": ":0", "SSH_CONNECTION": "1"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			out := filepath.Join(dir, "copied")
			for _, p := range c.programs {
				script := "#!/bin/sh\n{ printf '%s: ' " + p + "; [ $# = 0 ] || printf '%s ' \"$@\"; /bin/cat; } > " + out + "\n"
				if err := os.WriteFile(filepath.Join(dir, p), []byte(script), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("PATH", dir)
			for _, v := range []string{"WAYLAND_DISPLAY", "DISPLAY", "SSH_CONNECTION", "SSH_TTY"} {
				t.Setenv(v, c.env[v])
			}
			program, err := copyWith(t.Context(), "text")
			got, _ := os.ReadFile(out)
			if err != nil || string(got) != c.want || (program == "") != (c.want == "") {
				t.Errorf("%s copied %q, want %q: %v", program, got, c.want, err)
			}
		})
	}
}
