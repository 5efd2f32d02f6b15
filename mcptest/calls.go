package mcptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// A block is one call of a conversation and the lines that belong to it, in one
// revision. Lines are identified by their index in the section.
type block struct {
	call          int
	end           int // index of the next block
	wishes        []func(*mcp.Call)
	exchanges     []exchange
	notifications []int
	outcome       int // -1 if not specified
}

type exchange struct{ asked, answer int } // asked is -1 if not specified

// role maps words that replace each other to one word.
func role(word string) string {
	if word == "error" {
		return "result"
	}
	return word
}

// blocks parses the conversation for one revision.
func (s *section) blocks(rev mcp.Revision) ([]*block, error) {
	var out []*block
	var b *block
	replaced := "" // the role of the previous line, if it was limited to this revision
	asked := -1
	for i, l := range s.lines {
		if l.word == "" || l.word == "eras" {
			continue
		}
		if l.only != nil {
			if !slices.Contains(l.only, rev) {
				continue
			}
			replaced = role(l.word)
		} else if replaced == role(l.word) {
			replaced = ""
			continue
		} else {
			replaced = ""
		}
		if l.word == "call" {
			b = &block{call: i, outcome: -1}
			out = append(out, b)
		}
		if b == nil {
			return nil, s.mistaken(l, "a conversation begins with a call")
		}
		b.end = i + 1
		if asked >= 0 && l.word != "answer" {
			return nil, s.mistaken(s.lines[asked], "an asked line must be followed by an answer line")
		}
		switch l.word {
		case "with":
			if err := b.with(l.arg); err != nil {
				return nil, s.mistaken(l, "%v", err)
			}
		case "asked":
			asked = i
		case "answer":
			b.exchanges = append(b.exchanges, exchange{asked, i})
			asked = -1
		case "note":
			b.notifications = append(b.notifications, i)
		case "result", "error":
			if b.outcome >= 0 {
				return nil, s.mistaken(l, "the call already has an outcome")
			}
			b.outcome = i
		}
	}
	return out, nil
}

func (b *block) with(arg string) error {
	for _, wish := range strings.Fields(arg) {
		level, isLog := strings.CutPrefix(wish, "log=")
		switch {
		case wish == "progress":
			b.wishes = append(b.wishes, func(c *mcp.Call) { c.Progress = true })
		case isLog:
			want, err := wantLog(level)
			if err != nil {
				return err
			}
			b.wishes = append(b.wishes, want)
		default:
			return fmt.Errorf("expected progress or log=level, found %q", wish)
		}
	}
	return nil
}

// A sight is the actual value for an expected line. text is the correct line,
// or empty if nothing arrived.
type sight struct {
	ok   bool
	text string
}

// seen is what happened in one revision.
type seen struct {
	lines map[int]sight    // by the index of the line
	extra map[int][]string // missing lines, by the call that they belong to
}

// A performing is a conversation of calls that is running.
type performing struct {
	*section
	captured captures
	seen     seen
	problems []error

	mu       sync.Mutex
	block    *block
	used     []bool // which exchanges of the block have taken place
	received []mcp.Notification
}

// playCalls runs a conversation in one revision.
func (s *section) playCalls(h mcp.Handler, rev mcp.Revision) (seen, error) {
	p := &performing{section: s, captured: captures{}, seen: seen{map[int]sight{}, map[int][]string{}}}
	blocks, err := s.blocks(rev)
	if err != nil {
		return p.seen, err
	}
	peer, stop, err := connect(context.Background(), h, rev, able())
	if err != nil {
		return p.seen, mistake{err}
	}
	for _, b := range blocks {
		p.play(peer, b)
	}
	if err := stop(); err != nil {
		p.fail(mistake{err})
	}
	return p.seen, errors.Join(p.problems...)
}

func (p *performing) fail(err error) {
	if err != nil {
		p.problems = append(p.problems, err)
	}
}

