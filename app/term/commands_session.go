package term

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/app/args"
	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/internal/safefile"
)

// runCompact replaces the older part of the conversation by a summary. Words are
// what it must have.
func runCompact(ctx context.Context, t *talk, words []string, _ *show.Printer) (outcome, error) {
	before, after, err := t.now().Compact(ctx, strings.Join(words, " "))
	if err != nil {
		return outcome{}, err
	}
	if after >= before {
		return outcome{notes: []string{fmt.Sprintf("Summarized. The conversation still takes about %s tokens.", thousands(after))}}, nil
	}
	return outcome{notes: []string{fmt.Sprintf("Summarized: about %s tokens instead of %s, %s saved.", thousands(after), thousands(before), thousands(before-after))}}, nil
}

// runClear starts a new conversation.
func runClear(_ context.Context, t *talk, _ []string, _ *show.Printer) (outcome, error) {
	old := t.now().Summary()
	t.change(t.w.Host.NewSession())
	note := "New conversation."
	if old.Title != "" {
		note = "New conversation. The previous one is saved: /resume " + old.ID + " continues it."
	}
	return outcome{session: true, notes: []string{note}}, nil
}

// runResume continues a session, or lists the sessions: those of this folder
// first, then those of others, the latest first.
func runResume(_ context.Context, t *talk, words []string, _ *show.Printer) (outcome, error) {
	if len(words) > 0 {
		s, err := t.open(words)
		if err != nil {
			return outcome{}, err
		}
		t.change(s)
		return outcome{session: true}, nil
	}
	all, err := t.w.Host.Sessions()
	if err != nil {
		return outcome{}, err
	}
	here := t.now().Summary()
	a := outcome{list: "sessions"}
	for _, s := range byFolder(all, here.Folder) {
		if s.ID == here.ID && s.Title == "" {
			continue
		}
		about := []string{count(s.Turns, "message", "messages"), age(time.Since(s.Changed))}
		if s.OneShot {
			about = append([]string{"run"}, about...)
		}
		if s.ID == here.ID {
			about = append([]string{"open"}, about...)
		}
		group := folderName(s.Folder)
		if s.Folder == here.Folder {
			group = "This folder"
		}
		a.items = append(a.items, listItem{value: s.ID, text: line(cmp.Or(s.Title, "(empty)")), about: strings.Join(about, " · "), group: group})
	}
	return a, nil
}

// byFolder orders sessions, which are the latest first: those of a folder, and
// then folder by folder, the one with the latest session first.
func byFolder(all []host.Summary, here string) []host.Summary {
	order := map[string]int{here: 0}
	for _, s := range all {
		if _, known := order[s.Folder]; !known {
			order[s.Folder] = len(order)
		}
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b host.Summary) int { return order[a.Folder] - order[b.Folder] })
	return all
}

// folderName returns a folder for people.
func folderName(folder string) string {
	if folder == "" {
		return "No folder"
	}
	if home, err := os.UserHomeDir(); err == nil && home != "" {
		if rest, err := filepath.Rel(home, folder); err == nil && filepath.IsLocal(rest) {
			return line(filepath.Join("~", rest))
		}
	}
	return line(folder)
}

// age says how long ago something was.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return count(int(d.Hours()/24), "day", "days") + " ago"
}

// runExport writes the conversation to a file: as Markdown, or as JSON if the name
// ends with .json. It replaces a file only if told to.
func runExport(_ context.Context, t *talk, words []string, _ *show.Printer) (outcome, error) {
	s := t.now()
	if len(s.Messages()) == 0 {
		return outcome{}, errors.New("the conversation is empty")
	}
	replace := len(words) == 2 && words[1] == "replace"
	if len(words) > 1 && !replace {
		return outcome{}, fmt.Errorf("unexpected argument %q; write /export FILE, with quotes if the name has spaces, or /export FILE replace", words[1])
	}
	name := exportName(s.Summary())
	if len(words) > 0 {
		name = words[0]
	}
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			name = filepath.Join(home, rest)
		}
	}
	text, err := exported(s, t.w.Secrets().Known, strings.EqualFold(filepath.Ext(name), ".json"))
	if err != nil {
		return outcome{}, err
	}
	if replace {
		err = safefile.WritePath(name, text, 0o600)
	} else {
		err = writeNew(name, text)
	}
	if errors.Is(err, fs.ErrExist) {
		return outcome{}, fmt.Errorf("%s exists already; /export %s replace replaces it", name, args.Quote(name))
	}
	if err != nil {
		return outcome{}, err
	}
	return outcome{notes: []string{fmt.Sprintf("Wrote the conversation to %s (%s), without known secrets.", name, size(len(text)))}}, nil
}

// writeNew writes a file that does not exist.
func writeNew(name string, text []byte) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// exportName returns the name of a file for a session: from its title and date.
func exportName(s host.Summary) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s.Title) {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() > 40 {
			break
		}
	}
	return cmp.Or(strings.Trim(b.String(), "-"), "conversation") + s.Created.Format("-2006-01-02") + ".md"
}

// exported returns a conversation without secrets.
func exported(s *host.Session, hide func(string) string, asJSON bool) ([]byte, error) {
	sum, all := s.Summary(), s.StoredMessages()
	sum.Title = hide(sum.Title)
	if asJSON {
		var b bytes.Buffer
		out := json.NewEncoder(&b)
		out.SetEscapeHTML(false)
		out.SetIndent("", "  ")
		err := out.Encode(struct {
			host.Summary
			Messages []llm.Message `json:"messages"`
		}{sum, all})
		return b.Bytes(), err
	}
	return []byte(conversation(sum, all)), nil
}

