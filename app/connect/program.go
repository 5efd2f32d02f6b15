package connect

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/internal/eraconn"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/transport/stdio"
)

// A programLink is a server in its own process.
type programLink struct{ *stdio.Connection }

func (l programLink) pid() int          { return l.Child().Pid() }
func (l programLink) lastWords() string { return l.Child().Stderr() }

// program starts the entry's program and connects to it. A program that ends at
// the request for its revisions is an older one: it is started again without that
// request.
func (s *Server) program(ctx context.Context, known mcp.Revision, watch Watcher) (link, error) {
	said, printed := &tail{}, &tail{}
	command := commandOf(s.entry)
	command.Stderr = func(line string) {
		said.add(line)
		watch.Stderr(line)
	}
	command.Era = *s.dialOptions(known, watch)
	command.Era.OnInvalidFrame = func(frame []byte, _ error) { printed.add(string(frame)) }
	conn, err := stdio.Dial(ctx, command, s.profile)
	if _, ended := errors.AsType[*jsonrpc.ClosedError](err); ended && known == "" && ctx.Err() == nil {
		command.Era.Known = eraconn.LatestWithHandshake()
		conn, err = stdio.Dial(ctx, command, s.profile)
	}
	if err != nil {
		if _, told := errors.AsType[*stdio.ExitError](err); !told && said.String() != "" {
			err = &idleError{err, said.String()}
		}
		if printed.String() != "" {
			err = &printedError{err, printed.String()}
		}
		return nil, err
	}
	said.end()
	printed.end()
	return programLink{conn}, nil
}

// commandOf returns the command of an entry's program.
func commandOf(entry config.Server) *stdio.Command {
	c := &stdio.Command{Path: entry.Command, Args: entry.Args, Env: entry.Env, Dir: entry.Dir}
	if entry.InheritEnv {
		c.InheritEnv = []string{"*"}
	}
	return c
}

// An idleError adds the last lines of stderr of a process that exited with code 0
// before it was connected.
type idleError struct {
	error
	stderr string
}

func (e *idleError) Error() string {
	return e.error.Error() + "; last lines of its stderr:\n" + visible.Text(e.stderr)
}

// A printedError adds invalid lines on stdout of a process that could not be
// connected.
type printedError struct {
	error
	stdout string
}

func (e *printedError) Error() string {
	return e.error.Error() + "; it wrote to stdout, which is for messages:\n" + visible.Terminal(e.stdout)
}

func (e *printedError) Unwrap() error { return e.error }

func (e *idleError) Unwrap() error { return e.error }

// A tail keeps the last lines of stderr until the process is connected and keeps
// them itself.
type tail struct {
	mu       sync.Mutex
	lines    []string
	finished bool
}

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.finished {
		return
	}
	if len(t.lines) == 10 {
		t.lines = t.lines[1:]
	}
	t.lines = append(t.lines, strings.ToValidUTF8(line[:min(len(line), 200)], ""))
}

func (t *tail) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.finished, t.lines = true, nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n")
}

func (s *Server) dialOptions(known mcp.Revision, watch Watcher) *era.DialOptions {
	o := &era.DialOptions{Known: known, ConnectTimeout: s.opts.ConnectTimeout, Tap: watch.Frame}
	if s.opts.Pace {
		o.Tap = func(d jsonrpc.Direction, frame []byte) {
			watch.Frame(d, frame)
			if d == jsonrpc.In {
				s.pace.received()
			}
		}
	}
	return o
}
