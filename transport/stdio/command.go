package stdio

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/tenon-mcp/tenon/era"
	"github.com/tenon-mcp/tenon/jsonrpc"
)

// A Command says which server program to start and what it gets to see.
type Command struct {
	// Path is the program: a path, or a name to be looked up in the PATH of
	// this process. It is started as it is; no shell reads it. A relative
	// path with a separator in it counts from Dir.
	Path string

	// Args are the arguments after the program's name.
	Args []string

	// Dir is the directory the program starts in; empty means the current one.
	Dir string

	// Env are variables set for the program. They win over inherited ones.
	Env map[string]string

	// InheritEnv names further variables to pass on from this process. A
	// name may end in "*", which stands for any rest; "*" alone passes on
	// everything. Unset, the program gets what programs need to run (PATH,
	// HOME, LANG and their like) and no more: secrets that happen to be in
	// this process's environment stay here.
	InheritEnv []string

	// Stderr gets each line the program writes to standard error, without
	// its end and with invalid UTF-8 replaced; lines longer than 64 KiB come
	// in pieces. The program waits when it writes faster than Stderr
	// returns, and so does Close; Stderr must not call Close. Nil means that
	// lines are only kept for [Child.Stderr].
	Stderr func(line string)

	// Grace is how long Close waits for the program to end after its input
	// was closed, and again after it was asked to terminate. 0 means 2 s.
	Grace time.Duration

	// FrameLimit is the longest message in bytes that [Child.Stream] accepts;
	// 0 means 64 MiB. A longer message takes no more memory than this, and
	// fails the call that it is the response to.
	FrameLimit int

	// Cmd is an existing command to run in place of Path, Args, Dir, Env and
	// InheritEnv, with exactly the environment it says: all of this process's
	// variables where its Env is nil. Each start runs a copy, so Cmd itself
	// stays unstarted. Its Stdin and Stdout must be unset. Its Stderr, if set,
	// gets the lines of standard error. The context of [exec.CommandContext],
	// Cancel and WaitDelay have no effect: Close ends the program.
	Cmd *exec.Cmd

	// Era says how to connect to the server in the program: its revision if
	// it is known, timeouts, hooks.
	Era era.DialOptions

	// Restart says how soon and how often [Supervise] and [Command.Dial] start
	// the program again after it ended.
	Restart RestartOptions
}

// name is the program as errors name it.
func (c *Command) name() string {
	if c.Cmd != nil {
		return c.Cmd.Path
	}
	return c.Path
}

// Start starts the program. A nil error means that it was started, not that it
// is a server.
func (c *Command) Start() (*Child, error) {
	child, err := c.start()
	if err != nil {
		return nil, fmt.Errorf("cannot start server %q: %w", c.name(), err)
	}
	return child, nil
}

func (c *Command) start() (*Child, error) {
	cmd, stderr, err := c.build()
	if err != nil {
		return nil, err
	}
	child := &Child{
		cmd:     cmd,
		name:    c.name(),
		grace:   c.Grace,
		gone:    make(chan struct{}),
		drained: make(chan struct{}),
		done:    make(chan struct{}),
	}
	if child.grace <= 0 {
		child.grace = defaultGrace
	}
	limit := c.FrameLimit
	if limit <= 0 {
		limit = 64 << 20
	}
	child.stream = jsonrpc.Lines((*wire)(child), (*wire)(child), child, limit)

	started := make(chan error)
	go child.run(started, stderr)
	if err := <-started; err != nil {
		return nil, err
	}
	return child, nil
}

// build returns the command to start and where its standard error goes.
func (c *Command) build() (cmd *exec.Cmd, stderr func(line string), err error) {
	if c.Cmd != nil {
		return c.copied()
	}
	if c.Path == "" {
		return nil, nil, errors.New("the command has no path")
	}
	if c.Dir != "" {
		// The system's own error would name the program.
		if info, err := os.Stat(c.Dir); err != nil {
			return nil, nil, fmt.Errorf("its directory cannot be used: %w", err)
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

// copied returns a copy of Cmd that can be started.
func (c *Command) copied() (cmd *exec.Cmd, stderr func(line string), err error) {
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
