package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/permit"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/visible"
)

// maxMarkText is the length in bytes up to which a mark keeps typed text.
const maxMarkText = 2 << 10

// mark begins a turn of the user at a row. Text is what the user typed, if the row
// does not have it.
func (s *Session) mark(row int64, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saved.Marks = append(s.saved.Marks, TurnMark{row, text})
	s.saved.Undone = nil
}

// marksOf returns the marks of a session that was saved without them: every
// message of the user that the host did not write.
func marksOf(rows []Row) []TurnMark {
	var marks []TurnMark
	for _, r := range rows {
		text := r.Message.Text()
		if r.Message.Role != llm.RoleUser || strings.HasPrefix(text, "What was said before, summed up by the host") || strings.HasPrefix(text, "Task ") && strings.HasSuffix(text, " has ended.") {
			continue
		}
		marks = append(marks, TurnMark{Row: r.Seq})
	}
	return marks
}

// An UndoneTurn is a turn that Undo removed, as it is saved for Redo.
type UndoneTurn struct {
	Mark    TurnMark `json:"mark"`
	Rows    []Row    `json:"rows"`
	Stop    string   `json:"stop,omitzero"`
	Problem string   `json:"problem,omitzero"`
}

// Undone says what Undo or Redo did.
type Undone struct {
	Text string `json:"text"` // the user's message

	// Calls are the calls of the turn that may have changed something. Undo does
	// not take back what they did, and Redo does not make them again.
	Calls []ChangingCall `json:"calls"`

	// Unknown is the number of further calls of which it is not known whether they
	// changed something: an older version of Tenon saved them.
	Unknown int `json:"unknown,omitzero"`
}

// A ChangingCall is a call of a tool that does not only read.
type ChangingCall struct {
	Server  string `json:"server"`
	Tool    string `json:"tool"`
	About   string `json:"about,omitzero"`   // its main arguments
	Outcome string `json:"outcome,omitzero"` // empty if it succeeded; failed, error or cancelled: it may have taken effect or not
}

// String describes the call in one line, such as
// "fs/write_file (path: a.txt)".
func (c ChangingCall) String() string {
	text := c.Server + "/" + c.Tool
	if c.About != "" {
		text += " (" + c.About + ")"
	}
	switch c.Outcome {
	case "":
		return text
	case "failed":
		return text + ", which failed"
	}
	return text + ", which may or may not have taken effect"
}

// Left returns the lines that tell the user what stays as it is; nil if no call of
// the turn changed anything.
func (u *Undone) Left() []string {
	var lines []string
	if len(u.Calls) > 0 {
		lines = append(lines, "What these calls did stays as it is:")
		for _, c := range u.Calls {
			lines = append(lines, "  "+c.String())
		}
	}
	if u.Unknown > 0 {
		lines = append(lines, fmt.Sprintf("Whether its %s changed something is not known; what they did stays.", plural(u.Unknown, "call", "calls")))
	}
	return lines
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Undo removes the last turn from the conversation. Results of tasks that an
// earlier turn began stay, and so do the effects of calls, which it returns. Redo
// brings the turn back.
func (s *Session) Undo() (*Undone, error) { return s.change((*Session).takeBack) }

// Redo brings back the turn that Undo removed last. It is possible until the next
// message.
func (s *Session) Redo() (*Undone, error) { return s.change((*Session).bringBack) }

// change runs f while no turn runs, and saves the session.
func (s *Session) change(f func(*Session) (*Undone, error)) (*Undone, error) {
	if err := s.beginTurn(); err != nil {
		return nil, err
	}
	defer s.endTurn()
	if err := s.Claim(false); err != nil {
		return nil, err
	}
	u, err := f(s)
	if err == nil {
		s.mu.Lock()
		s.context = 0 // what the provider counted was for other messages
		s.mu.Unlock()
		s.save()
	}
	return u, err
}

// takeBack removes the rows of the last turn.
func (s *Session) takeBack() (*Undone, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.saved.Marks) - 1
	if n < 0 {
		return nil, errors.New("nothing to undo")
	}
	last := s.saved.Marks[n]
	at := s.talk.index(last.Row)
	if at < 0 {
		return nil, errors.New("the last turn cannot be removed: it was summarized because the conversation was too long")
	}
	stays := delivered(s.talk.rows[at:])
	turn := UndoneTurn{Mark: last, Stop: s.saved.Stop, Problem: s.saved.Problem}
	for _, r := range s.talk.rows[at:] {
		if !stays[r.Seq] {
			turn.Rows = append(turn.Rows, r)
		}
	}
	s.talk.drop(func(r Row) bool { return r.Seq >= last.Row && !stays[r.Seq] })
	s.saved.Marks = s.saved.Marks[:n:n]
	s.saved.Undone = append(s.saved.Undone[:len(s.saved.Undone):len(s.saved.Undone)], turn)
	s.saved.Stop, s.saved.Problem = "", ""
	s.saved.Changed = time.Now()
	return turn.undone(), nil
}

