package stdio

import (
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/jsonrpc"
)

const (
	defaultGrace = 2 * time.Second

	// afterlife is how long pipes are read on after the program and its
	// group are gone, in case a process that left the group holds them.
	afterlife = time.Second
)

// A Child is a running server program. Its goroutines and descriptors are gone
// when Close has returned; Close must be called even if the program ended by
// itself.
type Child struct {
	cmd    *exec.Cmd
	name   string
	grace  time.Duration
	stream jsonrpc.Stream
	group  *group
	stdin  *os.File
	stdout *os.File
	stderr *os.File
	tail   tail

	closing atomic.Bool   // Close was called
	forced  atomic.Bool   // Close could not wait any longer
	exited  atomic.Bool   // the program itself is gone
	gone    chan struct{} // closed with exited
	drained chan struct{} // closed when nothing more can come out of stdout; only after closing
	done    chan struct{} // closed when everything of the program is gone and err is set
	err     error

	reading   sync.Mutex // held by the goroutine that reads stdout
	closeOnce sync.Once
}

// run starts the program, waits for its end and cleans up. It keeps its thread:
// where the kernel kills a program with its parent, the parent is the thread.
func (c *Child) run(started chan<- error, deliver func(string)) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := c.launch()
	started <- err
	if err != nil {
		return
	}

	heard := make(chan struct{})
	go func() {
		defer close(heard)
		readStderr(c.stderr, &c.tail, deliver)
	}()

	_ = c.cmd.Wait() // what it says is in ProcessState
	c.exited.Store(true)
	close(c.gone)
	c.stdin.Close()
	if c.closing.Load() {
		// What the program started may be ending in its own order.
		wait(c.drained, c.grace)
	}
	c.group.kill()
	c.group.release()
	expire(c.stdout)
	expire(c.stderr)
	<-heard
	c.stderr.Close()
	c.err = c.verdict()
	close(c.done)
}

// launch makes the pipes and the process group and starts the program in them.
// The far ends of the pipes are this process's only until it has started.
func (c *Child) launch() (err error) {
	var near, far [3]*os.File
	defer func() {
		closeAll(far[:])
		if err != nil {
			closeAll(near[:])
		}
	}()
	for i := range near {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		near[i], far[i] = r, w
		if i == 0 {
			near[i], far[i] = w, r
		}
	}
	c.stdin, c.stdout, c.stderr = near[0], near[1], near[2]
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = far[0], far[1], far[2]
	if c.group, err = newGroup(); err != nil {
		return err
	}
	c.group.prepare(c.cmd)
	if err = c.cmd.Start(); err == nil {
		if err = c.group.adopt(c.cmd.Process); err == nil {
			return nil
		}
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	}
	c.group.kill()
	c.group.release()
	return err
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// expire ends reads of f that have nothing to read a moment from now. Where
// pipes have no deadlines, the end of the whole group has ended them already.
func expire(f *os.File) { _ = f.SetReadDeadline(time.Now().Add(afterlife)) }

// verdict turns the exit status into an error.
func (c *Child) verdict() error {
	state := c.cmd.ProcessState
	if c.closing.Load() && !c.forced.Load() && state.Success() {
		return nil
	}
	return &ExitError{
		Program: c.name,
		Code:    state.ExitCode(),
		Signal:  endingSignal(state),
		Forced:  c.forced.Load(),
		Stderr:  c.tail.String(),
	}
}

// Stream carries the messages. It is the same one each time; its Close is
// [Child.Close].
func (c *Child) Stream() jsonrpc.Stream { return c.stream }

// Pid is the process id of the program.
func (c *Child) Pid() int { return c.cmd.Process.Pid }

// Done is closed when the program and what it started have ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Err says how the program ended, once Done is closed: an [*ExitError], or nil
// if Close was called and the program then ended by itself with code 0.
func (c *Child) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// Stderr returns the last 64 KiB that the program wrote to standard error.
func (c *Child) Stderr() string { return c.tail.String() }
