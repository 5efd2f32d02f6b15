package recording

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Mock serves a recording in place of the recorded server. It answers a request
// with the recorded response to the same method and parameters, ignoring _meta. If
// there are several, it uses them in the order of the recording and then repeats
// the last. It also sends the recorded notifications and the recorded requests of
// the server, and waits for their responses. A request that was not recorded gets
// an error that lists the recorded ones.
type Mock struct {
	scripts []*script
	opts    MockOptions

	mu   sync.Mutex
	used map[*script]bool
}

// MockOptions configure a [Mock]; nil means the defaults.
type MockOptions struct {
	// Realtime keeps the pauses of the recording. If unset, messages are sent
	// without delay.
	Realtime bool
}

// A script is a message of the recorded client and the messages that the server
// sent for it, in order.
type script struct {
	ask    *speccheck.Message
	params []byte // compared with those of a request
	lines  []*speccheck.Message
}

// NewMock returns a Mock of a recording.
func NewMock(r *Recording, o *MockOptions) (*Mock, error) {
	m := &Mock{used: map[*script]bool{}}
	if o != nil {
		m.opts = *o
	}
	bySeq := map[uint64]*script{}
	var latest *script
	for i := range r.Messages {
		msg := &r.Messages[i]
		switch {
		case msg.Kind == speccheck.KindBatch:
			return nil, fmt.Errorf("message %d is a batch, which cannot be served again", msg.Seq)
		case !msg.Kind.IsJSON():
		case msg.Dir == speccheck.ToServer && (msg.Kind == speccheck.KindRequest || msg.Kind == speccheck.KindNotification):
			read := speccheck.ParseFrame(msg.Frame)
			latest = &script{ask: msg, params: comparableParams(read.Message.Params)}
			bySeq[msg.Seq] = latest
			m.scripts = append(m.scripts, latest)
		case msg.Dir == speccheck.FromServer:
			if s := m.place(msg, bySeq, latest); s != nil {
				s.lines = append(s.lines, msg)
			}
		}
	}
	if len(m.scripts) == 0 {
		return nil, errors.New("the recording has no request of a client, so there is nothing to serve")
	}
	return m, nil
}

// place returns the script that a message of the server belongs to. Notifications
// of a subscription belong to the client's last message before them.
func (m *Mock) place(msg *speccheck.Message, bySeq map[uint64]*script, latest *script) *script {
	joined := bySeq[msg.Joins]
	if joined == nil {
		if msg.Kind == speccheck.KindResponse || msg.Kind == speccheck.KindError {
			return nil // a response to no recorded request
		}
		return latest
	}
	if msg.Kind == speccheck.KindNotification && joined.ask.Method == mcp.MethodSubscriptionsListen && msg.Method != mcp.NotificationSubscriptionsAcknowledged {
		return latest
	}
	return joined
}

// comparableParams returns parameters without _meta and the request state.
func comparableParams(params []byte) []byte {
	kept := rawjson.Cut(params, func(name, _ []byte) bool {
		return string(name) == "_meta" || string(name) == "requestState"
	})
	return rawjson.AppendCanonical(nil, kept)
}

// find returns the script for a request, or why there is none.
func (m *Mock) find(method string, params []byte) (*script, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	want := comparableParams(params)
	var last *script
	var near []string
	for _, s := range m.scripts {
		if s.ask.Method != method {
			continue
		}
		if !isHandshake(method) && string(s.params) != string(want) {
			near = append(near, string(s.params))
			continue
		}
		if last = s; !m.used[s] {
			m.used[s] = true
			return s, nil
		}
	}
	if last != nil {
		return last, nil
	}
	if near != nil {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "the recording has no %s with these parameters; it has %s", method, several(near))
	}
	return nil, mcp.Errorf(mcp.CodeMethodNotFound, "the recording has no %s; it has %s", method, several(m.methods()))
}

// isHandshake reports whether the parameters of a method differ with every
// client.
func isHandshake(method string) bool {
	return method == mcp.MethodInitialize || method == mcp.MethodDiscover || method == mcp.MethodPing || strings.HasPrefix(method, "notifications/")
}

func (m *Mock) methods() (all []string) {
	for _, s := range m.scripts {
		if s.ask.Kind == speccheck.KindRequest {
			all = append(all, s.ask.Method)
		}
	}
	return all
}

