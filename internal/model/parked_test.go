package model

import (
	"errors"
	"fmt"
	"maps"
	"testing"
)

// The model of a parked call: internal/eraconn/internal/legacy/park.go, and wait,
// forget and abandon in peer.go. A call to a legacy server is in flight; the
// server sends up to two input requests for it, and responds or not; the caller
// makes rounds, with old states or not at all; timers expire, also while they are
// being stopped; and the connection may end.

// An ask is where an input request of the server is.
type ask int8

const (
	askNone   ask = iota
	askFound      // its goroutine has found the call, which was open, and not yet put it into its queue
	askSent       // its goroutine has put it into the queue of the call and not yet looked whether the call is open
	askQueued     // in the queue; its goroutine waits
	askTaken      // a round has taken it and is about to park the call
	askParked     // its caller has it
	askGone       // it was taken from the queue or the map; an answer is on its way
	askDone       // its goroutine has an answer, or the connection has ended
)

type parkedState struct {
	Open    bool // Peer.open has the call
	Closed  bool // the connection has ended
	Round   int8 // 0: none runs; 1: a round waits; 2: it is about to park; 3: the call has ended, and its queue must be emptied
	Mapped  int8 // the state under which Peer.parked has the call; 0: none
	States  int8 // that were issued
	Timers  [3]bool
	Undoing int8 // the state whose call was taken out by unpark, which has yet to answer and abandon
	Asks    [2]ask
	In      [2]bool // the queue
	Asked   int8    // the index of the request of the parked call, plus 1
	Answers [2]int8
	Replied bool // the server has responded
	Resumed [3]int8
	Early   bool // a call was given up by the timer of an earlier round
}

// parkedMistakes are ways to write the code wrongly.
type parkedMistakes struct {
	notRefused  bool // carry does not look whether the call has ended meanwhile
	byCall      bool // the timer acts on the call, whatever its state is by now
	keptInMap   bool // resume leaves the call in the map
	neverExpire bool // there is no timer
}

