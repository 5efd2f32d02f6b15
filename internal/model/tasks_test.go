package model

import (
	"errors"
	"fmt"
	"testing"
)

// The model of a task: run.settle, run.release, Manager.takeOver and
// Manager.fail in ext/tasks, and the rule of Store.Update, which changes a record
// only if its version is the one that was read. Three processes share the record.
// Any of them may die; any may be taken for dead although it only slept, so that
// it goes on with what it had read; and the client may cancel.

const (
	working int8 = iota
	completed
	failed
	cancelled
)

// maxAttempts is that of ext/tasks/takeover.go.
const maxAttempts = 3

type record struct {
	Status, Runner, Attempts, Version int8
	By                                int8 // the attempt whose result it has
}

func (r record) final() bool { return r.Status != working }

// A process is a Manager with at most one run of the task, and one change that it
// has prepared: it has read the record, and not written it yet.
type process struct {
	Dead    bool
	Run     int8 // the attempt that it works on; 0: none
	Result  bool // its tool has returned
	Has     bool // it has read the record, to change it
	Read    record
	Purpose int8
}

// The purposes of a change.
const (
	toSettle int8 = 1 + iota
	toTakeOver
	toFail
	toRelease
)

type taskState struct {
	Record  record
	Process [3]process
	Client  int8   // 0: silent; 1: has read the record to cancel; 2: was told that the task is cancelled; 3: that it had ended
	Seen    record // by the client
	First   record // when it first was final
}

type taskMistakes struct {
	blind     bool // Update does not compare versions
	notOwner  bool // settle does not look who owns the task
	overFinal bool // a result is stored although the task has ended
	endless   bool // the number of attempts is not limited
}

func taskModel(wrong taskMistakes, crashes int) Model[taskState] {
	var start taskState
	start.Record = record{Runner: 1, Attempts: 1, Version: 1}
	start.Process[0].Run = 1
	m := Model[taskState]{Start: start}
	m.Steps = func(s taskState) (steps []Step[taskState]) {
		add := func(name string, change func(*taskState)) {
			to := s
			change(&to)
			if to.Record.final() && !to.First.final() {
				to.First = to.Record
			}
			steps = append(steps, Step[taskState]{name, to})
		}
		dead := 0
		for _, p := range s.Process {
			if p.Dead {
				dead++
			}
		}
		store := func(to *taskState, read, next record) bool { // Store.Update
			if to.Record.Version != read.Version && !wrong.blind {
				return false
			}
			next.Version = to.Record.Version + 1
			to.Record = next
			return true
		}
		for i, p := range s.Process {
			if p.Dead {
				continue
			}
			me := int8(i + 1)
			name := fmt.Sprintf("process %d ", me)
			if dead < crashes {
				add(name+"dies", func(to *taskState) { to.Process[i] = process{Dead: true} })
			}
			read := func(what string, purpose int8) {
				add(name+"reads the record to "+what, func(to *taskState) {
					q := &to.Process[i]
					q.Has, q.Read, q.Purpose = true, s.Record, purpose
				})
			}
			switch {
			case p.Has:
			case p.Run != 0 && !p.Result:
				add(name+"has a result", func(to *taskState) { to.Process[i].Result = true })
				read("leave the task", toRelease)
			case p.Run != 0:
				read("store its result", toSettle)
			case !s.Record.final() && s.Record.Runner != me: // who may be dead, or asleep
				if s.Record.Attempts < maxAttempts || wrong.endless {
					read("take over", toTakeOver)
				} else {
					read("fail the task", toFail)
				}
			}
			if !p.Has {
				continue
			}
			add(name+"writes", func(to *taskState) {
				q := &to.Process[i]
				q.Has = false
				r := p.Read
				owns := r.Runner == me && r.Attempts == p.Run
				switch p.Purpose {
				case toSettle:
					if r.final() && !wrong.overFinal || !owns && !wrong.notOwner {
						q.Run, q.Result = 0, false // the result is dropped
						return
					}
					next := r
					next.Status, next.By = completed, p.Run
					if store(to, r, next) {
						q.Run, q.Result = 0, false
					}
				case toTakeOver:
					next := r
					next.Runner = me
					next.Attempts++
					if store(to, r, next) {
						q.Run, q.Result = next.Attempts, false
					}
				case toFail:
					next := r
					next.Status = failed
					store(to, r, next)
				case toRelease: // an orderly end of the process
					if r.final() || !owns {
						*q = process{Dead: true}
						return
					}
					next := r
					next.Attempts--
					if store(to, r, next) {
						*q = process{Dead: true}
					}
				}
				q.Read, q.Purpose = record{}, 0
			})
		}
		switch s.Client {
		case 0:
			add("the client reads the record to cancel", func(to *taskState) { to.Client, to.Seen = 1, s.Record })
		case 1:
			add("the client cancels", func(to *taskState) {
				to.Seen = record{}
				if s.Seen.final() {
					to.Client = 3
					return
				}
				next := s.Seen
				next.Status = cancelled
				if to.Client = 0; store(to, s.Seen, next) {
					to.Client = 2
				}
			})
		}
		return steps
	}
	m.Always = func(s taskState) error {
		r := s.Record
		switch {
		case s.First.final() && (r.Status != s.First.Status || r.By != s.First.By):
			return errors.New("a task that had ended has changed")
		case s.Client == 2 && r.Status != cancelled:
			return errors.New("the client was told that the task is cancelled, and it is not")
		case r.Status == completed && r.By != r.Attempts:
			return errors.New("the result is of a run that another one has replaced")
		case r.Attempts > maxAttempts:
			return errors.New("a task that ends processes is begun again and again")
		case r.Version > 12:
			return errors.New("the record is changed without end")
		}
		running := 0
		for i, p := range s.Process {
			if p.Run != 0 && r.Runner == int8(i+1) && p.Run == r.Attempts {
				running++
			}
		}
		if running > 1 {
			return errors.New("two processes own the task")
		}
		return nil
	}
	m.AtEnd = func(s taskState) error {
		for _, p := range s.Process {
			if !p.Dead && !s.Record.final() {
				return errors.New("a process lives, and the task never ends")
			}
		}
		return nil
	}
	return m
}

func TestTaskEndsOnce(t *testing.T) {
	t.Parallel()
	holds(t, taskMistakes{}, map[string]taskMistakes{
		"changes do not compare versions":           {blind: true},
		"a run that was replaced stores its result": {notOwner: true},
		"a result replaces the end of a task":       {overFinal: true},
		"a task is taken over any number of times":  {endless: true},
	}, func(w taskMistakes) Model[taskState] { return taskModel(w, 2) })
}
