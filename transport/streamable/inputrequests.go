package streamable

import (
	"context"
	"math/rand/v2"

	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// An inputRequest is a pending request to the client.
type inputRequest = chan jsonrpc.Message

// inputRequests are the requests to the client of one session that this process
// has sent. Their ids begin at a random number, so that a response to a request
// of another instance is not mistaken for one of ours. They begin low enough to
// stay below 2^31, which every client can read.
type inputRequests struct {
	first, last int64 // ids in use: first < id <= last
	open        map[int64]inputRequest
}

// newInputRequest returns the id of a new request and where its response will arrive.
func (ses *session) newInputRequest() (id int64, response inputRequest) {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	q := &ses.inputRequests
	if q.open == nil {
		q.open = map[int64]inputRequest{}
		q.first = rand.Int64N(1 << 30)
		q.last = q.first
	}
	q.last++
	response = make(inputRequest, 1)
	q.open[q.last] = response
	return q.last, response
}

// dropInputRequest removes a request that no call waits for.
func (ses *session) dropInputRequest(id int64) {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	delete(ses.inputRequests.open, id)
}

// hasSent reports whether this process has sent the request of a response, even if
// no call waits for it any more.
func (ses *session) hasSent(m *jsonrpc.Message) bool {
	_, id, ok := parseRequestID(m.ID)
	ses.mu.Lock()
	defer ses.mu.Unlock()
	return ok && ses.inputRequests.first < id && id <= ses.inputRequests.last
}

// deliverResponse delivers the client's response to the call that waits for it, if any.
func (ses *session) deliverResponse(m *jsonrpc.Message) {
	_, id, ok := parseRequestID(m.ID)
	if !ok {
		return
	}
	ses.mu.Lock()
	response := ses.inputRequests.open[id]
	delete(ses.inputRequests.open, id)
	ses.mu.Unlock()
	if response != nil {
		response <- *m
	}
}

// Ask sends a request to the client on the stream of its call and waits for
// the response, which arrives as a separate POST. When ctx ends, Ask cancels the
// request at the client.
func (st *stream) Ask(ctx context.Context, method string, params []byte) (jsonrpc.Message, error) {
	if st.jsonOnly {
		return jsonrpc.Message{}, mcp.Errorf(mcp.CodeInvalidRequest, "%s needs a stream: the Accept header must list text/event-stream", method)
	}
	n, response := st.ses.newInputRequest()
	id := st.all.requestID(n)
	st.send(func(dst []byte) []byte { return jsonrpc.AppendRequest(dst, id, method, params) })
	select {
	case m := <-response:
		return m, nil
	case <-ctx.Done():
		st.ses.dropInputRequest(n)
		st.send(func(dst []byte) []byte {
			return jsonrpc.AppendNotification(dst, mcp.NotificationCancelled, append(append([]byte(`{"requestId":`), id...), '}'))
		})
		return jsonrpc.Message{}, ctx.Err()
	}
}
