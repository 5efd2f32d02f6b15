package script

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
)

// Options change how a file is played. Nil is fine.
type Options struct {
	NoDelays bool // pass over delays
}

// A Player is a model that says what a file says.
type Player struct {
	file *file
	opts Options
	info llm.Info
	pick func(*Player, *llm.Request) (*turn, error)

	mu   sync.Mutex
	next int          // the next turn in order
	used map[int]bool // turns that were replayed
	made int          // how many ids were made up
}

// Open reads a script that was written by hand. Requests are answered with its
// turns in order; a turn that begins with "when" answers whenever it fits, before
// those.
func Open(name string, o *Options) (*Player, error) {
	return open(name, o, "script", "a script, not a language model", (*Player).inOrder)
}

// Replay reads a recording. A request is answered with the turn that was
// recorded for an equal request, whatever the order; if there is none, the error
// shows the difference. Turns that were written by hand are played as in Open.
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

// Info is that of the model in the head of the file, if it names one, with a
// label that says what this is.
func (p *Player) Info() llm.Info { return p.info }

// Left is how many turns have not been played yet; those that begin with
// "when" do not count.
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
	return &llm.Error{Kind: llm.ErrCanceled, Provider: p.info.Provider, Message: "the answer was ended before it was complete", Err: err}
}

// inOrder is called with the lock held, as is byRequest.
func (p *Player) inOrder(r *llm.Request) (*turn, error) {
	for i := range p.file.turns {
		if t := &p.file.turns[i]; t.when != nil && len(t.when.unmet(r)) == 0 {
			return t, nil
		}
	}
	for range 2 {
		for ; p.next < len(p.file.turns); p.next++ {
			t := &p.file.turns[p.next]
			if t.when != nil {
				continue
			}
			if wrong := t.expect.unmet(r); len(wrong) > 0 {
				return nil, fmt.Errorf("%s:%d: the script expects another request:\n  %s", p.file.name, t.at, strings.Join(wrong, "\n  "))
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
	return nil, fmt.Errorf("%s: the script is over: all its %d turns were played, and now the last message says %s. Add a turn, or \"repeat\":true to the head", p.file.name, len(p.file.turns), last)
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
	stop := t.stop
	if stop == "" {
		stop = t.implied()
	}
	m := b.Message()
	emit(llm.Event{Kind: llm.EventDone, Stop: stop, Usage: usage, Message: &m})
}

// startCall yields what comes before a complete call.
func startCall(c *llm.ToolCall, emit func(llm.Event) bool) bool {
	begun := llm.ToolCall{ID: c.ID, Name: c.Name}
	return emit(llm.Event{Kind: llm.EventCallStart, Call: &begun}) &&
		emit(llm.Event{Kind: llm.EventCallDelta, Call: &begun, Text: string(c.Arguments)})
}

// fill completes a step: references to results in turns written by hand, and
// ids that nobody gave.
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
