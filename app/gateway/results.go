package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"sync"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/mcp"
)

// DefaultMaxResult is the default limit for the size of a result, in bytes. It is
// what a line on standard input and output may have.
const DefaultMaxResult = 16 << 20

// ResultOptions configures [GuardResults]; nil means the defaults.
type ResultOptions struct {
	// MaxBytes is the maximum size of a result in bytes, except for lists, which
	// have limits of their own. A longer one is replaced by an error. 0 means [DefaultMaxResult], a negative number no limit.
	MaxBytes int
	// Secrets are texts that clients must not get; nil means none.
	Secrets *redact.Values
	// Patterns match further secrets. A match is replaced as a whole, or only its
	// first group if the pattern has one.
	Patterns []*regexp.Regexp
	// Tokens says that texts of well-known shapes, such as bearer tokens, JSON Web
	// Tokens, private keys and keys of cloud services, are secrets.
	Tokens bool
}

// GuardResults returns middleware that limits the size of results and replaces
// secrets in results, errors, input requests and notifications by "[redacted]".
// Binary content, which is Base64, stays as it is. A message without a secret
// costs a scan and is not copied.
func GuardResults(o *ResultOptions) mcp.Middleware {
	g := &resultGuard{max: DefaultMaxResult}
	if o != nil {
		if o.MaxBytes != 0 {
			g.max = o.MaxBytes
		}
		if o.Secrets != nil || o.Patterns != nil || o.Tokens {
			g.secrets = &redact.Filter{Values: o.Secrets, Patterns: o.Patterns, Tokens: o.Tokens, Keep: binary}
		}
	}
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) { return g.serve(ctx, c, next) })
	}
}

type resultGuard struct {
	max     int
	secrets *redact.Filter // nil if nothing is redacted

	mu    sync.Mutex
	lists map[string]cleanList // by method: the last list
}

// A cleanList is a list without its secrets. Lists are served more often than
// they change.
type cleanList struct {
	body, clean json.RawMessage
	changes     int64 // of the known secrets
}

func (g *resultGuard) serve(ctx context.Context, c *mcp.Call, next mcp.Handler) (mcp.Result, error) {
	if notify := c.OnNotification; g.secrets != nil && notify != nil {
		onward := *c
		onward.OnNotification = func(n mcp.Notification) { notify(g.notification(n)) }
		c = &onward
	}
	res, err := next.Serve(ctx, c)
	if err != nil {
		return res, g.failure(err)
	}
	if g.max > 0 && len(res.Body) > g.max && lists[c.Method].method == "" {
		return g.tooLong(c.Method, len(res.Body))
	}
	if g.secrets != nil {
		res.Body, res.Meta = g.body(c.Method, res.Body), g.meta(res.Meta)
	}
	return res, nil
}

// tooLong returns the outcome of a call whose result is too long: an error of the
// tool, which a model gets to see, or an error of the protocol.
func (g *resultGuard) tooLong(method string, size int) (mcp.Result, error) {
	text := fmt.Sprintf("the result has %d bytes, and the gateway passes on %d at most; ask for less", size, g.max)
	if method != mcp.MethodToolsCall {
		return mcp.Result{}, mcp.Errorf(mcp.CodeInternal, "%s", text)
	}
	return toolError(text), nil
}

// body returns a result without its secrets.
func (g *resultGuard) body(method string, body json.RawMessage) json.RawMessage {
	if _, isList := lists[method]; !isList {
		return g.secrets.JSON(body)
	}
	changes := g.secrets.Values.Changes()
	g.mu.Lock()
	last := g.lists[method]
	g.mu.Unlock()
	if last.changes == changes && last.body != nil && rawjson.Same(last.body, body) {
		return last.clean
	}
	last = cleanList{body, g.secrets.JSON(body), changes}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lists == nil {
		g.lists = map[string]cleanList{}
	}
	g.lists[method] = last
	return last.clean
}

// binary lists the values that are Base64: the blob of a resource, and the data of
// an image or of audio.
var binary = []redact.Kept{
	{Member: "blob", If: "uri"},
	{Member: "data", If: "type", Values: []string{"image", "audio"}},
}

func (g *resultGuard) meta(m mcp.Meta) mcp.Meta {
	copied := false
	for name, value := range m {
		clean := g.secrets.JSON(value)
		if rawjson.Same(clean, value) {
			continue
		}
		if !copied {
			m, copied = maps.Clone(m), true
		}
		m[name] = clean
	}
	return m
}

func (g *resultGuard) notification(n mcp.Notification) mcp.Notification {
	n.Params, n.Meta = g.secrets.JSON(n.Params), g.meta(n.Meta)
	return n
}

// failure returns an error without its secrets.
func (g *resultGuard) failure(err error) error {
	if g.secrets == nil {
		return err
	}
	if need, ok := errors.AsType[*mcp.InputRequired](err); ok {
		return g.inputRequired(err, need)
	}
	text := err.Error()
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok {
		if clean := g.secrets.Text(text); clean != text {
			return &mcp.Error{Code: mcp.CodeInternal, Message: clean, Local: true}
		}
		return err
	}
	message, data := g.secrets.Text(e.Message), g.secrets.JSON(e.Data)
	if message == e.Message && rawjson.Same(data, e.Data) {
		return err
	}
	clean := *e
	clean.Message, clean.Data = message, data
	return &clean
}

// inputRequired returns err, whose input requests are those of need, without the
// secrets in them.
func (g *resultGuard) inputRequired(err error, need *mcp.InputRequired) error {
	var clean *mcp.InputRequired
	for key, q := range need.Requests {
		params := g.secrets.JSON(q.Params)
		if rawjson.Same(params, q.Params) {
			continue
		}
		if clean == nil {
			c := *need
			c.Requests = maps.Clone(need.Requests)
			clean = &c
		}
		clean.Requests[key] = mcp.InputRequest{Method: q.Method, Params: params}
	}
	if clean == nil {
		return err
	}
	return clean
}
