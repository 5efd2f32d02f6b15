package draft

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A param is one parameter of a tool.
type param struct {
	name     string
	schema   object
	required bool
}

// A tool is an operation as the file says it.
type tool struct {
	op      *operation
	params  []param
	path    string // with RFC 6570 expressions
	query   []pair // that the path cannot have
	headers []pair
	kind    string // of the body: body, form, multipart, raw or ""
	body    []pair
	whole   string // a template for the whole body, instead of members
	idempot string // the header of the idempotency key
	paging  string // flow mapping, or ""
	output  []pair
	confirm string
	notes   []string
}

// A pair is a name and a value in YAML's flow form.
type pair struct{ name, value string }

// maxParams bounds the parameters of a tool: optional ones beyond it are left out.
const maxParams = 20

// ours are the headers that the engine sets itself.
var ours = []string{"accept", "content-type", "authorization", "user-agent", "if-none-match"}

// tool translates an operation. The error says why it cannot become a tool.
func (d *document) tool(op *operation) (*tool, error) {
	t := &tool{op: op, path: op.path}
	names := map[string]string{} // names of variables in the path
	var query []param
	for _, p := range op.parameters {
		name, schema := text(p, "name"), d.parameterSchema(p)
		where := text(p, "in")
		if set(p, "deprecated") && !set(p, "required") || where == "header" && slices.Contains(ours, strings.ToLower(name)) {
			continue
		}
		switch where {
		case "path":
			own := t.add(name, schema, true)
			names[name] = own
		case "query":
			if p["content"] != nil || text(p, "style") == "deepObject" || schema["type"] == "object" {
				if set(p, "required") {
					return nil, fmt.Errorf("the query parameter %s is an object", name)
				}
				t.notes = append(t.notes, "left out the query parameter "+name+", which is an object")
				continue
			}
			query = append(query, param{name, schema, set(p, "required")})
		case "header":
			if strings.Contains(strings.ToLower(name), "idempotency") {
				t.idempot = name
				continue
			}
			own := t.add(name, schema, set(p, "required"))
			t.headers = append(t.headers, pair{name, template(own)})
		case "cookie":
			if set(p, "required") {
				return nil, fmt.Errorf("it needs the cookie %s", name)
			}
		}
	}
	if err := t.fillPath(op, names); err != nil {
		return nil, err
	}
	query = d.page(t, op, query)
	d.fillQuery(t, op, query)
	if err := d.fillBody(t, op); err != nil {
		return nil, err
	}
	t.trim()
	d.shape(t, op)
	t.guard(op)
	return t, nil
}

// parameterSchema returns the schema of a parameter with its description.
func (d *document) parameterSchema(p object) object {
	v := p["schema"]
	if v == nil {
		_, s := d.content(p)
		v = s
	}
	s := d.simplify(v, 1, nil)
	if about := clean(text(p, "description"), 160); about != "" {
		s["description"] = about
	}
	if len(s) == 0 || s["type"] == nil && s["anyOf"] == nil && s["enum"] == nil {
		s["type"] = "string"
	}
	return s
}

// add adds a parameter under a name of its own, which it returns.
func (t *tool) add(name string, schema object, required bool) string {
	own := variable(name)
	for i := 2; slices.ContainsFunc(t.params, func(p param) bool { return p.name == own }); i++ {
		own = fmt.Sprintf("%s_%d", variable(name), i)
	}
	t.params = append(t.params, param{own, schema, required})
	return own
}

var notVariable = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// variable returns a name that paths, jq and model providers accept.
func variable(name string) string {
	v := strings.Trim(notVariable.ReplaceAllString(name, "_"), "_")
	if v == "" || v[0] >= '0' && v[0] <= '9' {
		v = "p_" + v
	}
	return v[:min(len(v), 60)]
}

// template inserts a parameter.
func template(name string) string { return quote("{{ ." + name + " }}") }

// fillPath puts the names of the parameters into the path.
func (t *tool) fillPath(op *operation, names map[string]string) error {
	var wrong error
	t.path = expression.ReplaceAllStringFunc(op.path, func(s string) string {
		name := s[1 : len(s)-1]
		own, ok := names[name]
		if !ok {
			wrong = fmt.Errorf("the path parameter %s is not described", name)
			return s
		}
		for _, p := range op.parameters {
			if text(p, "name") == name && (set(p, "x-multi-segment") || set(p, "allowReserved")) {
				return "{+" + own + "}"
			}
		}
		return "{" + own + "}"
	})
	if i := strings.IndexAny(t.path, "?#"); i >= 0 {
		t.path = t.path[:i]
	}
	return wrong
}

var expression = regexp.MustCompile(`\{[^{}]*\}`)

// fillQuery puts the parameters of the query into the path, or beside it if their
// names are no variables.
func (d *document) fillQuery(t *tool, op *operation, query []param) {
	var in []string
	for _, q := range query {
		own := t.add(q.name, q.schema, q.required)
		if own != q.name {
			t.query = append(t.query, pair{q.name, template(own)})
			continue
		}
		if q.schema["type"] == "array" && !d.joined(op, q.name) {
			own += "*"
		}
		in = append(in, own)
	}
	if len(in) > 0 {
		t.path += "{?" + strings.Join(in, ",") + "}"
	}
}

// joined reports whether an array in the query is one value with commas.
func (d *document) joined(op *operation, name string) bool {
	for _, p := range op.parameters {
		if text(p, "name") == name && text(p, "in") == "query" {
			explode, said := p["explode"].(bool)
			return said && !explode
		}
	}
	return false
}

