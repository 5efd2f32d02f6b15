package streamable

import (
	"context"

	"github.com/tenon-mcp/tenon/jsonrpc"
)

// Ask sends a request to the client on the stream of its call and waits for
// the answer, which comes with a POST of its own.
func (st *stream) Ask(ctx context.Context, method string, params []byte) (jsonrpc.Message, error) {
	ses := st.ses
	waits := make(chan jsonrpc.Message, 1)
	ses.mu.Lock()
	ses.asked++
	id := ses.asked
	if ses.asks == nil {
		ses.asks = map[int64]chan jsonrpc.Message{}
	}
	ses.asks[id] = waits
	ses.mu.Unlock()
	st.send(func(dst []byte) []byte { return jsonrpc.AppendRequest(dst, jsonrpc.IntID(id), method, params) })
	select {
	case m := <-waits:
		return m, nil
	case <-ctx.Done():
		ses.mu.Lock()
		delete(ses.asks, id)
		ses.mu.Unlock()
		return jsonrpc.Message{}, ctx.Err()
	}
}
