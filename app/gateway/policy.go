package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/rulematch"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Rule of a [Policy] allows or denies the calls that it matches.
type Rule struct {
	Match
	// Deny denies instead of allowing.
	Deny bool

	text []byte // the rule as JSON, for the audit log
}

// encode returns the rule as it is written in a configuration, in JSON without
// spaces. The order of the members is always the same.
func (r *Rule) encode() []byte {
	b := []byte(`{"effect":"allow"`)
	if r.Deny {
		b = []byte(`{"effect":"deny"`)
	}
	for _, m := range [...]struct{ name, value string }{
		{"principal", r.Principal}, {"issuer", r.Issuer}, {"group", r.Group}, {"scope", r.Scope},
		{"server", r.Server}, {"tool", r.Tool}, {"prompt", r.Prompt}, {"resource", r.Resource},
	} {
		if m.value != "" {
			b = append(append(append(b, `,"`...), m.name...), `":`...)
			b = rawjson.AppendString(b, m.value)
		}
	}
	if len(r.Args) > 0 {
		args, _ := json.Marshal(r.Args) // a map of strings, which is sorted
		b = append(append(b, `,"args":`...), args...)
	}
	return append(b, '}')
}

// PolicyOptions configures a [Policy]; nil means the defaults.
type PolicyOptions struct {
	// GroupClaim is the claim with the groups of a caller: a string or a list of
	// strings. Empty means DefaultGroupClaim.
	GroupClaim string
}

// Policy returns middleware that decides what each caller may see and use. Without
// rules it allows everything. With rules it denies what none of them allows, and
// what one of them denies.
//
// Lists contain only what the caller may use, at least with some arguments. The
// use of something else has the error of a name that does not exist, whether it
// exists or not. Subscriptions are reduced in the same way. The instructions of
// servers of which the caller may use nothing are left out.
//
// Names says whose the names in calls are; nil means that they are those of a
// single server without a name. Decisions depend on the body of a call, never on
// its headers.
//
// A [PolicySwitch] is a Policy whose rules can be replaced.
func Policy(rules []Rule, names Resolver, o *PolicyOptions) mcp.Middleware {
	if len(rules) == 0 {
		return func(next mcp.Handler) mcp.Handler { return next }
	}
	s := &PolicySwitch{}
	s.Set(NewRuleSet(rules, names, o))
	return s.Middleware
}

// NewRuleSet returns the rules of a [PolicySwitch]; the parameters are those of
// [Policy].
func NewRuleSet(rules []Rule, names Resolver, o *PolicyOptions) *RuleSet {
	if names == nil {
		names = OneServer("")
	}
	rules = slices.Clone(rules)
	for i := range rules {
		rules[i].text = rules[i].encode()
	}
	p := &RuleSet{rules: rules, names: names, alike: map[string]*rights{}, lists: map[listKey]filteredList{}}
	if o != nil {
		p.callers.claim = o.GroupClaim
	}
	p.callers.build = p.rightsOf
	return p
}

// A RuleSet has the rules of a [Policy] and what was decided by them.
type RuleSet struct {
	rules   []Rule
	names   Resolver
	callers subjects[*rights]

	mu    sync.Mutex
	alike map[string]*rights // by the numbers of the rules
	lists map[listKey]filteredList
	size  int // of lists, in bytes
}

