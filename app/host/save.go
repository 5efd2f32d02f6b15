package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/mcp"
)

// fill sets the session from the store.
func (s *Session) fill(saved *Saved) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replace(saved)
}

// replace is fill while the lock is held.
func (s *Session) replace(saved *Saved) {
	s.saved, s.talk, s.handles = *saved, newConversation(saved.Rows), newHandles()
	s.saved.Rows, s.saved.Handles = nil, nil
	for _, turn := range s.saved.Undone {
		for _, r := range turn.Rows { // their numbers are not used again
			s.talk.next = max(s.talk.next, r.Seq+1)
		}
	}
	if s.saved.Marks == nil {
		s.saved.Marks = marksOf(saved.Rows)
	}
	for name, raw := range saved.Handles {
		var k kept
		if mcp.Unmarshal(raw, &k) == nil {
			s.handles.all[name] = k
		}
	}
}

// refresh reads a session again that another process may have written, or has
// taken over from this one. A session with a turn that runs, or with changes
// that are not saved, stays as it is: it becomes a copy when it is saved.
func (s *Session) refresh() error {
	store := s.host.opts.Store
	if store == nil {
		return nil
	}
	s.saving <- struct{}{} // nothing is on its way to the store
	defer func() { <-s.saving }()
	s.mu.Lock()
	id, claimed, settled := s.saved.ID, s.claimed, s.settled()
	s.mu.Unlock()
	if !settled {
		return nil
	}
	if claimed {
		if o, err := store.Owner(id); err != nil || o.ID == s.host.owner.ID {
			return err
		}
	}
	saved, err := store.Load(id)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.settled() && s.claimed == claimed {
		s.claimed = false
		s.replace(saved)
	}
	return nil
}

// settled reports whether no turn runs and everything is saved. The lock is held.
func (s *Session) settled() bool {
	return !s.isNew && s.stop == nil && len(s.talk.dirty) == 0 && len(s.talk.gone) == 0 && len(s.handles.dirty) == 0
}

// isCopy reports whether the session became a copy with its own id and its turn
// has ended. Its events have the previous id.
func (s *Session) isCopy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.saved.ID != s.ID && s.stop == nil
}

// drop removes a session that became a copy, so that both ids name what the store
// has under them.
func (h *Host) drop(s *Session) {
	h.mu.Lock()
	maps.DeleteFunc(h.sessions, func(_ string, other *Session) bool { return other == s })
	h.mu.Unlock()
	s.release()
}

// Claim makes this host the owner of the session, so that it can continue. If
// another process has it open, the error is a *OpenElsewhereError; with takeOver,
// that process continues with a copy. Calls that were running when an earlier
// process ended are reported to the user and the model. Send and Call claim a
// session, without taking over.
func (s *Session) Claim(takeOver bool) error {
	s.mu.Lock()
	claimed := s.claimed
	s.mu.Unlock()
	if claimed || s.host.opts.Store == nil {
		return nil
	}
	saved, err := s.host.opts.Store.Claim(s.ID, s.host.owner, takeOver)
	if err != nil {
		return err
	}
	s.fill(saved)
	s.mu.Lock()
	s.claimed = true
	s.saved.OneShot = s.saved.OneShot && s.host.opts.OneShot // a user continues it
	started := maps.Clone(s.saved.Started)
	s.mu.Unlock()
	records := s.host.recorded(saved.ID)
	s.recover(started, records)
	s.resumeTasks(records)
	return nil
}

