package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/builtin/api/credential"
	"github.com/tenon-mcp/tenon/builtin/api/expr"
	"github.com/tenon-mcp/tenon/builtin/api/spec"
	"github.com/tenon-mcp/tenon/builtin/api/upstream"
	"github.com/tenon-mcp/tenon/internal/typo"
)

// A service is a compiled file.
type service struct {
	config      Config
	file        *spec.File
	title       string // for messages
	base        *url.URL
	headers     http.Header
	client      *upstream.Client
	faults      []fault // rules of api.error
	tools       map[string]*tool
	order       []string // names of the selected tools
	resources   []*resource
	prompts     map[string]*prompt
	completions map[string]*completion
	usesHeaders bool // an expression uses $headers
	cursorKey   func() []byte
	hidden      func(string) string // removes secrets from a text
}

// A step is a compiled request with everything that belongs to it.
type step struct {
	request *request
	page    *pages
	faults  []fault
	retry   upstream.Retry
	cache   upstream.Cache
	as      string
	json    bool // the file expects JSON
	follows bool // another request comes before it, so that the call is not simply repeated
	reports bool // clients are told how many items there are so far
	once    bool // its idempotency key is that of one call: another call acts again
	timeout time.Duration
}

// A compiler compiles a file and collects all mistakes.
type compiler struct {
	*service
	found []spec.Problem
	known []string // the names that templates may use; nil means any

	fileNames   []string // of the tool that is compiled
	filesAt     string   // where they are; empty outside of tools
	contentUses []string // which members of files its expressions use, as name.member
}

