package stdio

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
)

// A Command describes a server program to start. It is an [mcp.Dialer].
type Command struct {
	// Path is the program: a path, or a name to look up in the PATH of this
	// process. It is started without a shell. A relative path with a separator
	// is relative to Dir.
	Path string

	// Args are the arguments after the program's name.
	Args []string

	// Dir is the directory the program starts in; empty means the current one.
	Dir string

	// Env has variables for the program. They replace inherited ones.
	Env map[string]string

	// InheritEnv names further variables to pass on from this process. A name
	// may end with "*", which matches any rest. If unset, the program gets only
	// what programs need to run, such as PATH, HOME and LANG, and no secrets
	// from the environment of this process.
	InheritEnv []string

	// Stderr is called with each line of standard error, without its end and
	// with invalid UTF-8 replaced; lines longer than 64 KiB arrive in pieces.
	// The program and Close block until it returns; it must not call Close. Nil
	// means that lines are only stored for [Child.Stderr].
	Stderr func(line string)

	// Grace is how long Close waits for the program to end after closing its
	// input, and again after asking it to terminate. 0 means 2 s.
	Grace time.Duration

	// FrameLimit is the longest message in bytes that [Child.Stream] accepts;
	// 0 means 64 MiB. A longer message takes no more memory than this, and
	// fails the call that it is the response to.
	FrameLimit int

	// Cmd is a command to run instead of Path, Args, Dir, Env and InheritEnv.
	// It has exactly its own environment; as with package exec, a nil Env means
	// that of this process. Each start runs a copy. Its Stdin and Stdout must be
	// unset; its Stderr, if set, gets the lines of standard error. The context
	// of [exec.CommandContext], Cancel and WaitDelay have no effect: Close ends
	// the program.
	Cmd *exec.Cmd

	// Era configures how to connect to the server.
	Era era.DialOptions

	// Restart configures how [Supervise] and [Command.Dial] restart the program.
	Restart RestartOptions
}

// name returns the name of the program for errors.
func (c *Command) name() string {
	if c.Cmd != nil {
		return c.Cmd.Path
	}
	return c.Path
}

// Start starts the program. It does not check that the program is a server.
func (c *Command) Start() (*Child, error) {
	child, err := c.start()
	if err != nil {
		return nil, &startError{c.name(), c.Dir, err}
	}
	return child, nil
}

// A startError says in plain words why a program cannot be started: the error of
// the system names it twice, and a call of the system.
type startError struct {
	name string
	dir  string // where it would run; empty means the working directory
	err  error
}

func (e *startError) Unwrap() error { return e.err }

func (e *startError) Error() string {
	why := e.err.Error()
	path, unstarted := errors.AsType[*fs.PathError](e.err)
	switch {
	case errors.Is(e.err, exec.ErrNotFound) && strings.Contains(e.name, " "):
		why = "no such program in PATH; give its arguments separately"
	case errors.Is(e.err, exec.ErrNotFound):
		why = "no such program in PATH"
	case !unstarted || path.Op != "fork/exec":
	case errors.Is(e.err, fs.ErrPermission):
		why = "it is not executable"
	case errors.Is(e.err, fs.ErrNotExist):
		why = "no such file"
		if e.isThere(path.Path) {
			why = "the file is there, but not the interpreter that its first line names"
		}
	default:
		why = path.Err.Error()
	}
	return fmt.Sprintf("start server %q: %s", e.name, why)
}

func (e *startError) isThere(path string) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(e.dir, path)
	}
	_, err := os.Stat(path)
	return err == nil
}

func (c *Command) start() (*Child, error) {
	cmd, stderr, err := c.build()
	if err != nil {
		return nil, err
	}
	child := &Child{
		cmd:     cmd,
		name:    c.name(),
		grace:   cmp.Or(max(c.Grace, 0), defaultGrace),
		gone:    make(chan struct{}),
		drained: make(chan struct{}),
		done:    make(chan struct{}),
		allRead: make(chan struct{}),
	}
	limit := cmp.Or(max(c.FrameLimit, 0), 64<<20)
	child.stream = jsonrpc.Lines((*wire)(child), (*wire)(child), child, limit)

	started := make(chan error)
	go child.run(started, stderr)
	if err := <-started; err != nil {
		return nil, err
	}
	return child, nil
}

// build returns the command to start and the callback for its standard error.
func (c *Command) build() (cmd *exec.Cmd, stderr func(line string), err error) {
	if c.Cmd != nil {
		return c.copyCmd()
	}
	if c.Path == "" {
		return nil, nil, errors.New("the command has no path")
	}
	if c.Dir != "" {
		// The error of the system would name the program.
		if info, err := os.Stat(c.Dir); err != nil {
			return nil, nil, fmt.Errorf("its directory: %w", err)
		} else if !info.IsDir() {
			return nil, nil, fmt.Errorf("%s is not a directory", c.Dir)
		}
	}
	env, err := c.environment(os.Environ())
	if err != nil {
		return nil, nil, err
	}
	cmd = exec.Command(c.Path, c.Args...)
	if cmd.Err != nil {
		return nil, nil, cmd.Err
	}
	cmd.Env, cmd.Dir = env, c.Dir
	return cmd, c.Stderr, nil
}

// copyCmd returns a copy of Cmd.
func (c *Command) copyCmd() (cmd *exec.Cmd, stderr func(line string), err error) {
	from := c.Cmd
	switch {
	case from.Err != nil:
		return nil, nil, from.Err
	case from.Process != nil:
		return nil, nil, errors.New("the exec.Cmd was started already")
	case from.Stdin != nil || from.Stdout != nil:
		return nil, nil, errors.New("the exec.Cmd has Stdin or Stdout set: they must be unset, as they carry the messages")
	case c.Path != "" || len(c.Args) > 0 || c.Dir != "" || len(c.Env) > 0 || len(c.InheritEnv) > 0:
		return nil, nil, errors.New("set either Cmd or Path, Args, Dir, Env and InheritEnv")
	}
	cmd = &exec.Cmd{Path: from.Path, Args: from.Args, Env: from.Env, Dir: from.Dir, ExtraFiles: from.ExtraFiles}
	if from.SysProcAttr != nil {
		attr := *from.SysProcAttr
		cmd.SysProcAttr = &attr
	}
	deliver, w := c.Stderr, from.Stderr
	if w == nil {
		return cmd, deliver, nil
	}
	return cmd, func(line string) {
		_, _ = io.WriteString(w, line+"\n")
		if deliver != nil {
			deliver(line)
		}
	}, nil
}
