package stdio

import (
	"io"
	"time"
)

// Close ends the program and its process group, and returns [Child.Err]:
//
//	at once          its input is closed; a server should now end by itself
//	after Grace      its process group is asked to terminate (SIGTERM)
//	after Grace      its process group is killed
//	after its end    the rest of its group has up to Grace to end, then is killed
//
// Meanwhile, its output is read and discarded, so that a full pipe does not block
// it. With the default Grace, Close takes at most about 7 s. Further calls wait
// for the same end.
func (c *Child) Close() error {
	c.closeOnce.Do(c.shutdown)
	<-c.done
	return c.err
}

func (c *Child) shutdown() {
	c.closing.Store(true)
	c.stdin.Close() // a blocked Write returns
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

// drain reads and discards stdout in place of Read.
func (c *Child) drain() {
	defer close(c.drained)
	_ = c.stdout.SetReadDeadline(time.Now()) // a blocked Read returns
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
