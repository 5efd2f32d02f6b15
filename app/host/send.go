package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
)

// Input is a message of the user. At least one of its texts is not empty.
type Input struct {
	// Typed is text that the user typed: @server:uri and /server:prompt are
	// resolved.
	Typed string `json:"typed,omitzero"`

	// Data is added below Typed, such as text from a pipe. Nothing in it is
	// resolved.
	Data string `json:"data,omitzero"`
}

// SendOptions configure a turn. Nil means no limits besides Options.MaxSteps.
type SendOptions struct {
	// MaxSteps bounds the answers of the model in the turn. 0 means
	// Options.MaxSteps.
	MaxSteps int

	// MaxCost bounds the cost of the turn in USD. No request is sent that would
	// exceed it. The prices of the model must be known. 0 means no limit.
	MaxCost float64

	// Timeout is the time limit that ctx has, for the init event. 0 means none.
	Timeout time.Duration

	// Answer is the form of the answer. Nil means text.
	Answer *AnswerForm
}

// A LimitError reports that a turn ended because of a limit.
type LimitError struct {
	Stop string // max_turns, max_budget, timeout or limit
	Text string
}

func (e *LimitError) Error() string { return e.Text }

// An UnsentError reports that a message was not sent: the conversation does not
// have it.
type UnsentError struct{ Err error }

func (e *UnsentError) Error() string { return e.Err.Error() }
func (e *UnsentError) Unwrap() error { return e.Err }

// A TurnResult says how a turn ended.
type TurnResult struct {
	Stop      string          `json:"stop"`           // as in Event.Stop
	Answer    string          `json:"answer"`         // the text after the last call; at a limit, the last text
	Data      json.RawMessage `json:"data,omitzero"`  // the answer, if SendOptions.Answer is set
	Steps     int             `json:"steps"`          // answers of the model
	Calls     CallCounts      `json:"calls"`          // tool calls by outcome
	Denied    []DeniedCall    `json:"denied"`         // calls that a rule or the user denied
	Failed    []string        `json:"failed"`         // SERVER/TOOL whose last call has no result: the server did not respond or violated the protocol
	Usage     llm.Usage       `json:"usage"`          // of the turn
	Cost      float64         `json:"cost"`           // of the turn in USD
	CostKnown bool            `json:"costKnown"`      // false if the model has no prices: Cost is 0
	Error     *TurnError      `json:"error,omitzero"` // why the turn failed

	Duration   Millis `json:"durationMs"`
	Model      Millis `json:"modelMs"`               // time in requests to the model
	FirstToken Millis `json:"firstTokenMs,omitzero"` // of the first request that was answered
}

// CallCounts counts tool calls by outcome.
type CallCounts struct {
	Done      int `json:"done"`
	Failed    int `json:"failed"`
	Denied    int `json:"denied"`
	Cancelled int `json:"cancelled"`
}

// A DeniedCall is a call that was not made.
type DeniedCall struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
	Why    string `json:"why"`
}

// A TurnError describes the error of a turn.
type TurnError struct {
	Kind    string `json:"kind,omitzero"` // an llm.ErrorKind if the model failed
	Message string `json:"message"`
	Status  int    `json:"status,omitzero"` // of the provider's HTTP response
}

// A turn is the state of a running turn.
type turn struct {
	session *Session
	model   llm.Model
	opts    SendOptions
	began   time.Time
	before  llm.Usage // of the session
	result  TurnResult
	answer  string // text of the last answer
	last    string // text of the last answer that has one
	state   string // of the running step
	bounded bool   // the budget bounds the length of the answer
	failing map[string]bool
	order   []string // keys of failing
	form    formState
}

// Send sends a message of the user to the model and returns when the turn has
// ended. The message is saved first, and each result when its call ends. Events
// report the progress; the error says why a turn failed. It is an *UnsentError if
// the message did not become part of the conversation.
//
// @server:uri and /server:prompt are resolved, so the text must be typed by the
// user. See [Session.SendWith] for text from elsewhere.
func (s *Session) Send(ctx context.Context, text string) error { return s.SendWith(ctx, text, "") }

