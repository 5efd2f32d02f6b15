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

// A Frame is one message.
type Frame struct {
	// FromServer is the direction.
	FromServer bool
	// Revision is the revision of the message; empty if it is not known yet.
	Revision mcp.Revision
	// Method is the method of the message, or of the request that a response
	// belongs to; empty if unknown.
	Method string
	// Raw is the message.
	Raw []byte
}

// Check is called with every message on a connection of this package; an error
// fails the test. Nil checks nothing. Set it before the first connection is
// made. It must be safe for concurrent use.
//
// Messages that a conversation of frames has the client send are not checked:
// they may be invalid on purpose.
var Check func(Frame) error

// A recorder observes both directions of a stream, at the client's end.
type recorder struct {
	jsonrpc.Stream
	trusted bool // messages from the client must be valid

	mu       sync.Mutex
	session  mcp.Revision              // the result of initialize
	newest   mcp.Revision              // the revision of modern requests
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

// saw records a frame and checks it.
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
		r.identify(&f)
	}
	for e := rawjson.Array(raw); e.Next(); { // the requests and answers of a batch count one by one
		r.identify(&Frame{FromServer: fromServer, Raw: e.Value})
	}
	if Check == nil || !fromServer && !r.trusted {
		return
	}
	if err := Check(f); err != nil {
		who := "client"
		if fromServer {
			who = "server"
		}
		r.problems = append(r.problems, fmt.Errorf("the %s sent a message that revision %s does not allow: %w\n%s", who, f.Revision, err, clip(string(raw))))
	}
}

// identify sets the revision and the method of a message.
func (r *recorder) identify(f *Frame) {
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
		if asked.method == mcp.MethodInitialize {
			if v, ok := rawjson.String(rawjson.Lookup(rawjson.Lookup(f.Raw, "result"), "protocolVersion")); ok {
				f.Revision, r.session = mcp.Revision(v), mcp.Revision(v)
			}
		}
	case method == mcp.MethodInitialize:
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
		f.Revision = mcp.Revisions()[0] // an unsupported revision is rejected in the newest one
	}
	if method != "" && key != "" {
		r.requests[sender][key] = sentRequest{method, f.Revision}
	}
}

// found returns the problems so far.
func (r *recorder) found() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := errors.Join(r.problems...)
	r.problems = nil
	return err
}

// serve serves h at the other end of a stream in memory. stop ends it and
// returns what went wrong.
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
