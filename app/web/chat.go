package web

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/tenon-mcp/tenon/app/host"
)

func (s *Server) sessions(*http.Request) (any, error) {
	all, err := s.conversations()
	return map[string]any{"sessions": all}, err
}

// conversations returns the sessions whose first turn runs and is not saved yet,
// and then the saved ones.
func (s *Server) conversations() ([]host.Summary, error) {
	running := s.turns.running() // first: a turn that ends meanwhile is then among the saved
	saved, err := s.work.Host.Sessions()
	all := []host.Summary{}
	for _, id := range running {
		if slices.ContainsFunc(saved, func(x host.Summary) bool { return x.ID == id }) {
			continue
		}
		if one, err := s.work.Host.Session(id); err == nil {
			all = append(all, one.Summary())
		}
	}
	return append(all, saved...), err
}

func (s *Server) newSession(*http.Request) (any, error) {
	return s.work.Host.NewSession().Summary(), nil
}

func (s *Server) chat(r *http.Request) (*host.Session, error) {
	one, err := s.work.Host.Session(r.PathValue("id"))
	if err != nil {
		return nil, fault{http.StatusNotFound, err}
	}
	return one, nil
}

func (s *Server) session(r *http.Request) (any, error) {
	one, err := s.chat(r)
	if err != nil {
		return nil, err
	}
	now := s.turns.of(one.ID) // first: the stream has what happens meanwhile
	out := map[string]any{"session": one.Summary(), "messages": one.Messages(), "views": one.Views(), "queue": one.Queued(), "busy": now != nil}
	if stop, problem := one.LastEnd(); stop != "" {
		out["stop"], out["problem"] = stop, problem
	}
	if now != nil {
		out["turn"] = now
	} else if list := s.noticed.of(one.ID); len(list) > 0 {
		out["notices"] = list
	}
	return out, nil
}

// lastRequest returns the last request to the model: texts, messages, tools.
func (s *Server) lastRequest(r *http.Request) (any, error) {
	one, err := s.chat(r)
	if err != nil {
		return nil, err
	}
	req := one.LastRequest()
	if req == nil {
		return nil, missing("no request was sent to the model since tenon started")
	}
	return req, nil
}

// send starts a turn and returns at once; events report it.
func (s *Server) send(r *http.Request) (any, error) {
	one, err := s.chat(r)
	if err != nil {
		return nil, err
	}
	var q struct {
		Text string `json:"text"`
	}
	if err := body(r, &q); err != nil {
		return nil, err
	}
	if err := one.Claim(false); err != nil { // it fails if another process has it open
		return nil, fault{http.StatusConflict, err}
	}
	if !s.beginTurn(one, func() error { return one.Send(s.ctx, q.Text) }) {
		return nil, fault{http.StatusConflict, host.ErrBusy}
	}
	return struct{}{}, nil
}

// claim makes the caller the one that changes a session, by a turn or otherwise,
// until it calls release. It returns false if a turn runs. It waits for others that
// have nearly finished: a turn that has ended, and an undo.
func (s *Server) claim(one *host.Session, turn bool) (release func(), ok bool) {
	for {
		s.mu.Lock()
		ended := s.ended
		s.mu.Unlock()
		before := len(one.Messages())
		s.mu.Lock()
		if s.ended != ended { // a turn that has ended meanwhile has added messages
			s.mu.Unlock()
			continue
		}
		other := s.chats[one.ID]
		if other == nil {
			mine := make(chan struct{})
			s.chats[one.ID] = mine
			if turn {
				s.turns.begin(one.ID, before)
			}
			s.mu.Unlock()
			return func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.turns.end(one.ID)
				delete(s.chats, one.ID)
				s.ended++
				close(mine)
			}, true
		}
		runs := slices.Contains(s.turns.running(), one.ID)
		s.mu.Unlock()
		if runs {
			return nil, false
		}
		<-other
	}
}

// beginTurn runs a turn, and then those of the messages that wait meanwhile. It returns
// false if one runs.
func (s *Server) beginTurn(one *host.Session, turn func() error) bool {
	release, ok := s.claim(one, true)
	if !ok {
		return false
	}
	s.running.Go(func() {
		err := turn()
		release()
		if errors.Is(err, host.ErrBusy) {
			s.feed.put("fault", map[string]string{"error": err.Error()})
		}
		if err == nil && one.NextQueued() && s.ctx.Err() == nil {
			s.beginQueued(one)
		}
	})
	return true
}

// beginQueued sends the messages that wait, unless a turn runs, which takes them.
func (s *Server) beginQueued(one *host.Session) bool {
	return s.beginTurn(one, func() error {
		_, err := one.SendQueued(s.ctx, nil)
		return err
	})
}

// queue adds a message to those that wait. If no turn runs, they are sent.
func (s *Server) queue(r *http.Request) (any, error) {
	one, err := s.chat(r)
	if err != nil {
		return nil, err
	}
	var q struct {
		Text string `json:"text"`
	}
	if err := body(r, &q); err != nil {
		return nil, err
	}
	added, err := one.Queue(host.Input{Typed: q.Text})
	if err != nil {
		return nil, fault{http.StatusConflict, err}
	}
	s.beginQueued(one)
	return added, nil
}

// unqueue removes a message that waits.
func (s *Server) unqueue(r *http.Request) (any, error) {
	one, err := s.chat(r)
	if err != nil {
		return nil, err
	}
	var q struct {
		ID string `json:"id"`
	}
	if err := body(r, &q); err != nil {
		return nil, err
	}
	removed, err := one.Unqueue(q.ID)
	if err != nil {
		return nil, fault{http.StatusConflict, err}
	}
	return removed, nil
}