// SendWith is Send with data below the typed text; see [Input].
func (s *Session) SendWith(ctx context.Context, typed, data string) error {
	_, err := s.SendInput(ctx, Input{Typed: typed, Data: data}, nil)
	return err
}

// SendInput is Send with options. The result is not nil.
func (s *Session) SendInput(ctx context.Context, in Input, o *SendOptions) (*TurnResult, error) {
	return s.sendInput(ctx, in, "", o)
}

// sendInput sends a message; queued is its ID if it is the first of the queue.
func (s *Session) sendInput(ctx context.Context, in Input, queued string, o *SendOptions) (*TurnResult, error) {
	t := &turn{session: s, model: s.host.Model(), began: time.Now(), before: s.Summary().Usage, failing: map[string]bool{}}
	if o != nil {
		t.opts = *o
	}
	if err := s.beginTurn(); err != nil {
		return t.end("error", err), &UnsentError{err}
	}
	defer s.endTurn()
	if err := s.Claim(false); err != nil {
		s.host.emit(Event{Kind: EventError, Session: s.ID, Text: err.Error()})
		return t.end("error", err), &UnsentError{err}
	}
	if queued != "" && !s.isFirst(queued) { // the user took it back
		return t.end("error", ErrNothingQueued), &UnsentError{ErrNothingQueued}
	}
	s.takeDelivered()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.setEnd("", nil)
	s.mu.Lock()
	s.stop, s.stopSet = cancel, false
	t.before = s.saved.Usage
	s.mu.Unlock()
	s.host.emit(Event{Kind: EventTurn, Session: s.ID, Text: below(in.Typed, in.Data)})
	var stop string
	err := recovering(func() (err error) {
		stop = "error" // unless the turn ends normally
		stop, err = t.send(ctx, in, queued)
		return err
	})
	if err != nil && ctx.Err() != nil {
		stop, err = endedBy(ctx)
	}
	if err != nil && stop != "cancelled" {
		s.host.emit(Event{Kind: EventError, Session: s.ID, Text: err.Error()})
	}
	s.closeCalls(func(c llm.ToolCall) string { return s.unmade(ctx, c) }, func(llm.ToolCall) *llm.Made { return nil })
	s.setEnd(stop, err)
	s.save()
	s.mu.Lock()
	s.stop = nil
	s.mu.Unlock()
	r := t.end(stop, err)
	s.host.emit(Event{Kind: EventDone, Session: s.ID, Stop: stop})
	s.host.emit(Event{Kind: EventResult, Session: s.ID, Result: r})
	return r, err
}

// endedBy returns why a turn ended whose context has ended.
func endedBy(ctx context.Context) (stop string, err error) {
	if limit, ok := errors.AsType[*LimitError](context.Cause(ctx)); ok {
		return limit.Stop, limit
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "timeout", ctx.Err()
	}
	return "cancelled", ctx.Err()
}

// stoppedByUser reports whether the user stopped the turn or the step of ctx.
func stoppedByUser(ctx context.Context) bool {
	if ctx.Err() == nil || errors.Is(context.Cause(ctx), ErrLeaving) {
		return false
	}
	stop, _ := endedBy(ctx)
	return stop == "cancelled"
}

// unmade is the text for the model about a call that has no result when its turn
// has ended.
func (s *Session) unmade(ctx context.Context, c llm.ToolCall) string {
	if ctx.Err() == nil {
		return "The call was not made: the turn failed before."
	}
	return cancelledText(ctx, s.saved.Started[c.ID] != "")
}

// effectUnknown tells the model about a call that was sent and has no result.
const effectUnknown = " Whether it has done something is not known: check before you make it again."

// cancelledText is the text for the model about a call that ended with the context
// of its turn or step. Sent reports whether the server may have got it.
func cancelledText(ctx context.Context, sent bool) string {
	why := "by the person"
	switch stop, _ := endedBy(ctx); {
	case errors.Is(context.Cause(ctx), ErrLeaving):
		why = "the host ended"
	case stop != "cancelled":
		why = "the time limit was reached"
	}
	switch {
	case !sent && why == "by the person":
		return "The call was not made: the person stopped it before."
	case !sent:
		return "The call was not made: " + why + " before."
	case why == "by the person":
		return "The call was cancelled by the person." + effectUnknown
	}
	return "The call was cancelled: " + why + "." + effectUnknown
}

