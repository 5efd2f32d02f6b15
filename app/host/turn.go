package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
)

// run sends requests to the model and makes the calls that it requests, until it
// requests none. Messages that wait are added between the steps.
func (t *turn) run(ctx context.Context) (stop string, err error) {
	s := t.session
	ctx = withTurnAnswers(ctx)
	var tries attempts
	for {
		if err := t.moreSteps(); err != nil {
			return err.Stop, err
		}
		step, end := s.beginStep(ctx)
		over, stop, err := t.oneStep(step, &tries)
		end()
		if stepStopped(step) && ctx.Err() == nil && (!over || err != nil) {
			s.host.emit(Event{Kind: EventStopped, Session: s.ID, Step: &Step{N: max(t.result.Steps, 1), State: t.state}})
			if !s.NextQueued() {
				return "cancelled", errStopped
			}
			tries = attempts{}
			continue
		}
		if over {
			return stop, err
		}
	}
}

// oneStep sends a request and makes the calls of the answer. It reports whether
// the turn is over.
func (t *turn) oneStep(ctx context.Context, tries *attempts) (over bool, stop string, err error) {
	s := t.session
	if err := ctx.Err(); err != nil {
		return true, "cancelled", err
	}
	s.takeDelivered()
	t.takeQueued(ctx)
	cat := s.host.catalog(ctx, t.model.Info())
	t.announce(cat)
	if t.shortened(ctx, cat, tries) {
		return false, "", nil // the conversation is shorter now
	}
	a, err := t.request(ctx, cat, !tries.withoutMedia)
	if err != nil {
		again, failed := t.recover(ctx, tries, &a, err)
		if failed != nil {
			err = failed
		} else if again {
			return false, "", nil
		}
		t.restore(tries, &a)
		stop, err = t.failed(ctx, a, err)
		return true, stop, err
	}
	if tries.withoutMedia {
		s.dropMedia()
	}
	*tries = attempts{}
	t.result.Steps++
	s.add(*a.message)
	calls := a.message.Calls()
	if len(calls) == 0 {
		again, stop, err := t.noCalls(a)
		return !again, stop, err
	}
	s.save()
	t.step(Step{State: StepCalling})
	t.runAll(ctx, cat, calls)
	if ctx.Err() != nil {
		return true, "cancelled", ctx.Err()
	}
	return t.formed()
}

// shortened shortens a conversation that is longer than the model's context, and reports
// whether it did: after a change to a smaller model, and because some servers leave
// out the beginning instead of refusing. What cannot be shortened is sent as it is.
func (t *turn) shortened(ctx context.Context, cat *catalog, tries *attempts) bool {
	info := t.model.Info()
	if info.Context <= 0 || tries.asIs || tries.compactions >= maxCompactions {
		return false
	}
	r := &llm.Request{System: t.session.system(), Messages: t.session.messages(), Tools: cat.tools()}
	n := estimate(r)
	if n <= info.Context {
		return false
	}
	tries.compactions++
	t.step(Step{State: StepCompacting})
	long := &llm.Error{Kind: llm.ErrContextLength, Provider: info.Provider, Message: fmt.Sprintf("the conversation has about %d tokens, and %s takes %d", n, info.Name, info.Context)}
	if t.session.compact(ctx, t.model, long) != nil {
		tries.asIs = true
		return false
	}
	return true
}

// attempts counts what was done to get an answer to one request.
type attempts struct {
	asIs         bool // the conversation is too long, and cannot be shortened
	compactions  int
	cuts         int
	withoutMedia bool
	cut          string // what arrived of the last answer that was retracted
}

// maxCompactions bounds the compactions for one request: older results are cut,
// then the older part is summarized, then the remaining results are cut.
const maxCompactions = 3

// maxCuts is how often a request is sent again whose answer was cut off.
const maxCuts = 2

// recover decides whether a request that failed is sent again, and prepares that.
func (t *turn) recover(ctx context.Context, tries *attempts, a *answered, err error) (again bool, failed error) {
	switch {
	case llm.KindOf(err) == llm.ErrContextLength && tries.compactions < maxCompactions:
		tries.compactions++
		t.step(Step{State: StepCompacting})
		if failed := t.session.compact(ctx, t.model, err); failed != nil {
			return false, failed
		}
		return true, nil
	case !tries.withoutMedia && t.session.mediaRefused(err):
		tries.withoutMedia = true
		return true, nil
	case a.begun && tries.cuts < maxCuts && temporary(ctx, err):
		tries.cuts++
		t.retract(*a, err, tries.cuts)
		a.retracted, tries.cut = true, a.text
		return pause(ctx, err, tries.cuts), nil
	}
	return false, nil
}

// restore brings back what arrived of an answer that was cut off, if the model was
// to be asked again and has not answered.
func (t *turn) restore(tries *attempts, a *answered) {
	if a.text == "" {
		a.text, a.retracted = tries.cut, true
	}
	if a.retracted && a.text != "" {
		t.answer, t.last = a.text, a.text
		t.session.host.emit(Event{Kind: EventText, Session: t.session.ID, Text: a.text})
	}
}