// play makes one call and compares its outcome.
func (p *performing) play(h mcp.Handler, b *block) {
	l := p.lines[b.call]
	method, params, _ := strings.Cut(l.arg, " ")
	c := &mcp.Call{Method: method}
	for _, wish := range b.wishes {
		wish(c)
	}
	if params != "" {
		c.Params = json.RawMessage(p.captured.fill(params))
		if !json.Valid(c.Params) {
			p.fail(p.mistaken(l, "the params are not JSON: %s", clip(params)))
			return
		}
	}
	p.block, p.used, p.received = b, make([]bool, len(b.exchanges)), nil
	c.OnNotification = func(n mcp.Notification) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.received = append(p.received, n)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	res, err := mcp.HandleInput(h, p.answer, 0).Serve(ctx, c)
	for i, x := range b.exchanges {
		if !p.used[i] {
			p.fail(p.wrong(p.lines[x.answer], "the server did not request this input"))
			if x.asked >= 0 {
				p.seen.lines[x.asked] = sight{}
			}
			p.seen.lines[x.answer] = sight{}
		}
	}
	p.compareNotifications()
	p.compareOutcome(res, err)
}

// answer responds to an input request from the conversation.
func (p *performing) answer(_ context.Context, _ *mcp.Call, _ string, q mcp.InputRequest) (json.RawMessage, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	x := p.exchangeFor(q)
	if x < 0 {
		p.fail(p.wrong(p.lines[p.block.call], "the server requests %s %s, but the conversation has no answer to that", q.Method, clip(string(q.Params))))
		return nil, fmt.Errorf("no answer to %s", q.Method)
	}
	p.used[x] = true
	if at := p.block.exchanges[x].asked; at >= 0 {
		p.fail(p.look(at, q.Method, q.Params))
	}
	_, answer, _ := strings.Cut(p.lines[p.block.exchanges[x].answer].arg, " ")
	return json.RawMessage(p.captured.fill(answer)), nil
}

// exchangeFor finds the response to an input request: the first for its method
// whose asked line matches, or else the first for its method.
func (p *performing) exchangeFor(q mcp.InputRequest) int {
	first := -1
	for i, x := range p.block.exchanges {
		method, _, _ := strings.Cut(p.lines[x.answer].arg, " ")
		if p.used[i] || method != q.Method {
			continue
		}
		if x.asked < 0 {
			return i
		}
		_, text, _ := strings.Cut(p.lines[x.asked].arg, " ")
		if want, err := parsePattern(text); err == nil && want.match(orEmpty(q.Params), captures{}) == nil {
			return i
		}
		if first < 0 {
			first = i
		}
	}
	return first
}

// look compares a method and its params with a line.
func (p *performing) look(at int, method string, params json.RawMessage) error {
	l := p.lines[at]
	wantMethod, text, has := strings.Cut(l.arg, " ")
	want := &pattern{kind: object}
	if has {
		var err error
		if want, err = parsePattern(text); err != nil {
			return p.mistaken(l, "%v", err)
		}
	}
	err := want.match(orEmpty(params), p.captured)
	if err == nil && method != wantMethod {
		err = fmt.Errorf("got %s, want %s", method, wantMethod)
	}
	p.seen.lines[at] = sight{err == nil, spell(l.word, method, want.merge(orEmpty(params)).String())}
	if err != nil {
		return p.wrong(l, "%s: %v\n\tgot  %s %s", l.word, err, method, clip(string(params)))
	}
	return nil
}

func spell(word, method, params string) string {
	if params == "{}" {
		return word + " " + method
	}
	return word + " " + method + " " + params
}

func orEmpty(params json.RawMessage) json.RawMessage {
	if params == nil {
		return json.RawMessage("{}")
	}
	return params
}

func (p *performing) compareNotifications() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, at := range p.block.notifications {
		if i < len(p.received) {
			p.fail(p.look(at, p.received[i].Method, p.received[i].Params))
		} else {
			p.seen.lines[at] = sight{}
			p.fail(p.wrong(p.lines[at], "this notification did not arrive"))
		}
	}
	for i := len(p.block.notifications); i < len(p.received); i++ {
		n := spell("note", p.received[i].Method, string(orEmpty(p.received[i].Params)))
		p.seen.extra[p.block.call] = append(p.seen.extra[p.block.call], n)
		p.fail(p.wrong(p.lines[p.block.call], "unexpected message from the server: %s", clip(n)))
	}
}