// cancelledProblem is cancelledText for the user.
func cancelledProblem(sent bool) string {
	if sent {
		return "Stopped. It may have taken effect."
	}
	return "Stopped before the call was made."
}

// send adds the message of the user to the conversation and runs the turn.
func (t *turn) send(ctx context.Context, in Input, queued string) (string, error) {
	s := t.session
	if t.model == nil {
		return "error", &UnsentError{ErrNoModel}
	}
	unsent := s.addInput(below(in.Typed, in.Data), queued)
	if queued != "" {
		s.emitQueue()
	}
	step, end := s.beginStep(ctx)
	said, err := s.input(step, t.model.Info(), in.Typed, in.Data)
	end()
	if err != nil {
		unsent(err)
		if stepStopped(step) {
			return "cancelled", &UnsentError{errStopped}
		}
		return "error", &UnsentError{err}
	}
	if stepStopped(step) {
		s.StopStep() // the first step
	}
	said[0].Parts = append(said[0].Parts, s.takeNotes()...)
	s.resolved(said, in.Typed)
	s.save()
	return t.run(ctx)
}

// addInput adds a message of the user before it is resolved, so that it is not
// lost, and begins a turn. If the message is queued, it leaves the queue at the
// same time. It returns a function that removes the message; a queued one then
// waits again, with the error as its problem.
func (s *Session) addInput(text, queued string) (remove func(error)) {
	if strings.TrimSpace(text) == "" {
		return func(error) {}
	}
	s.mu.Lock()
	before, undone, isNew := s.saved.Title, s.saved.Undone, s.isNew && len(s.talk.rows) == 0
	waiting := s.queued()
	if queued != "" {
		s.setQueue(waiting[1:])
	}
	if before == "" {
		s.saved.Title = title(text)
	}
	row := s.talk.add(llm.User(text))
	s.saved.Marks = append(s.saved.Marks, TurnMark{Row: row})
	s.saved.Undone, s.saved.Changed = nil, time.Now()
	s.mu.Unlock()
	s.save()
	return func(err error) {
		s.mu.Lock()
		s.saved.Title, s.saved.Undone = before, undone
		s.saved.Marks = s.saved.Marks[:len(s.saved.Marks)-1]
		s.talk.drop(func(r Row) bool { return r.Seq == row })
		if queued != "" {
			waiting[0].Problem = err.Error()
			s.setQueue(append(waiting[:1:1], s.saved.Queued...))
			isNew = false
		}
		s.mu.Unlock()
		if queued != "" {
			s.emitQueue()
		}
		if isNew {
			s.unsave()
		}
	}
}

// isFirst reports whether the queue begins with a message.
func (s *Session) isFirst(queued string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.saved.Queued) > 0 && s.saved.Queued[0].ID == queued
}

// resolved replaces the message of the user by what it stands for.
func (s *Session) resolved(said []llm.Message, typed string) {
	s.mu.Lock()
	n := len(s.saved.Marks) - 1
	row := s.saved.Marks[n].Row
	if at := s.talk.index(row); len(said[0].Parts) > 1 || said[0].Text() != s.talk.rows[at].Message.Text() {
		if strings.HasPrefix(typed, "/") && len(typed) <= maxMarkText {
			s.saved.Marks[n].Text = typed
		}
		s.talk.set(row, said[0]) // with its attachments
	}
	s.mu.Unlock()
	for _, m := range said[1:] {
		s.add(m)
	}
}

// moreSteps returns an error if the model has answered as often as it may.
func (t *turn) moreSteps() *LimitError {
	steps := cmp.Or(t.opts.MaxSteps, t.session.host.opts.MaxSteps, 50)
	if t.result.Steps < steps {
		return nil
	}
	e := &LimitError{Stop: "limit"}
	if t.opts.MaxSteps > 0 {
		e.Stop = "max_turns"
	}
	often := "once"
	if steps > 1 {
		often = fmt.Sprintf("%d times", steps)
	}
	e.Text = "the model has answered " + often + ", as often as it may in one turn, and still wants to call tools; another message in this session lets it continue"
	return e
}

