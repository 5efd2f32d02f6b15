package legacy

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/tenon-mcp/tenon/internal/eraconn/internal/clientcall"
	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// Bounds on calls that wait for an input response of the caller.
const (
	maxParked = 256              // at once, on one connection
	parkedFor = 30 * time.Minute // then the call is given up
	maxAsks   = 8                // pending input requests of one call
)

// parkedKey is the key of the input request of a parked call.
const parkedKey = "ask"

// stateAgain is the state of a call that the next round sends again.
const stateAgain = "again"

// A carrier is a call in flight that can carry input requests of the server to
// its caller.
type carrier struct {
	clientcall.Open
	owner string // the principal whose call it is
	asks  chan *inputRequest
	page  string // the id of its last URL elicitation; guarded by Peer.mu
	load  int32  // input requests it has carried; guarded by Peer.mu

	answered bool // the server has responded; set before forget

	// While the call is parked, guarded by Peer.mu:
	asked  *inputRequest
	expiry *time.Timer
}

// An inputRequest is an input request of the server and where its response goes.
type inputRequest struct {
	ctx    context.Context // of the server's request; ends when the server cancels it
	q      mcp.InputRequest
	answer chan inputResponse // takes one
}

type inputResponse struct {
	result   json.RawMessage
	err      *jsonrpc.Error
	finished bool // the call ended before the request reached its caller
}

// callOver is the error response to a request whose call has ended.
var callOver = &jsonrpc.Error{Code: mcp.CodeInvalidRequest, Message: "the call that this request belongs to has ended"}

// refuse answers the pending requests of a call that has ended.
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

// The ways that rounds, timers, input requests and the end of the connection can
// come between each other are tried out in internal/model/parked_test.go.

// park ends a round: it returns the input request to the caller, and the call
// stays in flight until the next round or until it expires.
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
		q.answer <- inputResponse{err: &jsonrpc.Error{Code: mcp.CodeInternal, Message: "too many calls wait for an input response"}}
		p.abandon(context.Background(), k, "too many calls wait for an input response")
		return mcp.Result{}, &mcp.Error{Code: mcp.CodeInternal, Local: true, Message: "too many calls wait for an input response: try again later"}
	}
	k.asked = q
	k.expiry = time.AfterFunc(parkedFor, func() { p.unpark(state, "no response in time") })
	p.parked[state] = k
	p.mu.Unlock()
	return mcp.Result{}, &mcp.InputRequired{
		Requests: map[string]mcp.InputRequest{parkedKey: q.q},
		State:    state,
		Abandon:  func() { p.unpark(state, "the request was not answered") },
	}
}

// unpark cancels a parked call whose next round did not arrive.
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

// Close drops all parked calls: the connection has ended.
func (p *Peer) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.end != nil {
		p.end()
	}
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
		return nil, nil, mcp.InvalidParams("no call waits for this response: it was answered, cancelled, or lost with its server; make the call again")
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

