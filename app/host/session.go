package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/app/llm"
)

// ErrBusy reports that a turn is running in the session.
var ErrBusy = errors.New("a turn is running in this session: stop it, or wait")

// ErrNoModel reports that no model can answer.
var ErrNoModel = errors.New("no model is connected: choose one with --model, or call tools directly")

// A Session is a conversation. One turn runs at a time.
type Session struct {
	ID   string
	host *Host

	turns  sync.Mutex    // held while messages are added: by a turn, or shortly by others
	saving chan struct{} // has an element while the session is being written

	mu      sync.Mutex
	inTurn  bool  // a turn has begun; see beginTurn
	begun   bool  // the init event was emitted
	saved   Saved // without rows and handles
	talk    conversation
	handles handles
	isNew   bool // not in the store yet
	claimed bool // this host is the owner
	flow    map[[2]string]bool
	skills  map[skillKey]heldSkill
	links   map[link]string // resources that results referred to, with the tools
	told    []string        // digests of notices; see tellOnce
	last    *llm.Request
	context int // tokens of the last request and its answer; 0: unknown
	calls   int
	stop    context.CancelFunc
	stopNow context.CancelCauseFunc // stops the running step; nil between steps
	stopSet bool                    // the next step is stopped when it begins
	notes   []viewNote              // what views tell the model with the next message of the user
	inbox   []llm.Message           // results of tasks, to be added between turns or requests
}

// NewSession starts a conversation.
func (h *Host) NewSession() *Session {
	now := time.Now()
	return h.newSession(Saved{Created: now, Changed: now, Folder: h.opts.Folder, OneShot: h.opts.OneShot}, newConversation(nil), newHandles())
}

func (h *Host) newSession(saved Saved, talk conversation, kept handles) *Session {
	saved.ID = newSessionID()
	s := &Session{ID: saved.ID, host: h, saving: make(chan struct{}, 1), saved: saved, talk: talk, handles: kept, isNew: true, claimed: true, flow: map[[2]string]bool{}}
	h.mu.Lock()
	h.sessions[s.ID] = s
	h.mu.Unlock()
	return s
}

func newSessionID() string {
	return time.Now().UTC().Format("20060102-150405-") + strings.ToLower(rand.Text()[:6])
}

// Session returns a conversation, also of an earlier run. One that another
// process has open can be read; Claim makes this host its owner.
func (h *Host) Session(id string) (*Session, error) {
	h.mu.Lock()
	s := h.sessions[id]
	h.mu.Unlock()
	if s != nil && !s.isCopy() {
		return s, s.refresh()
	}
	if h.opts.Store == nil {
		return nil, fmt.Errorf("session %s: %w", id, ErrNoSession)
	}
	if s != nil {
		h.drop(s)
	}
	saved, err := h.opts.Store.Load(id)
	if err != nil {
		return nil, err
	}
	s = &Session{ID: id, host: h, saving: make(chan struct{}, 1), flow: map[[2]string]bool{}}
	s.fill(saved)
	h.mu.Lock()
	defer h.mu.Unlock()
	if other := h.sessions[id]; other != nil {
		return other, nil
	}
	h.sessions[id] = s
	return s, nil
}

// Sessions lists the saved conversations, latest first.
func (h *Host) Sessions() ([]Summary, error) {
	if h.opts.Store == nil {
		h.mu.Lock()
		sessions := slices.Collect(maps.Values(h.sessions))
		h.mu.Unlock()
		var all []Summary
		for _, s := range sessions {
			all = append(all, s.Summary())
		}
		slices.SortFunc(all, func(a, b Summary) int { return b.Changed.Compare(a.Changed) })
		return all, nil
	}
	return h.opts.Store.List()
}

// setEnd records how a turn ended.
func (s *Session) setEnd(stop string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saved.Stop, s.saved.Problem = stop, ""
	if stop == string(llm.StopEnd) {
		s.saved.Stop = ""
	}
	if err != nil && stop != "cancelled" {
		s.saved.Problem = err.Error()
	}
}

// LastEnd returns how the last turn ended, as [Event] has it, and the error if it
// failed. Stop is empty if the model ended the turn, or a turn runs.
func (s *Session) LastEnd() (stop, problem string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.saved.Stop, s.saved.Problem
}

// Stop cancels the running turn with its requests.
func (s *Session) Stop() {
	s.mu.Lock()
	stop := s.stop
	s.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// errStopped is the cause of the end of a step that the user stopped.
var errStopped = errors.New("stopped by the user")

// StopStep stops the running step of the turn: the request to the model, whose
// text so far stays in the conversation, or the calls, which are cancelled at
// their servers. If messages wait, the turn goes on with them, else it ends with
// the stop reason cancelled. It returns false if no turn runs.
func (s *Session) StopStep() bool {
	s.mu.Lock()
	stop, running := s.stopNow, s.stop != nil
	s.stopSet = running && stop == nil
	s.mu.Unlock()
	if stop != nil {
		stop(errStopped)
	}
	return running
}

// beginStep returns the context of a step, which StopStep ends, and a function
// that ends the step.
func (s *Session) beginStep(ctx context.Context) (step context.Context, end func()) {
	step, stop := context.WithCancelCause(ctx)
	s.mu.Lock()
	s.stopNow = stop
	if s.stopSet {
		stop(errStopped)
		s.stopSet = false
	}
	s.mu.Unlock()
	return step, func() {
		s.mu.Lock()
		s.stopNow = nil
		s.mu.Unlock()
		stop(nil)
	}
}

// stepStopped reports whether the user stopped a step.
func stepStopped(step context.Context) bool { return context.Cause(step) == errStopped }

// closeCalls adds a result to each call of the last answer that has none, since
// providers refuse a conversation with open calls.
func (s *Session) closeCalls(why func(llm.ToolCall) string, made func(llm.ToolCall) *llm.Made) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.talk.open() {
		r := llm.TextResult(c.ID, why(c))
		r.IsError, r.Outcome, r.Made = true, string(CallCancelled), made(c)
		s.talk.add(llm.Results(r))
	}
	s.saved.Started = nil
}

