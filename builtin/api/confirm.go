package api

import (
	"container/list"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/builtin/api/expr"
	"github.com/tenon-mcp/tenon/builtin/api/spec"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/server"
)

// confirm is a compiled question to the user.
type confirm struct {
	when    *expr.Query
	message *expr.Template
	proceed bool // if the client cannot ask
}

func (c *compiler) confirm(path string, s *spec.Confirm) *confirm {
	if s == nil {
		return nil
	}
	return &confirm{c.query(path+".confirm.when", s.When), c.text(path+".confirm.message", s.Message, true), s.Without == "proceed"}
}

// A keyRule says which idempotency key a request has.
type keyRule struct {
	header   string
	args     bool
	template *expr.Template
}

func (c *compiler) key(path string, s *spec.Idempotency) *keyRule {
	if s == nil {
		return nil
	}
	k := &keyRule{header: s.Header}
	if s.Header != "" {
		c.headerName(path+".idempotency.header", s.Header)
	}
	switch s.Key {
	case "", "call":
	case "args":
		k.args = true
	default:
		k.template = c.text(path+".idempotency.key", s.Key, true)
		if k.template != nil && k.template.Static() {
			c.fail(path+".idempotency.key", "expected call, args or a template such as {{ .order_id }}")
		}
	}
	return k
}

// runOnce runs the effect of a call.
type runOnce func(func() (*mcp.CallToolResult, error)) (*mcp.CallToolResult, error)

// prepare asks the user and chooses the idempotency key. The function that it
// returns runs the effect of the call: of a call that the user confirmed at most
// once, however often the client sends its last round.
func (e *engine) prepare(ctx context.Context, c *mcp.Call, v *service, t *tool, sc *scope) (runOnce, error) {
	if t.confirm == nil && t.key == nil {
		return func(f func() (*mcp.CallToolResult, error)) (*mcp.CallToolResult, error) { return f() }, nil
	}
	id, err := server.Once(c, "api/call", func() (string, error) { return rand.Text(), nil })
	if err != nil {
		return nil, err
	}
	if sc.vars.Key, err = t.key.of(ctx, c, t, sc, id); err != nil {
		return nil, err
	}
	asked, err := t.confirm.ask(ctx, c, v, sc)
	if err != nil {
		return nil, err
	}
	if !asked {
		return func(f func() (*mcp.CallToolResult, error)) (*mcp.CallToolResult, error) { return f() }, nil
	}
	return func(f func() (*mcp.CallToolResult, error)) (*mcp.CallToolResult, error) {
		return e.effects.once(ctx, id, f)
	}, nil
}

// of returns the idempotency key of a call.
func (k *keyRule) of(ctx context.Context, c *mcp.Call, t *tool, sc *scope, id string) (string, error) {
	switch {
	case k == nil, k.template != nil && t.batch != nil: // each item has its own
		return "", nil
	case k.args:
		raw, err := expr.Encode(sc.args)
		if err != nil {
			return "", err
		}
		return digest(c.Caller.Principal.Key(), t.name, string(raw)), nil
	case k.template != nil:
		return k.text(ctx, sc)
	}
	return id, nil
}

// text returns the key that the template gives.
func (k *keyRule) text(ctx context.Context, sc *scope) (string, error) {
	text, err := k.template.Text(ctx, sc.args, &sc.vars)
	if err != nil || text == "" {
		return "", errors.Join(errors.New("the idempotency key is empty"), err)
	}
	return oneLine(text), nil
}

// ofItem makes the key of a batch that of its item i. Equal items have different keys,
// because each of them is to act; a template may say otherwise.
func (k *keyRule) ofItem(ctx context.Context, sc *scope, i int) (err error) {
	switch {
	case k == nil:
	case k.template != nil:
		sc.vars.Key, err = k.text(ctx, sc)
	default:
		sc.vars.Key = digest(sc.vars.Key, strconv.Itoa(i), expr.Text(sc.vars.Item))
	}
	return err
}

func digest(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		fmt.Fprintf(h, "%d %s", len(t), t)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// ask asks the user and reports whether it did. The key of the question depends on
// its text: if the values have changed since the user agreed, it is asked again.
func (q *confirm) ask(ctx context.Context, c *mcp.Call, v *service, sc *scope) (asked bool, err error) {
	if q == nil {
		return false, nil
	}
	if q.when != nil {
		if yes, err := q.when.True(ctx, sc.args, &sc.vars); err != nil || !yes {
			return false, err
		}
	}
	message, err := q.message.Text(ctx, sc.args, &sc.vars)
	if err != nil {
		return false, v.unexpected(err)
	}
	message = v.hidden(message)
	if can := c.Caller.Capabilities; can == nil || can.Elicitation == nil {
		if q.proceed {
			return false, nil
		}
		return false, fmt.Errorf("nothing was done: this needs the confirmation of the user, and the client cannot ask for it. The question is: %s", message)
	}
	answer, err := server.Elicit[consent](c, "confirm "+digest(message), message)
	if err == nil && !answer.Yes {
		err = &server.Declined{Action: mcp.ActionDecline, Message: message}
	}
	return true, err
}

// consent is the form of a question.
type consent struct {
	Yes bool `json:"yes" doc:"go ahead; otherwise nothing is done" schema:"title=Yes,default=true"`
}

// effects remembers the results of calls that a user confirmed, so that the last
// round of a call has an effect once. It is bounded, and knows only this process:
// idempotency keys protect across processes.
type effects struct {
	mu    sync.Mutex
	known map[string]*effect
	order list.List // of *effect, the oldest first
}

type effect struct {
	id   string
	item *list.Element // in order
	done chan struct{}
	res  *mcp.CallToolResult
	err  error
	at   time.Time
}

const (
	maxEffects = 1000
	effectTime = time.Hour
)

func (e *effects) once(ctx context.Context, id string, f func() (*mcp.CallToolResult, error)) (*mcp.CallToolResult, error) {
	one, first := e.begin(id)
	if !first {
		select {
		case <-one.done:
			if errors.Is(one.err, context.Canceled) {
				return nil, errors.New("the call was cancelled" + unknownEffect)
			}
			return one.res, one.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer close(one.done)
	one.err = errors.New("the call ended unexpectedly") // in case of a panic
	one.res, one.err = f()
	if _, asks := errors.AsType[*mcp.InputRequired](one.err); asks {
		e.forget(one) // nothing was sent: the user has to log in
	}
	return one.res, one.err
}

func (e *effects) begin(id string) (one *effect, first bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if one := e.known[id]; one != nil {
		return one, false
	}
	if e.known == nil {
		e.known = map[string]*effect{}
	}
	now := time.Now()
	for at := e.order.Front(); at != nil && (e.order.Len() >= maxEffects || now.Sub(at.Value.(*effect).at) > effectTime); at = e.order.Front() {
		delete(e.known, e.order.Remove(at).(*effect).id)
	}
	one = &effect{id: id, done: make(chan struct{}), at: now}
	e.known[id], one.item = one, e.order.PushBack(one)
	return one, true
}

func (e *effects) forget(one *effect) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known[one.id] == one { // otherwise there was no room for it any more
		delete(e.known, one.id)
		e.order.Remove(one.item)
	}
}
