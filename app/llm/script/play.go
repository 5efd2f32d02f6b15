package script

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
)

// Options configures a Player. Nil means all defaults.
type Options struct {
	NoDelays bool // skip delays
}

// A Player is a model that answers from a file.
type Player struct {
	file *file
	opts Options
	info llm.Info
	pick func(*Player, *llm.Request) (*turn, error)

	mu   sync.Mutex
	next int          // the next turn in order
	used map[int]bool // indexes of turns that were played
	made int          // number of generated IDs
}

// Open reads a script. It answers requests with the turns in order; a turn that
// starts with "when" takes precedence and answers every request that matches.
func Open(name string, o *Options) (*Player, error) {
	return open(name, o, "script", "a script, not a language model", (*Player).inOrder)
}

// Replay reads a recording. It answers a request with the turn recorded for an
// equal request, in any order; without one the error shows the difference. It
// plays a file without recorded requests as Open does.
func Replay(name string, o *Options) (*Player, error) {
	return open(name, o, "replay", "a recording, not a language model", (*Player).byRequest)
}

func open(name string, o *Options, provider, label string, pick func(*Player, *llm.Request) (*turn, error)) (*Player, error) {
	f, err := load(name)
	if err != nil {
		return nil, err
	}
	return newPlayer(f, o, provider, label, pick), nil
}

func newPlayer(f *file, o *Options, provider, label string, pick func(*Player, *llm.Request) (*turn, error)) *Player {
	p := &Player{file: f, pick: pick, used: map[int]bool{}}
	if o != nil {
		p.opts = *o
	}
	p.info = llm.Info{Provider: provider, Name: f.name, Label: label, Context: 200_000, Limits: llm.NameLimits{MaxLen: 64}, Accepts: llm.Accepts{Images: true, Audio: true, Documents: true}}
	if m := f.head.Model; m != nil {
		p.info = *m
		p.info.Label = label
		if m.Name == "" {
			p.info.Name, p.info.Provider = f.name, provider
		}
	}
	return p
}

// Info returns the description in the header of the file, if any, with the label
// of a script or recording.
func (p *Player) Info() llm.Info { return p.info }

// Left returns the number of turns not yet played, without those that start with
// "when".
func (p *Player) Left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for i, t := range p.file.turns {
		if t.when == nil && !p.used[i] {
			n++
		}
	}
	return n
}

// Stream plays one turn.
func (p *Player) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(llm.Event{}, p.canceled(err))
			return
		}
		p.mu.Lock()
		t, err := p.pick(p, r)
		p.mu.Unlock()
		if err != nil {
			yield(llm.Event{}, &llm.Error{Kind: llm.ErrBadRequest, Provider: p.info.Provider, Message: err.Error(), Err: err})
			return
		}
		p.play(ctx, t, r, yield)
	}
}

func (p *Player) canceled(err error) error {
	return &llm.Error{Kind: llm.ErrCanceled, Provider: p.info.Provider, Message: "canceled before the answer was complete", Err: err}
}

// inOrder picks the turn for Open. The caller holds p.mu.
func (p *Player) inOrder(r *llm.Request) (*turn, error) {
	for i := range p.file.turns {
		if t := &p.file.turns[i]; t.when != nil && len(t.when.mismatches(r)) == 0 {
			return t, nil
		}
	}
	for range 2 {
		for ; p.next < len(p.file.turns); p.next++ {
			t := &p.file.turns[p.next]
			if t.when != nil {
				continue
			}
			if wrong := t.expect.mismatches(r); len(wrong) > 0 {
				return nil, fmt.Errorf("%s:%d: unexpected request:\n  %s", p.file.name, t.at, strings.Join(wrong, "\n  "))
			}
			p.used[p.next] = true
			p.next++
			return t, nil
		}
		if !p.file.head.Repeat {
			break
		}
		p.next = 0
	}
	last := "nothing"
	if n := len(r.Messages); n > 0 {
		last = show(r.Messages[n-1].Text())
	}
	return nil, fmt.Errorf("%s: all %d turns of the script were played, and the last message is %s; add a turn, or \"repeat\":true to the header", p.file.name, len(p.file.turns), last)
}

// play yields the steps of a turn.
func (p *Player) play(ctx context.Context, t *turn, r *llm.Request, yield func(llm.Event, error) bool) {
	var b llm.Builder
	var usage llm.Usage
	emit := func(e llm.Event) bool {
		b.Add(e)
		return yield(e, nil)
	}
	for _, s := range t.steps {
		if err := p.wait(ctx, s.delay); err != nil {
			yield(llm.Event{}, p.canceled(err))
			return
		}
		if s.err != nil {
			e := *s.err
			e.Provider = p.info.Provider
			yield(llm.Event{}, &e)
			return
		}
		if s.event.Kind == "" {
			continue
		}
		if s.event.Kind == llm.EventUsage {
			usage = s.event.Usage
		}
		e, err := p.fill(s, t, r)
		if err != nil {
			yield(llm.Event{}, &llm.Error{Kind: llm.ErrBadRequest, Provider: p.info.Provider, Message: err.Error(), Err: err})
			return
		}
		if e.Kind == llm.EventCall && !startCall(e.Call, emit) {
			return
		}
		if !emit(e) {
			return
		}
	}
	m := b.Message()
	emit(llm.Event{Kind: llm.EventDone, Stop: cmp.Or(t.stop, t.implied()), Usage: usage, Message: &m})
}

// startCall yields the events that precede a complete call.
func startCall(c *llm.ToolCall, emit func(llm.Event) bool) bool {
	begun := llm.ToolCall{ID: c.ID, Name: c.Name}
	return emit(llm.Event{Kind: llm.EventCallStart, Call: &begun}) &&
		emit(llm.Event{Kind: llm.EventCallDelta, Call: &begun, Text: string(c.Arguments)})
}

// fill resolves the references of a step and generates a missing ID.
func (p *Player) fill(s step, t *turn, r *llm.Request) (llm.Event, error) {
	e := s.event
	var err error
	if t.request == nil {
		if e, err = resolve(e, r); err != nil {
			return e, fmt.Errorf("%s:%d: %w", p.file.name, s.at, err)
		}
	}
	if e.Call != nil {
		call := *e.Call
		if len(call.Arguments) == 0 {
			call.Arguments = llm.RawMessage("{}")
		}
		if call.ID == "" {
			p.mu.Lock()
			p.made++
			call.ID = "call_" + strconv.Itoa(p.made)
			p.mu.Unlock()
		}
		e.Call = &call
	}
	return e, nil
}

func (p *Player) wait(ctx context.Context, d time.Duration) error {
	if d == 0 || p.opts.NoDelays {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