// several lists some texts, each once.
func several(all []string) string {
	slices.Sort(all)
	all = slices.Compact(all)
	more := ""
	if len(all) > 8 {
		more = fmt.Sprintf(" and %d more", len(all)-8)
		all = all[:8]
	}
	short := make([]string, len(all))
	for i, s := range all {
		short[i] = visible.Shorten(s, 200)
	}
	return strings.Join(short, ", ") + more
}

// Serve serves one client until the client closes the stream or ctx ends, then
// closes the stream. A Mock may serve several clients, also concurrently; they
// share the position in the recording.
func (m *Mock) Serve(ctx context.Context, s jsonrpc.Stream) error {
	ctx, cancel := context.WithCancel(ctx)
	play := &performance{mock: m, stream: s, waiting: map[string]chan struct{}{}}
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer func() {
		cancel()
		stop()
		s.Close()
		play.actors.Wait()
	}()
	for {
		frame, err := s.Read()
		var tooLong *jsonrpc.FrameError
		switch {
		case errors.As(err, &tooLong):
			continue
		case err == io.EOF || err != nil && ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		play.receive(ctx, frame)
	}
}

// A performance is a recording that is being served to one client.
type performance struct {
	mock   *Mock
	stream jsonrpc.Stream
	actors sync.WaitGroup

	mu      sync.Mutex
	nextID  int
	waiting map[string]chan struct{} // requests to the client, by id
}

func (p *performance) receive(ctx context.Context, frame []byte) {
	read := speccheck.ParseFrame(frame)
	if read.Err != nil || read.Batch != nil {
		reason := "the recording is not served in batches"
		if read.Err != nil {
			reason = read.Err.Reason
		}
		p.send(jsonrpc.AppendError(nil, nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: reason}))
		return
	}
	j := read.Message
	if j.IsResponse() {
		p.answered(j.ID.Key())
		return
	}
	s, err := p.mock.find(j.Method, j.Params)
	if err != nil {
		var e *mcp.Error
		if errors.As(err, &e) && j.ID != nil {
			p.send(jsonrpc.AppendError(nil, j.ID, &jsonrpc.Error{Code: e.Code, Message: e.Message}))
		}
		return
	}
	p.actors.Go(func() { p.perform(ctx, s, &j) })
}

// perform sends the messages of a script for a request.
func (p *performance) perform(ctx context.Context, s *script, j *jsonrpc.Message) {
	at := s.ask.At
	for _, line := range s.lines {
		if p.mock.opts.Realtime && !pause(ctx, line.At.Sub(at)) {
			return
		}
		at = line.At
		read := speccheck.ParseFrame(line.Frame)
		frame := line.Frame
		switch line.Kind {
		case speccheck.KindRequest:
			if !p.ask(ctx, frame) {
				return
			}
			continue
		case speccheck.KindNotification:
			frame = readdress(frame, &read.Message, j)
		default:
			if j.ID == nil {
				continue
			}
			frame = setMember(frame, "id", j.ID)
			if j.Method == mcp.MethodSubscriptionsListen {
				frame = setAt(frame, []string{"result", "_meta", mcp.MetaSubscriptionID}, j.ID)
			}
		}
		p.send(frame)
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// readdress gives a notification the token or subscription of the request that it
// is sent for.
func readdress(frame []byte, note, j *jsonrpc.Message) []byte {
	token := lookAt(j.Params, []string{"_meta", mcp.MetaProgressToken})
	if note.Method == mcp.NotificationProgress && token != nil {
		return setAt(frame, []string{"params", mcp.MetaProgressToken}, token)
	}
	if j.Method == mcp.MethodSubscriptionsListen {
		return setAt(frame, []string{"params", "_meta", mcp.MetaSubscriptionID}, j.ID)
	}
	return frame
}

// ask sends a request of the server with a new id and waits for its response,
// whatever it is.
func (p *performance) ask(ctx context.Context, frame []byte) bool {
	p.mu.Lock()
	p.nextID++
	id := jsonrpc.StringID("mock-" + strconv.Itoa(p.nextID))
	done := make(chan struct{})
	p.waiting[id.Key()] = done
	p.mu.Unlock()
	p.send(setMember(frame, "id", id))
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

func (p *performance) answered(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if done := p.waiting[key]; done != nil {
		close(done)
		delete(p.waiting, key)
	}
}

func (p *performance) send(frame []byte) {
	line := append(rawjson.AppendCompact(nil, frame), '\n')
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stream.Write(line) // if it fails, so does the next Read
}
