package host

import (
	"context"
	"fmt"
)

// Bounds on the questions of a server, besides approvals of its tools.
const (
	maxOpenAsks = 5 // open questions of one server
	maxUnwanted = 5 // questions outside of any call before the user accepts one
)

// An asker counts the questions of one server.
type asker struct {
	open     int    // that wait for the user
	unwanted int    // outside of any call since the user last accepted one
	muted    bool   // all are declined
	told     string // the reason that the user was told; empty: none are declined
}

// Mute declines the open and all later questions of a server, until Unmute.
// Approvals of its tools are not affected.
func (h *Host) Mute(server string) {
	h.mu.Lock()
	s := h.asker(server)
	s.muted, s.told = true, mutedText(server)
	h.mu.Unlock()
	h.emit(Event{Kind: EventMuted, Server: server, Text: mutedText(server)})
	for _, a := range h.Asks() {
		if a.Server == server && a.Kind != AskApproval && a.Kind != AskFlow {
			h.Reply(a.ID, Reply{Action: "decline", By: mutedText(server)}) // it fails if the user was faster
		}
	}
}

// Unmute lets a server ask again.
func (h *Host) Unmute(server string) {
	h.mu.Lock()
	s := h.askers[server]
	delete(h.askers, server)
	h.mu.Unlock()
	if s != nil && s.told != "" {
		h.emit(Event{Kind: EventMuted, Server: server})
	}
}

// Muted returns why questions of servers are declined, by server.
func (h *Host) Muted() map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := map[string]string{}
	for name, s := range h.askers {
		if s.told != "" {
			all[name] = s.told
		}
	}
	return all
}

func mutedText(server string) string { return server + " is muted" }

// asker returns the counts of a server. The lock is held.
func (h *Host) asker(server string) *asker {
	if h.askers == nil {
		h.askers = map[string]*asker{}
	}
	if h.askers[server] == nil {
		h.askers[server] = &asker{}
	}
	return h.askers[server]
}

// askFor asks the user a question of a server, or declines it if the server is
// muted or asks too much.
func (h *Host) askFor(ctx context.Context, a Ask) (Reply, error) {
	turn, same := answersOf(ctx), questionKey(ctx, &a)
	if turn.declinedBefore(same) {
		return Reply{Action: "decline", By: "You declined the same question in this call"}, nil
	}
	h.mu.Lock()
	s := h.asker(a.Server)
	alone := sessionOf(ctx).call == ""
	why := ""
	switch {
	case s.muted:
		why = mutedText(a.Server)
	case s.open >= maxOpenAsks:
		why = fmt.Sprintf("%s asked more than %d questions at once", a.Server, maxOpenAsks)
	case alone && s.unwanted >= maxUnwanted:
		why = fmt.Sprintf("%s asked %d questions outside of a call", a.Server, maxUnwanted)
	}
	tell := why != "" && s.told == ""
	if why == "" {
		s.open++
	} else {
		s.told = why
	}
	if why == "" && alone {
		s.unwanted++
	}
	h.mu.Unlock()
	if why != "" {
		if tell {
			h.emit(Event{Kind: EventMuted, Server: a.Server, Text: why})
			h.emit(Event{Kind: EventNotice, Server: a.Server, Text: why + ". Its questions are declined; /unmute " + a.Server + " allows them again."})
		}
		return Reply{Action: "decline", By: why}, nil
	}
	answer, err := h.ask(ctx, a)
	turn.serverAnswered(same, answer)
	h.mu.Lock()
	s.open--
	again := false
	if answer.Action == "accept" {
		s.unwanted = 0
		if again = s.told != "" && !s.muted; again {
			s.told = ""
		}
	}
	h.mu.Unlock()
	if again {
		h.emit(Event{Kind: EventMuted, Server: a.Server})
	}
	if answer.Action == "mute" {
		h.Mute(a.Server)
		answer.Action = "decline"
	}
	return answer, err
}
