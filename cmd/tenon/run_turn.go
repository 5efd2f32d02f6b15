package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/connect"
	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/workspace"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/schema"
)

// limitGrace is the time that a run has to end after its time limit. Then the
// process ends, also while it writes to a pipe that nobody reads.
const limitGrace = 5 * time.Second

// headless runs one turn without a user and prints its outcome.
func (p *program) headless(ctx context.Context, v *oneShot) error {
	if v.maxTurns < 0 || v.maxBudget < 0 || v.timeout < 0 {
		return usagef("--max-turns, --max-budget and --timeout must not be negative")
	}
	form, unwrap, err := answerForm(v.jsonSchema)
	if err != nil {
		return err
	}
	in := host.Input{}
	if in.Typed, in.Data, err = p.promptText(v.prompt); err != nil {
		return err
	}
	out, err := p.reporter(v.output)
	if err != nil {
		return err
	}
	if v.timeout > 0 {
		limit := &host.LimitError{Stop: "timeout", Text: fmt.Sprintf("the run took longer than --timeout %s", v.timeout)}
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, v.timeout, limit)
		defer stop()
		if p.expired != nil {
			defer time.AfterFunc(v.timeout+limitGrace, func() { close(p.expired) }).Stop()
		}
	}
	o := &host.SendOptions{MaxSteps: v.maxTurns, MaxCost: v.maxBudget, Timeout: v.timeout, Answer: form}
	s, r, err := p.oneTurn(ctx, v, out, in, o)
	if limit, ok := errors.AsType[*host.LimitError](context.Cause(ctx)); ok && r == nil {
		err = limit
	}
	if r != nil && r.Data != nil {
		r.Data = unwrap(r.Data)
		r.Answer = string(r.Data)
	}
	return out.finish(s, r, err)
}

// oneTurn opens the model and the workspace, sends the message and closes them. The
// result is nil if the message was not sent.
func (p *program) oneTurn(ctx context.Context, v *oneShot, out *reporter, in host.Input, o *host.SendOptions) (s *host.Session, r *host.TurnResult, err error) {
	choice, err := p.choose(ctx, v.model)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, choice.Close()) }() // a recording that could not be written is an error
	info := choice.Model.Info()
	if out.noModel = info.Provider == "none"; v.maxBudget > 0 && !out.noModel && info.Prices == (llm.Prices{}) {
		return nil, nil, usagef("--max-budget: the price of %s is not known; set prices for it in tenon.json", info)
	}
	p.note("%s", label(choice))
	log, traced := p.traced()
	defer func() { err = errors.Join(err, traced()) }()
	w, err := p.newWorkspace(ctx, &v.hostFlags, choice.Model, func(o *workspace.Options) {
		o.Unattended, o.Event, o.Host.OneShot, o.Log = true, out.event, true, log
		o.Host.AppendSystem = v.appended
		o.State = func(s connect.State) { p.state(s) }
	})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, closeSoon(ctx, w.Close)) }()
	if err := p.waitFor(ctx, w, v); err != nil {
		return nil, nil, err
	}
	if s, err = v.resume.session(w.Host); err != nil {
		return nil, nil, err
	}
	if s == nil {
		s = w.Host.NewSession()
	}
	r, err = s.SendInput(ctx, in, o)
	return s, r, err
}

// closeSoon closes something. After the end of ctx it waits for half of limitGrace
// only, so that the result can be printed; programs that were started end with the
// process.
func closeSoon(ctx context.Context, end func() error) error {
	closed := make(chan error, 1)
	go func() { closed <- end() }()
	select {
	case err := <-closed:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-closed:
		return err
	case <-time.After(limitGrace / 2):
		return nil
	}
}

// answerForm returns the form of --json-schema: a file, or JSON. The model gives
// the arguments of a tool, which are an object; a schema of something else becomes
// the member "answer" of one, and unwrap returns it.
func answerForm(word string) (form *host.AnswerForm, unwrap func(json.RawMessage) json.RawMessage, err error) {
	unwrap = func(data json.RawMessage) json.RawMessage { return data }
	if word == "" {
		return nil, unwrap, nil
	}
	text := []byte(word)
	if !strings.HasPrefix(strings.TrimSpace(word), "{") {
		if text, err = os.ReadFile(word); err != nil {
			return nil, nil, usagef("--json-schema: %w", err)
		}
	}
	if _, err := schema.NewValidator(text, nil); err != nil {
		return nil, nil, usagef("--json-schema: %w", err)
	}
	var root map[string]json.RawMessage
	if err := mcp.Unmarshal(text, &root); err != nil {
		return nil, nil, usagef("--json-schema: %w", err)
	}
	if string(root["type"]) != `"object"` {
		if text, err = asMember(root); err != nil {
			return nil, nil, usagef("--json-schema: %w", err)
		}
		unwrap = func(data json.RawMessage) json.RawMessage {
			var answer struct {
				Answer json.RawMessage `json:"answer"`
			}
			if mcp.Unmarshal(data, &answer) != nil { // it was checked
				return data
			}
			return answer.Answer
		}
	}
	v, err := schema.NewValidator(text, nil)
	if err != nil {
		return nil, nil, usagef("--json-schema: %w", err)
	}
	return &host.AnswerForm{Schema: text, Check: v.Check}, unwrap, nil
}

// asMember returns the schema of an object whose member "answer" has a schema. The
// definitions move to the root, where references look for them.
func asMember(inner map[string]json.RawMessage) (json.RawMessage, error) {
	outer := map[string]any{"type": "object", "required": []string{"answer"}, "additionalProperties": false}
	for _, name := range []string{"$schema", "$defs", "definitions"} {
		if v, ok := inner[name]; ok {
			outer[name] = v
			delete(inner, name)
		}
	}
	outer["properties"] = map[string]any{"answer": inner}
	return json.Marshal(outer)
}
