package era

import (
	"context"

	"github.com/tenon-mcp/tenon/era/internal/clientcall"
	"github.com/tenon-mcp/tenon/era/internal/modern"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Subscription of the newest era is open until its End is called. Its news,
// the acknowledgement first, waits to be taken.
type Subscription = modern.Subscription

// Listen serves a subscriptions/listen of the newest era. If the Handler
// detaches (see [mcp.Call].Detach), Listen returns the open subscription;
// otherwise it returns the answer, when ctx or the subscription has ended, and
// notes go to back meanwhile.
func (s *Server) Listen(ctx context.Context, m *jsonrpc.Message, p *mcp.Principal, back ReplyWriter) (sub *Subscription, a Response) {
	defer s.recovered(m, &a)
	if s.opts.LegacyOnly {
		return nil, clientcall.Fail(m.ID, refusedModern)
	}
	return s.modern.Listen(ctx, m, p, modern.ReplyWriter{Notify: back.Notify, Headers: back.Headers})
}

// refusedModern is the answer of a server that is LegacyOnly.
var refusedModern = &jsonrpc.Error{Code: mcp.CodeMethodNotFound, Message: "this server speaks only older revisions: send initialize"}
