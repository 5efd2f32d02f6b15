package speccheck

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/jsonrpc"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Conversation tracks the messages of one connection: the open requests, the
// negotiated revision, and so the request that each message belongs to. The zero
// value is ready to use. It is not safe for concurrent use; messages must be
// given in the order of the connection.
type Conversation struct {
	rev       mcp.Revision // negotiated by initialize
	stage     stage
	open      [2]map[string]*Request // by the direction of the request, then by id
	history   [2]recent
	tokens    map[string]*Request // by progress token
	known     facts
	opened    []*Request // opened by the latest frame
	ended     []Ended    // ended by the latest frame
	joined    *Request   // the request of the latest frame
	got       members    // of the latest message
	judging   bool
	sawModern bool
}

// A stage is the progress of a legacy handshake.
type stage int

const (
	unknownMembers stage = iota
	asking               // initialize was sent
	agreed               // it was answered
	talking              // notifications/initialized was sent
)

// A Request is a request that is open or was recently answered. Its fields are
// guarded by the lock of the Conversation's owner.
type Request struct {
	Seq          uint64 // of its message; the caller of Follow sets it
	at           time.Time
	method, tool string
	key          string // its id
	rev          mcp.Revision
	era          string
	token        string // its progress token, as a key
	progress     float64
	progressed   bool
	cancelled    bool
	acknowledged bool
	logs         bool   // it requested log messages
	caps         []byte // the client's capabilities in this request
	filter       []byte // the filter of subscriptions/listen
	HTTP         *HTTP
}

// maxOpen bounds the open requests that are tracked.
const maxOpen = 10_000

// Ended returns the requests that the latest frame ended. The slice is valid until
// the next call of Follow.
func (t *Conversation) Ended() []Ended { return t.ended }

// Related returns the request that the latest message belongs to, or nil.
func (t *Conversation) Related() *Request { return t.joined }

func side(d Dir) int {
	if d == ToServer {
		return 0
	}
	return 1
}

// Restart forgets the session. Open requests stay: they may still be answered.
func (t *Conversation) Restart() {
	t.stage, t.history, t.known = unknownMembers, [2]recent{}, facts{}
}

// Revision returns the negotiated revision of the connection and its era; both
// are empty if initialize was not answered.
func (t *Conversation) Revision() (mcp.Revision, string) {
	return t.rev, eraOf(t.rev)
}

// Follow sets the fields of m that depend on the conversation, and if judge is
// set, its Problems except those of [CheckShape]. It returns the requests that the
// frame opens: the caller sets their Seq. The slice is valid until the next call.
func (t *Conversation) Follow(m *Message, r *Frame, judge bool) []*Request {
	if t.open[0] == nil {
		t.open[0], t.open[1] = map[string]*Request{}, map[string]*Request{}
		t.tokens = map[string]*Request{}
	}
	t.opened, t.ended, t.joined, t.judging = t.opened[:0], t.ended[:0], nil, judge
	m.Kind = r.Kind()
	m.Revision, m.Era = t.Revision()
	switch m.Kind {
	case KindInvalid:
		m.ShapeChecked = true
		t.checkInvalid(m, r.Err)
	case KindBatch:
		m.ShapeChecked = !judge
		t.checkBatch(m, r.Batch)
		t.followBatch(m, r.Batch)
		m.Ends = slices.Clone(t.ended)
	default:
		t.followOne(m, &r.Message)
	}
	t.got = members{} // it refers to the frame
	return t.opened
}

// followBatch follows each message of a batch; the batch takes its method and its
// join from the first of them.
func (t *Conversation) followBatch(m *Message, batch []jsonrpc.BatchItem) {
	for i := range batch {
		if batch[i].Err != nil {
			continue
		}
		part := *m
		part.Problems = nil
		part.Kind = KindOf(&batch[i].Message)
		t.followOne(&part, &batch[i].Message)
		m.Problems = append(m.Problems, inside(part.Problems, i)...)
		if m.Method == "" {
			m.Method, m.Tool = part.Method, part.Tool
		}
		if m.Joins == 0 {
			m.Joins, m.Duration = part.Joins, part.Duration
		}
	}
}

func (t *Conversation) followOne(m *Message, j *jsonrpc.Message) {
	m.Method, m.ID = j.Method, visible.Shorten(string(j.ID), 120)
	t.got = readMembers(j)
	switch m.Kind {
	case KindRequest:
		t.request(m, j)
	case KindNotification:
		t.notification(m, j)
	default:
		t.response(m, j)
	}
}

