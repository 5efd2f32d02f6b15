package term

import (
	"errors"
	"os"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// An editedMsg says that the user has left the editor.
type editedMsg struct {
	file string
	err  error
}

// openEditor opens the text of the input in the user's editor. It comes back to the
// input, and is not sent.
func (s *screen) openEditor() tea.Cmd {
	f, err := os.CreateTemp("", "tenon-message-*.md")
	if err != nil {
		s.note("!", err.Error())
		return nil
	}
	_, err = f.WriteString(s.input.text)
	if err := errors.Join(err, f.Close()); err != nil {
		os.Remove(f.Name())
		s.note("!", err.Error())
		return nil
	}
	cmd, err := editorCommand(f.Name())
	if err != nil {
		os.Remove(f.Name())
		s.note("!", "Cannot open the editor: "+err.Error())
		return nil
	}
	cmd.Stdout = s.t.o.Out // the terminal itself, not what bubbletea writes to
	s.editing.Store(true)
	return tea.ExecProcess(cmd, func(err error) tea.Msg { return editedMsg{f.Name(), err} })
}

// edited takes the text of the editor. After a failure the input stays as it was.
func (s *screen) edited(m editedMsg) {
	defer os.Remove(m.file)
	if m.err != nil {
		s.note("!", "The editor failed, so the message is as it was: "+m.err.Error())
		return
	}
	text, err := os.ReadFile(m.file)
	if err != nil {
		s.note("!", err.Error())
		return
	}
	s.input.set("")
	s.input.insert(strings.TrimRight(string(text), "\r\n"))
	s.completed, s.picked = completion{}, -1
}