// minTokens is the shortest answer for which a request is sent.
const minTokens = 64

// afford returns an error if a request would exceed the budget of the turn, and
// bounds its answer by what is left.
func (t *turn) afford(r *llm.Request) error {
	if t.opts.MaxCost <= 0 {
		return nil
	}
	prices := t.model.Info().Prices
	left := t.opts.MaxCost - t.used().Cost - float64(sizeOf(r)/4)*prices.Input/1e6
	tokens := minTokens
	if prices.Output > 0 {
		tokens = int(min(left/prices.Output*1e6, 1<<30))
	}
	if left <= 0 || tokens < minTokens {
		return t.outOfBudget()
	}
	if t.bounded = prices.Output > 0 && tokens < maxAnswer; t.bounded {
		r.MaxTokens = tokens
	}
	return nil
}

func (t *turn) outOfBudget() *LimitError {
	return &LimitError{Stop: "max_budget", Text: fmt.Sprintf("the budget of $%.2f does not allow another request; $%.4f are spent", t.opts.MaxCost, t.used().Cost)}
}

// maxAnswer is a length in tokens above which an answer is not bounded.
const maxAnswer = 16_000

// sizeOf returns about how many bytes of text a request has.
func sizeOf(r *llm.Request) int {
	n := len(r.System)
	for _, m := range r.Messages {
		n += len(m.Text())
		for _, c := range m.Calls() {
			n += len(c.Arguments)
		}
	}
	for _, tool := range r.Tools {
		n += len(tool.Name) + len(tool.Description) + len(tool.Schema)
	}
	return n
}

// used returns the usage of the turn.
func (t *turn) used() llm.Usage {
	t.session.mu.Lock()
	now := t.session.saved.Usage
	t.session.mu.Unlock()
	b := t.before
	return now.Add(llm.Usage{Input: -b.Input, Output: -b.Output, CacheRead: -b.CacheRead, CacheWrite: -b.CacheWrite, Cost: -b.Cost})
}

// count records the outcome of a call.
func (t *turn) count(p plannedCall) {
	if p.form {
		return
	}
	c := p.call
	name := c.Server + "/" + c.Tool
	switch c.Phase {
	case CallDone:
		t.result.Calls.Done++
	case CallDenied:
		t.result.Calls.Denied++
		t.result.Denied = append(t.result.Denied, DeniedCall{c.Server, c.Tool, c.Rule})
	case CallCancelled:
		t.result.Calls.Cancelled++
	default:
		t.result.Calls.Failed++
	}
	if _, known := t.failing[name]; !known && c.broken {
		t.order = append(t.order, name)
	}
	if c.broken || c.Phase == CallDone {
		t.failing[name] = c.broken
	}
}

// end returns the result of the turn.
func (t *turn) end(stop string, err error) *TurnResult {
	r := &t.result
	r.Stop, r.Duration, r.Usage = stop, Millis(time.Since(t.began)), t.used()
	r.Cost = r.Usage.Cost
	r.CostKnown = r.Cost > 0 || t.model != nil && t.model.Info().Prices != (llm.Prices{})
	r.Answer = t.answer
	if _, limit := errors.AsType[*LimitError](err); limit || stop == "timeout" {
		r.Answer = cmp.Or(t.answer, t.last)
	}
	if r.Data != nil {
		r.Answer = string(r.Data)
	}
	r.Denied = orEmpty(r.Denied)
	r.Failed = []string{}
	for _, name := range t.order {
		if t.failing[name] {
			r.Failed = append(r.Failed, name)
		}
	}
	if err != nil {
		r.Error = &TurnError{Kind: string(llm.KindOf(err)), Message: err.Error()}
		if e, ok := errors.AsType[*llm.Error](err); ok {
			r.Error.Status = e.Status
		}
	}
	return r
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
