package era

import (
	"context"

	"github.com/tenon-mcp/tenon/era/internal/joint"
	"github.com/tenon-mcp/tenon/era/internal/modern"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Subscription of the newest era is open until its End is called. Its news,
// the acknowledgement first, waits to be taken.
type Subscription = modern.Subscription

// Listen serves a subscriptions/listen of the newest era so that nobody need
// wait deep inside the Handler. Where the Handler can be listened to that way,
// it returns a subscription that is open. Otherwise it returns what serves the
// request as any other, until ctx ends; back is used only then.
func (s *Server) Listen(m *jsonrpc.Message, p *mcp.Principal, back Back) (sub *Subscription, serve func(ctx context.Context) Answer) {
	if s.opts.LegacyOnly {
		return nil, answering(joint.Fail(m.ID, refusedModern))
	}
	sub, call, failed := s.listen(m, p, modern.Back{Tell: back.Tell, Headers: back.Headers})
	switch {
	case sub != nil:
		return sub, nil
	case call == nil:
		return nil, answering(failed)
	}
	return nil, func(ctx context.Context) (a Answer) {
		defer s.recovered(m, &a)
		return call(ctx)
	}
}

// listen has a panic of the Handler come to a failure.
func (s *Server) listen(m *jsonrpc.Message, p *mcp.Principal, back modern.Back) (sub *Subscription, call func(context.Context) Answer, failed Answer) {
	defer s.recovered(m, &failed)
	sub, call = s.modern.Listen(m, p, back)
	return sub, call, failed
}

func answering(a Answer) func(context.Context) Answer {
	return func(context.Context) Answer { return a }
}

// refusedModern is the answer of a server that is LegacyOnly.
var refusedModern = &jsonrpc.Error{Code: mcp.CodeMethodNotFound, Message: "this server speaks only older revisions: send initialize"}
