package host

import (
	"github.com/tenon-mcp/tenon/internal/version"
)

// announce emits the init event of a session, once.
func (t *turn) announce(cat *catalog) {
	s := t.session
	s.mu.Lock()
	begun := s.begun
	s.begun = true
	s.mu.Unlock()
	if begun {
		return
	}
	i := &Init{
		Version: EventVersion, Tenon: version.String(), Model: t.model.Info(), Folder: s.host.opts.Folder,
		Servers: []ServerInit{}, Tools: []string{}, Search: cat.many,
		Limits: Limits{MaxTurns: t.opts.MaxSteps, MaxBudget: t.opts.MaxCost, Timeout: Millis(t.opts.Timeout)},
	}
	for _, at := range s.host.all() {
		i.Servers = append(i.Servers, at.init())
	}
	for _, tool := range cat.tools() {
		i.Tools = append(i.Tools, tool.Name)
	}
	s.host.emit(Event{Kind: EventInit, Session: s.ID, Init: i})
}

// init describes the server for an [Init].
func (s *attached) init() ServerInit {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := ServerInit{Name: s.name, State: "starting", Tools: len(s.tools)}
	switch {
	case s.problem != nil:
		i.State, i.Why = "failed", s.host.safe(s.problem.Error())
	case s.fresh && s.asking == nil:
		i.State = "ready"
	}
	return i
}

// step emits that the running step has reached another state.
func (t *turn) step(now Step) {
	now.N = t.result.Steps + 1
	if now.State == StepCalling {
		now.N-- // the calls belong to the answer that was counted
	}
	if t.state == now.State && now.State != StepWaiting && now.State != StepRetrying {
		return
	}
	t.state = now.State
	t.session.host.emit(Event{Kind: EventStep, Session: t.session.ID, Step: &now})
}
