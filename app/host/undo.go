package host

import (
	"errors"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
)

// maxMarkText is the length in bytes up to which a mark keeps typed text.
const maxMarkText = 2 << 10

// mark begins a turn of the user at a row. Text is what the user typed, if the row
// does not have it.
func (s *Session) mark(row int64, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saved.Marks = append(s.saved.Marks, TurnMark{row, text})
}

// marksOf returns the marks of a session that was saved without them: every
// message of the user that the host did not write.
func marksOf(rows []Row) []TurnMark {
	var marks []TurnMark
	for _, r := range rows {
		text := r.Message.Text()
		if r.Message.Role != llm.RoleUser || strings.HasPrefix(text, summaryHead) || strings.HasPrefix(text, "Task ") && strings.HasSuffix(text, " has ended.") {
			continue
		}
		marks = append(marks, TurnMark{Row: r.Seq})
	}
	return marks
}

// Undo removes the last turn from the conversation and returns the user's
// message. Results of tasks that an earlier turn began stay, and so do the
// effects of calls.
func (s *Session) Undo() (text string, err error) {
	if err := s.beginTurn(); err != nil {
		return "", err
	}
	defer s.endTurn()
	if err := s.Claim(false); err != nil {
		return "", err
	}
	if text, err = s.takeBack(); err == nil {
		s.save()
	}
	return text, err
}

// takeBack removes the rows of the last turn.
func (s *Session) takeBack() (text string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.saved.Marks) - 1
	if n < 0 {
		return "", errors.New("nothing to undo")
	}
	last := s.saved.Marks[n]
	at := s.talk.index(last.Row)
	if at < 0 {
		return "", errors.New("the last turn cannot be removed: it was summarized because the conversation was too long")
	}
	if text = last.Text; text == "" && len(s.talk.rows[at].Message.Parts) > 0 {
		text = s.talk.rows[at].Message.Parts[0].Text
	}
	stays := delivered(s.talk.rows[at:])
	s.talk.drop(func(r Row) bool { return r.Seq >= last.Row && !stays[r.Seq] })
	s.saved.Marks = s.saved.Marks[:n:n]
	s.saved.Stop, s.saved.Problem = "", ""
	s.saved.Changed = time.Now()
	return text, nil
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
