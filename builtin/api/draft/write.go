package draft

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A writer writes the file.
type writer struct {
	doc     *document
	options Options
	out     bytes.Buffer
	names   []string
	notes   []string
}

func (w *writer) line(format string, args ...any) {
	fmt.Fprintf(&w.out, format+"\n", args...)
}

// write writes the whole file and returns also what could not become a tool.
func (w *writer) write(chosen []*operation, left []LeftOut) ([]byte, []LeftOut, error) {
	var tools []*tool
	for _, op := range chosen {
		t, err := w.doc.tool(op)
		if err != nil {
			left = append(left, LeftOut{Operation: op.label(), Tag: op.tag, Reason: err.Error()})
			continue
		}
		tools = append(tools, t)
		w.names = append(w.names, op.name)
	}
	if len(tools) == 0 {
		return nil, nil, fmt.Errorf("no operation can become a tool: %s", left[len(left)-1].Reason)
	}
	if err := w.head(tools); err != nil {
		return nil, nil, err
	}
	shared := sharedParams(tools)
	if len(shared) > 0 {
		w.line("\nparams:")
		for _, p := range shared {
			w.line("  %s: %s", p.name, w.param(p))
		}
	}
	w.line("\ntools:")
	for _, t := range tools {
		w.tool(t, shared)
	}
	w.leftOut(left)
	return w.out.Bytes(), left, nil
}

var notName = regexp.MustCompile(`[^a-z0-9]+`)

// head writes what is said about the whole API.
func (w *writer) head(tools []*tool) error {
	info := w.doc.member(w.doc.root, "info")
	title := cmp.Or(clean(text(info, "title"), 60), "API")
	base, err := w.base()
	if err != nil {
		return err
	}
	name := serverName(cmp.Or(w.options.Name, title), base)
	w.line("# Drafted by tenon api draft from %s.", strconv.Quote(title+" "+text(info, "version")))
	w.line("# A draft is a start: read each description as a model would, and shorten what")
	w.line("# the output has. Then: tenon api check FILE, tenon api call FILE TOOL name=value.")
	w.line("tenon: api/1")
	w.line("name: %s", quote(name))
	w.line("title: %s", quote(title))
	if version := text(info, "version"); version != "" {
		w.line("version: %s", jsonText(version))
	}
	if about := clean(text(info, "description"), 200); about != "" {
		w.line("description: %s", quote(about))
	}
	w.line("\napi:\n  base: %s", quote(base))
	if u, err := url.Parse(base); err == nil && isPrivate(u.Hostname()) {
		w.line("  private: true  # the base is on this machine or in its network")
	}
	w.auth(strings.ToUpper(strings.ReplaceAll(name, "-", "_")))
	return nil
}

// serverName returns a short name: that which was asked for, or one from the title
// or the host.
func serverName(title, base string) string {
	name := strings.Trim(notName.ReplaceAllString(strings.ToLower(title), "-"), "-")
	name = strings.TrimSuffix(strings.TrimSuffix(name, "-api"), "-rest")
	if u, err := url.Parse(base); err == nil && (name == "" || len(name) > 24) {
		labels := strings.Split(u.Hostname(), ".")
		name = notName.ReplaceAllString(labels[max(0, len(labels)-2)], "-")
	}
	if name == "" || name[0] < 'a' || name[0] > 'z' {
		name = "api-" + name
	}
	return strings.Trim(name[:min(len(name), 40)], "-")
}

func isPrivate(host string) bool {
	return host == "localhost" || strings.HasPrefix(host, "127.") || strings.HasPrefix(host, "10.") || strings.HasPrefix(host, "192.168.") || host == "::1"
}