// failed ends the turn because of a failed request. A partial answer stays in the
// conversation, marked if the user stopped it.
func (t *turn) failed(ctx context.Context, a answered, err error) (string, error) {
	if a.text != "" {
		t.session.add(llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text(a.text)}, Stopped: stoppedByUser(ctx)})
	}
	if limit, ok := errors.AsType[*LimitError](err); ok {
		return limit.Stop, err
	}
	return "error", err
}

// temporary reports whether the same request may succeed if it is sent again. No
// call of the interrupted answer has been made.
func temporary(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	switch llm.KindOf(err) {
	case llm.ErrNetwork, llm.ErrServer, llm.ErrOverloaded, llm.ErrRate:
		e, _ := errors.AsType[*llm.Error](err)
		return e.RetryAfter <= time.Minute
	}
	return false
}

// retract tells user interfaces that the text of the running step does not count.
func (t *turn) retract(a answered, err error, n int) {
	from := cmp.Or(t.model.Info().Provider, "the model")
	text := fmt.Sprintf("The answer of %s was cut off after %d characters (%s). Asking again (%d of %d).", from, len([]rune(a.text)), llm.KindOf(err), n, maxCuts)
	if llm.KindOf(err) == llm.ErrNetwork {
		text = fmt.Sprintf("The connection to %s was lost after %d characters. Asking again (%d of %d).", from, len([]rune(a.text)), n, maxCuts)
	}
	t.session.host.emit(Event{Kind: EventNotice, Session: t.session.ID, Text: text})
	t.session.host.emit(Event{Kind: EventRetract, Session: t.session.ID, Text: text, Step: &Step{N: t.result.Steps + 1}})
	t.step(Step{State: StepRetrying, Attempt: n + 1, Wait: Millis(retryAfter(err, n))})
}

