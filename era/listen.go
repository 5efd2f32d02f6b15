package era

import (
	"context"

	"github.com/tenon-mcp/tenon/era/internal/clientcall"
	"github.com/tenon-mcp/tenon/era/internal/modern"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Subscription is an open subscription of a modern client. It queues its
// notifications, the acknowledgement first, until its End is called.
type Subscription = modern.Subscription

// Listen serves subscriptions/listen. If the Handler detaches (see
// [mcp.Call].Detach), Listen returns the open subscription. Otherwise it blocks
// until ctx or the subscription ends, sends notifications to back, and returns
// the response.
func (s *Server) Listen(ctx context.Context, m *jsonrpc.Message, p *mcp.Principal, back ReplyWriter) (sub *Subscription, a Response) {
	defer s.recovered(m, &a)
	if s.opts.LegacyOnly {
		return nil, clientcall.Fail(m.ID, refusedModern)
	}
	return s.modern.Listen(ctx, m, p, modern.ReplyWriter{Notify: back.Notify, Headers: back.Headers})
}

// refusedModern is the response of a LegacyOnly server to a modern request.
var refusedModern = &jsonrpc.Error{Code: mcp.CodeMethodNotFound, Message: "this server supports only older protocol revisions: send initialize"}