// fillBody translates the body of the request.
func (d *document) fillBody(t *tool, op *operation) error {
	media, schema := d.content(op.body)
	if media == "" {
		return nil
	}
	base, _, _ := strings.Cut(media, ";")
	switch {
	case base == "application/json", strings.HasSuffix(base, "+json"), base == "*/*":
		t.kind = "body"
	case base == "multipart/form-data":
		t.kind = "multipart"
	case base == "application/x-www-form-urlencoded":
		t.kind = "form"
	case strings.HasPrefix(base, "text/") && !strings.Contains(base, "xml"):
		t.kind = "raw"
		own := t.add("body", object{"type": "string", "description": "The text to send"}, set(op.body, "required"))
		t.body = []pair{{"text", template(own)}, {"type", quote(base)}}
		return nil
	case strings.Contains(base, "xml"):
		return fmt.Errorf("its body is %s", base)
	default:
		t.kind = "raw"
		own := t.add("file", object{"type": "string", "description": "Path of the file to send, below the folder of the setting files"}, true)
		t.body = []pair{{"path", template(own)}, {"type", quote(base)}}
		return nil
	}
	s := d.simplify(schemaOf(op.body, media), 0, nil)
	properties, _ := s["properties"].(object)
	if len(properties) == 0 {
		return t.wholeBody(op, s)
	}
	required := list(s, "required")
	for _, name := range requiredFirst(properties, required) {
		one, _ := properties[name].(object)
		needs := slices.Contains(required, any(name)) && len(schema) > 0
		if t.kind == "multipart" && (one["format"] == "binary" || one["format"] == "byte" || one["contentMediaType"] != nil) {
			own := t.add(name, object{"type": "string", "description": "Path of the file to send, below the folder of the setting files. " + text(one, "description")}, needs)
			t.body = append(t.body, pair{name, "{path: " + template(own) + "}"})
			continue
		}
		own := t.add(name, one, needs)
		t.body = append(t.body, pair{name, template(own)})
	}
	return nil
}

// schemaOf returns the schema of a body without resolving it.
func schemaOf(body object, media string) any {
	content, _ := body["content"].(object)
	m, _ := content[media].(object)
	return m["schema"]
}

// wholeBody makes a body that is no object with known members one parameter.
func (t *tool) wholeBody(op *operation, s object) error {
	if t.kind != "body" {
		return fmt.Errorf("the members of its form are not described")
	}
	if s["type"] == nil && s["anyOf"] == nil {
		s["type"] = "object"
	}
	if s["description"] == nil {
		s["description"] = "The body of the request"
	}
	t.whole = template(t.add("body", s, set(op.body, "required")))
	return nil
}

func requiredFirst(properties object, required []any) []string {
	var first, rest []string
	for _, name := range keys(properties) {
		if slices.Contains(required, any(name)) {
			first = append(first, name)
		} else {
			rest = append(rest, name)
		}
	}
	return append(first, rest...)
}

// trim leaves out optional parameters beyond maxParams.
func (t *tool) trim() {
	if len(t.params) <= maxParams {
		return
	}
	var dropped []string
	left := len(t.params) - maxParams
	for i := len(t.params) - 1; i >= 0 && left > 0; i-- {
		p := t.params[i]
		if p.required {
			continue
		}
		left--
		dropped = append(dropped, p.name)
		t.params = slices.Delete(t.params, i, i+1)
		gone := func(o pair) bool { return o.value == template(p.name) || o.value == "{path: "+template(p.name)+"}" }
		t.body, t.query, t.headers = slices.DeleteFunc(t.body, gone), slices.DeleteFunc(t.query, gone), slices.DeleteFunc(t.headers, gone)
		t.path = dropVariable(t.path, p.name)
	}
	slices.Reverse(dropped)
	t.notes = append(t.notes, "left out optional parameters: "+strings.Join(dropped, ", "))
}

// dropVariable removes a variable from the query of a path.
func dropVariable(path, name string) string {
	before, query, ok := strings.Cut(path, "{?")
	if !ok {
		return path
	}
	var keep []string
	for v := range strings.SplitSeq(strings.TrimSuffix(query, "}"), ",") {
		if strings.TrimSuffix(v, "*") != name {
			keep = append(keep, v)
		}
	}
	if len(keep) == 0 {
		return before
	}
	return before + "{?" + strings.Join(keep, ",") + "}"
}

var risky = regexp.MustCompile(`(?i)\b(delete|remove|cancel|refund|transfer|merge|pay|charge|purchase|revoke|archive|close|disable|send|publish|terminate|reset)`)

// guard asks the user before what may not be undone.
func (t *tool) guard(op *operation) {
	if op.method == "GET" || op.method != "DELETE" && !risky.MatchString(op.summary+" "+strings.ReplaceAll(op.name, "_", " ")) {
		return
	}
	what := clean(op.summary, 80)
	if what == "" {
		what = op.method + " " + op.path
	}
	var values []string
	for _, p := range t.params {
		if p.required && len(values) < 6 {
			values = append(values, p.name+" {{ ."+p.name+" }}")
		}
	}
	t.confirm = strings.TrimSuffix(what, ".") + "?"
	if len(values) > 0 {
		t.confirm = strings.TrimSuffix(what, ".") + ": " + strings.Join(values, ", ") + "?"
	}
}