func (c *compiler) fail(path, format string, args ...any) {
	c.found = append(c.found, spec.Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

// needs reports something that an object lacks, unless a member of it has a mistake
// and may be what is meant.
func (c *compiler) needs(path, format string, args ...any) {
	if !c.file.Damaged(path) {
		c.fail(path, format, args...)
	}
}

// load reads and compiles a file. The error has all mistakes.
func load(config Config, data []byte) (*service, error) {
	f, err := spec.Load(config.Name, data)
	if f == nil {
		return nil, err
	}
	c := &compiler{service: &service{
		config: config, file: f, title: cmp.Or(f.Title, f.Name),
		tools: map[string]*tool{}, prompts: map[string]*prompt{}, completions: map[string]*completion{},
		usesHeaders: bytes.Contains(data, []byte("$headers")),
	}}
	c.compile()
	if err := f.Problems(err, c.found); err != nil {
		return nil, err
	}
	return c.service, nil
}

func (c *compiler) compile() {
	c.api()
	for i := range c.file.Auth {
		c.auth(fmt.Sprintf("auth[%d]", i), &c.file.Auth[i])
	}
	if r := c.file.API.Retry; r != nil && r.Safe != nil {
		c.fail("api.retry.safe", "belongs to the retry of a tool")
	}
	c.faults = c.rules("api.error", c.file.API.Error)
	c.shared()
	for _, name := range c.file.Names("completions") {
		if s, ok := c.file.Completions[name]; ok {
			c.completion(spec.Path("completions", name), name, &s)
		}
	}
	for _, name := range c.file.Names("tools") {
		if s, ok := c.file.Tools[name]; ok {
			c.tool(spec.Path("tools", name), name, &s)
		}
	}
	for i := range c.file.Resources {
		c.resource(fmt.Sprintf("resources[%d]", i), &c.file.Resources[i])
	}
	for _, name := range c.file.Names("prompts") {
		if s, ok := c.file.Prompts[name]; ok {
			c.prompt(spec.Path("prompts", name), name, &s)
		}
	}
	c.selections()
	c.tests()
	if len(c.file.Tools)+len(c.file.Resources)+len(c.file.Prompts) == 0 {
		c.needs("", "the file has no tools, resources or prompts")
	}
}

// api compiles how the API is reached.
func (c *compiler) api() {
	a := &c.file.API
	path := "api.base"
	if c.config.Profile != "" {
		c.names("profiles", "profile", c.config.Profile)
	}
	resolver := c.config.Resolver
	text, err := c.config.BaseURL(c.file)
	if err != nil {
		c.fail(path, "%v", err)
		text = "https://invalid.invalid"
	}
	c.base = c.origin(path, text, a.Private || c.config.Private)
	c.service.headers = http.Header{}
	var secret []string
	for _, name := range c.file.Names("api.headers") {
		value, err := resolver.Expand(a.Headers[name])
		c.headerName(spec.Path("api.headers", name), name)
		if err != nil {
			c.fail(spec.Path("api.headers", name), "%v", err)
		} else if strings.ContainsAny(value, "\r\n\x00") {
			c.fail(spec.Path("api.headers", name), "has a line break")
		} else if shellStyled.MatchString(value) && !credential.HasReference(a.Headers[name]) {
			c.fail(spec.Path("api.headers", name), "%s is not replaced; write ${env:%s}, and put secrets into auth", value, value[1:])
		}
		c.service.headers.Set(name, value)
		if credential.HasReference(a.Headers[name]) {
			secret = append(secret, name)
		}
	}
	hosts := c.origins("api.hosts", a.Hosts)
	trusted := c.origins("api.credentials_to", a.CredentialsTo)
	for i, t := range trusted {
		if !slices.Contains(hosts, t) {
			c.fail(fmt.Sprintf("api.credentials_to[%d]", i), "%s is not in hosts", t)
		}
	}
	c.client = upstream.New(upstream.Options{
		Base: c.base, Hosts: hosts, CredentialsTo: trusted, SecretHeaders: secret, Private: a.Private || c.config.Private, Service: c.title,
		Timeout: cmp.Or(a.Timeout, 30*time.Second), MaxBody: cmp.Or(int64(a.ResponseLimit), 8<<20), Concurrency: cmp.Or(a.Concurrency, 8), RootCAs: c.config.RootCAs, Transport: c.config.Transport, TokenTransport: c.config.TokenTransport,
	})
}

// BaseURL returns the base URL that the server uses for a file: that of the Config,
// of the profile, or of the file, with its references replaced.
func (c *Config) BaseURL(f *spec.File) (string, error) {
	r := c.Resolver
	if r.Missing != nil {
		r.Missing = func(string) string { return "https://unset.invalid" }
	}
	return r.Public(cmp.Or(c.Base, f.Profiles[c.Profile].Base, f.API.Base))
}

func (c *compiler) origins(path string, list []string) []string {
	var out []string
	for i, text := range list {
		out = append(out, upstream.Origin(c.origin(fmt.Sprintf("%s[%d]", path, i), text, c.file.API.Private || c.config.Private)))
	}
	return out
}

// origin parses a URL of the API.
func (c *compiler) origin(path, text string, private bool) *url.URL {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		c.fail(path, "expected a URL such as https://api.example.com")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		c.fail(path, "a URL here has no user, query or fragment")
	case u.Scheme == "http" && !private:
		c.fail(path, "plain http needs private: true, the setting private=1, or --private of tenon api; use https")
	default:
		return u
	}
	return &url.URL{Scheme: "https", Host: "invalid.invalid"}
}

func (c *compiler) auth(path string, a *spec.Auth) {
	for member, wrong := range credential.Check(a) {
		c.fail(path+"."+member, "%s", wrong)
	}
	for member, text := range map[string]string{"token_url": a.TokenURL, "authorize_url": a.AuthorizeURL, "device_url": a.DeviceURL} {
		if text == "" || credential.HasReference(text) {
			continue
		}
		c.origin(path+"."+member, strings.SplitN(text, "?", 2)[0], c.file.API.Private || c.config.Private)
	}
	if credential.HasReference(a.RedirectURL) {
		c.fail(path+".redirect_url", "references are not replaced here")
	}
	if a.Kind == "header" {
		if !headerNames.MatchString(a.Name) {
			c.fail(path+".name", "invalid header name %q", a.Name)
		}
	}
}

var headerNames = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// headerName checks the name of a header that a file sets.
func (c *compiler) headerName(path, name string) {
	if !headerNames.MatchString(name) {
		c.fail(path, "invalid header name %q", name)
		return
	}
	switch strings.ToLower(name) {
	case "authorization", "cookie", "proxy-authorization":
		c.fail(path, "credentials belong to auth, so that they are hidden everywhere")
	case "host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "accept-encoding", "if-none-match":
		c.fail(path, "the header %s is set by the server itself", name)
	}
}

func (c *compiler) query(path, source string) *expr.Query {
	if source == "" {
		return nil
	}
	q, err := expr.Compile(source)
	if err != nil {
		c.fail(path, "%v", err)
	}
	c.knowsFiles(path, source)
	return q
}

// text compiles a template; nil if it is empty. Its plain expressions may only use
// known names if onArgs is set.
func (c *compiler) text(path, source string, onArgs bool) *expr.Template {
	if source == "" {
		return nil
	}
	t, err := expr.CompileTemplate(source)
	if err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			c.fail(path, "%s", line)
		}
		return nil
	}
	c.knowsFiles(path, source)
	if onArgs {
		t.Roots(func(name string) { c.knows(path, name) })
		c.singleBraces(path, t)
	}
	return t
}

