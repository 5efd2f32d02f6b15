package mcptest

import (
	"errors"
	"slices"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/mcp"
)

// frameTimeout is how long a server may take for its next frame, in fake time.
const frameTimeout = time.Minute

// A play is a conversation of frames that is running.
type play struct {
	*section
	near     *recorder
	received chan []byte // frames from the server that have not been compared
	captured captures
	at       line   // the current line
	seen     []line // the actual conversation
	problems []error
}

// playFrames runs a conversation of frames in a bubble. It returns the actual
// conversation and how it differs from the expected one.
func (s *section) playFrames(h mcp.Handler, update bool) ([]line, error) {
	near, stop, err := serve(h, false)
	if err != nil {
		return nil, mistake{err}
	}
	p := &play{section: s, near: near, received: make(chan []byte, 1<<16), captured: captures{}}
	go func() {
		defer close(p.received)
		for {
			frame, err := near.Read()
			if err != nil {
				return
			}
			p.received <- frame
		}
	}()
	for i := 0; i < len(s.lines); {
		i += p.step(s.lines[i:], update)
	}
	p.rest()
	if err := stop(); err != nil {
		p.fail(mistake{err})
	}
	return p.seen, errors.Join(p.problems...)
}

func (p *play) fail(err error) {
	if err != nil {
		p.problems = append(p.problems, err)
	}
}

// step runs the next line, or several, and returns how many.
func (p *play) step(lines []line, update bool) int {
	l := lines[0]
	if l.word != "" {
		p.at = l
	}
	switch l.word {
	case ">":
		if update && !expects(lines) {
			p.rest() // a new conversation: put every response below its request
		}
		if err := p.near.Write([]byte(p.captured.fill(l.arg) + "\n")); err != nil {
			p.fail(p.wrong(l, "send to the server: %v", err))
		}
	case "<":
		p.expect(l)
		return 1
	case "<~":
		n := 1
		for n < len(lines) && lines[n].word == "<~" {
			n++
		}
		p.expectAll(lines[:n])
		return n
	case "<none", "wait":
		if l.arg != "" {
			d, err := p.duration(l)
			p.fail(err)
			time.Sleep(d)
		}
		if l.word == "<none" {
			p.rest()
		}
	}
	p.seen = append(p.seen, l)
	return 1
}

func expects(lines []line) bool {
	for _, l := range lines {
		if l.word == "<" || l.word == "<~" {
			return true
		}
	}
	return false
}

// next returns the next frame of the server, or nil.
func (p *play) next() []byte {
	synctest.Wait()
	late := time.NewTimer(frameTimeout)
	defer late.Stop()
	select {
	case frame := <-p.received:
		return frame
	case <-late.C:
		return nil
	}
}

// expect compares the next frame with a line.
func (p *play) expect(l line) {
	want, err := parsePattern(l.arg)
	if err != nil {
		p.fail(p.mistaken(l, "%v", err))
		return
	}
	got := p.next()
	if got == nil {
		p.fail(p.wrong(l, "nothing received, want %s", clip(l.arg)))
		return
	}
	if err := want.match(got, p.captured); err != nil {
		p.fail(p.wrong(l, "%v\n\tgot  %s\n\twant %s", err, clip(string(got)), clip(l.arg)))
		l.text = l.word + " " + want.merge(got).String()
	}
	p.seen = append(p.seen, l)
}

// expectAll compares frames with lines in any order.
func (p *play) expectAll(lines []line) {
	open := make([]*pattern, len(lines))
	for i, l := range lines {
		var err error
		if open[i], err = parsePattern(l.arg); err != nil {
			p.fail(p.mistaken(l, "%v", err))
			return
		}
	}
	var others [][]byte
	for range lines {
		got := p.next()
		if got == nil {
			break
		}
		if i := p.whose(got, open); i >= 0 {
			open[i] = nil
		} else {
			others = append(others, got)
		}
	}
	for i, l := range lines {
		switch {
		case open[i] == nil:
		case len(others) > 0:
			p.fail(p.wrong(l, "no frame matches\n\tgot  %s\n\twant %s", clip(string(others[0])), clip(l.arg)))
			l.text = l.word + " " + open[i].merge(others[0]).String()
			others = others[1:]
		default:
			p.fail(p.wrong(l, "nothing received, want %s", clip(l.arg)))
			continue
		}
		p.seen = append(p.seen, l)
	}
}

// whose returns the index of the pattern that a frame matches, or -1.
func (p *play) whose(got []byte, open []*pattern) int {
	for i, want := range open {
		if want != nil && want.match(got, p.captured) == nil {
			return i
		}
	}
	return -1
}

// rest reports frames that are not in the conversation.
func (p *play) rest() {
	for {
		synctest.Wait()
		select {
		case frame, ok := <-p.received:
			if !ok {
				return
			}
			p.fail(p.wrong(p.at, "unexpected message from the server: %s", clip(string(frame))))
			n := len(p.seen) // keep comments with the next line
			for n > 0 && p.seen[n-1].word == "" {
				n--
			}
			p.seen = slices.Insert(p.seen, n, line{text: "< " + string(frame), word: "<"})
		default:
			return
		}
	}
}
