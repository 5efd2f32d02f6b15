package wirelog

import (
	"bytes"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/jsonrpc"
)

// A Wire writes one connection to a Log. Its methods may be called from many
// goroutines; they copy what they are given and never wait for a reader.
type Wire struct {
	log    *Log
	server string
	conn   uint64

	mu           sync.Mutex
	conversation speccheck.Conversation
	http         *exchanges // nil unless RoundTripper was called
}

// Wire returns a wire for a new connection to a server: one for each
// connection, also when the same server is met again.
func (l *Log) Wire(server string) *Wire {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns++
	return &Wire{log: l, server: server, conn: l.conns}
}

// Frame writes down a frame as a client sees it: it fits era.DialOptions.Tap.
// Frames that are no messages become noise, so era.DialOptions.OnInvalidFrame need not
// be connected to [Wire.InvalidFrame] as well.
func (w *Wire) Frame(d jsonrpc.Direction, frame []byte) {
	dir := speccheck.FromServer
	if d == jsonrpc.Out {
		dir = speccheck.ToServer
	}
	w.addFrame(speccheck.Message{Dir: dir, Frame: bytes.Clone(frame)})
}

// FrameAtServer is Frame for the server's end of a connection: it fits
// era.ServerOptions.Tap.
func (w *Wire) FrameAtServer(d jsonrpc.Direction, frame []byte) {
	w.Frame(jsonrpc.In+jsonrpc.Out-d, frame)
}

// Noise writes down a line of a server that is no message, for whoever hears of
// it otherwise than through Frame.
func (w *Wire) InvalidFrame(line []byte) {
	w.addOther(speccheck.Message{Dir: speccheck.FromServer, Kind: speccheck.KindInvalid, Frame: bytes.Clone(line)})
}

// Stderr writes down a line of a server's standard error.
func (w *Wire) Stderr(line string) {
	w.addOther(speccheck.Message{Dir: speccheck.FromServer, Kind: speccheck.KindStderr, Frame: []byte(line)})
}

// Event writes down what became of the connection, in a sentence.
func (w *Wire) Event(text string) {
	w.addOther(speccheck.Message{Dir: speccheck.FromServer, Kind: speccheck.KindEvent, Frame: []byte(text)})
}

// Conn is the number of the connection.
func (w *Wire) Conn() uint64 { return w.conn }

// add reads a frame, follows the conversation with it, and adds it. The frame
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
	w.log.mu.Unlock()
	for _, o := range opened {
		o.Seq = seq
	}
	if w.http != nil && m.Dir == speccheck.ToServer {
		w.http.sent(&m, seq, opened)
	}
	return seq
}

// put adds what is not a message.
func (w *Wire) addOther(m speccheck.Message) uint64 {
	m.At, m.Server, m.Conn, m.Size, m.ShapeChecked = time.Now(), w.server, w.conn, len(m.Frame), true
	w.mu.Lock()
	defer w.mu.Unlock()
	m.Revision, m.Era = w.conversation.Revision()
	if m.Kind == speccheck.KindInvalid && !w.log.opts.Unchecked {
		m.Problems = []speccheck.Problem{speccheck.InvalidLine()}
	}
	return w.log.Add(m)
}
