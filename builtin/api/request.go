package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/builtin/api/expr"
	"github.com/tenon-mcp/tenon/builtin/api/upstream"
)

// A request is a compiled request.
type request struct {
	method    string
	path      *pathTemplate
	url       *expr.Template // instead of path
	query     []field
	headers   []headerField
	body      *expr.Tree
	form      []field
	multipart []part
	raw       *part
}

// A field is a named value of a query or a form.
type field struct {
	name  string
	value *expr.Tree
}

type headerField struct {
	name  string
	value *expr.Template
}

// A part is a body or a part of one. One of text, base64, path and file is set.
type part struct {
	field, file                    string
	text, base64, path, name, mime *expr.Template
}

// idempotent reports whether the method may be repeated.
func (r *request) idempotent() bool {
	return r.method != http.MethodPost && r.method != http.MethodPatch
}

// reads reports whether the method only reads.
func (r *request) reads() bool { return r.method == http.MethodGet || r.method == http.MethodHead }

// A scope is what the templates of a request see.
type scope struct {
	args  map[string]any
	vars  expr.Vars
	extra []extra // of paging

	folders *folders           // whose files may be sent; nil means none
	uploads map[string]uploads // the files of the call by name
}

// An extra is a parameter that paging adds.
type extra struct {
	in, name string
	value    any
}

func newScope(args map[string]any) *scope { return &scope{args: args, vars: expr.Vars{Args: args}} }

// build returns the request for the arguments of a call.
func (v *service) build(ctx context.Context, r *request, s *scope) (*upstream.Request, error) {
	target, err := v.target(ctx, r, s)
	if err != nil {
		return nil, err
	}
	out := &upstream.Request{Method: r.method, URL: target, Header: v.headers.Clone()}
	for _, h := range r.headers {
		value, err := h.value.Value(ctx, s.args, &s.vars)
		if err != nil {
			return nil, err
		}
		if value == nil {
			continue
		}
		text := expr.Text(value)
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return nil, fmt.Errorf("the value of the header %s has control characters", h.name)
		}
		out.Header.Set(h.name, text)
	}
	return out, v.writeBody(ctx, r, s, out)
}

// target returns the URL of a request.
func (v *service) target(ctx context.Context, r *request, s *scope) (*url.URL, error) {
	var text string
	var err error
	if r.url != nil {
		text, err = r.url.Text(ctx, s.args, &s.vars)
	} else if text, err = r.path.expand(s.args); err == nil {
		text = v.base.Scheme + "://" + v.base.Host + strings.TrimSuffix(v.base.EscapedPath(), "/") + text
	}
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(text)
	if err != nil || target.Host == "" {
		return nil, errors.New("the URL of the request is not valid")
	}
	if r.url == nil && target.Host != v.base.Host {
		return nil, errors.New("the request would leave the base URL")
	}
	if err := v.client.Allowed(target); err != nil {
		return nil, fmt.Errorf("request refused: %w", err)
	}
	if len(r.query) == 0 && !slices.ContainsFunc(s.extra, func(e extra) bool { return e.in == "query" }) {
		return target, nil
	}
	return target, addQuery(ctx, target, r.query, s)
}

func addQuery(ctx context.Context, target *url.URL, fields []field, s *scope) error {
	values := url.Values{}
	if target.RawQuery != "" {
		var err error
		if values, err = url.ParseQuery(target.RawQuery); err != nil {
			return errors.New("the query of the request is not valid")
		}
	}
	if err := addFields(ctx, values, fields, s, "query"); err != nil {
		return err
	}
	target.RawQuery = values.Encode()
	return nil
}

// addFields adds the fields of a query or a form. A value that is null is left
// out; an array repeats the name.
func addFields(ctx context.Context, values url.Values, fields []field, s *scope, in string) error {
	for _, f := range fields {
		v, _, err := f.value.Value(ctx, s.args, &s.vars)
		if err != nil {
			return err
		}
		switch v := v.(type) {
		case nil:
		case []any:
			for _, item := range v {
				values.Add(f.name, expr.Text(item))
			}
		default:
			values.Set(f.name, expr.Text(v))
		}
	}
	for _, e := range s.extra {
		if e.in == in {
			values.Set(e.name, expr.Text(e.value))
		}
	}
	return nil
}

// writeBody adds the body of a request.
func (v *service) writeBody(ctx context.Context, r *request, s *scope, out *upstream.Request) (err error) {
	kind := ""
	switch {
	case r.body != nil:
		kind = "application/json"
		out.Body, err = jsonBody(ctx, r.body, s)
	case r.form != nil:
		kind = "application/x-www-form-urlencoded"
		values := url.Values{}
		err = addFields(ctx, values, r.form, s, "form")
		out.Body = []byte(values.Encode())
	case r.multipart != nil:
		out.Body, kind, err = v.multipartBody(ctx, r.multipart, s)
	case r.raw != nil:
		out.Body, kind, err = v.rawBody(ctx, r.raw, s)
	default:
		return nil
	}
	if out.Header.Get("Content-Type") == "" {
		out.Header.Set("Content-Type", kind)
	}
	return err
}