// recover ends the calls that had no result when their process ended. Those in
// tasks go on in the background.
func (s *Session) recover(started map[string]string, tasks []savedTask) {
	goesOn := map[string]string{}
	for _, t := range tasks {
		goesOn[t.call.ID] = t.record.ID
	}
	s.closeCalls(func(c llm.ToolCall) string {
		switch {
		case goesOn[c.ID] != "":
			return backgroundText(goesOn[c.ID])
		case started[c.ID] != "":
			return "The host ended while this call was running. Whether it has done something is not known: check before you make it again."
		}
		return "The call was not made: the host ended before."
	}, func(c llm.ToolCall) *llm.Made {
		server, tool, sent := strings.Cut(started[c.ID], "/")
		if !sent {
			return nil
		}
		return &llm.Made{Server: server, Tool: tool, About: s.host.aboutCall(c.Arguments)}
	})
	for _, id := range slices.Sorted(maps.Keys(started)) {
		if goesOn[id] == "" {
			s.host.emit(Event{Kind: EventNotice, Session: s.ID, Text: fmt.Sprintf("%s was running when Tenon ended. It may or may not have taken effect.", s.host.safe(started[id]))})
		}
	}
	if len(started) > 0 {
		s.save()
	}
}

// CopySession returns a new conversation with the content of another one.
func (h *Host) CopySession(id string) (*Session, error) {
	if h.opts.Store == nil {
		return nil, fmt.Errorf("session %s: %w", id, ErrNoSession)
	}
	saved, err := h.opts.Store.Load(id)
	if err != nil {
		return nil, err
	}
	var from Session
	from.fill(saved)
	from.asCopy()
	started := from.saved.Started
	from.saved.Queued = nil // the original sends them
	s := h.newSession(from.saved, from.talk, from.handles)
	s.recover(started, nil)
	s.save()
	return s, nil
}

// asCopy makes a session one that is not in the store. The lock is held, or not
// needed.
func (s *Session) asCopy() {
	if s.saved.Title != "" {
		s.saved.Title += " (copy)"
	}
	s.isNew = true
	s.talk.allUnsaved()
	s.handles.allUnsaved()
}

// LastSession returns the id of the latest session of a folder that is not
// OneShot.
func (h *Host) LastSession(folder string) (string, error) {
	all, err := h.Sessions()
	if err != nil {
		return "", err
	}
	for _, s := range all {
		if s.Folder == folder && !s.OneShot {
			return s.ID, nil
		}
	}
	return "", fmt.Errorf("last session of %s: %w", folder, ErrNoSession)
}

// save writes the changes since the last save. If another process has taken the
// session over, this one becomes a copy.
func (s *Session) save() {
	store := s.host.opts.Store
	if store == nil {
		return
	}
	s.saving <- struct{}{} // one write at a time
	defer func() { <-s.saving }()
	if s.isEmpty() {
		return
	}
	u := s.update()
	err := store.Save(u)
	if elsewhere, ok := errors.AsType[*OpenElsewhereError](err); ok {
		by := "another process"
		if elsewhere.Owner.ID != "" { // the other process still has it
			by = elsewhere.Owner.String()
		}
		s.fork("This session was continued in " + by)
		u = s.update()
		err = store.Save(u)
	} else if errors.Is(err, ErrNoSession) {
		s.fork("This session was deleted")
		u = s.update()
		err = store.Save(u)
	}
	if err == nil {
		return
	}
	s.mu.Lock()
	s.isNew = u.New
	s.talk.unsaved(u.Rows, u.Drop)
	for name := range u.Handles {
		s.handles.dirty[name] = true
	}
	s.mu.Unlock()
	s.host.emit(Event{Kind: EventNotice, Session: s.ID, Text: "Cannot save the session: " + err.Error()})
}

// isEmpty reports whether nothing was said in a session that is not in the store.
func (s *Session) isEmpty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isNew && s.saved.Title == "" && len(s.talk.rows) == 0 && len(s.saved.Queued) == 0
}