// conversation writes a conversation as Markdown.
func conversation(sum host.Summary, all []llm.Message) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\nSession %s, %s", sum.Title, sum.ID, sum.Created.Format(time.RFC3339))
	if sum.Model != "" {
		fmt.Fprintf(&b, ", %s", sum.Model)
	}
	b.WriteString("\n")
	for _, m := range all {
		switch m.Role {
		case llm.RoleUser:
			b.WriteString("\n## You\n\n")
		case llm.RoleAssistant:
			b.WriteString("\n## Model\n\n")
		}
		for _, p := range m.Parts {
			switch {
			case p.Kind == llm.PartText:
				fmt.Fprintf(&b, "%s\n", p.Text)
			case p.Call != nil:
				fmt.Fprintf(&b, "\n> %s `%s`\n", p.Call.Name, p.Call.Arguments)
			case p.Result != nil:
				text := unfenced(llm.Results(*p.Result).Text())
				fence := "```"
				for strings.Contains(text, fence) {
					fence += "`"
				}
				fmt.Fprintf(&b, "\n%s\n%s\n%s\n", fence, text, fence)
			case p.Kind == llm.PartImage || p.Kind == llm.PartAudio || p.Kind == llm.PartDocument:
				fmt.Fprintf(&b, "%s\n", llm.Describe(p))
			}
		}
		if m.Stopped {
			fmt.Fprintf(&b, "\n(%s)\n", stoppedNote)
		}
	}
	return b.String()
}

// size formats a number of bytes.
func size(n int) string {
	switch {
	case n < 1<<10:
		return count(n, "byte", "bytes")
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// runCopy copies the last answer: with a program of the system if there is one, and
// through the terminal if the user interface has one.
func runCopy(ctx context.Context, t *talk, _ []string, _ *show.Printer) (outcome, error) {
	text := ""
	for _, m := range slices.Backward(t.now().Messages()) {
		if m.Role == llm.RoleAssistant && strings.TrimSpace(m.Text()) != "" {
			text = strings.TrimSpace(m.Text())
			break
		}
	}
	if text == "" {
		return outcome{}, errors.New("there is no answer to copy yet")
	}
	what := "the last answer (" + count(utf8.RuneCountInString(text), "character", "characters") + ")"
	program, err := copyWith(ctx, text)
	switch {
	case program != "" && err == nil:
		return outcome{clipboard: text, notes: []string{"Copied " + what + " with " + program + "."}}, nil
	case t.terminal:
		return outcome{clipboard: text, notes: []string{"Sent " + what + " to the clipboard of your terminal (OSC 52). If it is not there, your terminal does not allow that: use /export."}}, nil
	case err != nil:
		return outcome{}, fmt.Errorf("%s failed: %w", program, err)
	}
	return outcome{}, errors.New("no program for the clipboard was found (" + strings.Join(clipboardNames(), ", ") + "); /export writes the conversation to a file")
}

// clipboards are programs that copy their standard input.
var clipboards = [][]string{{"pbcopy"}, {"clip.exe"}, {"wl-copy"}, {"xclip", "-selection", "clipboard"}, {"xsel", "--clipboard", "--input"}}

func clipboardNames() (names []string) {
	for _, c := range clipboards {
		names = append(names, c[0])
	}
	return names
}

// copyWith copies a text with the first program that can be used here, and returns
// its name. A program on a remote machine has another clipboard.
func copyWith(ctx context.Context, text string) (program string, err error) {
	if os.Getenv("SSH_CONNECTION") != "" || os.Getenv("SSH_TTY") != "" {
		return "", nil
	}
	for _, c := range clipboards {
		switch c[0] {
		case "wl-copy":
			if os.Getenv("WAYLAND_DISPLAY") == "" {
				continue
			}
		case "xclip", "xsel":
			if os.Getenv("DISPLAY") == "" {
				continue
			}
		}
		path, err := exec.LookPath(c[0])
		if err != nil {
			continue
		}
		ctx, stop := context.WithTimeout(ctx, 5*time.Second)
		defer stop()
		cmd := exec.CommandContext(ctx, path, c[1:]...)
		cmd.Stdin = strings.NewReader(text)
		return c[0], cmd.Run()
	}
	return "", nil
}

// runEditor is for plain lines; the screen opens the editor itself.
func runEditor(context.Context, *talk, []string, *show.Printer) (outcome, error) {
	return outcome{}, errors.New("the editor needs the full screen; start tenon chat in a terminal, without --plain")
}

// editorCommand returns the user's editor for a file.
func editorCommand(file string) (*exec.Cmd, error) {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		value := os.Getenv(name)
		if strings.TrimSpace(value) == "" {
			continue
		}
		words, err := args.Split(value)
		if err != nil || len(words) == 0 {
			return nil, fmt.Errorf("%s=%s cannot be read; set it to a program such as nano", name, value)
		}
		if _, err := exec.LookPath(words[0]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return exec.Command(words[0], append(words[1:], file)...), nil
	}
	known := []string{"editor", "nano", "vi"}
	if runtime.GOOS == "windows" {
		known = []string{"notepad"}
	}
	for _, name := range known {
		if path, err := exec.LookPath(name); err == nil {
			return exec.Command(path, file), nil
		}
	}
	return nil, errors.New("no editor was found: set VISUAL or EDITOR")
}
