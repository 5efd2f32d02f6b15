package streamable_test

import (
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/transport/streamable"
)

// resumed opens a session with a stream at b, and resumes the stream at a, which
// forwards it.
func (f *fleet) resumed(a, b *node) (session string, stream *events) {
	f.t.Helper()
	session = b.open()
	first := newEvents(f.t, b.raw("GET", session, ""))
	first.primed()
	return session, newEvents(f.t, a.raw("GET", session, "", "Last-Event-ID", first.last))
}

// A stream that a replica forwards does not keep its session there after the
// client has disconnected, or the owner of the stream has stopped.
func TestForwardedStreamReleasesItsSession(t *testing.T) {
	for name, end := range map[string]func(owner *node, stream *events){
		"client disconnects": func(_ *node, stream *events) { stream.res.Body.Close() },
		"owner stops":        func(owner *node, _ *events) { owner.kill() },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, 2, func(o *streamable.Options) { o.Sessions.Idle = 400 * time.Millisecond })
			a, b := f.nodes[0], f.nodes[1]
			_, stream := f.resumed(a, b)
			if a.handler.Sessions() != 1 {
				t.Error("the replica that forwards the stream does not have its session")
			}
			end(b, stream)
			waitUntil(t, func() bool { return a.handler.Sessions() == 0 })
		})
	}
}
