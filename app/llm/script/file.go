// Package script has models that play files: a [Player] answers from a script or
// replays a recording, and a [Recorder] records the answers of another model.
//
// Files have one JSON object per line; docs/models.md describes them. Blank lines
// and lines that start with # or // are comments.
package script

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	json "github.com/go-json-experiment/json"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// Version is the version of the format.
const Version = 1

// A line is one line of a file. Exactly one member without a note "with" is set.
type line struct {
	Script int       `json:"script,omitzero"` // header: the version of the format
	Model  *llm.Info `json:"model,omitzero"`  // with Script: the model
	Repeat bool      `json:"repeat,omitzero"` // with Script: start again after the last turn
	Ignore []string  `json:"ignore,omitzero"` // with Script: parts of requests that replay does not compare

	Request *llm.Request `json:"request,omitzero"` // starts a turn that answers exactly this request
	Expect  *Expect      `json:"expect,omitzero"`  // starts a turn, the next in order
	When    *Expect      `json:"when,omitzero"`    // starts a turn that answers every matching request

	Text      *string    `json:"text,omitzero"`
	Thinking  *string    `json:"thinking,omitzero"`
	Signature string     `json:"signature,omitzero"` // with Thinking or Call
	Call      *callLine  `json:"call,omitzero"`
	Usage     *llm.Usage `json:"usage,omitzero"`
	Retry     string     `json:"retry,omitzero"`
	Delay     string     `json:"delay,omitzero"` // in the format of time.ParseDuration
	Error     *errorLine `json:"error,omitzero"`
	Done      *string    `json:"done,omitzero"` // ends a turn: the stop reason, "" means derived
}

type callLine struct {
	ID        string         `json:"id,omitzero"` // "" means generated
	Name      string         `json:"name"`
	Arguments llm.RawMessage `json:"arguments,omitzero"`
	Problem   string         `json:"problem,omitzero"`
}

type errorLine struct {
	Kind       llm.ErrorKind `json:"kind"`
	Status     int           `json:"status,omitzero"`
	Message    string        `json:"message,omitzero"`
	RetryAfter string        `json:"retry_after,omitzero"`
}

// A turn is one answer.
type turn struct {
	at      int // line number
	request *llm.Request
	expect  *Expect
	when    *Expect
	steps   []step
	stop    llm.StopReason
}

// A step is an event, a delay or an error.
type step struct {
	at    int
	event llm.Event
	delay time.Duration
	err   *llm.Error
}

// A file is a parsed script.
type file struct {
	name  string
	head  line
	turns []turn
}

// load reads and checks a whole file.
func load(name string) (*file, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read the script: %w", err)
	}
	defer f.Close()
	return read(name, f)
}

func read(name string, r io.Reader) (*file, error) {
	out := &file{name: name}
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		text, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if raw := bytes.TrimSpace(text); len(raw) > 0 && raw[0] != '#' && !bytes.HasPrefix(raw, []byte("//")) {
			if err := out.add(n, raw); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, n, err)
			}
		}
		if err != nil {
			break
		}
	}
	if len(out.turns) == 0 {
		return nil, fmt.Errorf("%s: the script has no turn; add at least {\"text\":\"…\"}", name)
	}
	return out, nil
}

func (f *file) add(n int, raw []byte) error {
	if err := rawjson.Check(raw); err != nil {
		return fmt.Errorf("a line must be one JSON object: %w", err)
	}
	var l line
	if err := json.Unmarshal(raw, &l, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("%w; a line has one of script, request, expect, when, text, thinking, call, usage, retry, delay, error, done", err)
	}
	if kinds := l.kinds(); kinds != 1 {
		return fmt.Errorf("a line must have exactly one kind, this one has %d", kinds)
	}
	switch {
	case l.Script != 0:
		if l.Script != Version {
			return fmt.Errorf("unsupported version %d of the format; this program reads version %d", l.Script, Version)
		}
		if len(f.turns) > 0 || f.head.Script != 0 {
			return errors.New("the header must be the first line")
		}
		f.head = l
		return nil
	case l.Request != nil || l.Expect != nil || l.When != nil:
		t := turn{at: n, request: l.Request, expect: l.Expect, when: l.When}
		for _, e := range []*Expect{l.Expect, l.When} {
			if err := e.compile(); err != nil {
				return err
			}
		}
		f.turns = append(f.turns, t)
		return nil
	}
	if len(f.turns) == 0 || f.turns[len(f.turns)-1].stop != "" {
		f.turns = append(f.turns, turn{at: n}) // a turn without a condition
	}
	return f.turns[len(f.turns)-1].add(n, &l)
}