// rightsOf returns the rights of a caller. Callers to whom the same rules apply
// share them.
func (p *RuleSet) rightsOf(who *identity) *rights {
	var key []byte
	r := &rights{verdicts: map[feature]*verdict{}}
	for i := range p.rules {
		if p.rules[i].by(who) {
			r.rules = append(r.rules, &p.rules[i])
			key = append(key, byte(i), byte(i>>8), byte(i>>16))
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.alike[string(key)]; known != nil {
		return known
	}
	if len(p.alike) >= maxSubjects {
		p.alike = map[string]*rights{}
	}
	p.alike[string(key)] = r
	return r
}

// serve decides about a call.
func (p *RuleSet) serve(ctx context.Context, c *mcp.Call, next mcp.Handler) (mcp.Result, error) {
	r := p.callers.of(c.Caller.Principal)
	switch { // as in usesFeature
	case c.IsNotification, c.Method == mcp.MethodDiscover:
		return p.within(ctx, c, r, next)
	case c.Method == mcp.MethodPing:
		return next.Serve(ctx, c)
	case c.Method == mcp.MethodSubscriptionsListen:
		return p.listen(ctx, c, r, next)
	}
	if l, ok := listOf(c.Method); ok {
		res, err := next.Serve(ctx, c)
		if err == nil {
			res = p.filter(ctx, c, r, l, res)
		}
		return res, err
	}
	if err := p.check(ctx, c, r); err != nil {
		return mcp.Result{}, err
	}
	return next.Serve(ctx, c)
}

// usesFeature reports whether check decides about a call: one that uses a tool, a
// prompt, a resource or an extension.
func usesFeature(c *mcp.Call) bool {
	switch {
	case c.IsNotification, c.Method == mcp.MethodDiscover, c.Method == mcp.MethodPing, c.Method == mcp.MethodSubscriptionsListen:
		return false
	}
	_, isList := listOf(c.Method)
	return !isList
}

// check returns an error unless the caller may use all that a call names.
func (p *RuleSet) check(ctx context.Context, c *mcp.Call, r *rights) error {
	kind, member := namedBy(c.Method)
	if member != "" {
		name, ok := rawjson.String(rawjson.Lookup(c.Params, member))
		if !ok || ambiguous(c.Params) {
			return ambiguousNames(c.Method)
		}
		return p.checkName(ctx, c, r, kind, name)
	}
	if hasFoldedTwins(c.Params) {
		return ambiguousNames(c.Method)
	}
	named := 0
	_, err := protocol.RenameNames(c.Method, mcp.InParams, "", c.Params, func(kind, name string) (string, error) {
		named++
		return name, p.checkName(ctx, c, r, kind, name)
	})
	if err != nil || named > 0 {
		return err
	}
	if c.Method == mcp.MethodComplete {
		return mcp.InvalidParams("%s: the name is missing", c.Method)
	}
	if one, ok := p.names.(oneServer); ok && !protocol.IsCore(c.Method) {
		// The method of an extension whose names are unknown.
		v := r.verdict(feature{server: string(one)})
		noteDecision(ctx, feature{server: string(one)}, v.always)
		if !v.isListed() {
			return mcp.MethodNotFound(c.Method)
		}
	}
	return nil
}

// namedBy returns the member of the parameters that has the name of what a method
// uses, and its kind. Member is empty for methods that have it elsewhere.
func namedBy(method string) (kind, member string) {
	switch method {
	case mcp.MethodToolsCall:
		return protocol.KindTool, "name"
	case mcp.MethodPromptsGet:
		return protocol.KindPrompt, "name"
	case mcp.MethodResourcesRead:
		return protocol.KindURI, "uri"
	}
	return "", ""
}

// ambiguous reports whether parameters have a member that a careless server may
// take for the one that was checked: Name for name.
func ambiguous(params []byte) bool {
	for m := rawjson.Object(params); m.Next(); {
		for _, name := range [...]string{"name", "arguments", "uri"} {
			if len(m.Name) >= len(name) && string(m.Name) != name && strings.EqualFold(string(m.Name), name) {
				return true
			}
		}
	}
	return false
}

// hasFoldedTwins reports whether an object in parameters has two members that
// differ only in case, of which a careless server may take the other one than was
// checked. Arguments may have such members.
func hasFoldedTwins(raw []byte) bool {
	seen := map[string]bool{}
	for m := rawjson.Object(raw); m.Next(); {
		folded := strings.ToLower(strings.ToUpper(string(m.Name)))
		if seen[folded] {
			return true
		}
		seen[folded] = true
		if rawjson.IsObject(m.Value) && folded != "arguments" && hasFoldedTwins(m.Value) {
			return true
		}
	}
	return false
}

func ambiguousNames(method string) error {
	return mcp.InvalidParams("%s: the name is missing or ambiguous", method)
}

// checkName returns an error unless the caller may use a name.
func (p *RuleSet) checkName(ctx context.Context, c *mcp.Call, r *rights, kind, name string) error {
	server, own, ok := p.names.Resolve(ctx, &c.Caller, kind, name)
	if !ok {
		noteDecision(ctx, feature{kind: kind, own: name}, decision{})
		return unknown(kind, name)
	}
	t := feature{kind, server, own}
	v := r.verdict(t)
	if !v.isListed() {
		noteDecision(ctx, t, v.always)
		return unknown(kind, name)
	}
	d := v.decide(c)
	noteDecision(ctx, t, d)
	if !d.allowed {
		return mcp.Errorf(mcp.CodeInvalidRequest, "%s %q is not allowed with these arguments", kind, clip(name))
	}
	return nil
}

// rights are the rules that apply to a caller.
type rights struct {
	rules []*Rule

	mu       sync.RWMutex
	verdicts map[feature]*verdict
}

// A decision is whether a call is allowed, and by which rule; nil means that no
// rule matches.
type decision struct {
	allowed bool
	rule    *Rule
}

// A verdict is what the rules say about one name.
type verdict struct {
	always decision // if no rule about arguments matches
	denied bool     // whatever the arguments are
	byArgs []*Rule  // rules about arguments, those that deny first
}

// isListed reports whether the name may be used, at least with some arguments.
func (v *verdict) isListed() bool {
	return !v.denied && (v.always.allowed || len(v.byArgs) > 0 && !v.byArgs[len(v.byArgs)-1].Deny)
}

// decide returns the decision about a call.
func (v *verdict) decide(c *mcp.Call) decision {
	if v.denied || len(v.byArgs) == 0 {
		return v.always
	}
	args := rawjson.Lookup(c.Params, "arguments")
	for _, rule := range v.byArgs {
		if (rule.Deny || !v.always.allowed) && rulematch.Args(rule.Args, args, !rule.Deny) {
			return decision{!rule.Deny, rule}
		}
	}
	return v.always
}

// Bounds of the names that rights remember: their number, and the length of a name.
const (
	maxVerdicts = 20_000
	maxVerdict  = 256
)

// verdict returns what the rules say about a name.
func (r *rights) verdict(t feature) *verdict {
	if !isCoreKind(t.kind) {
		t.own = "" // the id of a task or the like: which server has it decides
	}
	if len(t.own) > maxVerdict {
		return r.judge(t)
	}
	r.mu.RLock()
	v := r.verdicts[t]
	r.mu.RUnlock()
	if v != nil {
		return v
	}
	v = r.judge(t)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.verdicts) >= maxVerdicts {
		r.verdicts = map[feature]*verdict{}
	}
	r.verdicts[t] = v
	return v
}

// isCoreKind reports whether names are of a kind that rules have patterns for. Ids
// of other kinds, such as tasks, result from the use of tools.
func isCoreKind(kind string) bool {
	switch kind {
	case protocol.KindTool, protocol.KindPrompt, protocol.KindURI, protocol.KindTemplate:
		return true
	}
	return false
}

func (r *rights) judge(t feature) *verdict {
	if t.kind != "" && !isCoreKind(t.kind) {
		return &verdict{always: decision{allowed: r.mayUse(t.server, protocol.KindTool)}}
	}
	v := &verdict{}
	for _, deny := range []bool{true, false} {
		for _, rule := range r.rules {
			switch {
			case rule.Deny != deny || !rule.about(t, !deny):
			case len(rule.Args) > 0:
				v.byArgs = append(v.byArgs, rule)
			case deny:
				return &verdict{always: decision{rule: rule}, denied: true}
			case !v.always.allowed:
				v.always = decision{true, rule}
			}
		}
	}
	return v
}

// mayUse reports whether a rule may allow something of a server. An empty kind
// means anything.
func (r *rights) mayUse(server, kind string) bool {
	found := false
	for _, rule := range r.rules {
		if !fits(rule.Server, server) {
			continue
		}
		if rule.Deny && rule.isWhole() {
			return false
		}
		found = found || !rule.Deny && (kind == "" || rule.isWhole() || rule.isAbout(kind))
	}
	return found
}

// isAbout reports whether the Match names something of a kind.
func (m *Match) isAbout(kind string) bool {
	switch kind {
	case protocol.KindTool:
		return m.Tool != "" || len(m.Args) > 0
	case protocol.KindPrompt:
		return m.Prompt != ""
	}
	return m.Resource != ""
}

// A listKey identifies a list and who gets it. A list that does not change has the
// same bytes at the same place.
type listKey struct {
	r      *rights
	method string
	first  *byte
}

// A filteredList is a list and what of it the caller gets.
type filteredList struct {
	from, body json.RawMessage
}

// maxLists bounds the lists that a policy keeps, in bytes.
const maxLists = 64 << 20

// filter removes from a list what the caller may not use. It keeps the results,
// since lists are asked for more often than they change.
func (p *RuleSet) filter(ctx context.Context, c *mcp.Call, r *rights, l listKind, res mcp.Result) mcp.Result {
	if len(res.Body) == 0 {
		return res
	}
	key := listKey{r, l.method, &res.Body[0]}
	p.mu.Lock()
	known := p.lists[key]
	p.mu.Unlock()
	if rawjson.Same(known.from, res.Body) {
		return filtered(res, known.body)
	}
	body := rawjson.RewriteMember(res.Body, l.member, func(items []byte) []byte {
		return keepItems(items, func(item []byte) bool { return p.mayList(ctx, c, r, l, item) })
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.size += len(res.Body) + len(body); p.size > maxLists {
		p.lists, p.size = map[listKey]filteredList{}, len(res.Body)+len(body)
	}
	p.lists[key] = filteredList{res.Body, body}
	return filtered(res, body)
}

// filtered returns a result with another body, which is for the caller alone.
func filtered(res mcp.Result, body json.RawMessage) mcp.Result {
	res.Body = body
	if res.Cache.Scope == mcp.ScopePublic {
		res.Cache.Scope = mcp.ScopePrivate
	}
	return res
}

// keepItems returns an array with the elements that keep selects.
func keepItems(array []byte, keep func(item []byte) bool) []byte {
	out := make([]byte, 1, len(array))
	out[0] = '['
	all := true
	for e := rawjson.Array(array); e.Next(); {
		if !keep(e.Value) {
			all = false
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, e.Value...)
	}
	if all {
		return array
	}
	return append(out, ']')
}

// mayList reports whether the caller may use an item of a list.
func (p *RuleSet) mayList(ctx context.Context, c *mcp.Call, r *rights, l listKind, item []byte) bool {
	kind, member := itemName(l)
	name, ok := rawjson.String(rawjson.Lookup(item, member))
	if !ok {
		return false
	}
	return p.maySee(ctx, c, r, kind, name)
}

func (p *RuleSet) maySee(ctx context.Context, c *mcp.Call, r *rights, kind, name string) bool {
	server, own, ok := p.names.Resolve(ctx, &c.Caller, kind, name)
	return ok && r.verdict(feature{kind, server, own}).isListed()
}

// listOf returns the list of a method, also of an extension.
func listOf(method string) (listKind, bool) {
	l, ok := lists[method]
	if !ok {
		l, _, ok = extensionList(method)
	}
	return l, ok
}

// itemName returns where an item of a list has its name, and the kind of name.
func itemName(l listKind) (kind, member string) {
	switch {
	case l.method == mcp.MethodResourceTemplatesList:
		return protocol.KindTemplate, "uriTemplate"
	case l.kind == "":
		return protocol.KindURI, "uri"
	}
	return l.kind, "name"
}

// Resolve implements [Resolver].
func (s oneServer) Resolve(_ context.Context, _ *mcp.Caller, _, name string) (server, own string, ok bool) {
	return string(s), name, true
}
