package recording

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
)

// ReplayOptions configure [Replay]; nil means the defaults.
type ReplayOptions struct {
	// Timeout is the timeout of each response. 0 means 30 s.
	Timeout time.Duration

	// Ignore lists JSON pointers into responses that are not compared; "*"
	// matches any one name or index. Values that change with every run are
	// never compared: ids, _meta, times, cursors, states and task ids.
	Ignore []string

	// Wire logs the messages of the replay, if set.
	Wire *wirelog.Wire
}

// A Step is one response, as recorded and as received in the replay.
type Step struct {
	Request     speccheck.Message // as it was recorded
	Want, Got   []byte            // the frames of the responses; Got is nil if there was none
	Differences []Difference
	Err         error // why there is no response
}

// OK reports whether the response equals the recorded one.
func (s *Step) OK() bool { return s.Err == nil && len(s.Differences) == 0 }

// A Report is the result of a replay.
type Report struct {
	Steps []Step
	// Missing counts, by method, the notifications that were recorded and not
	// received; Extra those that were received and not recorded.
	Missing, Extra map[string]int
}

// OK reports whether all responses equal the recorded ones. Notifications are not
// compared: their number often depends on timing.
func (r *Report) OK() bool {
	for i := range r.Steps {
		if !r.Steps[i].OK() {
			return false
		}
	}
	return true
}

// Replay sends the client's messages of a recording to a server and compares the
// responses. It sends each message when all recorded messages before it have
// arrived. Recorded values that the server has chosen (states, cursors, task ids,
// ids of its requests) are replaced by the current ones. Differences are in the
// report; an error means that the connection failed. Replay closes the stream.
func Replay(ctx context.Context, s jsonrpc.Stream, r *Recording, o *ReplayOptions) (*Report, error) {
	p := newPlayer(s, r, o)
	ctx, cancel := context.WithCancel(ctx)
	read := make(chan struct{})
	go func() { defer close(read); p.listen(ctx) }()
	defer func() {
		cancel()
		s.Close()
		<-read
	}()
	err := p.play(ctx, r)
	p.count(r)
	return p.report, err
}

type player struct {
	stream jsonrpc.Stream
	opts   ReplayOptions
	report *Report
	came   chan arrival

	// Messages that arrived and are not used yet.
	answers   map[string][]byte   // by id
	questions map[string][][]byte // by method
	heard     map[string]int      // notifications, by method
	ended     error

	given map[string][]byte // values that the server chose: recorded to current
}

// An arrival is a frame of the server, or the end.
type arrival struct {
	frame []byte
	err   error
}

func newPlayer(s jsonrpc.Stream, r *Recording, o *ReplayOptions) *player {
	p := &player{report: &Report{Missing: map[string]int{}, Extra: map[string]int{}}}
	if o != nil {
		p.opts = *o
	}
	if p.opts.Timeout <= 0 {
		p.opts.Timeout = 30 * time.Second
	}
	if p.opts.Wire != nil {
		s = jsonrpc.Tap(s, p.opts.Wire.Frame)
	}
	p.stream, p.came = s, make(chan arrival, 16)
	p.answers, p.questions = map[string][]byte{}, map[string][][]byte{}
	p.heard, p.given = map[string]int{}, map[string][]byte{}
	return p
}