// takeOver makes this host the owner of a session that another process has open;
// that one continues with a copy.
func (s *Server) takeOver(r *http.Request) (any, error) {
	one, err := s.chat(r)
	if err != nil {
		return nil, err
	}
	if err := one.Claim(true); err != nil {
		return nil, err
	}
	return one.Summary(), nil
}

// copySession starts a session with the content of another one.
func (s *Server) copySession(r *http.Request) (any, error) {
	one, err := s.work.Host.CopySession(r.PathValue("id"))
	if err != nil {
		return nil, fault{http.StatusNotFound, err}
	}
	return one.Summary(), nil
}

// undo removes the last turn of a session.
func (s *Server) undo(r *http.Request) (any, error) { return s.change(r, (*host.Session).Undo) }

// redo brings back the turn that undo removed last.
func (s *Server) redo(r *http.Request) (any, error) { return s.change(r, (*host.Session).Redo) }

// change undoes or redoes a turn, unless a turn runs or was sent and has not begun:
// that one would find the session busy, and its message would be lost.
func (s *Server) change(r *http.Request, how func(*host.Session) (*host.Undone, error)) (any, error) {
	one, err := s.chat(r)
	if err != nil {
		return nil, err
	}
	release, ok := s.claim(one, false)
	if !ok {
		return nil, fault{http.StatusConflict, host.ErrBusy}
	}
	defer release()
	u, err := how(one)
	if err != nil {
		return nil, fault{http.StatusConflict, err}
	}
	return u, nil
}

func (s *Server) stopTurn(r *http.Request) (any, error) {
	one, err := s.chat(r)
	if err != nil {
		return nil, err
	}
	var q struct {
		Step bool `json:"step"`
	}
	if err := body(r, &q); err != nil {
		return nil, err
	}
	if q.Step {
		one.StopStep()
	} else {
		one.Stop()
	}
	return struct{}{}, nil
}

func (s *Server) deleteSession(r *http.Request) (any, error) {
	return struct{}{}, s.work.Host.DeleteSession(r.PathValue("id"))
}

func (s *Server) answer(r *http.Request) (any, error) {
	var a host.Reply
	if err := body(r, &a); err != nil {
		return nil, err
	}
	a.By = "person"
	err := s.work.Host.Reply(r.PathValue("id"), a)
	if _, invalid := errors.AsType[*host.InvalidReplyError](err); invalid {
		return nil, fault{http.StatusBadRequest, err}
	}
	if err != nil {
		return nil, fault{http.StatusConflict, err}
	}
	return struct{}{}, nil
}

// tools lists all tools, with the model's names and with warnings.
func (s *Server) tools(r *http.Request) (any, error) {
	all := s.work.Host.Tools(r.Context())
	if all == nil {
		all = []host.Tool{}
	}
	return map[string]any{"tools": all}, nil
}

// approveTool approves the definition of a tool that has the given digest; it
// fails if the tool has changed since it was shown.
func (s *Server) approveTool(r *http.Request) (any, error) {
	var q struct {
		Server string `json:"server"`
		Tool   string `json:"tool"`
		Digest string `json:"digest"`
	}
	if err := body(r, &q); err != nil {
		return nil, err
	}
	if q.Digest == "" {
		return nil, bad("required: {\"server\": …, \"tool\": …, \"digest\": …}")
	}
	for _, t := range s.work.Host.Tools(r.Context()) {
		if t.Server != q.Server || t.Tool.Name != q.Tool {
			continue
		}
		if t.Digest != q.Digest {
			return nil, fault{http.StatusConflict, fmt.Errorf("%s/%s has changed since you viewed it; view it again", q.Server, q.Tool)}
		}
		return struct{}{}, s.work.Book.Approve(t.Server, t.Tool)
	}
	return nil, missing("no such tool")
}

// forget removes the answers about a tool, or about all tools of a server.
func (s *Server) forget(r *http.Request) (any, error) {
	var q struct {
		Server string `json:"server"`
		Tool   string `json:"tool"`
	}
	if err := body(r, &q); err != nil {
		return nil, err
	}
	if q.Server == "" {
		return nil, bad("required: server")
	}
	return struct{}{}, s.work.Book.Forget(q.Server, q.Tool)
}

// permissions returns the rules and answers that decide calls in a session, or
// without one.
func (s *Server) permissions(r *http.Request) (any, error) {
	return map[string]any{"permissions": s.work.Book.List(r.URL.Query().Get("session"))}, nil
}

// local reports whether only this machine can reach the page.
func (s *Server) local() bool { return s.opts.Hosts == nil }

// removePermission removes a rule or an answer.
func (s *Server) removePermission(r *http.Request) (any, error) {
	var q struct {
		ID      string `json:"id"`
		Session string `json:"session"`
	}
	if err := body(r, &q); err != nil {
		return nil, err
	}
	if !s.local() {
		return nil, fault{http.StatusForbidden, errors.New("a page that other machines can reach removes no permissions: use /permissions in tenon chat")}
	}
	e, err := s.work.Book.Remove(q.ID, q.Session)
	if err != nil {
		return nil, fault{http.StatusConflict, err}
	}
	return e, nil
}

func (s *Server) models(r *http.Request) (any, error) {
	names := []string{}
	if s.opts.Models != nil {
		names = append(names, s.opts.Models(r.Context())...)
	}
	return map[string]any{"models": names}, nil
}

func (s *Server) chooseModel(r *http.Request) (any, error) {
	var q struct {
		Name string `json:"name"`
	}
	if err := body(r, &q); err != nil {
		return nil, err
	}
	if s.opts.Choose == nil {
		return nil, missing("the model cannot be changed here")
	}
	m, err := s.opts.Choose(r.Context(), q.Name)
	if err != nil {
		return nil, fault{http.StatusBadRequest, err}
	}
	s.useModel(m)
	return m.Info(), nil
}
