package stdio

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

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

	// FrameLimit is the longest message in bytes that [Child.Stream] takes;
	// 0 means 64 MiB.
	FrameLimit int
}

// Start starts the program. A nil error means that it was started, not that it
// is a server.
func (c *Command) Start() (*Child, error) {
	child, err := c.start()
	if err != nil {
		return nil, fmt.Errorf("cannot start server %q: %w", c.Path, err)
	}
	return child, nil
}

func (c *Command) start() (*Child, error) {
	if c.Path == "" {
		return nil, errors.New("the command has no path")
	}
	if c.Dir != "" {
		// The system's own error would name the program.
		if info, err := os.Stat(c.Dir); err != nil {
			return nil, fmt.Errorf("its directory cannot be used: %w", err)
		} else if !info.IsDir() {
			return nil, fmt.Errorf("%s is not a directory", c.Dir)
		}
	}
	env, err := c.environment(os.Environ())
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(c.Path, c.Args...)
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	cmd.Env, cmd.Dir = env, c.Dir
	child := &Child{
		cmd:     cmd,
		name:    c.Path,
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
	go child.run(started, c.Stderr)
	if err := <-started; err != nil {
		return nil, err
	}
	return child, nil
}
