package host

import (
	"context"
	"fmt"
)

// Bounds on what a server may ask the person, beside approvals of its tools.
const (
	maxOpenAsks = 5 // questions of one server that wait at once
	maxUnwanted = 5 // questions outside of any call, before the person accepts one
)

// An asker is what a host knows of the questions of one server.
type asker struct {
	open     int  // that wait for the person
	unwanted int  // outside of any call since the person last accepted one
	muted    bool // all are declined
	told     bool // the person knows that some are declined
}

// Mute has the questions of a server declined: those that are open, and all
// later ones, until Unmute. Approvals of its tools are not questions of it.
func (h *Host) Mute(server string) {
	h.mu.Lock()
	h.asker(server).muted = true
	h.mu.Unlock()
	for _, a := range h.Asks() {
		if a.Server == server && a.Kind != AskApproval && a.Kind != AskFlow {
			h.Answer(a.ID, Answer{Action: "decline", By: server + " is muted"}) // an error says that the person was faster
		}
	}
}

// Unmute lets a server ask again.
func (h *Host) Unmute(server string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.askers, server)
}

// asker returns what is known of a server's questions. The lock is held.
func (h *Host) asker(server string) *asker {
	if h.askers == nil {
		h.askers = map[string]*asker{}
	}
	if h.askers[server] == nil {
		h.askers[server] = &asker{}
	}
	return h.askers[server]
}

// askFor puts a question of a server to the person, unless the server is muted
// or asks too much: then it is declined.
func (h *Host) askFor(ctx context.Context, a Ask) (Answer, error) {
	h.mu.Lock()
	s := h.asker(a.Server)
	alone := sessionOf(ctx).call == ""
	why := ""
	switch {
	case s.muted:
		why = a.Server + " is muted"
	case s.open >= maxOpenAsks:
		why = fmt.Sprintf("%s asks more than %d questions at once", a.Server, maxOpenAsks)
	case alone && s.unwanted >= maxUnwanted:
		why = fmt.Sprintf("%s has asked %d questions that belong to no call", a.Server, maxUnwanted)
	}
	tell := why != "" && !s.told
	if why == "" {
		s.open++
	} else {
		s.told = true
	}
	if why == "" && alone {
		s.unwanted++
	}
	h.mu.Unlock()
	if why != "" {
		if tell {
			h.tell(Event{Kind: EventNotice, Server: a.Server, Text: why + ": such questions are declined. /unmute " + a.Server + " lets it ask again."})
		}
		return Answer{Action: "decline", By: why}, nil
	}
	answer, err := h.ask(ctx, a)
	h.mu.Lock()
	s.open--
	if answer.Action == "accept" {
		s.unwanted = 0
	}
	h.mu.Unlock()
	if answer.Action == "mute" {
		h.Mute(a.Server)
		answer.Action = "decline"
	}
	return answer, err
}