// kinds counts the kinds of a line.
func (l *line) kinds() int {
	n := 0
	for _, set := range []bool{
		l.Script != 0, l.Request != nil, l.Expect != nil, l.When != nil, l.Text != nil, l.Thinking != nil,
		l.Call != nil, l.Usage != nil, l.Retry != "", l.Delay != "", l.Error != nil, l.Done != nil,
	} {
		if set {
			n++
		}
	}
	return n
}

func (t *turn) add(n int, l *line) error {
	s := step{at: n}
	switch {
	case l.Text != nil:
		s.event = llm.Event{Kind: llm.EventText, Text: *l.Text}
	case l.Thinking != nil:
		s.event = llm.Event{Kind: llm.EventThinking, Text: *l.Thinking, Signature: l.Signature}
	case l.Call != nil:
		if l.Call.Name == "" {
			return errors.New("a call needs a tool name")
		}
		if a := l.Call.Arguments; len(a) > 0 && !rawjson.IsObject(a) {
			return errors.New("the arguments of a call must be a JSON object")
		}
		s.event = llm.Event{Kind: llm.EventCall, Signature: l.Signature, Call: &llm.ToolCall{ID: l.Call.ID, Name: l.Call.Name, Arguments: l.Call.Arguments, Problem: l.Call.Problem}}
	case l.Usage != nil:
		s.event = llm.Event{Kind: llm.EventUsage, Usage: *l.Usage}
	case l.Retry != "":
		s.event = llm.Event{Kind: llm.EventRetry, Note: l.Retry}
	case l.Delay != "":
		d, err := time.ParseDuration(l.Delay)
		if err != nil || d < 0 {
			return fmt.Errorf("delay %q is not a duration; use a value such as 250ms or 2s", l.Delay)
		}
		s.delay = d
		if n := len(t.steps); n > 0 && t.steps[n-1].event.Kind == llm.EventRetry {
			t.steps[n-1].event.Wait = d
		}
	case l.Error != nil:
		e, err := l.Error.make()
		if err != nil {
			return err
		}
		s.err, t.stop = e, "error"
	case l.Done != nil:
		stop, err := t.reason(llm.StopReason(*l.Done))
		if err != nil {
			return err
		}
		t.stop = stop
		return nil
	}
	t.steps = append(t.steps, s)
	return nil
}

func (t *turn) reason(stop llm.StopReason) (llm.StopReason, error) {
	switch stop {
	case llm.StopEnd, llm.StopToolCalls, llm.StopLength, llm.StopRefusal, llm.StopStop:
		return stop, nil
	case "":
		return t.implied(), nil
	}
	return "", fmt.Errorf("done is %q, but must be end, tool_calls, length, refusal or stop", stop)
}

// implied returns the stop reason of a turn without one.
func (t *turn) implied() llm.StopReason {
	for _, s := range t.steps {
		if s.event.Kind == llm.EventCall {
			return llm.StopToolCalls
		}
	}
	return llm.StopEnd
}

func (e *errorLine) make() (*llm.Error, error) {
	out := &llm.Error{Kind: e.Kind, Status: e.Status, Message: e.Message}
	switch e.Kind {
	case llm.ErrAuth, llm.ErrQuota, llm.ErrRate, llm.ErrOverloaded, llm.ErrContextLength, llm.ErrBadRequest, llm.ErrNetwork, llm.ErrServer:
	default:
		return nil, fmt.Errorf("unknown error kind %q; use auth, quota, rate, overloaded, context_length, bad_request, network or server", e.Kind)
	}
	if e.RetryAfter != "" {
		d, err := time.ParseDuration(e.RetryAfter)
		if err != nil {
			return nil, fmt.Errorf("retry_after %q is not a duration; use a value such as 2s", e.RetryAfter)
		}
		out.RetryAfter = d
	}
	return out, nil
}