var (
	inBraces    = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_-]*)\}`)
	shellStyled = regexp.MustCompile(`^\$[A-Z_][A-Z0-9_]*$`)
)

// singleBraces reports parameters in single braces, which are not replaced outside of
// paths.
func (c *compiler) singleBraces(path string, t *expr.Template) {
	for _, m := range inBraces.FindAllStringSubmatch(t.Literals(), -1) {
		if slices.Contains(c.known, m[1]) {
			c.fail(path, "{%s} is not replaced here: write {{ .%[1]s }}", m[1])
		}
	}
}

func (c *compiler) tree(path string, raw json.RawMessage) *expr.Tree {
	v, err := expr.Decode(raw)
	if err != nil {
		c.fail(path, "%v", err)
		return nil
	}
	return expr.CompileTree(v, func(steps []any, source string) *expr.Template {
		at := path
		for _, s := range steps {
			if name, ok := s.(string); ok {
				at = spec.Path(at, name)
			} else {
				at += fmt.Sprintf("[%d]", s)
			}
		}
		return c.text(at, source, true)
	})
}

// knows reports a name that is not a parameter.
func (c *compiler) knows(path, name string) {
	if c.known != nil && !slices.Contains(c.known, name) {
		c.fail(path, "there is no parameter %q%s", name, c.suggest(name, c.known))
	}
}

// suggest returns what a name could mean, as the end of a message; nothing for the
// mistakes of a file that has more than are shown.
func (c *compiler) suggest(name string, among []string) string {
	if len(c.found) >= spec.MaxShown {
		return ""
	}
	if near := typo.Nearest(name, among); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	if len(among) == 0 {
		return ""
	}
	return "; there are " + strings.Join(among, ", ")
}

// step compiles a request with its rules. reads says that it only reads.
func (c *compiler) step(path string, r *spec.Request, p *spec.Paginate, e []spec.ErrorRule, retry *spec.Retry, cache *spec.Cache, reads bool) *step {
	s := &step{request: c.request(path+".request", r), faults: c.rules(path+".error", e)}
	if m := s.request.method; reads && (m == http.MethodPut || m == http.MethodPatch || m == http.MethodDelete) {
		c.fail(path+".request", "a %s writes, so that it cannot be readonly", m)
	}
	s.retry = c.retry(retry, s.request.idempotent() || reads)
	s.cache = c.cache(cache)
	s.cache.Any = reads
	if p != nil {
		s.page = c.pages(path+".paginate", p, s.request)
		s.json = true
	}
	return s
}

func (c *compiler) retry(own *spec.Retry, safe bool) upstream.Retry {
	out := upstream.Retry{Max: 3, On: []int{429, 502, 503, 504}, MaxWait: 30 * time.Second, Safe: safe}
	for _, r := range []*spec.Retry{c.file.API.Retry, own} {
		if r == nil {
			continue
		}
		if r.Max != nil {
			out.Max = *r.Max
		}
		if r.On != nil {
			out.On = r.On
		}
		out.MaxWait = cmp.Or(r.MaxWait, out.MaxWait)
		if r.Safe != nil && r == own {
			out.Safe = *r.Safe
		}
	}
	return out
}

func (c *compiler) cache(own *spec.Cache) upstream.Cache {
	out := upstream.Cache{ETag: true}
	for _, s := range []*spec.Cache{c.file.API.Cache, own} {
		if s == nil {
			continue
		}
		out.TTL = s.TTL
		out.Shared = s.Scope == "public"
		if s.ETag != nil {
			out.ETag = *s.ETag
		}
	}
	return out
}

// selections checks toolsets and profiles, and selects the tools.
func (c *compiler) selections() {
	for _, set := range c.file.Names("toolsets") {
		for i, name := range c.file.Toolsets[set] {
			c.names(fmt.Sprintf("%s[%d]", spec.Path("toolsets", set), i), "tool", name)
		}
	}
	sets, readOnly := c.config.Toolsets, c.config.ReadOnly
	for _, name := range c.file.Names("profiles") {
		p := c.file.Profiles[name]
		for i := range p.Auth {
			c.auth(fmt.Sprintf("%s.auth[%d]", spec.Path("profiles", name), i), &p.Auth[i])
		}
		for i, set := range p.Toolsets {
			c.toolset(fmt.Sprintf("%s.toolsets[%d]", spec.Path("profiles", name), i), set)
		}
		if name == c.config.Profile {
			readOnly = readOnly || p.ReadOnly
			if len(sets) == 0 {
				sets = p.Toolsets
			}
		}
	}
	if _, ok := c.file.Toolsets["default"]; ok && len(sets) == 0 {
		sets = []string{"default"}
	}
	for _, set := range sets {
		c.toolset("toolsets", set)
	}
	for _, name := range c.file.Names("tools") {
		t := c.tools[name]
		in := len(sets) == 0 || slices.ContainsFunc(sets, func(set string) bool { return set == "all" || slices.Contains(c.file.Toolsets[set], name) })
		if t != nil && in && (!readOnly || t.readOnly) {
			c.order = append(c.order, name)
		}
	}
}

func (c *compiler) toolset(path, name string) {
	if name != "all" {
		c.names(path, "toolset", name)
	}
}

// names checks the name of another part of the file: of a tool, prompt, completion,
// profile or toolset.
func (c *compiler) names(path, kind, name string) {
	all := c.file.Names(kind + "s")
	if !slices.Contains(all, name) && !c.file.Broken(kind+"s") {
		c.fail(path, "there is no %s %q%s", kind, name, c.suggest(name, all))
	}
}

// tests checks the cases of the file.
func (c *compiler) tests() {
	for i := range c.file.Tests {
		t, path := &c.file.Tests[i], fmt.Sprintf("tests[%d]", i)
		set := 0
		for _, on := range []bool{t.Tool != "", t.Resource != "", t.Prompt != "", t.Complete != nil} {
			if on {
				set++
			}
		}
		if set != 1 {
			c.needs(path, "needs one of tool, resource, prompt and complete")
		}
		if t.Tool != "" {
			c.names(path+".tool", "tool", t.Tool)
		}
		if t.Prompt != "" {
			c.names(path+".prompt", "prompt", t.Prompt)
		}
		c.query(path+".expect.check", t.Expect.Check)
		for j := range t.Answers {
			if method, rest, ok := strings.Cut(t.Answers[j].Request, " "); !ok || method != strings.ToUpper(method) || !strings.HasPrefix(rest, "/") && !strings.HasPrefix(rest, "http") {
				c.fail(fmt.Sprintf("%s.answers[%d].request", path, j), "expected METHOD /path?query, or METHOD https://… for another host")
			}
		}
	}
}
