package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
)

// ErrNothingQueued reports that no message waits.
var ErrNothingQueued = errors.New("no message waits to be sent")

// maxQueued bounds the messages that wait in a session.
const maxQueued = 100

// A Queued is a message of the user that waits while a turn runs. The model gets
// it after the running calls, or as the next turn; see [Session.Queue].
type Queued struct {
	ID string `json:"id"`
	Input

	// Problem says why the message could not be sent, such as an attachment that
	// cannot be read. It and those after it wait until the user sends them again
	// with SendQueued, or takes it back.
	Problem string `json:"problem,omitzero"`
}

// Text returns the message as the user sees it.
func (q Queued) Text() string { return below(q.Typed, q.Data) }

// Queue adds a message to those that wait, and saves it. While a turn runs, the
// model gets the waiting messages, in order, before the next request of the turn.
// What waits when a turn has ended stays until SendQueued sends it. Each change
// of the queue is an event.
func (s *Session) Queue(in Input) (Queued, error) {
	if strings.TrimSpace(below(in.Typed, in.Data)) == "" {
		return Queued{}, errors.New("nothing to send")
	}
	if err := s.Claim(false); err != nil {
		return Queued{}, err
	}
	q := Queued{ID: "q-" + strings.ToLower(rand.Text()[:8]), Input: in}
	s.mu.Lock()
	if len(s.saved.Queued) >= maxQueued {
		s.mu.Unlock()
		return Queued{}, fmt.Errorf("%d messages wait already: send or remove some of them", maxQueued)
	}
	s.setQueue(append(s.queued(), q))
	s.mu.Unlock()
	s.save()
	s.emitQueue()
	return q, nil
}

// Queued returns the messages that wait, oldest first.
func (s *Session) Queued() []Queued {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queued()
}

// queued returns a copy of the queue. The lock is held.
func (s *Session) queued() []Queued { return append([]Queued{}, s.saved.Queued...) }

// setQueue replaces the queue. The lock is held.
func (s *Session) setQueue(all []Queued) {
	s.saved.Queued, s.saved.Changed = all, time.Now()
}

// Unqueue removes a message that waits and returns it, so that the user can
// change it. The error is ErrNothingQueued if the model has it already.
func (s *Session) Unqueue(id string) (Queued, error) {
	s.mu.Lock()
	all := s.queued()
	i := slices.IndexFunc(all, func(q Queued) bool { return q.ID == id })
	if i < 0 {
		s.mu.Unlock()
		return Queued{}, ErrNothingQueued
	}
	q := all[i]
	s.setQueue(slices.Delete(all, i, i+1))
	s.mu.Unlock()
	s.save()
	s.emitQueue()
	return q, nil
}

// SendQueued sends the messages that wait as a turn; see [Session.SendInput]. It
// tries one again that has a Problem. If none waits, the error wraps
// ErrNothingQueued.
func (s *Session) SendQueued(ctx context.Context, o *SendOptions) (*TurnResult, error) {
	s.mu.Lock()
	all := s.queued()
	s.mu.Unlock()
	if len(all) == 0 {
		return (&turn{session: s}).end("error", ErrNothingQueued), &UnsentError{ErrNothingQueued}
	}
	return s.sendInput(ctx, all[0].Input, all[0].ID, o)
}

// NextQueued reports whether a message waits that needs no decision of the user:
// a turn that has ended normally is followed by it.
func (s *Session) NextQueued() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.saved.Queued) > 0 && s.saved.Queued[0].Problem == ""
}

func (s *Session) emitQueue() {
	s.host.emit(Event{Kind: EventQueue, Session: s.ID, Queue: s.Queued()})
}

// takeQueued adds the messages that wait to the conversation. One that cannot be
// resolved stays, with its problem, and so do those after it. It is called while
// no call is open.
func (t *turn) takeQueued(ctx context.Context) {
	s := t.session
	for s.NextQueued() {
		q := s.Queued()[0]
		said, err := s.input(ctx, t.model.Info(), q.Typed, q.Data)
		if err != nil {
			s.queueProblem(q, err, ctx)
			return
		}
		if !s.dequeue(q, said) {
			continue // the user took it back
		}
		s.save()
		s.emitQueue()
		s.host.emit(Event{Kind: EventMessage, Session: s.ID, Text: q.Text()})
	}
}

// queueProblem records why a message that waits was not sent.
func (s *Session) queueProblem(q Queued, err error, ctx context.Context) {
	q.Problem = err.Error()
	if ctx.Err() != nil {
		q.Problem = "stopped while its attachments were read"
	}
	s.mu.Lock()
	all := s.queued()
	if i := slices.IndexFunc(all, func(o Queued) bool { return o.ID == q.ID }); i >= 0 {
		all[i].Problem = q.Problem
		s.setQueue(all)
	}
	s.mu.Unlock()
	s.save()
	s.emitQueue()
	s.host.emit(Event{Kind: EventNotice, Session: s.ID, Text: fmt.Sprintf("A message was not sent and still waits: %s.", s.host.safe(q.Problem))})
}

// dequeue moves a message from the queue to the conversation. It returns false if
// the queue does not have it.
func (s *Session) dequeue(q Queued, said []llm.Message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.queued()
	i := slices.IndexFunc(all, func(o Queued) bool { return o.ID == q.ID })
	if i < 0 {
		return false
	}
	s.setQueue(slices.Delete(all, i, i+1))
	s.saved.Undone = nil
	mark := TurnMark{Row: s.talk.next}
	if strings.HasPrefix(q.Typed, "/") && len(q.Typed) <= maxMarkText {
		mark.Text = q.Typed
	}
	s.saved.Marks = append(s.saved.Marks, mark)
	for _, m := range said {
		s.talk.add(m)
	}
	return true
}
