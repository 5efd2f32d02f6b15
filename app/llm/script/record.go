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

// A Recorder is a model that passes requests to another and records them with the
// answers.
type Recorder struct {
	model  llm.Model
	timing bool

	mu  sync.Mutex
	out io.WriteCloser
	err error // the first write error
}

// RecordOptions configures a Recorder. Nil means all defaults.
type RecordOptions struct {
	Timing bool // record the pauses of the model as delays
}

// Record creates or truncates a file and returns a model that records m in it.
// Each turn is written when it ends. A replay does not compare the system text,
// which has the day and the folder. Requests contain the whole conversation, so
// only the owner can read the file. The caller must call Close.
func Record(name string, m llm.Model, o *RecordOptions) (*Recorder, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create the recording: %w", err)
	}
	if err := f.Chmod(0o600); err != nil { // the file may have existed before
		return nil, errors.Join(fmt.Errorf("make the recording private: %w", err), f.Close())
	}
	r := &Recorder{model: m, out: f, timing: o != nil && o.Timing}
	info := m.Info()
	if err := r.write(&line{Script: Version, Model: &info, Ignore: []string{"system"}}); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

// Info returns the description of the recorded model.
func (r *Recorder) Info() llm.Info { return r.model.Info() }

// Close closes the file. It returns the first error of the recording.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.err, r.out.Close())
}

// Stream implements [llm.Model].
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
			return // canceled: a replay could not repeat it
		}
		_ = r.write(lines...) // Close returns the error
	}
}

// lineOf returns the line for an event; nil if other lines imply the event.
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
		r.err = fmt.Errorf("write the recording: %w", err)
	}
	return err
}
