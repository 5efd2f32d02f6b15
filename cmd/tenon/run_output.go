package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/app/host"
	"github.com/tenon-mcp/tenon/app/show"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// A reporter prints the events of a turn.
type reporter struct {
	p       *program
	output  string
	json    *show.Printer
	noModel bool // words are matched to tools

	mu     sync.Mutex
	seq    uint64      // of the last event
	result *host.Event // held back until the exit code is known
	calls  map[string]*host.ToolCall
	order  []string
	failed error // of writing
}

func (p *program) reporter(output string) (*reporter, error) {
	r := &reporter{p: p, output: output, calls: map[string]*host.ToolCall{}}
	switch output {
	case "text":
	case "json":
		r.json = &show.Printer{W: p.out, Format: show.JSON}
	case "stream-json":
		r.json = &show.Printer{W: p.out, Format: show.JSONL}
	default:
		return nil, usagef("unknown output %q: use text, json or stream-json", output)
	}
	return r, nil
}

func (r *reporter) event(e host.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq = e.Seq
	switch e.Kind {
	case host.EventResult:
		r.result = &e
		return
	case host.EventTool:
		r.tool(e.Call)
	case host.EventNotice:
		r.p.note("%s", e.Text)
	}
	if r.output == "stream-json" && r.failed == nil {
		r.failed = r.write(e)
	}
}

// write writes a value as JSON, without the secrets of servers.
func (r *reporter) write(v any) error {
	raw, err := mcp.Marshal(v)
	if err != nil {
		return err
	}
	return r.json.Value(json.RawMessage(r.p.secrets.KnownJSON(raw)))
}

func (r *reporter) tool(c *host.ToolCall) {
	if r.calls[c.ID] == nil {
		r.order = append(r.order, c.ID)
	}
	r.calls[c.ID] = c
	switch c.Phase {
	case host.CallDenied:
		r.p.note("Denied%s.", strings.TrimPrefix(": "+sentenceEnd(c.Rule), ": denied"))
	case host.CallRunning:
		if c.Progress == 0 {
			r.p.note("%s %s", c.Name, c.Arguments)
		}
	case host.CallFailed:
		r.p.note("%s failed: %s", c.Name, c.Problem)
	}
}

// sentenceEnd returns text as the end of a sentence: its first letter in lower
// case, and without a full stop.
func sentenceEnd(text string) string {
	text = strings.TrimSuffix(text, ".")
	if first, size := utf8.DecodeRuneInString(text); size > 0 {
		text = string(unicode.ToLower(first)) + text[size:]
	}
	return text
}

// answer writes the text of the answer: unchanged, or made safe for a terminal.
func (r *reporter) answer(text string) error {
	var err error
	if r.p.plain(r.p.out) {
		_, err = io.WriteString(r.p.out, text)
	} else if text = strings.TrimSpace(text); text != "" {
		_, err = fmt.Fprintln(r.p.out, visible.Terminal(text))
	}
	return err
}

// finish prints the outcome and returns the error with the exit code. The result
// is nil if the turn did not begin.
func (r *reporter) finish(s *host.Session, result *host.TurnResult, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		err = r.outcome(result)
	}
	if r.failed != nil {
		return fmt.Errorf("write the events: %w", r.failed)
	}
	var failed error
	switch {
	case r.output == "stream-json":
		failed = r.last(s, result, err)
	case result == nil:
	case r.output == "json":
		failed = r.object(s, result, err)
	default:
		failed = r.answer(result.Answer)
	}
	if failed != nil {
		return exitError{fmt.Errorf("write the answer: %w", failed), exitTool}
	}
	return err
}

// outcome returns the error of a turn that has ended normally; nil if there is an
// answer and every call was made. It explains what is wrong on standard error.
func (r *reporter) outcome(result *host.TurnResult) error {
	calls := result.Calls
	switch {
	case r.noModel && calls == (host.CallCounts{}):
		r.p.note("No model is connected, and the words do not make a call. Set an API key, or choose a model with --model.")
		return exitWith(exitModel)
	case result.Stop == "length":
		r.p.note("The answer was cut off at the token limit.")
		return exitWith(exitLimit)
	case calls.Denied > 0:
		return exitWith(exitDenied)
	case result.Stop == "refusal":
		r.p.note("The model, or a filter of its provider, refused to answer.")
		return exitWith(exitTool)
	case len(result.Failed) > 0:
		r.p.note("No result of %s.", strings.Join(result.Failed, ", "))
		return exitWith(exitTool)
	}
	return nil
}

// object writes the object of --output json.
func (r *reporter) object(s *host.Session, result *host.TurnResult, err error) error {
	object, err2 := r.members(result, err)
	if err2 != nil {
		return err2
	}
	calls := []*host.ToolCall{}
	for _, id := range r.order {
		calls = append(calls, r.calls[id])
	}
	object["session"], object["calls"] = s.ID, calls
	r.p.reported = true
	return r.write(object)
}

// last writes the result event, which is the last line of a stream.
func (r *reporter) last(s *host.Session, result *host.TurnResult, err error) error {
	if result == nil {
		result = &host.TurnResult{Stop: "error", Denied: []host.DeniedCall{}, Failed: []string{}}
		if exitCode(err) == exitLimit {
			result.Stop = "timeout"
		}
	}
	object, err2 := r.members(result, err)
	if err2 != nil {
		return err2
	}
	line := map[string]any{"seq": r.seq + 1, "at": time.Now(), "kind": host.EventResult, "result": object}
	if s != nil {
		line["session"] = s.ID
	}
	if r.result != nil && r.result.Seq == r.seq {
		line["seq"], line["at"] = r.seq, r.result.At
	}
	r.p.reported = true
	return r.write(line)
}

// members returns the members of a result with the exit code and the error.
func (r *reporter) members(result *host.TurnResult, err error) (map[string]any, error) {
	raw, err2 := mcp.Marshal(result)
	if err2 != nil {
		return nil, err2
	}
	var all map[string]any
	if err2 := mcp.Unmarshal(raw, &all); err2 != nil {
		return nil, err2
	}
	all["exitCode"] = exitCode(err)
	if err == nil || err.Error() == "" {
		return all, nil
	}
	object := r.p.errorObject(err)
	if e := result.Error; e != nil && e.Kind != "" {
		object["kind"] = e.Kind
		if e.Status != 0 {
			object["status"] = e.Status
		}
	}
	all["error"] = object
	return all, nil
}