// base returns the URL of the first server.
func (w *writer) base() (string, error) {
	base := w.options.Base
	if base == "" {
		if servers := list(w.doc.root, "servers"); len(servers) > 0 {
			s, _ := w.doc.resolve(servers[0])
			base = text(s, "url")
			variables, _ := s["variables"].(object)
			for _, name := range keys(variables) {
				base = strings.ReplaceAll(base, "{"+name+"}", text(w.doc.member(variables, name), "default"))
			}
		}
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.ContainsAny(base, "{}") {
		return "", fmt.Errorf("the description has no absolute URL of a server (%q); give one with --base", base)
	}
	return strings.TrimRight(base, "/"), nil
}

// auth writes the ways to authenticate.
func (w *writer) auth(name string) {
	schemes := w.doc.member(w.doc.root, "components", "securitySchemes")
	var all []string
	for _, key := range keys(schemes) {
		if one := authOf(w.doc.member(schemes, key), name, w); one != "" {
			all = append(all, one)
		}
	}
	w.line("\nauth:")
	if len(all) == 0 {
		w.line("  # The description does not say how to authenticate: check this.")
		all = append(all, fmt.Sprintf("{kind: bearer, token: \"${env:%s_TOKEN}\"}", name), "{kind: none}")
	}
	for _, one := range all {
		w.line("  - %s", one)
	}
}

func authOf(s object, name string, w *writer) string {
	switch kind, scheme := text(s, "type"), strings.ToLower(text(s, "scheme")); {
	case kind == "http" && scheme == "basic":
		return fmt.Sprintf("{kind: basic, user: \"${env:%s_USER}\", password: \"${env:%s_PASSWORD}\"}", name, name)
	case kind == "http" && scheme == "bearer", kind == "openIdConnect":
		return fmt.Sprintf("{kind: bearer, token: \"${env:%s_TOKEN}\"}", name)
	case kind == "apiKey" && text(s, "in") == "cookie":
		w.notes = append(w.notes, "the API key in the cookie "+text(s, "name")+" is not supported")
	case kind == "apiKey":
		return fmt.Sprintf("{kind: %s, name: %s, value: \"${env:%s_KEY}\"}", quote(text(s, "in")), quote(text(s, "name")), name)
	case kind == "oauth2":
		return oauth(w.doc.member(s, "flows"), name, w)
	}
	return ""
}

func oauth(flows object, name string, w *writer) string {
	for _, f := range [][2]string{{"authorizationCode", "code"}, {"clientCredentials", "client_credentials"}} {
		flow := w.doc.member(flows, f[0])
		tokens := plainURL(text(flow, "tokenUrl"))
		if flow == nil || tokens == "" {
			continue
		}
		scopes, _ := flow["scopes"].(object)
		fields := []string{"kind: oauth2", "grant: " + f[1], "token_url: " + quote(tokens)}
		if f[1] == "code" {
			authorize := plainURL(text(flow, "authorizationUrl"))
			if authorize == "" {
				continue
			}
			fields = append(fields, "authorize_url: "+quote(authorize))
		}
		fields = append(fields, fmt.Sprintf("client_id: \"${env:%s_CLIENT_ID}\"", name), fmt.Sprintf("client_secret: \"${env:%s_CLIENT_SECRET%s}\"", name, map[bool]string{true: ":-"}[f[1] == "code"]))
		if len(scopes) > 0 && len(scopes) <= 12 {
			var quoted []string
			for _, s := range keys(scopes) {
				quoted = append(quoted, quote(s))
			}
			fields = append(fields, "scopes: ["+strings.Join(quoted, ", ")+"]")
		}
		return "{" + strings.Join(fields, ", ") + "}"
	}
	return ""
}

// plainURL returns an absolute URL of a description, or "" if it is none or has
// braces: a description must not refer to secrets of its reader.
func plainURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || strings.ContainsAny(text, "{}") {
		return ""
	}
	return u.String()
}

// sharedParams returns the parameters that three or more tools have alike.
func sharedParams(tools []*tool) (shared []param) {
	var all []param
	for _, t := range tools {
		all = append(all, t.params...)
	}
	for _, p := range all {
		if slices.ContainsFunc(shared, func(s param) bool { return s.name == p.name }) {
			continue
		}
		n := 0
		for _, q := range all {
			if alike(p, q) {
				n++
			}
		}
		if n >= 3 {
			shared = append(shared, p)
		}
	}
	return shared
}

func alike(a, b param) bool {
	return a.name == b.name && a.required == b.required && same(a.schema, b.schema)
}

// param returns a parameter. The members that an object requires are left out if
// the parameter itself is required: the format has one word for both.
func (w *writer) param(p param) string {
	if !p.required {
		return flow(p.schema)
	}
	s := maps.Clone(p.schema)
	s["required"] = true
	return flow(s)
}