// add appends a message, and titles the session with the first.
func (s *Session) add(m llm.Message) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.saved.Title == "" && m.Role == llm.RoleUser {
		s.saved.Title = title(m.Text())
	}
	s.saved.Changed = time.Now()
	return s.talk.add(m)
}

func title(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) > 60 {
		text = string([]rune(text)[:59]) + "…"
	}
	return text
}

func (s *Session) messages() []llm.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := withStopNotes(s.talk.messages())
	if n := len(all); n > 0 { // the messages before the last are sent again
		last := all[n-1]
		last.Parts = slices.Clone(last.Parts)
		last.Parts[len(last.Parts)-1].CacheMark = true
		all[n-1] = last
	}
	return all
}

// stopNote tells the model, in the message after it, about an answer that the user
// stopped.
const stopNote = "[The person stopped your answer above before it was complete.]"

// withStopNotes adds stopNote after each stopped answer.
func withStopNotes(all []llm.Message) []llm.Message {
	for i := 1; i < len(all); i++ {
		if all[i-1].Stopped && all[i].Role == llm.RoleUser {
			all[i].Parts = append([]llm.Part{llm.Text(stopNote)}, all[i].Parts...)
		}
	}
	return all
}

// Messages returns the conversation.
func (s *Session) Messages() []llm.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.talk.messages()
}

// Summary returns the session's entry in a list.
func (s *Session) Summary() Summary {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Summary{
		ID: s.saved.ID, Title: s.saved.Title, Created: s.saved.Created, Changed: s.saved.Changed, Model: s.saved.Model,
		Turns: len(s.saved.Marks), Usage: s.saved.Usage, Folder: s.saved.Folder, OneShot: s.saved.OneShot,
	}
}

// LastRequest returns the last request to the model, with its tools.
func (s *Session) LastRequest() *llm.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

func (s *Session) remember(r *llm.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = r
}

// system returns the system text: the user's, the host's, the instructions of
// servers and of the project, and where the model works. What changes least comes
// first, so that providers can cache it.
func (s *Session) system() string {
	text := baseRules
	if s.host.offersSkills() {
		text += skillRules
	}
	text += s.host.advice() + s.project() + s.host.surroundings(time.Now())
	if s.host.opts.System != "" {
		text = s.host.opts.System + "\n\n" + text
	}
	if s.host.opts.AppendSystem != "" {
		text += "\n\n" + s.host.opts.AppendSystem
	}
	return text
}

// spent adds what a request to a model has used to the session's usage.
func (s *Session) spent(m llm.Model, u llm.Usage) {
	s.mu.Lock()
	s.saved.Usage = s.saved.Usage.Add(u)
	s.saved.Model = m.Info().String()
	total := s.saved.Usage
	s.mu.Unlock()
	s.host.emit(Event{Kind: EventUsage, Session: s.ID, Usage: &total})
}

// maxKept bounds the bytes of results kept for read_result.
const maxKept = 8 << 20

// A kept is a text of which the model got a part, without secrets.
type kept struct {
	From string `json:"from"`
	Text string `json:"text"` // empty if it was dropped
}

// keep keeps a text for read_result and drops the oldest beyond maxKept.
func (s *Session) keep(k kept) (handle string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.handles.all) + 1 // handles are never removed, so this one is new
	total := len(k.Text)
	for _, old := range s.handles.all {
		total += len(old.Text)
	}
	for i := 1; total > maxKept && i < n; i++ {
		name := handleName(i)
		if old := s.handles.all[name]; old.Text != "" {
			total -= len(old.Text)
			s.handles.set(name, kept{From: old.From})
		}
	}
	s.handles.set(handleName(n), k)
	return handleName(n)
}

func handleName(n int) string { return fmt.Sprintf("r%d", n) }

func (s *Session) kept(handle string) (kept, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.handles.all[handle]
	return k, ok
}

func (s *Session) nextCall() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	return fmt.Sprintf("direct-%d-%d", s.talk.next, s.calls) // unique in a resumed session, too
}

// source records that the conversation has data of a server.
func (s *Session) source(server string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.saved.Sources, server) {
		s.saved.Sources = append(s.saved.Sources, server)
	}
}

func (s *Session) sources() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.saved.Sources)
}

func (s *Session) flowAllowed(from, to string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flow[[2]string{from, to}]
}

func (s *Session) allowFlow(from, to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flow[[2]string{from, to}] = true
}

// DeleteSession deletes a conversation. It stops a running turn and cancels tasks
// first.
func (h *Host) DeleteSession(id string) error {
	h.mu.Lock()
	s := h.sessions[id]
	delete(h.sessions, id)
	h.mu.Unlock()
	if s != nil {
		s.dropTasks()
		s.Stop()
		s.turns.Lock()
		defer s.turns.Unlock()
	}
	if h.opts.Store == nil {
		return nil
	}
	return h.opts.Store.Delete(id)
}
