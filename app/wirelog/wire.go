package wirelog

import (
	"bytes"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/jsonrpc"
)

// A Wire adds the messages of one connection to a Log. It is safe for concurrent
// use. Its methods copy their arguments and never wait for a reader.
type Wire struct {
	log    *Log
	server string
	conn   uint64

	mu           sync.Mutex
	conversation speccheck.Conversation
	http         *exchanges // nil unless RoundTripper was called
}

// Wire returns a Wire for a new connection to a server. Each connection needs its
// own, also a reconnection to the same server.
func (l *Log) Wire(server string) *Wire {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns++
	return &Wire{log: l, server: server, conn: l.conns}
}

// Frame adds a frame as a client sees it; use it as era.DialOptions.Tap. A frame
// that is not a message is added as speccheck.KindInvalid, so
// era.DialOptions.OnInvalidFrame need not call [Wire.InvalidFrame] as well.
func (w *Wire) Frame(d jsonrpc.Direction, frame []byte) {
	dir := speccheck.FromServer
	if d == jsonrpc.Out {
		dir = speccheck.ToServer
	}
	w.addFrame(speccheck.Message{Dir: dir, Frame: bytes.Clone(frame)})
}

// InvalidFrame adds a line of a server that is not a message and was not passed to
// [Wire.Frame].
func (w *Wire) InvalidFrame(line []byte) {
	w.addOther(speccheck.Message{Dir: speccheck.FromServer, Kind: speccheck.KindInvalid, Frame: bytes.Clone(line)})
}

// Stderr adds a line of a server's standard error.
func (w *Wire) Stderr(line string) {
	w.addOther(speccheck.Message{Dir: speccheck.FromServer, Kind: speccheck.KindStderr, Frame: []byte(line)})
}

// Event adds an event of the connection, described in a sentence.
func (w *Wire) Event(text string) {
	w.addOther(speccheck.Message{Dir: speccheck.FromServer, Kind: speccheck.KindEvent, Frame: []byte(text)})
}

// Conn returns the number of the connection.
func (w *Wire) Conn() uint64 { return w.conn }

// addFrame reads a frame, follows the conversation with it, and adds it. The frame
// belongs to the log from here on.
func (w *Wire) addFrame(m speccheck.Message) uint64 {
	if m.At.IsZero() {
		m.At = time.Now()
	}
	m.Server, m.Conn, m.Size = w.server, w.conn, len(m.Frame)
	read := speccheck.ParseFrame(m.Frame)
	w.mu.Lock()
	defer w.mu.Unlock()
	opened := w.conversation.Follow(&m, &read, !w.log.opts.Unchecked)
	if w.http != nil {
		w.http.attach(&m, w.conversation.Related())
		w.conversation.CheckStatus(&m, read.Message.Error)
	}
	w.log.mu.Lock()
	seq := w.log.addLocked(&m)
	if m.Joins != 0 && (m.Kind == speccheck.KindResponse || m.Kind == speccheck.KindError) {
		w.log.changeLocked(m.Joins, func(asked *speccheck.Message) { asked.AnsweredBy = seq })
	}
	for _, e := range w.conversation.Ended() {
		w.log.endLocked(e)
	}
	w.log.mu.Unlock()
	for _, o := range opened {
		o.Seq = seq
	}
	if w.http != nil && m.Dir == speccheck.ToServer {
		w.http.sent(&m, seq, opened)
	}
	return seq
}

// addOther adds an entry that is not a JSON-RPC message.
func (w *Wire) addOther(m speccheck.Message) uint64 {
	m.Server, m.Conn, m.Size, m.ShapeChecked = w.server, w.conn, len(m.Frame), true
	w.mu.Lock()
	defer w.mu.Unlock()
	m.Revision, m.Era = w.conversation.Revision()
	if m.Kind == speccheck.KindInvalid && !w.log.opts.Unchecked {
		m.Problems = []speccheck.Problem{speccheck.InvalidLine()}
	}
	return w.log.Add(m)
}

// Add adds a message that was seen elsewhere, such as one of a recording. It uses
// the message's At, Dir, Kind, Frame and HTTP and derives the other fields.
func (w *Wire) Add(m speccheck.Message) {
	again := speccheck.Message{At: m.At, Dir: m.Dir, Kind: m.Kind, Frame: bytes.Clone(m.Frame), HTTP: m.HTTP}
	if m.Kind.IsJSON() {
		w.addFrame(again)
		return
	}
	w.addOther(again)
}

// cost is an upper estimate of the memory that a message holds.
func cost(m *speccheck.Message) int {
	n := messageSize + len(m.Frame) + len(m.Frame)/8 + len(m.ID) + len(m.Tool)
	for _, p := range m.Problems {
		n += problemSize + len(p.Text) + len(p.Pointer)
	}
	if h := m.HTTP; h != nil {
		n += 128 + len(h.URL) + len(h.Error)
		for _, l := range [][]speccheck.Header{h.Request, h.Response} {
			for _, x := range l {
				n += 32 + len(x.Name) + len(x.Value)
			}
		}
	}
	return n
}

const (
	messageSize = 464 // the struct itself, its place in the ring, its map entries
	problemSize = 80
)