// listen reads frames of the server until ctx ends or the stream does.
func (p *player) listen(ctx context.Context) {
	for {
		frame, err := p.stream.Read()
		var tooLong *jsonrpc.FrameError
		if errors.As(err, &tooLong) {
			continue
		}
		select {
		case p.came <- arrival{frame, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

func (p *player) play(ctx context.Context, r *Recording) error {
	bySeq := map[uint64]*speccheck.Message{}
	for i := range r.Messages {
		m := &r.Messages[i]
		bySeq[m.Seq] = m
		var err error
		switch {
		case m.Kind == speccheck.KindBatch:
			return fmt.Errorf("message %d is a batch, which cannot be played again", m.Seq)
		case !m.Kind.IsJSON():
		case m.Dir == speccheck.ToServer:
			err = p.send(m, bySeq[m.Joins])
		case m.Kind == speccheck.KindRequest:
			err = p.awaitRequest(ctx, m)
		case m.Kind != speccheck.KindNotification:
			err = p.awaitResponse(ctx, m, bySeq[m.Joins])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// send sends a message of the recorded client, with current values.
func (p *player) send(m, question *speccheck.Message) error {
	frame := m.Frame
	if question != nil && (m.Kind == speccheck.KindResponse || m.Kind == speccheck.KindError) {
		now, ok := p.given["question "+question.ID]
		if !ok {
			return nil // the server did not send this request again
		}
		frame = setMember(frame, "id", now)
	}
	for _, name := range []string{"requestState", "cursor", "taskId"} {
		path := []string{"params", name}
		if now, ok := p.given[string(lookAt(frame, path))]; ok {
			frame = setAt(frame, path, now)
		}
	}
	if err := p.stream.Write(append(rawjson.AppendCompact(nil, frame), '\n')); err != nil {
		return fmt.Errorf("message %d (%s) could not be sent: %w", m.Seq, m.Method, err)
	}
	return nil
}

// awaitResponse waits for the response to the same request and compares it.
func (p *player) awaitResponse(ctx context.Context, m, request *speccheck.Message) error {
	if request == nil {
		return nil // it answers nothing that was recorded
	}
	read := speccheck.ParseFrame(m.Frame)
	key := read.Message.ID.Key()
	err := p.until(ctx, func() bool { return p.answers[key] != nil })
	step := Step{Request: *request, Want: m.Frame, Got: p.answers[key], Err: err}
	if err == nil {
		delete(p.answers, key)
		step.Differences = diff(m.Frame, step.Got, p.volatile)
		p.learn(m.Frame, step.Got)
	}
	p.report.Steps = append(p.report.Steps, step)
	if p.ended != nil || ctx.Err() != nil {
		return fmt.Errorf("waiting for the answer to message %d (%s): %w", request.Seq, request.Method, err)
	}
	return nil
}

// awaitRequest waits for a recorded request of the server.
func (p *player) awaitRequest(ctx context.Context, m *speccheck.Message) error {
	err := p.until(ctx, func() bool { return len(p.questions[m.Method]) > 0 })
	step := Step{Request: *m, Want: m.Frame, Err: err}
	if err == nil {
		step.Got = p.questions[m.Method][0]
		p.questions[m.Method] = p.questions[m.Method][1:]
		step.Differences = diff(m.Frame, step.Got, p.volatile)
		p.given["question "+m.ID] = rawjson.Lookup(step.Got, "id")
	}
	p.report.Steps = append(p.report.Steps, step)
	if p.ended != nil || ctx.Err() != nil {
		return fmt.Errorf("waiting for the server to ask for %s: %w", m.Method, err)
	}
	return nil
}

// until handles arrivals until enough returns true.
func (p *player) until(ctx context.Context, enough func() bool) error {
	timer := time.NewTimer(p.opts.Timeout)
	defer timer.Stop()
	for !enough() {
		if p.ended != nil {
			return p.ended
		}
		select {
		case a := <-p.came:
			p.take(a)
		case <-timer.C:
			return fmt.Errorf("nothing came within %v", p.opts.Timeout)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (p *player) take(a arrival) {
	if a.err != nil {
		p.ended = a.err
		if a.err == io.EOF {
			p.ended = errors.New("the server has closed the connection")
		}
		return
	}
	read := speccheck.ParseFrame(a.frame)
	if read.Err != nil || read.Batch != nil {
		return
	}
	switch j := &read.Message; speccheck.KindOf(j) {
	case speccheck.KindRequest:
		p.questions[j.Method] = append(p.questions[j.Method], a.frame)
	case speccheck.KindNotification:
		p.heard[j.Method]++
	default:
		p.answers[j.ID.Key()] = a.frame
	}
}

// count compares the numbers of received and recorded notifications.
func (p *player) count(r *Recording) {
	for more := true; more; {
		select {
		case a := <-p.came:
			p.take(a)
		default:
			more = false
		}
	}
	want := map[string]int{}
	for i := range r.Messages {
		if m := &r.Messages[i]; m.Dir == speccheck.FromServer && m.Kind == speccheck.KindNotification {
			want[m.Method]++
		}
	}
	for method, n := range want {
		if n > p.heard[method] {
			p.report.Missing[method] = n - p.heard[method]
		}
	}
	for method, n := range p.heard {
		if n > want[method] {
			p.report.Extra[method] = n - want[method]
		}
	}
}

// volatileNames are members whose values change with every run.
var volatileNames = map[string]bool{
	"_meta": true, "requestState": true, "nextCursor": true, "taskId": true, "elicitationId": true,
	"createdAt": true, "lastUpdatedAt": true, "lastModified": true,
}

// volatile reports whether a place of two responses is not compared.
func (p *player) volatile(pointer string, a, b []byte) bool {
	if pointer == "/id" {
		return true
	}
	last := pointer[strings.LastIndexByte(pointer, '/')+1:]
	if volatileNames[last] {
		return true
	}
	for _, pattern := range p.opts.Ignore {
		if matchPointer(pattern, pointer) {
			return true
		}
	}
	return isTime(a) && isTime(b)
}

func isTime(raw []byte) bool {
	if len(raw) < len(`"2006-01-02T15:04:05Z"`) || len(raw) > 40 || !rawjson.IsString(raw) {
		return false
	}
	s, _ := rawjson.String(raw)
	_, err := time.Parse(time.RFC3339Nano, s)
	return err == nil
}

// matchPointer compares a pointer with a pattern, step by step.
func matchPointer(pattern, pointer string) bool {
	want, got := strings.Split(pattern, "/"), strings.Split(pointer, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != "*" && want[i] != got[i] {
			return false
		}
	}
	return true
}

// learn records values that the server chose, for later messages to it.
func (p *player) learn(then, now []byte) {
	for _, path := range [][]string{
		{"result", "requestState"}, {"result", "nextCursor"}, {"result", "taskId"}, {"result", "task", "taskId"},
	} {
		a, b := lookAt(then, path), lookAt(now, path)
		if a != nil && b != nil {
			p.given[string(a)] = b
		}
	}
}
