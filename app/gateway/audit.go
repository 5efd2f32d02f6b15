package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/outcome"
	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/mcp"
)

// An AuditLog takes records, each a JSON object. It must be safe for concurrent
// use. Package app/audit has implementations.
//
// If it has a method Err() error, calls are refused before they are served while
// that returns an error: the log cannot be written.
type AuditLog interface {
	Append(record any) error
}

// AuditOptions configures an [Audit]; nil means the defaults.
type AuditOptions struct {
	// Arguments says what of the arguments of a call is recorded.
	Arguments AuditArguments
	// Optional serves calls also while the log cannot be written.
	Optional bool
	// Log receives the errors of the audit log. Nil means slog.Default().
	Log *slog.Logger
}

// AuditArguments says what of the arguments of a call is recorded.
type AuditArguments string

const (
	AuditDigest   AuditArguments = ""         // their SHA-256
	AuditRedacted AuditArguments = "redacted" // the arguments without secrets, as far as those can be recognized
	AuditNone     AuditArguments = "none"     // nothing
)

// Audit returns middleware that records each use of a tool, prompt, resource or
// extension, and each subscription: who, what, the decision of the [Policy] behind
// it, and how it ended. Lists and pings are not recorded. A record is a JSON object
// with these members, of which those that have no value are left out:
//
//	method, principal, issuer, client, revision
//	server, kind, name   what was used, as the server names it
//	effect, rule         "allow" or "deny", and the rule that decided, as an object
//	args                 see [AuditArguments]
//	outcome, code        an [Outcome], and the code of an error
//	ms                   the duration
//	trace                the W3C traceparent of the call
//
// A call whose record cannot be written fails with the status 503, and while
// that lasts further calls are refused, unless Optional is set.
//
// Names says whose the names in calls are, as for [Policy].
func Audit(log AuditLog, names Resolver, o *AuditOptions) mcp.Middleware {
	a := &auditor{log: log, names: names, secrets: redact.New()}
	if o != nil {
		a.opts = *o
	}
	a.state, _ = log.(interface{ Err() error })
	if a.names == nil {
		a.names = OneServer("")
	}
	if a.opts.Log == nil {
		a.opts.Log = slog.Default()
	}
	return func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
			if !isAudited(c) {
				return next.Serve(ctx, c)
			}
			return a.serve(ctx, c, next)
		})
	}
}

type auditor struct {
	log     AuditLog
	names   Resolver
	opts    AuditOptions
	secrets *redact.Values
	broken  atomic.Bool              // the last record was not written
	state   interface{ Err() error } // of the log; nil if it has none
}

// isAudited reports whether a call is recorded.
func isAudited(c *mcp.Call) bool {
	if c.IsNotification {
		return false
	}
	switch c.Method {
	case mcp.MethodToolsCall, mcp.MethodPromptsGet, mcp.MethodResourcesRead, mcp.MethodComplete, mcp.MethodSubscriptionsListen:
		return true
	}
	if protocol.IsCore(c.Method) {
		return false
	}
	_, isList := listOf(c.Method)
	return !isList
}

// A trail collects what links behind an Audit decide about a call.
type trail struct {
	feature  feature
	decision decision
	decided  bool
	scope    scope // see withScope
}

type trailKey struct{}

// noteDecision tells the Audit before the policy about a decision. A denial is
// final.
func noteDecision(ctx context.Context, t feature, d decision) {
	if tr, ok := ctx.Value(trailKey{}).(*trail); ok && (!tr.decided || tr.decision.allowed) {
		tr.feature, tr.decision, tr.decided = t, d, true
	}
}

// serve serves a call and records it.
func (a *auditor) serve(ctx context.Context, c *mcp.Call, next mcp.Handler) (mcp.Result, error) {
	if err := a.ready(); err != nil {
		return mcp.Result{}, err
	}
	if c.Method == mcp.MethodSubscriptionsListen { // it may stay open for days
		open := func(ctx context.Context) error { return a.write(a.record(ctx, c, &trail{}, OutcomeOpen, 0, 0)) }
		if isAttempt(ctx, c) {
			return serveAttempt(ctx, c, next, open)
		}
		if err := open(ctx); err != nil {
			return mcp.Result{}, err
		}
		return next.Serve(ctx, c)
	}
	tr := &trail{}
	began := time.Now()
	res, err := next.Serve(context.WithValue(ctx, trailKey{}, tr), c)
	how, code := auditOutcome(ctx, c, tr, &res, err)
	if failed := a.write(a.record(ctx, c, tr, how, code, time.Since(began))); failed != nil {
		mcp.Abandon(err)
		return mcp.Result{}, failed
	}
	return res, err
}