// Request serves a request of the server. Who answers depends on the call that
// the request belongs to; origin is the id of that call, or 0 if unknown:
//
//   - A request on the stream of a call goes to the caller of that call. If the
//     call ends first, the response is an error. If the caller cannot answer,
//     the client's profile does.
//   - A roots/list request of unknown origin belongs to no call. The profile
//     answers it, if it answers requests.
//   - Any other request of unknown origin goes to the caller of an open call;
//     see [Peer.carrierFor]. That is a guess. If the server responds to that
//     call before its caller sees the request, the guess was wrong, and the
//     request goes to the next open call or, without one, to the profile. If
//     that call ended otherwise, for example cancelled by its caller, and no
//     other is open, the request is refused: it probably belongs to that call.
func (p *Peer) Request(ctx context.Context, m *jsonrpc.Message, origin int64) (json.RawMessage, *jsonrpc.Error) {
	switch m.Method {
	case mcp.MethodPing:
		return nil, nil
	case mcp.MethodElicit, mcp.MethodCreateMessage, mcp.MethodRootsList:
	default:
		return nil, &jsonrpc.Error{Code: mcp.CodeMethodNotFound, Message: "method not found: " + m.Method}
	}
	q := mcp.InputRequest{Method: m.Method, Params: p.withoutContext(m.Method, liftInputRequest(m))}
	page, _ := rawjson.String(rawjson.Lookup(m.Params, keyElicitation))
	if origin == 0 && m.Method == mcp.MethodRootsList && p.profile.OnInputRequest != nil {
		return p.answerAlone(ctx, q)
	}
	if belongs := p.belongsTo(m); belongs != nil && origin == 0 {
		return p.carryRelated(ctx, q, page, belongs)
	}
	for answered := true; ; {
		k, ambiguous := p.carrierFor(q, origin)
		switch {
		case ambiguous:
			return nil, &jsonrpc.Error{Code: mcp.CodeInvalidRequest, Message: "calls of several principals are open and the request does not say which it belongs to: use one connection for each principal"}
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

// belongsTo returns the function that recognizes the call of an input request by
// the request's metadata; nil if the metadata does not say.
func (p *Peer) belongsTo(m *jsonrpc.Message) func(*mcp.Call) bool {
	meta := rawjson.Lookup(m.Params, keyMeta)
	for _, c := range p.extended() {
		if meta == nil || c.InputCall == nil {
			continue
		}
		if belongs := c.InputCall(meta); belongs != nil {
			return belongs
		}
	}
	return nil
}

// relatedWait is how long an input request waits for the call that its metadata
// names. It may arrive before the client has made that call.
const relatedWait = 10 * time.Second

// carryRelated passes an input request to the caller of the call that its
// metadata names. It never goes to another call. If the call is not made, the
// profile answers.
func (p *Peer) carryRelated(ctx context.Context, q mcp.InputRequest, page string, belongs func(*mcp.Call) bool) (json.RawMessage, *jsonrpc.Error) {
	for limit := time.Now().Add(relatedWait); ; {
		if k := p.relatedCarrier(q, belongs); k != nil {
			if a := p.carry(ctx, k, q, page); !a.finished {
				return a.result, a.err
			}
		}
		if time.Now().After(limit) {
			return p.answerAlone(ctx, q)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, &jsonrpc.Error{Code: mcp.CodeInternal, Message: "the request was cancelled"}
		}
	}
}

// relatedCarrier returns the open call that belongs reports true for; nil if
// there is none.
func (p *Peer) relatedCarrier(q mcp.InputRequest, belongs func(*mcp.Call) bool) *carrier {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.carries {
		if belongs(k.Call) && p.canAnswer(k.Call, q) {
			k.load++
			return k
		}
	}
	return nil
}

// withoutContext removes includeContext from the params of a sampling request if
// the server's revision has no capability for it and the client does not support
// it: the server cannot know that, and a client may ignore the member.
func (p *Peer) withoutContext(method string, params json.RawMessage) json.RawMessage {
	s := p.profile.Capabilities.Sampling
	if method != mcp.MethodCreateMessage || p.rev.samplingTools || s != nil && s.Context != nil {
		return params
	}
	return rawjson.Cut(params, func(name, _ []byte) bool { return string(name) == "includeContext" })
}

// carry passes an input request to the caller of k and waits for the response.
func (p *Peer) carry(ctx context.Context, k *carrier, q mcp.InputRequest, page string) inputResponse {
	ask := &inputRequest{ctx: ctx, q: q, answer: make(chan inputResponse, 1)}
	select {
	case k.asks <- ask:
	default:
		return inputResponse{err: &jsonrpc.Error{Code: mcp.CodeInvalidRequest, Message: "too many requests wait for a response"}}
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
		return inputResponse{err: &jsonrpc.Error{Code: mcp.CodeInternal, Message: "the request was cancelled"}}
	}
}

// liftInputRequest returns the params of an input request without the members
// that belong to the envelope.
func liftInputRequest(m *jsonrpc.Message) json.RawMessage {
	return rawjson.Cut(m.Params, func(name, _ []byte) bool {
		switch string(name) {
		case keyMeta, "task", keyElicitation:
			return true
		}
		return false
	})
}

// carrierFor returns the open call that carries an input request, and counts the
// request. If the origin is unknown, any call of the same principal will do: the
// response is matched by the id of the request. A parked call is the last choice,
// since its caller may never return. Among the others, carrierFor chooses the one
// that has carried the fewest requests, since the rounds of a call are limited,
// and of these the latest, which most likely caused the request.
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
	var one *carrier // to compare owners with
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

// before reports whether c is a better choice than k. Peer.mu is held.
func (c *carrier) before(k *carrier) bool {
	if parked, other := c.asked != nil, k.asked != nil; parked != other {
		return other
	}
	return c.load < k.load || c.load == k.load && c.ID > k.ID
}

// canAnswer reports whether the capabilities of the caller, or by default those
// of the profile, cover an input request.
func (p *Peer) canAnswer(c *mcp.Call, q mcp.InputRequest) bool {
	caller := c.Caller
	if caller.Capabilities == nil {
		caller.Capabilities = &p.profile.Capabilities
	}
	return caller.CanHandle(q) == nil
}

// answerAlone has the profile answer a request that belongs to no call.
func (p *Peer) answerAlone(ctx context.Context, q mcp.InputRequest) (json.RawMessage, *jsonrpc.Error) {
	if p.profile.OnInputRequest == nil {
		return nil, &jsonrpc.Error{Code: mcp.CodeMethodNotFound, Message: "this client does not handle " + q.Method}
	}
	a, err := p.profile.OnInputRequest(ctx, q)
	if err != nil {
		return nil, p.refusal(q, err)
	}
	return a, nil
}

// refusal returns the error response to a request of the server. The text of an
// error without a code may be private, so the server does not get it.
func (p *Peer) refusal(q mcp.InputRequest, err error) *jsonrpc.Error {
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok {
		return &jsonrpc.Error{Code: mcp.CodeInternal, Message: "the client failed to answer this request"}
	}
	wire := clientcall.ToWire(e)
	if e.Code == mcp.CodeMissingCapability { // a code that older revisions do not have
		wire.Code, wire.Data = mcp.CodeMethodNotFound, nil
		if c := p.profile.Capabilities; q.Method == mcp.MethodElicit && c.Elicitation != nil || q.Method == mcp.MethodCreateMessage && c.Sampling != nil {
			wire.Code = mcp.CodeInvalidParams // a mode, or tools, that the client did not declare
		}
	}
	return wire
}

// urlQuestions turns the error -32042, which requires URL elicitations first,
// into an InputRequired; nil if the caller cannot open URLs.
func (p *Peer) urlQuestions(c *mcp.Call, data json.RawMessage) *mcp.InputRequired {
	need := &mcp.InputRequired{Requests: map[string]mcp.InputRequest{}, State: stateAgain}
	for e := rawjson.Array(rawjson.Lookup(data, "elicitations")); e.Next(); {
		id, _ := rawjson.String(rawjson.Lookup(e.Value, "elicitationId"))
		q := mcp.InputRequest{Method: mcp.MethodElicit, Params: liftInputRequest(&jsonrpc.Message{Params: e.Value})}
		if !protocol.MayRequireInputInSession(c.Method) || !p.canAnswer(c, q) {
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

// consented returns an error unless every URL elicitation was accepted.
func consented(c *mcp.Call) error {
	if err := c.Refusal(); err != nil { // there is no request of the server to answer with it
		return err
	}
	for _, a := range c.InputResponses {
		if !rawjson.EqualString(rawjson.Lookup(a, "action"), "accept") {
			return mcp.Errorf(mcp.CodeInvalidRequest, "the server requires a URL to be opened first, which was declined")
		}
	}
	return nil
}
