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

	// pipeGrace is how long pipes are read after the program and its group
	// have ended, in case a process that left the group holds them.
	pipeGrace = time.Second
)

// A Child is a running server program. Close releases its goroutines and
// descriptors and must be called even if the program ended by itself.
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
	forced  atomic.Bool   // Close had to end the program
	exited  atomic.Bool   // the program has ended
	gone    chan struct{} // closed with exited
	drained chan struct{} // closed when stdout has ended, after closing
	done    chan struct{} // closed when the program and its group have ended and err is set
	err     error

	readOnce sync.Once
	allRead  chan struct{} // closed when a Read has returned the end of stdout

	reading   sync.Mutex // held by the goroutine that reads stdout
	closeOnce sync.Once
}

// run starts the program, waits for its end and cleans up. It locks its thread:
// to the kernel, which kills the program with its parent, the thread is the
// parent.
func (c *Child) run(started chan<- error, deliver func(string)) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := c.launch()
	started <- err
	if err != nil {
		return
	}

	stderrEnded := make(chan struct{})
	go func() {
		defer close(stderrEnded)
		readStderr(c.stderr, &c.tail, deliver)
	}()

	_ = c.cmd.Wait() // the error is in ProcessState
	c.exited.Store(true)
	close(c.gone)
	c.stdin.Close()
	if c.closing.Load() {
		// Processes of its group may still be ending.
		wait(c.drained, c.grace)
	}
	c.group.kill()
	c.group.release()
	expireReads(c.stdout)
	expireReads(c.stderr)
	<-stderrEnded
	c.stderr.Close()
	c.err = c.exitError()
	close(c.done)
}

// launch makes the pipes and the process group and starts the program. It closes
// the program's ends of the pipes in this process.
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

// expireReads ends reads of f after pipeGrace. Without deadlines, the end of the
// group has ended them already.
func expireReads(f *os.File) { _ = f.SetReadDeadline(time.Now().Add(pipeGrace)) }

// exitError returns the error for the exit status.
func (c *Child) exitError() error {
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

// Stream returns the stream of messages, the same each time. Its Close is
// [Child.Close].
func (c *Child) Stream() jsonrpc.Stream { return c.stream }

// Pid returns the process id of the program.
func (c *Child) Pid() int { return c.cmd.Process.Pid }

// Done returns a channel that is closed when the program and all processes of
// its group have ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Err returns how the program ended, once Done is closed: an [*ExitError], or nil
// if Close was called and the program exited with code 0.
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
