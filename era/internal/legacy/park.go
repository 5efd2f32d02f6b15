package legacy

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/tenon-mcp/tenon/era/internal/clientcall"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// Bounds on calls that wait for an answer from the caller.
const (
	maxParked = 256              // at once, on one connection
	parkedFor = 30 * time.Minute // then the call is given up
	maxAsks   = 8                // questions that wait for one call
)

// parkedKey is the key of the question of a parked call.
const parkedKey = "ask"

// stateAgain is the state of a call that is to be made anew.
const stateAgain = "again"

// A carrier is a call on the wire that can carry questions of the server to
// the caller.
type carrier struct {
	clientcall.Open
	owner string // the principal whose call it is
	asks  chan *inputRequest
	page  string // the id of the last page that it has carried; guarded by Peer.mu
	load  int32  // questions that it has carried; guarded by Peer.mu

	answered bool // the server has answered it; set before it is forgotten

	// While the call is parked, guarded by Peer.mu:
	asked  *inputRequest
	expiry *time.Timer
}

// A question is what the server asked and where its answer goes.
type inputRequest struct {
	ctx    context.Context // of the server's request; it ends when that is cancelled
	q      mcp.InputRequest
	answer chan inputResponse // takes one
}

type inputResponse struct {
	result   json.RawMessage
	err      *jsonrpc.Error
	finished bool // the call ended before the question reached its caller
}

// callOver answers a request whose call has ended: nobody is asked any more.
var callOver = &jsonrpc.Error{Code: mcp.CodeInvalidRequest, Message: "the call that the question belongs to is over"}

// refuse answers the requests that wait for a call which has ended.
func (k *carrier) refuse() {
	for {
		select {
		case q := <-k.asks:
			q.answer <- inputResponse{finished: true, err: callOver}
		default:
			return
		}
	}
}

// park ends a round: the question goes to the caller, and the call stays on
// the wire until the next round, or until it is given up.
func (p *Peer) park(k *carrier, q *inputRequest) (mcp.Result, error) {
	state := rand.Text()
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		k.Pending.Cancel()
		p.forget(k)
		return mcp.Result{}, &jsonrpc.ClosedError{}
	}
	if len(p.parked) >= maxParked {
		p.mu.Unlock()
		q.answer <- inputResponse{err: &jsonrpc.Error{Code: mcp.CodeInternal, Message: "too many calls wait for an answer"}}
		p.abandon(context.Background(), k, "too many calls wait for an answer")
		return mcp.Result{}, &mcp.Error{Code: mcp.CodeInternal, Local: true, Message: "too many calls wait for an answer: try again later"}
	}
	k.asked = q
	k.expiry = time.AfterFunc(parkedFor, func() { p.unpark(state, "nobody answered in time") })
	p.parked[state] = k
	p.mu.Unlock()
	return mcp.Result{}, &mcp.InputRequired{
		Requests: map[string]mcp.InputRequest{parkedKey: q.q},
		State:    state,
		Abandon:  func() { p.unpark(state, "the question was not answered") },
	}
}

// unpark gives up a call whose next round does not come, if it is still parked.
func (p *Peer) unpark(state, reason string) {
	p.mu.Lock()
	k := p.parked[state]
	delete(p.parked, state)
	p.mu.Unlock()
	if k == nil {
		return
	}
	k.expiry.Stop()
	k.asked.answer <- inputResponse{err: &jsonrpc.Error{Code: mcp.CodeInvalidRequest, Message: reason}}
	p.abandon(context.Background(), k, reason)
}

// Close forgets what is parked: its connection is over.
func (p *Peer) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for state, k := range p.parked {
		k.expiry.Stop()
		delete(p.parked, state)
		delete(p.open, k.ID)
		delete(p.carries, k.ID)
	}
}

// resume continues a parked call with the response of its caller, or with the
// error that refuses one. Without either, again is the request that must be
// asked once more.
func (p *Peer) resume(c *mcp.Call) (k *carrier, again *inputRequest, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k = p.parked[c.State]
	if k == nil || k.owner != c.Caller.Principal.Key() || k.Call.Method != c.Method {
		return nil, nil, mcp.InvalidParams("no call waits for this answer: it was answered, given up, or lost with its server; make the call again")
	}
	delete(p.parked, c.State)
	k.expiry.Stop()
	k.Call = c
	if a, ok := c.InputResponses[parkedKey]; ok {
		k.asked.answer <- inputResponse{result: a}
	} else if refusal := c.Refused(parkedKey); refusal != nil {
		k.asked.answer <- inputResponse{err: p.refusal(k.asked.q, refusal)}
	} else {
		again = k.asked
	}
	k.asked = nil
	return k, again, nil
}