func (w *writer) tool(t *tool, shared []param) {
	op := t.op
	w.line("  %s:  # %s", op.name, comment(op.method+" "+op.path))
	for _, n := range t.notes {
		w.line("    # %s", comment(n))
	}
	if title := clean(op.summary, 80); title != "" {
		w.line("    title: %s", quote(title))
	}
	w.line("    description: %s", quote(describe(op)))
	if len(t.params) > 0 {
		w.line("    params:")
		for _, p := range t.params {
			if slices.ContainsFunc(shared, func(s param) bool { return alike(s, p) }) {
				w.line("      %s: $%s", p.name, p.name)
				continue
			}
			w.line("      %s: %s", quote(p.name), w.param(p))
		}
	}
	w.request(t)
	if t.paging != "" {
		w.line("    paginate: %s", t.paging)
	}
	if t.idempot != "" {
		w.line("    idempotency: {header: %s}", quote(t.idempot))
	}
	if t.confirm != "" {
		w.line("    confirm: {message: %s}", quote(t.confirm))
	}
	if len(t.output) > 0 {
		w.line("    output:")
		for _, o := range t.output {
			w.line("      %s: %s", o.name, o.value)
		}
	}
}

func (w *writer) request(t *tool) {
	if t.kind == "" && len(t.query) == 0 && len(t.headers) == 0 {
		w.line("    request: %s", quote(t.op.method+" "+t.path))
		return
	}
	w.line("    request:\n      method: %s\n      path: %s", t.op.method, quote(t.path))
	w.pairs("query", t.query)
	w.pairs("headers", t.headers)
	switch {
	case t.whole != "":
		w.line("      body: %s", t.whole)
	case t.kind != "":
		w.pairs(t.kind, t.body)
	}
}

func (w *writer) pairs(name string, all []pair) {
	if len(all) == 0 {
		return
	}
	w.line("      %s:", name)
	for _, p := range all {
		w.line("        %s: %s", quote(p.name), p.value)
	}
}

// describe returns what a model reads about an operation.
func describe(op *operation) string {
	summary, about := strings.TrimSuffix(clean(op.summary, 120), "."), clean(op.about, 260)
	switch {
	case summary == "" && about == "":
		return op.method + " " + op.path
	case summary == "" || strings.HasPrefix(strings.ToLower(about), strings.ToLower(summary)):
		return about
	case about == "":
		return summary + "."
	}
	return summary + ". " + about
}

// leftOut lists the operations that did not become tools, by reason and tag.
func (w *writer) leftOut(left []LeftOut) {
	if len(left) == 0 {
		return
	}
	w.line("\n# Left out: %d operations. Choose others with --op ID or --tag TAG.", len(left))
	groups := map[string][]string{}
	var order []string
	for _, l := range left {
		head := l.Reason
		if l.Tag != "" {
			head += ", tag " + l.Tag
		}
		if groups[head] == nil {
			order = append(order, head)
		}
		groups[head] = append(groups[head], l.Operation)
	}
	slices.Sort(order)
	for _, head := range order {
		w.line("#\n# %s (%d):", comment(head), len(groups[head]))
		row := "#  "
		for _, id := range groups[head] {
			if len(row)+len(id) > 98 && row != "#  " {
				w.line("%s", row)
				row = "#  "
			}
			row += " " + comment(id)
		}
		w.line("%s", row)
	}
}

// comment returns text that stays in one line.
func comment(s string) string { return spaces.ReplaceAllString(s, " ") }

// flow returns a value in YAML's flow form.
func flow(v any) string {
	switch v := v.(type) {
	case object:
		var fields []string
		for _, k := range kept {
			if e, ok := v[k]; ok {
				fields = append(fields, k+": "+flow(e))
			}
		}
		for _, k := range keys(v) {
			if !slices.Contains(kept, k) {
				fields = append(fields, quote(k)+": "+flow(v[k]))
			}
		}
		return "{" + strings.Join(fields, ", ") + "}"
	case []any:
		var all []string
		for _, e := range v {
			all = append(all, flow(e))
		}
		return "[" + strings.Join(all, ", ") + "]"
	case string:
		return quote(v)
	}
	return jsonText(v)
}

var plainText = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9_./ -]*[A-Za-z0-9_./]$|^[A-Za-z]$`)

// quote returns a string in YAML, in quotes where it needs them.
func quote(s string) string {
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n":
		return jsonText(s)
	}
	if plainText.MatchString(s) && len(s) < 60 {
		return s
	}
	return jsonText(s)
}

// jsonText returns a value in JSON, which is YAML, too.
func jsonText(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return `""`
	}
	return strings.TrimSpace(b.String())
}
