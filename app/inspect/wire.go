package inspect

import (
	"bytes"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/jsonrpc"
)

// A Wire writes one connection to a Log. Its methods may be called from many
// goroutines; they copy what they are given and never wait for a reader.
type Wire struct {
	log    *Log
	server string
	conn   uint64

	mu           sync.Mutex
	conversation conversation
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
	dir := FromServer
	if d == jsonrpc.Out {
		dir = ToServer
	}
	w.add(Message{Dir: dir, Frame: bytes.Clone(frame)})
}

// FrameAtServer is Frame for the server's end of a connection: it fits
// era.ServerOptions.Tap.
func (w *Wire) FrameAtServer(d jsonrpc.Direction, frame []byte) {
	w.Frame(jsonrpc.In+jsonrpc.Out-d, frame)
}

// Noise writes down a line of a server that is no message, for whoever hears of
// it otherwise than through Frame.
func (w *Wire) InvalidFrame(line []byte) {
	w.put(Message{Dir: FromServer, Kind: KindInvalid, Frame: bytes.Clone(line)})
}

// Stderr writes down a line of a server's standard error.
func (w *Wire) Stderr(line string) {
	w.put(Message{Dir: FromServer, Kind: KindStderr, Frame: []byte(line)})
}

// Event writes down what became of the connection, in a sentence.
func (w *Wire) Event(text string) {
	w.put(Message{Dir: FromServer, Kind: KindEvent, Frame: []byte(text)})
}

// Conn is the number of the connection.
func (w *Wire) Conn() uint64 { return w.conn }

// add reads a frame, follows the conversation with it, and adds it. The frame
// belongs to the log from here on.
func (w *Wire) add(m Message) uint64 {
	if m.At.IsZero() {
		m.At = time.Now()
	}
	m.Server, m.Conn, m.Size = w.server, w.conn, len(m.Frame)
	read := readFrame(m.Frame)
	w.mu.Lock()
	defer w.mu.Unlock()
	opened := w.conversation.follow(&m, &read, !w.log.opts.Unchecked)
	if w.http != nil {
		w.http.attach(&m, w.conversation.joined)
		w.conversation.judgeStatus(&m, read.one.Error)
	}
	w.log.mu.Lock()
	seq := w.log.addLocked(&m)
	if m.Joins != 0 && (m.Kind == KindResponse || m.Kind == KindError) {
		w.log.changeLocked(m.Joins, func(asked *Message) { asked.AnsweredBy = seq })
	}
	w.log.mu.Unlock()
	for _, o := range opened {
		o.seq = seq
	}
	if w.http != nil && m.Dir == ToServer {
		w.http.sent(&m, seq, opened)
	}
	return seq
}

// put adds what is not a message.
func (w *Wire) put(m Message) uint64 {
	m.At, m.Server, m.Conn, m.Size, m.shaped = time.Now(), w.server, w.conn, len(m.Frame), true
	w.mu.Lock()
	defer w.mu.Unlock()
	m.Revision, m.Era = w.conversation.spoken()
	if m.Kind == KindInvalid && !w.log.opts.Unchecked {
		m.Problems = []Problem{problem(ruleStdout, "", "the line is no message; a server logs to standard error")}
	}
	return w.log.Add(m)
}