func (t *Conversation) request(m *Message, j *jsonrpc.Message) {
	m.Tool = t.got.subject()
	o := &Request{at: m.At, method: j.Method, tool: m.Tool, key: j.ID.Key(), HTTP: m.HTTP}
	t.envelope(m, o, t.got.meta)
	if m.Method == mcp.MethodInitialize {
		m.Revision, _ = revisionIn(t.got.protocolVersion)
		m.Era, o.caps = EraLegacy, retainPart(m, t.got.capabilities)
	}
	o.rev, o.era = m.Revision, m.Era
	if m.Dir == FromServer {
		t.joined = t.onlyCall()
		m.Joins = t.joined.number()
	}
	t.checkRequest(m, j, o)
	t.remember(side(m.Dir), o)
	if m.Method == mcp.MethodInitialize && t.stage == unknownMembers {
		t.stage = asking
	}
	if m.Method == mcp.MethodSubscriptionsListen {
		o.filter = retainPart(m, t.got.notifications)
	}
	if token := rawjson.Lookup(t.got.meta, mcp.MetaProgressToken); token != nil {
		o.token = tokenKey(m.Dir, token)
		t.checkToken(m, o)
		t.tokens[o.token] = o
	}
	t.opened = append(t.opened, o)
}

// envelope reads the _meta of a modern request.
func (t *Conversation) envelope(m *Message, o *Request, meta []byte) {
	version, ok := revisionIn(rawjson.Lookup(meta, mcp.MetaProtocolVersion))
	if !ok {
		return
	}
	t.sawModern = true
	m.Revision, m.Era = version, EraModern
	o.caps = retainPart(m, rawjson.Lookup(meta, mcp.MetaClientCapabilities))
	o.logs = rawjson.Lookup(meta, mcp.MetaLogLevel) != nil
}

// retainPart returns a part of a frame to keep while its request is open: a small
// frame may be kept whole, a large part not at all.
func retainPart(m *Message, part []byte) []byte {
	const small = 4 << 10
	switch {
	case len(m.Frame) <= small:
		return part
	case len(part) <= small:
		return bytes.Clone(part)
	}
	return nil // unknown, so not checked
}

func (t *Conversation) remember(side int, o *Request) {
	open := t.open[side]
	if len(open) >= maxOpen {
		for key, old := range open {
			t.forget(side, key, old)
			break
		}
	}
	open[o.key] = o
}

// forget moves a request from the open to the recent ones.
func (t *Conversation) forget(side int, key string, o *Request) {
	delete(t.open[side], key)
	if o.token != "" && t.tokens[o.token] == o {
		delete(t.tokens, o.token)
	}
	t.history[side].add(key, o)
}

func (t *Conversation) response(m *Message, j *jsonrpc.Message) {
	other := 1 - side(m.Dir)
	o := t.open[other][j.ID.Key()]
	if o == nil {
		t.checkUnknown(m, j, other)
		return
	}
	t.joined = o
	m.Joins, m.Method, m.Tool, m.Revision, m.Era = o.Seq, o.method, o.tool, o.rev, o.era
	m.Duration = m.At.Sub(o.at)
	m.Outcome, m.Code = t.outcome(m, j)
	t.end(m, o)
	defer t.forget(other, o.key, o)
	if j.Result != nil && m.Method == mcp.MethodInitialize {
		t.agree(m, o)
	}
	t.checkResponse(m, j, o)
	if j.Result != nil {
		t.known.learn(o, &t.got)
	}
}

// outcome returns how a response ends its request.
func (t *Conversation) outcome(m *Message, j *jsonrpc.Message) (Outcome, int) {
	switch {
	case j.Error != nil:
		return OutcomeError, int(j.Error.Code)
	case m.Method == mcp.MethodToolsCall && string(t.got.isError) == "true":
		return OutcomeFailed, 0
	case rawjson.EqualString(t.got.resultType, "input_required"):
		return OutcomeInput, 0
	case m.Method == mcp.MethodToolsCall && len(t.got.content) > 0 && t.got.content[0] != '[':
		return OutcomeInvalid, 0
	}
	return OutcomeOK, 0
}

// end records that a message ends a request. What was cancelled stays so, also if
// a response arrives.
func (t *Conversation) end(m *Message, o *Request) {
	e := Ended{Seq: o.Seq, Outcome: m.Outcome, Code: m.Code, Took: m.At.Sub(o.at)}
	if o.cancelled && m.Outcome != OutcomeCancelled {
		e.Outcome, e.Code = OutcomeCancelled, 0
	}
	t.ended = append(t.ended, e)
}

// agree handles the result of initialize.
func (t *Conversation) agree(m *Message, o *Request) {
	t.rev, _ = revisionIn(t.got.protocolVersion)
	m.Revision, m.Era = t.rev, EraLegacy
	if t.stage == asking {
		t.stage = agreed
	}
	t.known.client = o.caps
}

