package stdio

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/jsonrpc"
)

// standardTaken is set while a stream of Standard is open.
var standardTaken atomic.Bool

// Standard returns the standard input and output of this process as a stream. A
// frame may have limit bytes; 0 means [jsonrpc.DefaultFrameLimit].
//
// Until Close, only the stream uses the real standard input and output. All other
// output (fmt.Println in a tool, a logger made for os.Stdout earlier, programs
// that a tool starts) goes to standard error, and other readers of standard input
// read its end. On Windows this does not apply to C code and to programs that
// have inherited the handle already.
//
// Close restores standard input and output, and ends a blocked Read. On a
// terminal and on Windows, a goroutine stays in the system's read until a line or
// the end arrives. On Unix, a pipe or socket is non-blocking until Close, unless
// it is standard error as well.
func Standard(limit int) (jsonrpc.Stream, error) { return standardStream(limit, nil) }

// standardStream is Standard with a reader that reads a second time only after
// ready was closed; nil means at once.
func standardStream(limit int, ready <-chan struct{}) (jsonrpc.Stream, error) {
	if !standardTaken.CompareAndSwap(false, true) {
		return nil, errors.New("standard input and output are already in use by another stream; close that first")
	}
	t, err := takeStandard()
	if err != nil {
		standardTaken.Store(false)
		return nil, err
	}
	s := &standard{taken: t, reader: interruptible(t.in)}
	var in io.Reader = s.reader
	if ready != nil {
		in = &gated{reader: in, ready: ready}
	}
	return jsonrpc.Lines(in, t.out, s, limit), nil
}

// A gated reader reads a second time only after ready was closed.
type gated struct {
	reader io.Reader
	ready  <-chan struct{} // nil once it was closed
	began  bool
}

func (g *gated) Read(p []byte) (int, error) {
	if g.began && g.ready != nil {
		<-g.ready
		g.ready = nil
	}
	g.began = true
	return g.reader.Read(p)
}

// taken is the result of takeStandard. restore puts the files back; restoreModes,
// after in and out were closed, restores blocking mode.
type taken struct {
	in, out      *os.File
	restore      func() error
	restoreModes func()
}

// A standard closes the stream of Standard.
type standard struct {
	taken
	reader io.ReadCloser
	once   sync.Once
	err    error
}

func (s *standard) Close() error {
	s.once.Do(func() {
		s.err = errors.Join(s.restore(), s.reader.Close(), s.out.Close())
		s.restoreModes()
		standardTaken.Store(false)
	})
	return s.err
}

// interruptible returns a reader of f whose Close ends a blocked Read.
func interruptible(f *os.File) io.ReadCloser {
	if hasDeadlines(f) {
		return f
	}
	r, w := io.Pipe()
	p := &pumped{PipeReader: r, closed: make(chan struct{})}
	go func() {
		// A blocked read of f outlives Close.
		_, err := io.Copy(w, f)
		w.CloseWithError(err)
		<-p.closed
		f.Close()
	}()
	return p
}

// A pumped is a file that a goroutine reads.
type pumped struct {
	*io.PipeReader
	closed chan struct{}
}

// Close is called once. The goroutine closes the file after its read.
func (p *pumped) Close() error {
	close(p.closed)
	return p.PipeReader.Close()
}
