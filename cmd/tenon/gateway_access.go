package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/app/audit"
	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/gateway"
	"github.com/tenon-mcp/tenon/mcp"
)

// gatewayAccess makes the links that decide who may what. What they count and know
// outlives a reload of the configuration.
type gatewayAccess struct {
	p      *program
	log    *slog.Logger
	counts gateway.LimitStore
	owners mcp.Middleware
	policy gateway.PolicySwitch
	rules  *gateway.RuleSet // of policy; nil before the first apply
	logs   map[auditKey]auditFile

	notifications, subscriptions mcp.Middleware

	auditing atomic.Pointer[auditing] // nil if calls are not recorded
}

// An auditing is the audit log in use.
type auditing struct {
	writer   *audit.Writer
	optional bool // calls go on without it
}

// An auditKey is a file and whether calls wait for it.
type auditKey struct {
	file string
	sync bool
}

// An auditFile is an open audit log.
type auditFile struct {
	log    *audit.Log
	writer *audit.Writer
}

func newGatewayAccess(p *program, log *slog.Logger) *gatewayAccess {
	return &gatewayAccess{p: p, log: log, counts: gateway.NewMemoryLimits(), owners: gateway.Owners(&gateway.OwnerOptions{Keys: p.gatewayTaskKeys(), Log: log}), logs: map[auditKey]auditFile{},
		notifications: gateway.Notifications(), subscriptions: gateway.Subscriptions(nil)}
}

// gatewayMatch translates a match of the configuration.
func gatewayMatch(m config.GatewayMatch) gateway.Match {
	return gateway.Match{Principal: m.Principal, Issuer: m.Issuer, Group: m.Group, Scope: m.Scope,
		Server: m.Server, Tool: m.Tool, Prompt: m.Prompt, Resource: m.Resource, Args: m.Args}
}

// ruleSet returns the rules of a configuration.
func (a *gatewayAccess) ruleSet(s *config.Gateway, names gateway.Resolver) *gateway.RuleSet {
	var rules []gateway.Rule
	for _, r := range s.Rules {
		rules = append(rules, gateway.Rule{Match: gatewayMatch(r.GatewayMatch), Deny: r.Effect == config.Deny})
	}
	return gateway.NewRuleSet(rules, names, &gateway.PolicyOptions{GroupClaim: s.GroupClaim})
}

// use lets rules decide from now on.
func (a *gatewayAccess) use(rules *gateway.RuleSet) {
	a.rules = rules
	a.policy.Set(rules)
}

// limit returns the links that bound calls: all requests, and those of servers and
// what they offer. The latter is for after the policy, so that nobody uses up, or
// finds out by the error, the limit of something that the rules deny him.
func (a *gatewayAccess) limit(s *config.Gateway, names gateway.Resolver) (all, allowed mcp.Middleware) {
	var general, specific []gateway.Limit
	per := map[string]gateway.PerWhat{"tool": gateway.PerTool, "all": gateway.PerAll}
	known := map[string]bool{}
	for _, l := range s.Limits {
		l.Line = 0
		name := fmt.Sprint(l) // counts go on if the limit is moved
		if known[name] {
			continue
		}
		known[name] = true
		to := &specific
		if l.Server == "" && l.Tool == "" && l.Prompt == "" && l.Resource == "" && l.Per != "tool" {
			to = &general
		}
		*to = append(*to, gateway.Limit{Match: gatewayMatch(l.GatewayMatch), Name: name,
			Rate: l.Rate, Period: l.Period, Burst: l.Burst, Concurrency: l.Concurrency, Per: per[l.Per]})
	}
	o := &gateway.LimitOptions{Store: a.counts, GroupClaim: s.GroupClaim, Log: a.log}
	return gateway.Limits(general, names, o), gateway.Limits(specific, names, o)
}

// audit returns the link that records calls.
func (a *gatewayAccess) audit(s *config.Gateway, names gateway.Resolver) (mcp.Middleware, error) {
	none := func(h mcp.Handler) mcp.Handler { return h }
	if s.Audit.Off {
		a.auditing.Store(nil)
		return none, nil
	}
	w, err := a.open(&s.Audit)
	if err != nil && s.Audit.Optional {
		a.log.Warn("calls are not recorded: the audit log cannot be opened", "error", err)
		a.auditing.Store(nil)
		return none, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	a.auditing.Store(&auditing{w, s.Audit.Optional})
	o := &gateway.AuditOptions{Arguments: gateway.AuditArguments(s.Audit.Arguments), Optional: s.Audit.Optional, Log: a.log}
	return gateway.Audit(w, names, o), nil
}

// open returns the audit log of a gateway, which is opened once.
func (a *gatewayAccess) open(s *config.GatewayAudit) (*audit.Writer, error) {
	file, err := a.p.besideConfig(cmp.Or(s.File, filepath.Join("host", "gateway-audit.jsonl")))
	if err != nil {
		return nil, err
	}
	key := auditKey{file, s.Sync}
	if open, ok := a.logs[key]; ok {
		if err := open.log.Reopen(); err != nil {
			a.log.Warn("the audit log cannot be opened again after a rotation", "error", err)
		}
		return open.writer, nil
	}
	log, err := audit.Open(file, &audit.Options{Key: a.p.auditKey(), Rotate: true})
	if err != nil {
		return nil, err
	}
	w := audit.NewWriter(log, &audit.WriterOptions{Wait: s.Sync})
	a.logs[key] = auditFile{log, w}
	return w, nil
}

// auditError returns why calls cannot be recorded; nil if they can or need not be.
// Refuses says that calls are refused because of it.
func (a *gatewayAccess) auditError() (refuses bool, err error) {
	r := a.auditing.Load()
	if r == nil {
		return false, nil
	}
	err = r.writer.Err()
	return err != nil && !r.optional, err
}

// close writes the records that wait.
func (a *gatewayAccess) close() {
	for _, open := range a.logs {
		if err := errors.Join(open.writer.Close(), open.log.Close()); err != nil {
			a.log.Error("records of the last calls are not in the audit log", "error", err)
		}
	}
}

// besideConfig returns a path of the configuration: a relative one begins at the
// folder of tenon.json.
func (p *program) besideConfig(file string) (string, error) {
	if filepath.IsAbs(file) {
		return file, nil
	}
	dir, err := p.configDir()
	return filepath.Join(dir, file), err
}