// bringBack adds the rows of the turn that was removed last.
func (s *Session) bringBack() (*Undone, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.saved.Undone) - 1
	if n < 0 {
		return nil, errors.New("nothing to redo: /undo comes first, and a message ends it")
	}
	turn := s.saved.Undone[n]
	s.saved.Undone = s.saved.Undone[:n:n]
	s.talk.restore(turn.Rows)
	s.saved.Marks = append(s.saved.Marks, turn.Mark)
	s.saved.Stop, s.saved.Problem = turn.Stop, turn.Problem
	s.saved.Changed = time.Now()
	return turn.undone(), nil
}

// undone describes the turn for the user.
func (t *UndoneTurn) undone() *Undone {
	u := &Undone{Text: t.Mark.Text, Calls: []ChangingCall{}}
	if u.Text == "" && len(t.Rows) > 0 && len(t.Rows[0].Message.Parts) > 0 {
		u.Text = t.Rows[0].Message.Parts[0].Text
	}
	names := map[string]string{}
	for _, r := range t.Rows {
		for _, c := range r.Message.Calls() {
			names[c.ID] = c.Name
		}
		for _, p := range r.Message.Parts {
			if p.Result == nil {
				continue
			}
			made := p.Result.Made
			switch {
			case made != nil && !made.ReadOnly:
				u.Calls = append(u.Calls, ChangingCall{made.Server, made.Tool, made.About, p.Result.Outcome})
			case made == nil && p.Result.Outcome == "" && strings.Contains(names[p.Result.CallID], "__"):
				u.Unknown++
			}
		}
	}
	return u
}

// maxAbout bounds the characters of a value in aboutCall.
const maxAbout = 80

// aboutCall returns the main arguments of a call in one line, without secrets: what
// it acts on, or else its first short values.
func (h *Host) aboutCall(arguments json.RawMessage) string {
	if rawjson.Check(arguments) != nil || !rawjson.IsObject(arguments) {
		return ""
	}
	var targets, others []string
	for m := rawjson.Object(h.known.NamedJSON(arguments)); m.Next(); {
		name := string(m.Name)
		text, isText := rawjson.String(m.Value)
		if !isText {
			text = string(m.Value)
		}
		text = strings.Join(strings.Fields(visible.Line(h.redact(text))), " ")
		short := []rune(text)
		long := len(short) > maxAbout
		if long {
			text = string(short[:maxAbout]) + "…"
		}
		one := visible.Line(name) + ": " + text
		switch {
		case permit.IsTarget(name):
			targets = append(targets, one)
		case !long:
			others = append(others, one)
		}
	}
	if targets == nil {
		targets = others
	}
	return strings.Join(targets[:min(len(targets), 3)], ", ")
}

// restore adds rows that were dropped, at their places.
func (c *conversation) restore(rows []Row) {
	c.rows = append(c.rows[:len(c.rows):len(c.rows)], rows...)
	slices.SortFunc(c.rows, func(a, b Row) int { return int(a.Seq - b.Seq) })
	for _, r := range rows {
		c.dirty[r.Seq] = true
		c.gone = slices.DeleteFunc(c.gone, func(seq int64) bool { return seq == r.Seq })
	}
}

// storedTurns returns turns as they are saved.
func (h *Host) storedTurns(turns []UndoneTurn) []UndoneTurn {
	turns = slices.Clone(turns)
	for i := range turns {
		turns[i].Mark.Text = h.redact(turns[i].Mark.Text)
		turns[i].Rows = slices.Clone(turns[i].Rows)
		for j := range turns[i].Rows {
			turns[i].Rows[j].Message = h.stored(turns[i].Rows[j].Message)
		}
	}
	return turns
}

// delivered returns the rows with results of tasks that began before these rows.
func delivered(rows []Row) map[int64]bool {
	made := map[string]bool{}
	stays := map[int64]bool{}
	for i, r := range rows {
		for _, c := range r.Message.Calls() {
			id, isTask := strings.CutSuffix(c.ID, taskSuffix)
			if made[c.ID] = true; !isTask || made[id] || i == 0 || i+1 == len(rows) {
				continue
			}
			for _, part := range rows[i-1 : i+2] { // what the host says, the call, its result
				stays[part.Seq] = true
			}
		}
	}
	return stays
}
