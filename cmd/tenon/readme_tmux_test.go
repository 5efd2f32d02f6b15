//go:build !windows

package main

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The moving picture in README.md shows what the program does in a terminal. With
// -captures (make captures) it is drawn anew.
func TestReadmePicture(t *testing.T) {
	dir := t.TempDir()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(own, filepath.Join(bin, "tenon")); err != nil {
		t.Fatal(err)
	}
	v := openTerminal(t, dir, []string{"TENON_TEST_MAIN=1", "TENON_CONFIG_DIR=" + dir, "HOME=" + dir, "ENV=", "PATH=" + bin + ":" + os.Getenv("PATH")}, "env", "PS1=$ ", "PATH="+bin+":"+os.Getenv("PATH"), "sh")
	v.until("$")
	var m movie
	shown := func(ms int) { t.Helper(); m.add(v.tmux("capture-pane", "-p", "-e", "-t", "t"), ms) }
	// ends waits until the screen ends with a text and has a number of prompts.
	prompts := 1
	ends := func(text string) {
		t.Helper()
		eventually(t, func() bool {
			now := "\n" + strings.TrimRight(v.screen(), " \n")
			return strings.HasSuffix(now, text) && strings.Count(now, "\n$") == prompts
		})
	}
	typed := func(words ...string) {
		t.Helper()
		for i, w := range words {
			if i > 0 {
				w = " " + w
			}
			v.types(w)
			ends("\n$ " + strings.Join(words[:i+1], " "))
			shown(250)
		}
		v.keys("Enter")
	}
	// run types a command and waits for the end of its output and the next prompt.
	run := func(last string, words ...string) {
		t.Helper()
		typed(words...)
		prompts++
		ends(last + "\n$")
		shown(2000)
	}
	shown(500)
	run("their average", "tenon", "tools", "builtin:calc")
	shown(1500)
	v.types("clear")
	v.keys("Enter")
	prompts = 1
	ends("\n$")
	run("\n42", "tenon", "call", "builtin:calc", "add", "a=20", "b=22")
	typed("tenon", "call", "builtin:calc", "average")
	for _, answer := range [][2]string{{"\na (number):", "20"}, {"\nb (number):", "22"}} {
		ends(answer[0])
		shown(1000)
		v.types(answer[1])
		ends(answer[0] + " " + answer[1])
		shown(400)
		v.keys("Enter")
	}
	prompts++
	ends("\n21\n$")
	shown(2000)
	run("\n42", "tenon", "run", "--model", "none", "-s", "builtin:calc", "--allow", "calc", "-p", "'add 20 and 22'")
	shown(2500)

	file := filepath.Join("..", "..", "docs", "images", "terminal.svg")
	now := m.svg()
	if *captures {
		if err := os.WriteFile(file, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(old) != now {
		t.Errorf("%s shows something else than the program (make captures draws it anew); the last screen now:\n%s", file, v.screen())
	}
	if len(old) > 1_500_000 {
		t.Errorf("%s has %d bytes", file, len(old))
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if at := strings.Index(string(readme), "](docs/images/terminal.svg)"); at < 0 || strings.Count(string(readme)[:at], "\n") > 20 {
		t.Error("README.md does not show the picture in its first lines")
	}
}

// A movie is a sequence of screens of a terminal.
type movie struct {
	frames []string // the lines of a screen, drawn
	ends   []int    // when each ends, in milliseconds
}

const (
	cellWidth, cellHeight = 8.4, 18.0 // of a character, in pixels
	margin                = 14
)

// add adds a screen as tmux writes it, with its colors. The same screen again lasts
// longer.
func (m *movie) add(screen string, ms int) {
	frame := drawn(screen)
	last := len(m.frames) - 1
	if last >= 0 {
		ms += m.ends[last]
		if m.frames[last] == frame {
			m.ends[last] = ms
			return
		}
	}
	m.frames, m.ends = append(m.frames, frame), append(m.ends, ms)
}

// svg draws all screens, one after the other, forever.
func (m *movie) svg() string {
	width, height := 2*margin+80*cellWidth, 2*margin+24*cellHeight
	total := m.ends[len(m.ends)-1]
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" role="img" aria-label="Tenon in a terminal: the tools of a server, a call, a question of a tool, and a model that calls one">`+"\n", width, height, width, height)
	b.WriteString("<style>\ntext{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;fill:#e6edf3;white-space:pre}\n.b{font-weight:bold}.d{opacity:.65}.i{font-style:italic}.u{text-decoration:underline}\n")
	for i, color := range ansiColors {
		fmt.Fprintf(&b, ".c%d{fill:%s}", i, color)
	}
	b.WriteString("\n")
	start := 0
	for i, end := range m.ends {
		from, to := 100*float64(start)/float64(total), 100*float64(end)/float64(total)
		fmt.Fprintf(&b, "@keyframes k%d{0%%{visibility:hidden}%.3f%%{visibility:visible}%.3f%%{visibility:hidden}}\n", i, from, to)
		fmt.Fprintf(&b, "#f%d{visibility:hidden;animation:k%d %dms step-end infinite}\n", i, i, total)
		start = end
	}
	// Without motion, the last screen.
	fmt.Fprintf(&b, "@media(prefers-reduced-motion:reduce){g{animation:none!important}#f%d{visibility:visible!important}}\n</style>\n", len(m.frames)-1)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>`+"\n")
	for i, frame := range m.frames {
		fmt.Fprintf(&b, "<g id=\"f%d\">\n%s</g>\n", i, frame)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// ansiColors are the eight colors of a terminal and their bright forms.
var ansiColors = []string{"#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4", "#6e7681", "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#ffffff"}

// drawn returns the lines of a screen as text of SVG.
func drawn(screen string) string {
	var b strings.Builder
	var class []string
	for y, line := range strings.Split(strings.TrimRight(screen, "\n"), "\n") {
		x := 0
		for len(line) > 0 {
			if rest, ok := strings.CutPrefix(line, "\x1b["); ok {
				codes, after, _ := strings.Cut(rest, "m")
				class, line = styled(class, codes), after
				continue
			}
			end := strings.IndexByte(line, '\x1b')
			if end < 0 {
				end = len(line)
			}
			text := line[:end]
			line = line[end:]
			if trimmed := strings.TrimRight(text, " "); trimmed != "" {
				attr := ""
				if len(class) > 0 {
					attr = fmt.Sprintf(` class="%s"`, strings.Join(class, " "))
				}
				fmt.Fprintf(&b, "<text x=\"%.1f\" y=\"%.0f\" textLength=\"%.1f\"%s>%s</text>\n", margin+float64(x)*cellWidth, margin+float64(y+1)*cellHeight-4,
					float64(len([]rune(trimmed)))*cellWidth, attr, html.EscapeString(trimmed))
			}
			x += len([]rune(text))
		}
	}
	return b.String()
}

// styled returns the classes after a change of style.
func styled(class []string, codes string) []string {
	class = slices.Clone(class)
	drop := func(is func(string) bool) { class = slices.DeleteFunc(class, is) }
	for code := range strings.SplitSeq(codes, ";") {
		n, _ := strconv.Atoi(code) // empty means 0
		color := func(c string) bool { return c[0] == 'c' }
		switch {
		case n == 0:
			class = nil
		case n == 1:
			class = append(class, "b")
		case n == 2:
			class = append(class, "d")
		case n == 3:
			class = append(class, "i")
		case n == 4:
			class = append(class, "u")
		case n == 39:
			drop(color)
		case n >= 30 && n <= 37:
			drop(color)
			class = append(class, fmt.Sprintf("c%d", n-30))
		case n >= 90 && n <= 97:
			drop(color)
			class = append(class, fmt.Sprintf("c%d", n-90+8))
		}
	}
	return class
}