// Asked answers a request of the server. Whom it asks depends on the call that
// the request belongs to; origin is the id of that call where the link knows it,
// or 0:
//
//   - A request on the stream of a call belongs to that call: its caller is
//     asked, and if the call ends before that, the answer is an error. On the
//     stream of a call whose caller cannot be asked, or of a request of the
//     session's own, the persona answers.
//   - A request for the roots that does not say whose it is belongs to no call.
//     The persona answers it, whatever is open, if it answers anything.
//   - Any other request that does not say whose it is goes to the caller of a
//     call that is open; see [Peer.carrierFor]. That is a guess. If the server
//     answers that call before the caller is asked, the guess was wrong, and the
//     next open call takes the request, or, without one, the persona answers it.
//     If that call ended in another way, as when its caller gave it up, and no
//     other call is open, the request is refused: it may well be that call's.
func (p *Peer) Request(ctx context.Context, m *jsonrpc.Message, origin int64) (json.RawMessage, *jsonrpc.Error) {
	switch m.Method {
	case methodPing:
		return nil, nil
	case mcp.MethodElicit, mcp.MethodCreateMessage, mcp.MethodRootsList:
	default:
		return nil, &jsonrpc.Error{Code: mcp.CodeMethodNotFound, Message: "a client has no method " + m.Method}
	}
	q := mcp.InputRequest{Method: m.Method, Params: p.withoutContext(m.Method, liftInputRequest(m))}
	page, _ := rawjson.String(rawjson.Lookup(m.Params, keyElicitation))
	if origin == 0 && m.Method == mcp.MethodRootsList && p.profile.OnInputRequest != nil {
		return p.answerAlone(ctx, q)
	}
	for answered := true; ; {
		k, ambiguous := p.carrierFor(q, origin)
		switch {
		case ambiguous:
			return nil, &jsonrpc.Error{Code: mcp.CodeInvalidRequest, Message: "calls of several principals are open and the question does not say whose it is: connect once for each principal"}
		case k == nil && !answered:
			return nil, callOver
		case k == nil:
			return p.answerAlone(ctx, q)
		}
		a := p.carry(ctx, k, q, page)
		if !a.finished || origin != 0 {
			return a.result, a.err
		}
		answered = k.answered
	}
}

// withoutContext takes includeContext out of the parameters of a sampling request
// where the server's revision has no capability for it and the client does not
// support it: such a server cannot know, and a client may ignore the wish.
func (p *Peer) withoutContext(method string, params json.RawMessage) json.RawMessage {
	s := p.profile.Capabilities.Sampling
	if method != mcp.MethodCreateMessage || p.rev.samplingTools || s != nil && s.Context != nil {
		return params
	}
	return rawjson.Cut(params, func(name, _ []byte) bool { return string(name) == "includeContext" })
}

// carry has a call carry a question to its caller, and waits for the answer.
func (p *Peer) carry(ctx context.Context, k *carrier, q mcp.InputRequest, page string) inputResponse {
	ask := &inputRequest{ctx: ctx, q: q, answer: make(chan inputResponse, 1)}
	select {
	case k.asks <- ask:
	default:
		return inputResponse{err: &jsonrpc.Error{Code: mcp.CodeInvalidRequest, Message: "too many questions wait for an answer"}}
	}
	p.mu.Lock()
	_, open := p.open[k.ID]
	if page != "" {
		k.page = page
	}
	p.mu.Unlock()
	if !open {
		k.refuse()
	}
	select {
	case a := <-ask.answer:
		return a
	case <-ctx.Done():
		return inputResponse{err: &jsonrpc.Error{Code: mcp.CodeInternal, Message: "the client gave up"}}
	}
}

// liftInputRequest returns the params of a question without what belongs to the
// envelope of one revision or another.
func liftInputRequest(m *jsonrpc.Message) json.RawMessage {
	return rawjson.Cut(m.Params, func(name, _ []byte) bool {
		switch string(name) {
		case keyMeta, "task", keyElicitation:
			return true
		}
		return false
	})
}