func parkedModel(wrong parkedMistakes) Model[parkedState] {
	m := Model[parkedState]{Start: parkedState{Open: true, Round: 1}}
	m.Steps = func(s parkedState) (steps []Step[parkedState]) {
		add := func(name string, change func(*parkedState)) {
			to := s
			change(&to)
			steps = append(steps, Step[parkedState]{name, to})
		}
		answer := func(to *parkedState, i int) {
			to.Answers[i]++
			to.Asks[i] = askDone
		}
		refuse := func(to *parkedState) { // carrier.refuse: empties the queue
			for i := range to.In {
				if to.In[i] {
					to.In[i] = false
					if to.Asks[i] == askQueued || to.Asks[i] == askSent {
						answer(to, i)
					}
				}
			}
		}
		for i := range s.Asks {
			name := fmt.Sprintf("request %d ", i+1)
			switch s.Asks[i] {
			case askNone:
				if s.Open && !s.Replied && !s.Closed && (i == 0 || s.Asks[0] != askNone) {
					add(name+"arrives", func(to *parkedState) { to.Asks[i] = askFound })
				}
			case askFound: // Peer.carry
				add(name+"is put into the queue", func(to *parkedState) { to.Asks[i], to.In[i] = askSent, true })
			case askSent: // Peer.carry: is the call still open?
				add(name+"looks", func(to *parkedState) {
					to.Asks[i] = askQueued
					if !s.Open && !wrong.notRefused {
						refuse(to)
					}
				})
			}
			if s.Closed && s.Asks[i] >= askQueued && s.Asks[i] != askDone {
				add(name+"ends with the connection", func(to *parkedState) { to.Asks[i] = askDone })
			}
		}
		if s.Open && !s.Replied && !s.Closed {
			add("the server responds", func(to *parkedState) { to.Replied = true })
		}
		if !s.Closed {
			add("the connection ends", func(to *parkedState) { // Peer.Close
				to.Closed = true
				if to.Mapped != 0 {
					to.Timers[to.Mapped] = false
					to.Mapped, to.Asked, to.Open = 0, 0, false
				}
			})
		}
		end := func(to *parkedState) { to.Open, to.Round = false, 3 } // forget, its first half
		switch s.Round {
		case 1: // Peer.wait
			if s.Replied {
				add("the round returns the result", end)
			}
			add("the caller cancels", end)
			for i := range s.In {
				if s.In[i] && s.Asks[i] == askQueued || s.In[i] && s.Asks[i] == askSent {
					add(fmt.Sprintf("the round takes request %d", i+1), func(to *parkedState) {
						to.In[i], to.Asked = false, int8(i+1)
						if s.Replied { // so the request belongs to another call
							to.Asked = 0
							answer(to, i)
							end(to)
							return
						}
						to.Asks[i], to.Round = askTaken, 2
					})
				}
			}
		case 2: // Peer.park
			add("the call is parked", func(to *parkedState) {
				i := s.Asked - 1
				if s.Closed {
					to.Asked = 0
					to.Asks[i] = askGone // ends with the connection
					end(to)
					return
				}
				to.States++
				to.Mapped, to.Round, to.Asks[i] = to.States, 0, askParked
				to.Timers[to.States] = !wrong.neverExpire
			})
		case 3: // forget, its second half
			add("the queue is emptied", func(to *parkedState) {
				refuse(to)
				to.Round = 0
			})
		}
		for n := int8(1); n <= s.States; n++ {
			if s.Timers[n] { // it may fire although it was just stopped
				add(fmt.Sprintf("state %d expires", n), func(to *parkedState) {
					to.Timers[n] = false
					switch {
					case wrong.byCall && to.Mapped != 0:
						to.Early = to.Mapped != n
						to.Undoing, to.Mapped = n, 0
					case to.Mapped == n:
						to.Undoing, to.Mapped = n, 0
					}
				})
			}
			if s.Resumed[n] < 2 && s.Round == 0 && s.Undoing == 0 || s.Mapped == n {
				add(fmt.Sprintf("the caller responds with state %d", n), func(to *parkedState) { // Peer.resume
					if to.Mapped != n {
						to.Resumed[n] = 2 // an error: no call waits for this response
						return
					}
					to.Resumed[n]++
					if !wrong.keptInMap {
						to.Mapped = 0
					}
					i := int(to.Asked - 1)
					answer(to, i)
					if !wrong.keptInMap {
						to.Asked = 0
					}
					to.Round = 1
				})
			}
		}
		if s.Undoing != 0 { // unpark, its second half
			add("the expired call is abandoned", func(to *parkedState) {
				if i := int(s.Asked - 1); i >= 0 {
					answer(to, i)
				}
				to.Undoing, to.Asked = 0, 0
				end(to)
			})
		}
		return steps
	}
	m.Always = func(s parkedState) error {
		for i, n := range s.Answers {
			if n > 1 {
				return fmt.Errorf("request %d is answered twice", i+1)
			}
		}
		if s.Early {
			return errors.New("a call is given up before its time")
		}
		if s.Mapped != 0 && s.Round == 1 {
			return errors.New("a call is parked and runs")
		}
		if !s.Open && s.Mapped != 0 {
			return errors.New("a call that has ended is parked")
		}
		return nil
	}
	m.AtEnd = func(s parkedState) error {
		for i, a := range s.Asks {
			if a != askNone && a != askDone {
				return fmt.Errorf("the server waits for request %d for ever", i+1)
			}
		}
		if s.Mapped != 0 {
			return errors.New("a call is parked for ever")
		}
		return nil
	}
	return m
}

// Without an end of the connection: what the caller and the timers do must be
// enough. With one, it must be enough, too.
func withoutClose(m Model[parkedState]) Model[parkedState] {
	steps := m.Steps
	m.Steps = func(s parkedState) (kept []Step[parkedState]) {
		for _, step := range steps(s) {
			if !step.To.Closed {
				kept = append(kept, step)
			}
		}
		return kept
	}
	return m
}

func TestEveryInputRequestIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	mistakes := map[string]parkedMistakes{
		"a request that arrives as the call ends is not refused": {notRefused: true},
		"a timer acts on the call instead of its state":          {byCall: true},
		"a call that goes on stays parked":                       {keptInMap: true},
	}
	holds(t, parkedMistakes{}, mistakes, func(w parkedMistakes) Model[parkedState] { return withoutClose(parkedModel(w)) })
	maps.DeleteFunc(mistakes, func(_ string, m parkedMistakes) bool { return m.notRefused }) // the end of the connection hides it
	holds(t, parkedMistakes{}, mistakes, parkedModel)
}

// A caller who never returns is the reason for the timers.
func TestParkedCallsExpire(t *testing.T) {
	t.Parallel()
	silent := func(w parkedMistakes) Model[parkedState] {
		m := withoutClose(parkedModel(w))
		steps := m.Steps
		m.Steps = func(s parkedState) (kept []Step[parkedState]) {
			for _, step := range steps(s) {
				if step.To.Resumed == s.Resumed { // the caller does not respond
					kept = append(kept, step)
				}
			}
			return kept
		}
		return m
	}
	if _, err := silent(parkedMistakes{}).Check(); err != nil {
		t.Error(err)
	}
	if _, err := silent(parkedMistakes{neverExpire: true}).Check(); err == nil {
		t.Error("without timers, no call is parked for ever")
	}
}
