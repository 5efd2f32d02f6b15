package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/tenon-mcp/tenon/builtin/api/credential"
	"github.com/tenon-mcp/tenon/builtin/api/expr"
	"github.com/tenon-mcp/tenon/builtin/api/spec"
)

// request compiles a request.
func (c *compiler) request(path string, r *spec.Request) *request {
	out := &request{method: cmp.Or(r.Method, http.MethodGet)}
	if whole, err := json.Marshal(r); err == nil && credential.HasReference(string(whole)) {
		c.fail(path, "references such as ${env:NAME} are not replaced in requests: secrets belong to auth, other values to api.headers")
	}
	switch {
	case r.Path != "" && r.URL != "":
		c.fail(path, "has path and url; one is possible")
	case r.Path == "" && r.URL == "":
		c.needs(path, "needs path, such as /users/{id}, or url")
	case r.URL != "":
		out.url = c.text(path+".url", r.URL, true)
		if out.url != nil && out.url.Static() {
			c.fixedURL(path+".url", r.URL)
		} else if out.url != nil && !out.url.Whole() {
			c.fail(path+".url", "a template must be the whole URL, such as {{ $prev.url }}, because its values are not encoded; use path and query to insert values")
		}
	default:
		c.path(path+".path", r.Path, out)
	}
	for _, name := range c.file.Names(path + ".query") {
		out.query = append(out.query, field{name, c.tree(spec.Path(path+".query", name), r.Query[name])})
	}
	for _, name := range c.file.Names(path + ".headers") {
		at := spec.Path(path+".headers", name)
		c.headerName(at, name)
		t := c.text(at, r.Headers[name], true)
		if t == nil {
			t, _ = expr.CompileTemplate(" ")
		}
		out.headers = append(out.headers, headerField{name, t})
	}
	c.body(path, r, out)
	return out
}

// fixedURL checks an absolute URL that has no templates.
func (c *compiler) fixedURL(path, text string) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		c.fail(path, "expected a path that begins with /, or an absolute URL")
	} else if err := c.client.Allowed(u); err != nil {
		c.fail(path, "%v", err)
	}
}

// path compiles the path of a request and the query behind it.
func (c *compiler) path(at, source string, out *request) {
	path, query := splitQuery(source)
	t, err := parsePath(path)
	if err != nil {
		c.fail(at, "%v", err)
		return
	}
	t.names(func(name string) { c.knows(at, name) })
	out.path = t
	for _, pair := range strings.Split(query, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		raw, err := json.Marshal(bracesToTemplate(value))
		if err == nil {
			out.query = append(out.query, field{name, c.tree(at, raw)})
		}
	}
}

// bracesToTemplate writes {name} in the query of a path as {{ .name }}, so that it
// means the same as in the path.
func bracesToTemplate(s string) string {
	var b strings.Builder
	for s != "" {
		if strings.HasPrefix(s, "{{") {
			end := strings.Index(s, "}}") + 2
			if end < 2 {
				break
			}
			b.WriteString(s[:end])
			s = s[end:]
			continue
		}
		if m := inBraces.FindStringSubmatch(s); m != nil && strings.HasPrefix(s, m[0]) {
			name := "." + m[1]
			if strings.Contains(m[1], "-") {
				name = fmt.Sprintf(".[%q]", m[1])
			}
			b.WriteString("{{ " + name + " }}")
			s = s[len(m[0]):]
			continue
		}
		b.WriteByte(s[0])
		s = s[1:]
	}
	return b.String() + s
}

// splitQuery splits a path at the first ? outside of braces.
func splitQuery(source string) (path, query string) {
	depth := 0
	for i, r := range source {
		switch r {
		case '{':
			depth++
		case '}':
			depth--
		case '?':
			if depth == 0 {
				return source[:i], source[i+1:]
			}
		}
	}
	return source, ""
}

func (c *compiler) body(path string, r *spec.Request, out *request) {
	kinds := 0
	if r.Body != nil {
		kinds++
		out.body = c.tree(path+".body", r.Body)
	}
	if r.Form != nil {
		kinds++
		out.form = []field{}
		for _, name := range c.file.Names(path + ".form") {
			out.form = append(out.form, field{name, c.tree(spec.Path(path+".form", name), r.Form[name])})
		}
	}
	if r.Multipart != nil {
		kinds++
		out.multipart = []part{}
		for _, name := range c.file.Names(path + ".multipart") {
			p := r.Multipart[name]
			out.multipart = append(out.multipart, c.part(spec.Path(path+".multipart", name), name, &p))
		}
	}
	if r.Raw != nil {
		kinds++
		p := c.part(path+".raw", "raw", r.Raw)
		out.raw = &p
	}
	if kinds > 1 {
		c.fail(path, "has several of body, form, multipart and raw; at most one is possible")
	}
	if kinds > 0 && out.reads() {
		c.needs(path, "a %s has no body; put the values into query, or use another method", out.method)
	}
}

func (c *compiler) part(path, name string, p *spec.Part) part {
	out := part{field: name, name: c.text(path+".name", p.Name, true), mime: c.text(path+".type", p.Type, true)}
	set := 0
	if out.file = p.File; out.file != "" {
		set++
		c.knowsFile(path+".file", out.file)
	}
	for _, one := range []struct {
		member, source string
		to             **expr.Template
	}{{"text", p.Text, &out.text}, {"base64", p.Base64, &out.base64}, {"path", p.Path, &out.path}} {
		if one.source != "" {
			set++
			*one.to = c.text(path+"."+one.member, one.source, true)
		}
	}
	if set != 1 {
		c.needs(path, "needs one of text, base64, path and file")
	}
	return out
}
