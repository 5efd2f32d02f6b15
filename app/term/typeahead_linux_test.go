package term

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/llm/keyword"
	"github.com/tenon-mcp/tenon/internal/ptytest"
)

// slowModel is the keyword model, which answers when it may.
type slowModel struct {
	keyword.Model
	asked, may chan struct{}
}

func (m slowModel) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.Event, error] {
	m.asked <- struct{}{}
	<-m.may
	return m.Model.Stream(ctx, r)
}

// A line typed while the model works does not answer the question that comes
// of it, not even if its end is typed after the question. It is a chat line
// after the question.
func TestPlainLinesTypedAheadAnswerNothing(t *testing.T) {
	s := ptytest.New(t)
	feed := NewFeed()
	m := slowModel{asked: make(chan struct{}, 9), may: make(chan struct{}, 9)}
	w := desk(t, m, feed, nil)
	ended := make(chan error, 1)
	go func() {
		ended <- RunPlain(t.Context(), w, Options{Feed: feed, In: s.TTY, Out: s.TTY})
	}()
	s.Sees("> ")
	s.Press("add 2 and 3\r")
	<-m.asked
	s.Press("always\ronc")
	s.Sees("always\r\nonc") // the terminal has it
	m.may <- struct{}{}
	s.Sees("? Allow calc/add?")
	s.Sees("saved for later: always")
	s.Sees("as JSON: ")
	s.Press("e\r")
	s.Sees("saved for later: e")
	s.Sees("as JSON: ")
	if strings.Contains(s.Text(), "✓") || len(w.Host.Asks()) != 1 {
		t.Fatalf("what was typed ahead has answered:\n%s", s.Text())
	}
	s.Press("once\r")
	s.Sees("✓ calc/add")
	s.Sees("Allowed once")
	for range 3 { // the answer to the result, and to the two lines
		m.may <- struct{}{}
	}
	s.Sees("> always")
	s.Sees("> e")
	s.Sees("> ")
	s.Press("/quit\r")
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
