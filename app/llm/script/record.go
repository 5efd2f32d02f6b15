package script

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"sync"
	"time"

	json "github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/app/llm"
)

// A Recorder is a model that asks another and writes down what happens.
type Recorder struct {
	model  llm.Model
	timing bool

	mu  sync.Mutex
	out io.WriteCloser
	err error // the first that happened while writing
}

// RecordOptions change what is written. Nil is fine.
type RecordOptions struct {
	Timing bool // write the pauses of the model as delays
}

// Record makes a file, or empties it, and writes into it whatever the model is
// asked and answers. A turn is written when it is over, so turns that run at the
// same time do not mix. Requests are written as they are, with everything that
// people and tools have said: the file is readable by its owner only.
func Record(name string, m llm.Model, o *RecordOptions) (*Recorder, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the recording cannot be written: %w", err)
	}
	if err := f.Chmod(0o600); err != nil { // it may have been there before
		return nil, errors.Join(fmt.Errorf("the recording cannot be kept private: %w", err), f.Close())
	}
	r := &Recorder{model: m, out: f, timing: o != nil && o.Timing}
	info := m.Info()
	if err := r.write(&line{Script: Version, Model: &info}); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

// Info is that of the model that is asked.
func (r *Recorder) Info() llm.Info { return r.model.Info() }

// Close ends the recording. The error is the first that happened in it.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.err, r.out.Close())
}

// Stream asks the model.
func (r *Recorder) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		lines := []*line{{Request: req}}
		last := time.Now()
		complete := false
		for e, err := range r.model.Stream(ctx, req) {
			if pause := time.Since(last); r.timing && pause >= time.Millisecond {
				lines = append(lines, &line{Delay: pause.Round(time.Millisecond).String()})
				last = time.Now()
			}
			if l := lineOf(e, err); l != nil {
				lines = append(lines, l)
			}
			complete = complete || err != nil && llm.KindOf(err) != llm.ErrCanceled || e.Kind == llm.EventDone
			if !yield(e, err) {
				break
			}
		}
		if !complete {
			return // whoever asked went away: nothing that could be repeated
		}
		_ = r.write(lines...) // Close tells
	}
}

// lineOf is what the file says of an event; nil if it follows from another.
func lineOf(e llm.Event, err error) *line {
	if err != nil {
		return errorOf(err)
	}
	switch e.Kind {
	case llm.EventText:
		return &line{Text: &e.Text}
	case llm.EventThinking:
		return &line{Thinking: &e.Text, Signature: e.Signature}
	case llm.EventCall:
		c := e.Call
		return &line{Call: &callLine{ID: c.ID, Name: c.Name, Arguments: c.Arguments, Problem: c.Problem}, Signature: e.Signature}
	case llm.EventUsage:
		return &line{Usage: &e.Usage}
	case llm.EventRetry:
		return &line{Retry: e.Note}
	case llm.EventDone:
		stop := string(e.Stop)
		return &line{Done: &stop}
	}
	return nil
}

func errorOf(err error) *line {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		e = &llm.Error{Kind: llm.ErrServer, Message: err.Error()}
	}
	if e.Kind == llm.ErrCanceled {
		return nil
	}
	out := &errorLine{Kind: e.Kind, Status: e.Status, Message: e.Message}
	if e.RetryAfter > 0 {
		out.RetryAfter = e.RetryAfter.String()
	}
	return &line{Error: out}
}

func (r *Recorder) write(lines ...*line) error {
	var b bytes.Buffer
	for _, l := range lines {
		raw, err := json.Marshal(l, json.Deterministic(true))
		if err != nil {
			return r.fail(err)
		}
		b.Write(raw)
		b.WriteByte('\n')
	}
	r.mu.Lock()
	_, err := r.out.Write(b.Bytes())
	r.mu.Unlock()
	return r.fail(err)
}

func (r *Recorder) fail(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("the recording is not complete: %w", err)
	}
	return err
}