// pause waits before a request is sent again: as long as the provider wants, at
// once after a lost connection. It returns false if ctx ends first.
func pause(ctx context.Context, err error, n int) bool {
	wait := retryAfter(err, n)
	if wait == 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func retryAfter(err error, n int) time.Duration {
	e, _ := errors.AsType[*llm.Error](err)
	if e.RetryAfter == 0 && e.Kind != llm.ErrNetwork {
		return time.Duration(n) * time.Second
	}
	return e.RetryAfter
}

// answered is the answer to one request. After an error it has the part that
// arrived.
type answered struct {
	message *llm.Message
	stop    llm.StopReason
	text    string // as it was streamed
	begun   bool   // some of it arrived

	retracted bool // the text does not count, since the model is asked again
}

// request sends one request and emits the answer as it streams in.
func (t *turn) request(ctx context.Context, cat *catalog, media bool) (a answered, err error) {
	s := t.session
	req := &llm.Request{System: s.system(), Messages: s.messages(), Tools: cat.tools(), Effort: s.host.effortOf(t.model.Info())}
	t.wantForm(req)
	if !media {
		req.Messages = withoutMedia(req.Messages)
	}
	if err := t.afford(req); err != nil {
		return a, err
	}
	s.remember(req)
	t.step(Step{State: StepWaiting})
	began := time.Now()
	var text strings.Builder
	message, stop, used, err := stream(ctx, t.model, req, func(e llm.Event) {
		switch e.Kind {
		case llm.EventText:
			t.arrived(&a, began)
			t.step(Step{State: StepWriting})
			text.WriteString(e.Text)
			s.host.emit(Event{Kind: EventText, Session: s.ID, Text: e.Text})
		case llm.EventThinking:
			t.arrived(&a, began)
			if e.Text != "" {
				t.step(Step{State: StepThinking})
				s.host.emit(Event{Kind: EventThinking, Session: s.ID, Text: e.Text})
			}
		case llm.EventCallStart, llm.EventCall:
			t.arrived(&a, began)
		case llm.EventRetry:
			t.step(Step{State: StepRetrying, Wait: Millis(e.Wait)})
			s.host.emit(Event{Kind: EventNotice, Session: s.ID, Text: e.Note})
		}
	})
	t.result.Model += Millis(time.Since(began))
	if err == nil {
		s.measure(req, used)
	}
	s.spent(t.model, used)
	a.message, a.stop, a.text = message, stop, text.String()
	t.answer, t.last = a.text, cmp.Or(a.text, t.last)
	return a, err
}

// arrived records that a part of an answer has arrived.
func (t *turn) arrived(a *answered, began time.Time) {
	a.begun = true
	if t.result.FirstToken == 0 {
		t.result.FirstToken = Millis(time.Since(began))
	}
}

// stream sends a request to a model and calls event for each event of the answer.
// It returns what the request has used also if it fails.
func stream(ctx context.Context, model llm.Model, r *llm.Request, event func(llm.Event)) (m *llm.Message, stop llm.StopReason, used llm.Usage, err error) {
	for e, err := range model.Stream(ctx, r) {
		if err != nil {
			return nil, "", used, err
		}
		if e.Kind == llm.EventUsage {
			used = e.Usage
		}
		event(e)
		if e.Kind == llm.EventDone {
			if e.Usage != (llm.Usage{}) {
				used = e.Usage
			}
			m, stop = e.Message, e.Stop
			break
		}
	}
	if m == nil {
		err = errors.New("the model returned no answer")
	}
	return m, stop, used, err
}

// A plannedCall is a call of an answer before it is made.
type plannedCall struct {
	call     *ToolCall
	entry    *toolEntry // nil: a tool of the host
	readOnly bool       // according to its server
	form     bool       // the answer of the model, not a call
	run      func() llm.ToolResult
}

// runAll makes the calls of an answer. Each result is added to the conversation
// and saved when its call ends. A call that may change something runs alone,
// after the calls before it and before those after it; read-only calls run
// concurrently. The user is asked about one call at a time. All calls are
// announced first, in order.
func (t *turn) runAll(ctx context.Context, cat *catalog, calls []llm.ToolCall) {
	s := t.session
	planned := make([]plannedCall, len(calls))
	for i, c := range calls {
		if t.isForm(c) {
			planned[i] = t.planForm(c)
		} else {
			planned[i] = s.plan(ctx, t.model.Info(), cat, c)
		}
		s.host.emitCall(s.ID, planned[i].call)
	}
	defer func() {
		for _, p := range planned {
			t.count(p)
		}
	}()
	var running sync.WaitGroup
	for _, p := range planned {
		if !p.readOnly {
			running.Wait()
		}
		if p.entry != nil {
			if refused := s.guarded(p.call, func() *llm.ToolResult { return s.approve(ctx, p.entry, p.call) }); refused != nil {
				s.ended(*refused)
				continue
			}
		}
		running.Go(func() {
			s.ended(*s.guarded(p.call, func() *llm.ToolResult { r := p.run(); return &r }))
		})
		if !p.readOnly {
			running.Wait()
		}
	}
	running.Wait()
}

// plan finds the tool of a call.
func (s *Session) plan(ctx context.Context, info llm.Info, cat *catalog, c llm.ToolCall) plannedCall {
	call := &ToolCall{ID: c.ID, Name: c.Name, Tool: c.Name, Arguments: c.Arguments, Phase: CallProposed}
	byHost := func(run func() llm.ToolResult) plannedCall {
		return plannedCall{call: call, readOnly: true, run: run}
	}
	if c.Problem != "" {
		return byHost(func() llm.ToolResult { return s.failCall(call, CallFailed, c.Problem, c.Problem) })
	}
	name, args := c.Name, c.Arguments
	switch name {
	case searchTools:
		return byHost(func() llm.ToolResult {
			text, err := cat.search(args, s.host.budget())
			return s.ownResult(call, text, err)
		})
	case readName:
		return byHost(func() llm.ToolResult {
			text, err := s.read(args)
			return s.ownResult(call, text, err)
		})
	case loadSkillName:
		p := byHost(func() llm.ToolResult { return s.loadSkill(ctx, call, args) })
		p.readOnly = false // the user is asked about one call at a time
		return p
	case readSkillName:
		p := byHost(func() llm.ToolResult { return s.readSkill(ctx, info, call, args) })
		p.readOnly = false
		return p
	case listResourcesName:
		return byHost(func() llm.ToolResult {
			text, err := s.listResources(ctx, args)
			return s.ownResult(call, text, err)
		})
	case readResourceName:
		p := byHost(func() llm.ToolResult { return s.readResource(ctx, info, call, args) })
		p.readOnly = false // the user is asked about one call at a time
		return p
	case callTool:
		var err error
		if name, args, err = wanted(args); err != nil {
			return byHost(func() llm.ToolResult { return s.ownResult(call, "", err) })
		}
		call.Arguments = args
	}
	e := cat.byName[name]
	if e == nil {
		return byHost(func() llm.ToolResult { return s.unknown(cat, call, name) })
	}
	call.Server, call.Tool, call.Name, call.Title = e.server.name, e.tool.Name, name, s.host.safe(e.tool.DisplayName())
	call.UI = s.host.viewOf(e)
	return plannedCall{call: call, entry: e, readOnly: e.tool.Annotations.ReadOnly(), run: func() llm.ToolResult { return s.perform(ctx, info, e, call) }}
}

// unknown returns the result for a call of an unknown tool, with similar names.
func (s *Session) unknown(cat *catalog, call *ToolCall, name string) llm.ToolResult {
	text := fmt.Sprintf("There is no tool named %q now.", name)
	if near := cat.Find(name, 3); len(near) > 0 {
		text += fmt.Sprintf(" Near it are: %q.", near)
	}
	return s.failCall(call, CallFailed, text, text)
}
