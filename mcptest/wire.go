package mcptest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Frame is one message as it goes over the wire.
type Frame struct {
	// FromServer is the direction.
	FromServer bool
	// Revision is the one that the message is of; empty when the message does
	// not say, and no message before it did.
	Revision mcp.Revision
	// Method is that of the request which an answer answers, and otherwise
	// that of the message itself; empty when it is not known.
	Method string
	// Raw is the message.
	Raw []byte
}

// Check is shown every frame that goes over a wire of this package; its error
// fails the test. Nil checks nothing. It is to be set before the first wire
// is made, and must be safe for use by many goroutines.
//
// What conversations of frames have the client send is not shown to it: that
// may be wrong on purpose.
var Check func(Frame) error

// A recorder watches both directions of a stream, from the client's end.
type recorder struct {
	jsonrpc.Stream
	trusted bool // what the client sends is meant to be valid

	mu       sync.Mutex
	session  mcp.Revision              // what initialize came to
	newest   mcp.Revision              // what modern requests say they are of
	requests [2]map[string]sentRequest // by the key of their id; those of the server at 1
	problems []error
}

type sentRequest struct {
	method   string
	revision mcp.Revision
}

func newRecorder(s jsonrpc.Stream, trusted bool) *recorder {
	return &recorder{Stream: s, trusted: trusted, requests: [2]map[string]sentRequest{{}, {}}}
}

func (r *recorder) Read() ([]byte, error) {
	raw, err := r.Stream.Read()
	if err == nil {
		r.saw(raw, true)
	}
	return raw, err
}

func (r *recorder) Write(frames []byte) error {
	for raw := range bytes.Lines(frames) {
		if raw = bytes.TrimSpace(raw); len(raw) > 0 {
			r.saw(raw, false)
		}
	}
	return r.Stream.Write(frames)
}

// saw takes down a frame and has it checked.
func (r *recorder) saw(raw []byte, fromServer bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if rawjson.Check(raw) != nil {
		if fromServer || r.trusted {
			r.problems = append(r.problems, fmt.Errorf("a frame is not valid JSON: %s", clip(string(raw))))
		}
		return
	}
	f := Frame{FromServer: fromServer, Raw: raw, Revision: r.session}
	if !rawjson.IsArray(raw) {
		r.place(&f)
	}
	for e := rawjson.Array(raw); e.Next(); { // the requests and answers of a batch count one by one
		r.place(&Frame{FromServer: fromServer, Raw: e.Value})
	}
	if Check == nil || !fromServer && !r.trusted {
		return
	}
	if err := Check(f); err != nil {
		who := "client"
		if fromServer {
			who = "server"
		}
		r.problems = append(r.problems, fmt.Errorf("the %s sent what revision %s does not allow: %w\n%s", who, f.Revision, err, clip(string(raw))))
	}
}

// place finds out of which revision and about what a message is.
func (r *recorder) place(f *Frame) {
	sender, receiver := 0, 1
	if f.FromServer {
		sender, receiver = 1, 0
	}
	key := jsonrpc.ID(rawjson.Lookup(f.Raw, "id")).Key()
	params := rawjson.Lookup(f.Raw, "params")
	method, _ := rawjson.String(rawjson.Lookup(f.Raw, "method"))
	f.Method, f.Revision = method, r.session
	switch {
	case method == "":
		asked := r.requests[receiver][key]
		delete(r.requests[receiver], key)
		f.Method, f.Revision = asked.method, asked.revision
		if asked.method == "initialize" {
			if v, ok := rawjson.String(rawjson.Lookup(rawjson.Lookup(f.Raw, "result"), "protocolVersion")); ok {
				f.Revision, r.session = mcp.Revision(v), mcp.Revision(v)
			}
		}
	case method == "initialize":
		v, _ := rawjson.String(rawjson.Lookup(params, "protocolVersion"))
		f.Revision = mcp.Revision(v)
	case !f.FromServer:
		if v, ok := rawjson.String(rawjson.Lookup(rawjson.Lookup(params, "_meta"), mcp.MetaProtocolVersion)); ok {
			f.Revision, r.newest = mcp.Revision(v), mcp.Revision(v)
		}
	case rawjson.Lookup(rawjson.Lookup(params, "_meta"), mcp.MetaSubscriptionID) != nil:
		f.Revision = r.newest
	}
	if f.Revision == "" {
		f.Revision = r.newest
	}
	if f.Revision != "" && !slices.Contains(mcp.Revisions(), f.Revision) {
		f.Revision = mcp.Revisions()[0] // who is refused is told so in the newest
	}
	if method != "" && key != "" {
		r.requests[sender][key] = sentRequest{method, f.Revision}
	}
}

// found returns what was wrong with the frames so far.
func (r *recorder) found() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := errors.Join(r.problems...)
	r.problems = nil
	return err
}

// serve serves h at the far end of a stream in memory. stop ends it and says
// what went wrong, on the wire as well.
func serve(h mcp.Handler, trusted bool) (near *recorder, stop func() error, err error) {
	s, err := era.NewServer(h, nil)
	if err != nil {
		return nil, nil, err
	}
	here, there := jsonrpc.Pipe()
	near = newRecorder(here, trusted)
	served := make(chan error, 1)
	go func() { served <- s.ServeStream(context.Background(), there) }()
	return near, func() error {
		near.Close()
		return errors.Join(<-served, near.found())
	}, nil
}
