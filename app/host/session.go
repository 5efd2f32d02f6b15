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

	turns  sync.Mutex    // held while a turn runs
	saving chan struct{} // has an element while the session is being written

	mu      sync.Mutex
	saved   Saved // without rows and handles
	talk    conversation
	handles handles
	isNew   bool // not in the store yet
	claimed bool // this host is the owner
	flow    map[[2]string]bool
	skills  map[skillKey]heldSkill
	last    *llm.Request
	calls   int
	stop    context.CancelFunc
	inbox   []llm.Message // results of tasks, to be added between turns or requests
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

// Send sends a message of the user to the model and returns when the turn has
// ended. The message is saved first, and each result when its call ends. Events
// report the progress; the error says why a turn failed.
//
// @server:uri and /server:prompt are resolved, so the text must be typed by the
// user. See [Session.SendWith] for text from elsewhere.
func (s *Session) Send(ctx context.Context, text string) error { return s.SendWith(ctx, text, "") }

// SendWith is Send with data below the typed text, such as text from a pipe:
// nothing in data is resolved. Either may be empty.
func (s *Session) SendWith(ctx context.Context, typed, data string) error {
	if !s.turns.TryLock() {
		return ErrBusy
	}
	defer s.endTurn()
	if err := s.Claim(false); err != nil {
		return err
	}
	s.takeDelivered()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	s.stop = cancel
	s.mu.Unlock()
	s.host.emit(Event{Kind: EventTurn, Session: s.ID, Text: below(typed, data)})
	var stop string
	err := recovering(func() (err error) {
		stop = "error" // unless the turn ends normally
		stop, err = s.send(ctx, typed, data)
		return err
	})
	if err != nil && ctx.Err() != nil {
		stop, err = "cancelled", ctx.Err()
	}
	if err != nil && stop != "cancelled" {
		s.host.emit(Event{Kind: EventError, Session: s.ID, Text: err.Error()})
	}
	s.closeCalls(func(llm.ToolCall) string { return "The call was cancelled by the person." })
	s.save()
	s.mu.Lock()
	s.stop = nil
	s.mu.Unlock()
	s.host.emit(Event{Kind: EventDone, Session: s.ID, Stop: stop})
	return err
}

func (s *Session) send(ctx context.Context, typed, data string) (string, error) {
	model := s.host.Model()
	if model == nil {
		return "error", ErrNoModel
	}
	text := below(typed, data)
	var row int64 = -1
	if strings.TrimSpace(text) != "" {
		row = s.add(llm.User(text))
		s.save()
	}
	said, err := s.input(ctx, model.Info(), typed, data)
	s.mu.Lock()
	if at := s.talk.index(row); err != nil && at >= 0 { // no message was sent
		s.talk.drop(at, at+1)
	} else if err == nil && (len(said[0].Parts) > 1 || said[0].Text() != text) {
		s.talk.set(row, said[0]) // with its attachments
	}
	s.mu.Unlock()
	if err != nil {
		return "error", err
	}
	for _, m := range said[1:] {
		s.add(m)
	}
	s.save()
	return s.turn(ctx, model)
}

// Undo removes the last turn from the conversation and returns the user's
// message. The effects of calls remain.
func (s *Session) Undo() (text string, err error) {
	if !s.turns.TryLock() {
		return "", ErrBusy
	}
	defer s.endTurn()
	if err := s.Claim(false); err != nil {
		return "", err
	}
	s.mu.Lock()
	at := -1
	for i, r := range s.talk.rows {
		if r.Message.Role == llm.RoleUser {
			at = i
		}
	}
	if at >= 0 {
		text = s.talk.rows[at].Message.Text()
		s.talk.drop(at, len(s.talk.rows))
		s.saved.Changed = time.Now()
	}
	s.mu.Unlock()
	if at < 0 {
		return "", errors.New("nothing to undo")
	}
	s.save()
	return text, nil
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

// closeCalls adds a result to each call of the last answer that has none, since
// providers refuse a conversation with open calls.
func (s *Session) closeCalls(why func(llm.ToolCall) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.talk.open() {
		r := llm.TextResult(c.ID, why(c))
		r.IsError = true
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
	all := s.talk.messages()
	if n := len(all); n > 0 { // the messages before the last are sent again
		last := all[n-1]
		last.Parts = slices.Clone(last.Parts)
		last.Parts[len(last.Parts)-1].CacheMark = true
		all[n-1] = last
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
		Turns: s.talk.turns(), Usage: s.saved.Usage, Folder: s.saved.Folder, OneShot: s.saved.OneShot,
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

// system returns the system text: the user's, the host's, and the instructions of
// servers.
func (s *Session) system() string {
	text := baseRules
	if s.host.offersSkills() {
		text += skillRules
	}
	text += s.host.advice()
	if s.host.opts.System != "" {
		text = s.host.opts.System + "\n\n" + text
	}
	return text
}

// spent adds to the session's usage.
func (s *Session) spent(u llm.Usage) {
	m := s.host.Model()
	s.mu.Lock()
	s.saved.Usage = s.saved.Usage.Add(u)
	if m != nil {
		s.saved.Model = m.Info().String()
	}
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
