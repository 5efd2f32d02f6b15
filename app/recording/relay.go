package recording

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/internal/redact"
)

// A relayed is one line of the protocol between [Relay] and [Receive], over a
// socket file that only its owner can use:
//
//	{"server":"files"}                                       first
//	{"at":"…","dir":"to server","kind":"request","frame":"…"}  each message
type relayed struct {
	Server string         `json:"server,omitempty"`
	At     time.Time      `json:"at,omitzero"`
	Dir    speccheck.Dir  `json:"dir,omitempty"`
	Kind   speccheck.Kind `json:"kind,omitempty"`
	Frame  []byte         `json:"frame,omitempty"`
}

// A Relay is a [wirelog.Sink] that sends messages to the process that listens at
// a socket file. Add never blocks: messages that cannot be sent are dropped, and
// all are once the receiver has closed the connection.
type Relay struct {
	known *redact.Values
	queue *wirelog.Queue
	conn  net.Conn
	enc   *json.Encoder
	once  sync.Once
}

// NewRelay connects to a socket file. It fails if no process listens there. Known
// secrets and the values of members with names like "password" are not sent.
func NewRelay(socket, server string, known *redact.Values) (*Relay, error) {
	conn, err := net.DialTimeout("unix", socket, time.Second)
	if err != nil {
		return nil, err
	}
	r := &Relay{known: known, conn: conn, enc: json.NewEncoder(conn)}
	if err := r.enc.Encode(relayed{Server: server}); err != nil {
		conn.Close()
		return nil, err
	}
	r.queue = wirelog.NewQueue(0, r.send, func(int) {})
	return r, nil
}

// Add implements [wirelog.Sink].
func (r *Relay) Add(m *speccheck.Message) { r.queue.Add(m) }

func (r *Relay) send(m *speccheck.Message) {
	r.conn.SetWriteDeadline(time.Now().Add(2 * time.Second))
	if r.enc.Encode(relayed{At: m.At, Dir: m.Dir, Kind: m.Kind, Frame: r.known.JSON(m.Frame)}) != nil {
		r.once.Do(func() { r.conn.Close() })
	}
}

// Close sends the queued messages, until ctx ends, and closes the connection.
func (r *Relay) Close(ctx context.Context) error {
	err := r.queue.Close(ctx)
	r.once.Do(func() { r.conn.Close() })
	return err
}

// Receive listens at a socket file and adds the messages of relays to a log until
// ctx ends. Only the owner can use the file; Receive removes it at the end. It
// replaces a file left by an earlier process and fails if one is in use.
func Receive(ctx context.Context, socket string, l *wirelog.Log) error {
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		return err
	}
	if c, err := net.DialTimeout("unix", socket, 200*time.Millisecond); err == nil {
		c.Close()
		return errors.New("another tenon listens at " + socket + " already")
	}
	os.Remove(socket)
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	if err := os.Chmod(socket, 0o600); err != nil {
		listener.Close()
		return err
	}
	var open sync.WaitGroup
	defer open.Wait()
	stop := context.AfterFunc(ctx, func() { listener.Close() })
	defer stop()
	for {
		conn, err := listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		open.Go(func() {
			end := context.AfterFunc(ctx, func() { conn.Close() })
			defer end()
			defer conn.Close()
			receive(conn, l)
		})
	}
}

// TapConnected and TapEnded are the events with which the log shows that a host
// runs a server through tenon tap, and that it has ended.
const (
	TapConnected = "tenon tap is connected"
	TapEnded     = "tenon tap has ended"
)

// receive adds one relay's messages, until an invalid one.
func receive(r io.Reader, l *wirelog.Log) {
	in := bufio.NewReaderSize(r, 64<<10)
	dec := json.NewDecoder(in)
	var first relayed
	if dec.Decode(&first) != nil || first.Server == "" {
		return
	}
	wire := l.Wire(first.Server)
	wire.Event(TapConnected)
	for {
		var m relayed
		if dec.Decode(&m) != nil {
			wire.Event(TapEnded)
			return
		}
		wire.Add(speccheck.Message{At: m.At, Dir: m.Dir, Kind: m.Kind, Frame: m.Frame})
	}
}