func jsonBody(ctx context.Context, tree *expr.Tree, s *scope) ([]byte, error) {
	v, _, err := tree.Value(ctx, s.args, &s.vars)
	if err != nil {
		return nil, err
	}
	members, isObject := v.(map[string]any)
	if isObject && len(s.extra) > 0 {
		members = maps.Clone(members) // it may be an argument
		v = members
	}
	for _, e := range s.extra {
		switch {
		case e.in != "body":
		case !isObject:
			return nil, fmt.Errorf("the body of the request is not an object, so that %s cannot be added", e.name)
		default:
			members[e.name] = e.value
		}
	}
	return expr.Encode(v)
}

// rawBody returns the body of a request that is not made of parts, and its type.
func (v *service) rawBody(ctx context.Context, p *part, s *scope) ([]byte, string, error) {
	got, err := v.content(ctx, p, s)
	if err != nil {
		return nil, "", err
	}
	if len(got) > 1 {
		return nil, "", fmt.Errorf("%s: one file can be sent, got %d", p.file, len(got))
	}
	var one upload
	if len(got) == 1 {
		one = got[0]
	}
	kind, err := textOr(ctx, p.mime, s, cmp.Or(oneLine(one.mime), "application/octet-stream"))
	return one.data, kind, err
}

func (v *service) multipartBody(ctx context.Context, parts []part, s *scope) ([]byte, string, error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := range parts {
		got, err := v.content(ctx, &parts[i], s)
		if err != nil {
			return nil, "", err
		}
		for _, one := range got {
			if err := writePart(ctx, w, &parts[i], s, one); err != nil {
				return nil, "", err
			}
			if b.Len() > maxUpload+1<<20 {
				return nil, "", fmt.Errorf("the upload has more than %d MiB", maxUpload>>20)
			}
		}
	}
	if err := w.Close(); err != nil {
		return nil, "", err
	}
	return b.Bytes(), w.FormDataContentType(), nil
}

// writePart writes a part of a body. A text has no file name unless the file gives
// one.
func writePart(ctx context.Context, w *multipart.Writer, p *part, s *scope, one upload) error {
	name, err := textOr(ctx, p.name, s, one.name)
	if err != nil {
		return err
	}
	if name == "" && p.text == nil {
		name = "file"
	}
	kind, err := textOr(ctx, p.mime, s, oneLine(one.mime))
	if err != nil {
		return err
	}
	header := textproto.MIMEHeader{"Content-Disposition": {disposition(p.field, name)}}
	if kind != "" {
		header.Set("Content-Type", kind)
	} else if name != "" {
		header.Set("Content-Type", "application/octet-stream")
	}
	to, err := w.CreatePart(header)
	if err == nil {
		_, err = to.Write(one.data)
	}
	return err
}

func disposition(field, name string) string {
	quote := strings.NewReplacer("\\", "\\\\", `"`, "%22", "\r", "%0D", "\n", "%0A").Replace
	if name == "" {
		return fmt.Sprintf(`form-data; name="%s"`, quote(field))
	}
	return fmt.Sprintf(`form-data; name="%s"; filename="%s"`, quote(field), quote(name))
}

func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
}

func textOr(ctx context.Context, t *expr.Template, s *scope, def string) (string, error) {
	if t == nil {
		return def, nil
	}
	text, err := t.Text(ctx, s.args, &s.vars)
	if text == "" {
		text = def
	}
	return oneLine(text), err
}

// content returns the contents of a part: one, or as many as it has files; none if its
// template gives null.
func (v *service) content(ctx context.Context, p *part, s *scope) ([]upload, error) {
	if p.file != "" {
		return s.uploads[p.file].files, nil
	}
	source := p.text
	switch {
	case p.base64 != nil:
		source = p.base64
	case p.path != nil:
		source = p.path
	}
	value, err := source.Value(ctx, s.args, &s.vars)
	if err != nil || value == nil {
		return nil, err
	}
	text := expr.Text(value)
	switch {
	case p.base64 != nil:
		data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("the content of %s is not base64", p.field)
		}
		return []upload{{data: data}}, nil
	case p.path != nil:
		one, err := s.folders.read(text, maxUpload)
		if err != nil {
			return nil, err
		}
		if v.hidden(string(one.data)) != string(one.data) {
			return nil, withSecret(text)
		}
		return []upload{*one}, nil
	}
	return []upload{{data: []byte(text)}}, nil
}
