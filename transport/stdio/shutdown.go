package stdio

import (
	"io"
	"time"
)

// Close ends the program and all that it started, and returns what
// [Child.Err] then says. The way down is:
//
//	its input is closed; a server should now end by itself
//	after Grace      its whole process group is asked to terminate (SIGTERM)
//	after Grace      its whole process group is killed
//	after its end    what it started gets up to Grace to end as well, then is killed
//
// What the program still writes meanwhile is read and dropped, so that it is
// not held up by a full pipe. With the default Grace, Close takes at most
// about 7 s. Calling it again, or from several goroutines, waits for the same end.
func (c *Child) Close() error {
	c.closeOnce.Do(c.shutdown)
	<-c.done
	return c.err
}

func (c *Child) shutdown() {
	c.closing.Store(true)
	c.stdin.Close() // a Write that waits returns
	go c.drain()

	if !wait(c.gone, c.grace) {
		c.forced.Store(true)
		c.group.terminate()
		if !wait(c.gone, c.grace) {
			c.group.kill()
		}
	}
	<-c.done
	c.stdout.Close() // ends drain if a process outside the group holds the pipe
	<-c.drained
}

// drain takes over the reading of stdout and drops what comes.
func (c *Child) drain() {
	defer close(c.drained)
	_ = c.stdout.SetReadDeadline(time.Now()) // a Read that waits returns
	c.reading.Lock()
	//lint:ignore SA2001 this waits for the Read under way; those that begin now see closing
	c.reading.Unlock()
	_ = c.stdout.SetReadDeadline(time.Time{})
	_, _ = io.Copy(io.Discard, c.stdout)
}

// wait reports whether ch was closed within d.
func wait(ch <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ch:
		return true
	case <-t.C:
		return false
	}
}