func (t *Conversation) notification(m *Message, j *jsonrpc.Message) {
	var o *Request
	switch m.Method {
	case mcp.NotificationProgress:
		o = t.tokens[tokenKey(opposite(m.Dir), t.got.progressToken)]
	case mcp.NotificationCancelled:
		o = t.cancel(m)
	case mcp.NotificationInitialized:
		t.stage = talking
	default:
		if id := rawjson.Lookup(t.got.meta, mcp.MetaSubscriptionID); id != nil {
			o = t.open[1-side(m.Dir)][jsonrpc.ID(id).Key()]
		}
	}
	if t.joined = o; o != nil {
		m.Joins, m.Tool, m.Revision, m.Era = o.Seq, o.tool, o.rev, o.era
	} else if t.rev == "" && t.sawModern {
		m.Era = EraModern
		m.Revision = mcp.Revisions()[0]
	}
	t.checkNotification(m, o)
}

// cancel finds what is cancelled: a request of the sender, or a subscription that
// a server ends.
func (t *Conversation) cancel(m *Message) *Request {
	key := jsonrpc.ID(t.got.requestID).Key()
	o := t.open[side(m.Dir)][key]
	if o == nil && m.Dir == FromServer {
		if o = t.open[0][key]; o != nil && o.method != mcp.MethodSubscriptionsListen {
			o = nil
		}
	}
	open := o != nil
	if !open {
		o = t.history[side(m.Dir)].find(key)
	}
	if o == nil {
		return nil
	}
	o.cancelled = true
	if open {
		m.Outcome = OutcomeCancelled
		t.end(m, o)
	}
	return o
}

// onlyCall returns the only open call during which a server may send a request;
// nil if there are several.
func (t *Conversation) onlyCall() (only *Request) {
	for _, o := range t.open[0] {
		switch o.method {
		case mcp.MethodToolsCall, mcp.MethodPromptsGet, mcp.MethodResourcesRead:
			if only != nil {
				return nil
			}
			only = o
		}
	}
	return only
}

func (o *Request) number() uint64 {
	if o == nil {
		return 0
	}
	return o.Seq
}

// tokenKey separates the progress tokens of the two sides.
func tokenKey(d Dir, token []byte) string {
	return string(d[:1]) + jsonrpc.ID(token).Key()
}

func opposite(d Dir) Dir {
	if d == ToServer {
		return FromServer
	}
	return ToServer
}

// recent has the latest requests that are no longer open.
type recent struct {
	keys []string
	next int
	m    map[string]*Request
}

const maxRecent = 512

func (r *recent) add(key string, o *Request) {
	if r.m == nil {
		r.m = map[string]*Request{}
	}
	o.caps, o.filter = nil, nil // they refer to whole frames
	if _, again := r.m[key]; !again {
		if len(r.keys) < maxRecent {
			r.keys = append(r.keys, key)
		} else {
			delete(r.m, r.keys[r.next])
			r.keys[r.next] = key
			r.next = (r.next + 1) % maxRecent
		}
	}
	r.m[key] = o
}

func (r *recent) find(key string) *Request { return r.m[key] }

// follow passes a message whose Seq is known to a conversation.
func follow(t *Conversation, m *Message) {
	if m.Kind == KindStderr || m.Kind == KindEvent {
		m.ShapeChecked = true
		return
	}
	read := ParseFrame(m.Frame)
	for _, o := range t.Follow(m, &read, true) {
		o.Seq = m.Seq
	}
	m.Problems = append(m.Problems, CheckShape(m)...)
	m.ShapeChecked = true
}

// Check checks a whole conversation. The messages must be of one connection and
// in order. Check returns copies with Kind, Method, Joins, Problems and the other
// derived fields set.
func Check(ms []Message) []Message {
	var t Conversation
	out := make([]Message, len(ms))
	answered := map[uint64]int{}
	for i, m := range ms {
		m.Problems, m.Joins, m.AnsweredBy, m.Duration = nil, 0, 0, 0
		m.Outcome, m.Code, m.Took, m.Ends = "", 0, 0, nil
		m.Size = max(m.Size, len(m.Frame))
		m.Seq = cmp.Or(m.Seq, uint64(i+1))
		follow(&t, &m)
		out[i] = m
		answered[m.Seq] = i
		for _, e := range t.Ended() {
			if j, ok := answered[e.Seq]; ok {
				out[j].Outcome, out[j].Code, out[j].Took = e.Outcome, e.Code, e.Took
			}
		}
		if j, ok := answered[m.Joins]; ok && (m.Kind == KindResponse || m.Kind == KindError) {
			out[j].AnsweredBy = m.Seq
		}
	}
	return out
}