// carrierFor finds the open call that carries a question, and counts it. Where
// the wire does not say which one it is, any call of the same principal serves:
// the answer finds its way by the id of the question. A call that is parked is
// taken only where there is no other, since its caller may never come back. Of
// the rest, the one that has carried the fewest is taken, as the rounds of a
// call are counted, and the latest of those, which is the most likely to have
// asked.
func (p *Peer) carrierFor(q mcp.InputRequest, origin int64) (k *carrier, ambiguous bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if origin != 0 {
		if k = p.carries[origin]; k != nil && p.canAnswer(k.Call, q) {
			k.load++
			return k, false
		}
		return nil, false
	}
	var one *carrier // of any kind, to compare owners with
	for _, c := range p.carries {
		if one != nil && c.owner != one.owner {
			return nil, true
		}
		if one = c; p.canAnswer(c.Call, q) && (k == nil || c.before(k)) {
			k = c
		}
	}
	if k != nil {
		k.load++
	}
	return k, false
}

// before reports whether a question goes to c rather than to k. Peer.mu is held.
func (c *carrier) before(k *carrier) bool {
	if parked, other := c.asked != nil, k.asked != nil; parked != other {
		return other
	}
	return c.load < k.load || c.load == k.load && c.ID > k.ID
}

// canAnswer reports whether the caller has declared, or else the persona of the
// connection has, that it can answer such a question.
func (p *Peer) canAnswer(c *mcp.Call, q mcp.InputRequest) bool {
	caller := c.Caller
	if caller.Capabilities == nil {
		caller.Capabilities = &p.profile.Capabilities
	}
	return caller.CanHandle(q) == nil
}

// answerAlone answers a question that belongs to no call.
func (p *Peer) answerAlone(ctx context.Context, q mcp.InputRequest) (json.RawMessage, *jsonrpc.Error) {
	if p.profile.OnInputRequest == nil {
		return nil, &jsonrpc.Error{Code: mcp.CodeMethodNotFound, Message: "nobody here can answer " + q.Method}
	}
	a, err := p.profile.OnInputRequest(ctx, q)
	if err != nil {
		return nil, p.refusal(q, err)
	}
	return a, nil
}

// refusal is the error response to a request of the server that is not answered.
// An error without a code may say what is not for the server, so only its
// existence is told.
func (p *Peer) refusal(q mcp.InputRequest, err error) *jsonrpc.Error {
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok {
		return &jsonrpc.Error{Code: mcp.CodeInternal, Message: "the client failed to answer this request"}
	}
	wire := clientcall.ToWire(e)
	if e.Code == mcp.CodeMissingCapability { // a code that older revisions do not have
		wire.Code, wire.Data = mcp.CodeMethodNotFound, nil
		if c := p.profile.Capabilities; q.Method == mcp.MethodElicit && c.Elicitation != nil || q.Method == mcp.MethodCreateMessage && c.Sampling != nil {
			wire.Code = mcp.CodeInvalidParams // it asks for a mode, or tools, that were not declared
		}
	}
	return wire
}

// urlQuestions turns the error that asks for pages to be opened first into the
// round that it stands for; nil if the caller cannot do that.
func (p *Peer) urlQuestions(c *mcp.Call, data json.RawMessage) *mcp.InputRequired {
	need := &mcp.InputRequired{Requests: map[string]mcp.InputRequest{}, State: stateAgain}
	for e := rawjson.Array(rawjson.Lookup(data, "elicitations")); e.Next(); {
		id, _ := rawjson.String(rawjson.Lookup(e.Value, "elicitationId"))
		q := mcp.InputRequest{Method: mcp.MethodElicit, Params: liftInputRequest(&jsonrpc.Message{Params: e.Value})}
		if !mcp.MayRequireInput(c.Method) || !p.canAnswer(c, q) {
			return nil
		}
		key := "url-" + id
		if _, taken := need.Requests[key]; taken {
			key += "-" + strconv.Itoa(len(need.Requests))
		}
		need.Requests[key] = q
	}
	if len(need.Requests) == 0 {
		return nil
	}
	return need
}

// consented checks that every page was agreed to before the call is made again.
func consented(c *mcp.Call) error {
	if err := c.Refusal(); err != nil { // there is no request of the server to answer with it
		return err
	}
	for _, a := range c.InputResponses {
		if !rawjson.EqualString(rawjson.Lookup(a, "action"), "accept") {
			return mcp.Errorf(mcp.CodeInvalidRequest, "the server needs a page to be opened first, and that was declined")
		}
	}
	return nil
}
