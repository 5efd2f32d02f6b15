package stdio

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/jsonrpc"
)

// standardTaken is set while a stream owns standard input and output.
var standardTaken atomic.Bool

// Standard takes over the standard input and output of this process and
// returns them as a stream. A frame may have limit bytes; 0 means
// [jsonrpc.DefaultFrameLimit].
//
// From then on only the stream reaches the real standard output. Whatever else
// is printed (fmt.Println in a tool, a logger that was made for os.Stdout
// earlier, a program that a tool starts with this process's standard output)
// goes to standard error, where it does no harm; and whatever else reads
// standard input finds it empty. On Windows the output of C code and of
// programs that were given the handle earlier is not caught.
//
// Close gives everything back. It ends a Read that waits, also on a terminal;
// there, and on Windows, one goroutine stays behind in the system's read until
// a line or the end arrives. On Unix a pipe or socket is switched to
// non-blocking mode until Close, unless it is standard error as well.
func Standard(limit int) (jsonrpc.Stream, error) {
	if !standardTaken.CompareAndSwap(false, true) {
		return nil, errors.New("standard input and output are already in use by another stream; close that first")
	}
	t, err := takeStandard()
	if err != nil {
		standardTaken.Store(false)
		return nil, err
	}
	s := &standard{taken: t, reader: interruptible(t.in)}
	return jsonrpc.Lines(s.reader, t.out, s, limit), nil
}

// taken is what takeStandard took, with the way back: giveBack puts the files
// in their old places, and calm, after in and out have been closed, undoes what
// the other holders of the files could notice.
type taken struct {
	in, out  *os.File
	giveBack func() error
	calm     func()
}

// standard closes what Standard took.
type standard struct {
	taken
	reader io.ReadCloser
	once   sync.Once
	err    error
}

func (s *standard) Close() error {
	s.once.Do(func() {
		s.err = errors.Join(s.giveBack(), s.reader.Close(), s.out.Close())
		s.calm()
		standardTaken.Store(false)
	})
	return s.err
}

// interruptible returns f in a form whose Close ends a Read that waits.
func interruptible(f *os.File) io.ReadCloser {
	if hasDeadlines(f) {
		return f
	}
	r, w := io.Pipe()
	p := &pumped{PipeReader: r, closed: make(chan struct{})}
	go func() {
		// If f has nothing to say, this outlives Close.
		_, err := io.Copy(w, f)
		w.CloseWithError(err)
		<-p.closed
		f.Close()
	}()
	return p
}

// pumped is a file that a goroutine reads.
type pumped struct {
	*io.PipeReader
	closed chan struct{}
}

// Close is called once. It lets the goroutine close the file, which may have to
// wait for a read.
func (p *pumped) Close() error {
	close(p.closed)
	return p.PipeReader.Close()
}