// unsave removes a session from the store whose only message was not sent.
func (s *Session) unsave() {
	store := s.host.opts.Store
	if store == nil {
		return
	}
	s.saving <- struct{}{}
	defer func() { <-s.saving }()
	s.mu.Lock()
	id := s.saved.ID
	s.mu.Unlock()
	if store.Delete(id) != nil { // it stays, without a message
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isNew = true
	s.talk.gone = nil
	s.handles.allUnsaved()
}

// update returns what must be written, and marks it as written.
func (s *Session) update() *Update {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := &Update{Saved: s.saved, Owner: s.host.owner, New: s.isNew}
	u.Sources, u.Started = slices.Clone(u.Sources), maps.Clone(u.Started)
	u.Turns, u.Marks = len(u.Marks), slices.Clone(u.Marks)
	for i := range u.Marks {
		u.Marks[i].Text = s.host.redact(u.Marks[i].Text)
	}
	u.Queued = s.queued()
	for i := range u.Queued {
		u.Queued[i].Typed, u.Queued[i].Data = s.host.redact(u.Queued[i].Typed), s.host.redact(u.Queued[i].Data)
	}
	u.Undone = s.host.storedTurns(u.Undone)
	u.Rows, u.Drop = s.talk.changes()
	u.Title = s.host.redact(u.Title)
	for i, r := range u.Rows {
		u.Rows[i].Message = s.host.stored(r.Message)
	}
	u.Handles = map[string]json.RawMessage{}
	for name := range s.handles.dirty {
		if raw, err := json.Marshal(s.handles.all[name]); err == nil {
			u.Handles[name] = raw
		}
	}
	s.handles.dirty = map[string]bool{}
	s.isNew = false
	return u
}

// stored returns m as it is saved: without the known secrets, and without the
// arguments of calls whose names are those of secrets. The conversation in memory
// keeps these arguments for the model.
func (h *Host) stored(m llm.Message) llm.Message {
	m.Parts = h.storedParts(m.Parts)
	return m
}

func (h *Host) storedParts(parts []llm.Part) []llm.Part {
	parts = slices.DeleteFunc(slices.Clone(parts), func(p llm.Part) bool {
		// A provider refuses thinking whose text does not fit its signature, and the
		// signature may contain the text.
		return p.Kind == llm.PartThinking && (h.redact(p.Text) != p.Text || h.redact(p.Signature) != p.Signature)
	})
	for i := range parts {
		p := &parts[i]
		p.Text = h.redact(p.Text)
		if h.redact(p.Signature) != p.Signature {
			p.Signature = ""
		}
		if p.Call != nil {
			call := *p.Call
			call.Arguments = llm.RawMessage(h.known.NamedJSON(call.Arguments))
			p.Call = &call
		}
		if p.Result != nil {
			result := *p.Result
			result.Parts = h.storedParts(result.Parts)
			p.Result = &result
		}
	}
	return parts
}

// fork makes this session a copy with its own id in the store.
func (s *Session) fork(why string) {
	id := newSessionID()
	s.mu.Lock()
	s.saved.ID = id
	s.asCopy()
	s.mu.Unlock()
	s.host.mu.Lock()
	s.host.sessions[id] = s
	s.host.mu.Unlock()
	s.host.emit(Event{Kind: EventNotice, Session: s.ID, Text: fmt.Sprintf("%s. Here it continues as the copy %s.", why, id)})
}

// release lets other processes use the session, unless a turn runs.
func (s *Session) release() {
	if s.host.opts.Store == nil || !s.turns.TryLock() {
		return
	}
	defer s.turns.Unlock()
	s.mu.Lock()
	id, mine := s.saved.ID, s.claimed && !s.isNew
	s.claimed = s.isNew
	s.mu.Unlock()
	if mine {
		s.host.opts.Store.Release(id, s.host.owner) // without it, the session counts as open while the process runs
	}
}

// starting saves that a call is about to be made.
func (s *Session) starting(call *ToolCall) {
	s.mu.Lock()
	if s.saved.Started == nil {
		s.saved.Started = map[string]string{}
	}
	s.saved.Started[call.ID] = call.Server + "/" + call.Tool
	s.mu.Unlock()
	s.save()
}

// ended saves the result of a call.
func (s *Session) ended(r llm.ToolResult) {
	s.mu.Lock()
	delete(s.saved.Started, r.CallID)
	s.talk.add(llm.Results(r))
	s.mu.Unlock()
	s.save()
}
