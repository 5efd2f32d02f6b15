// Package softclose closes a TCP listener without losing connections.
package softclose

import (
	"context"
	"net"
	"time"

	"github.com/tenon-mcp/tenon/internal/tcpalive"
)

// Listen is net.Listen("tcp", addr) for a listener that [Refuse] works with.
func Listen(addr string) (net.Listener, error) {
	return tcpalive.Listen(context.Background(), addr) // no multipath TCP, whose sockets have no filter
}

// Refuse makes a listener of [Listen] ignore new connections, and returns when those that
// were being opened have had time to be accepted; the caller goes on accepting
// meanwhile, and then closes the listener. A connection that a closed listener has
// not accepted yet would be reset, which its client cannot tell from a failure of
// its request. The system of a client that is ignored tries again after a second,
// finds the listener closed, and the client may use another server.
//
// Where that is not possible, as on systems other than Linux, Refuse returns at
// once.
func Refuse(l net.Listener) {
	if tcp, ok := l.(*net.TCPListener); ok && ignoreNew(tcp) == nil {
		time.Sleep(opening)
	}
}

// opening is how long a connection may take from its first packet to its accept.
const opening = 50 * time.Millisecond