// ready returns an error if the log cannot be written.
func (a *auditor) ready() error {
	if a.opts.Optional {
		return nil
	}
	if a.state != nil {
		if err := a.state.Err(); err != nil {
			return a.failed(err)
		}
	}
	if !a.broken.Load() {
		return nil
	}
	return a.write(json.RawMessage(`{"event":"the audit log can be written again; calls were refused before"}`))
}

// write adds a record. It returns an error if calls must not go on.
func (a *auditor) write(record json.RawMessage) error {
	if err := a.log.Append(record); err != nil {
		return a.failed(err)
	}
	a.broken.Store(false)
	return nil
}

// failed logs that the log cannot be written, once. It returns an error if calls
// must not go on.
func (a *auditor) failed(err error) error {
	if !a.broken.Swap(true) {
		a.opts.Log.Error("gateway: the audit log cannot be written", "error", err, "refusing calls", !a.opts.Optional)
	}
	if a.opts.Optional {
		return nil
	}
	return mcp.Refusal(http.StatusServiceUnavailable, failurePause, "the audit log cannot be written, so calls are refused; try again later")
}

// auditOutcome returns how a call ended, and the code of an error.
func auditOutcome(ctx context.Context, c *mcp.Call, tr *trail, res *mcp.Result, err error) (how Outcome, code int) {
	how = outcome.Of(ctx, c, res, err)
	switch {
	case how != OutcomeOK && how != OutcomeToolError && how != OutcomeInputRequired && tr.decided && !tr.decision.allowed:
		return OutcomeDenied, 0
	case how != OutcomeError && how != OutcomeLimited:
		return how, 0
	}
	if e, ok := errors.AsType[*mcp.Error](err); ok {
		return how, e.Code
	}
	return how, mcp.CodeInternal
}

// record returns the record of a call.
func (a *auditor) record(ctx context.Context, c *mcp.Call, tr *trail, how Outcome, code int, took time.Duration) json.RawMessage {
	b := make([]byte, 0, 512)
	text := func(name, value string) {
		if value != "" {
			b = append(append(append(b, `,"`...), name...), `":`...)
			b = rawjson.AppendString(b, value)
		}
	}
	b = rawjson.AppendString(append(b, `{"method":`...), c.Method)
	text("principal", PrincipalName(c.Caller.Principal))
	if p := c.Caller.Principal; p != nil {
		text("issuer", p.Issuer)
	}
	if client := c.Caller.Client; client != nil {
		text("client", clip(client.Name+" "+client.Version))
	}
	text("revision", string(c.Caller.Revision))
	t := tr.feature
	if !tr.decided {
		t, _, _ = featureOf(ctx, c, a.names)
	}
	text("server", t.server)
	text("kind", t.kind)
	text("name", clip(a.nameOf(t)))
	if tr.decided {
		text("effect", tr.decision.effect())
		if rule := tr.decision.rule; rule != nil {
			b = append(append(b, `,"rule":`...), rule.text...)
		}
	}
	b = a.appendArgs(b, c)
	text("outcome", how.String())
	if code != 0 {
		b = strconv.AppendInt(append(b, `,"code":`...), int64(code), 10)
	}
	if took > 0 {
		b = strconv.AppendFloat(append(b, `,"ms":`...), float64(took.Microseconds())/1000, 'f', -1, 64)
	}
	if trace, ok := rawjson.String(c.Meta[mcp.MetaTraceparent]); ok {
		text("trace", clip(trace))
	}
	return append(b, '}')
}

// nameOf returns the name that a call uses, without the secrets of a URI.
func (a *auditor) nameOf(t feature) string {
	if t.kind == protocol.KindURI {
		return a.secrets.Text(t.own)
	}
	return t.own
}

// effect returns the effect of a decision.
func (d decision) effect() string {
	if d.allowed {
		return "allow"
	}
	return "deny"
}

// appendArgs appends what is recorded of the arguments. Of methods without
// arguments, those are the parameters.
func (a *auditor) appendArgs(b []byte, c *mcp.Call) []byte {
	args := []byte(c.Params)
	switch c.Method {
	case mcp.MethodToolsCall, mcp.MethodPromptsGet:
		args = rawjson.Lookup(c.Params, "arguments")
	case mcp.MethodResourcesRead:
		return b // the URI is the name
	}
	if len(args) == 0 || a.opts.Arguments == AuditNone {
		return b
	}
	b = append(b, `,"args":`...)
	if a.opts.Arguments == AuditRedacted {
		return rawjson.AppendCompact(b, a.secrets.JSON(args))
	}
	sum := sha256.Sum256(args)
	b = append(b, `"sha256:`...)
	b = hex.AppendEncode(b, sum[:])
	return append(b, '"')
}
