package draft

import (
	"bytes"
	"errors"
	"fmt"
	json "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// An object is a JSON object of the description.
type object = map[string]any

// A document is an OpenAPI description.
type document struct {
	root object
}

// read parses a description.
func read(data []byte) (*document, error) {
	data = bytes.TrimPrefix(bytes.TrimSpace(data), []byte("\xef\xbb\xbf"))
	var root any
	var err error
	if bytes.HasPrefix(data, []byte("{")) {
		err = json.Unmarshal(data, &root, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	} else {
		err = yaml.Unmarshal(data, &root)
	}
	if err != nil {
		return nil, fmt.Errorf("read the description: %w", err)
	}
	top, ok := plain(root).(object)
	if !ok {
		return nil, errors.New("read the description: it is not an object")
	}
	version, _ := top["openapi"].(string)
	switch {
	case strings.HasPrefix(version, "3.0"), strings.HasPrefix(version, "3.1"):
		return &document{root: top}, nil
	case top["swagger"] != nil:
		return nil, fmt.Errorf("the description is of Swagger %v; convert it to OpenAPI 3 first", top["swagger"])
	case version != "":
		return nil, fmt.Errorf("OpenAPI %s is not supported; use 3.0 or 3.1", version)
	}
	return nil, errors.New("this is no OpenAPI description: the member openapi is missing")
}

// plain turns the types of the YAML parser into those of the JSON parser.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = plain(e)
		}
	case map[any]any:
		out := make(object, len(v))
		for k, e := range v {
			out[fmt.Sprint(k)] = plain(e)
		}
		return out
	case []any:
		for i, e := range v {
			v[i] = plain(e)
		}
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	}
	return v
}

// resolve returns the object that v is or refers to, and the last reference.
// Broken references and those to other files resolve to nil.
func (d *document) resolve(v any) (object, string) {
	ref := ""
	for range 20 { // references to references, and no further
		o, ok := v.(object)
		if !ok {
			return nil, ref
		}
		next, ok := o["$ref"].(string)
		if !ok {
			return o, ref
		}
		ref = next
		v = d.at(next)
	}
	return nil, ref
}

// at returns the value at a reference within the document.
func (d *document) at(ref string) any {
	pointer, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	var v any = d.root
	for token := range strings.SplitSeq(pointer, "/") {
		if unescaped, err := url.PathUnescape(token); err == nil {
			token = unescaped
		}
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		o, ok := v.(object)
		if !ok {
			return nil
		}
		v = o[token]
	}
	return v
}

// member returns the object at names within o, resolved at each step.
func (d *document) member(o object, names ...string) object {
	for _, name := range names {
		o, _ = d.resolve(o[name])
	}
	return o
}

func text(o object, name string) string {
	s, _ := o[name].(string)
	return s
}

func list(o object, name string) []any {
	l, _ := o[name].([]any)
	return l
}

func set(o object, name string) bool {
	b, _ := o[name].(bool)
	return b
}

// keys returns the names of the members of o, sorted.
func keys(o object) []string { return slices.Sorted(maps.Keys(o)) }

// An operation is one method at one path.
type operation struct {
	method, path string
	id, tag      string
	name         string // of the tool
	summary      string
	about        string
	deprecated   bool
	parameters   []object
	body         object // of the request; nil if there is none
	response     object // of success; may be nil
	raw          object
	score        float64
}

// label names an operation for people.
func (op *operation) label() string {
	if op.id != "" {
		return op.id
	}
	return op.method + " " + op.path
}

var methods = []string{"get", "head", "post", "put", "patch", "delete", "options", "trace"}

// operations returns all operations in the order of their paths.
func (d *document) operations() []*operation {
	paths, _ := d.root["paths"].(object)
	var all []*operation
	for _, p := range keys(paths) {
		item, _ := d.resolve(paths[p])
		for _, method := range methods {
			raw, ok := item[method].(object)
			if ok {
				all = append(all, d.operation(strings.ToUpper(method), p, item, raw))
			}
		}
	}
	uniqueNames(all)
	return all
}

func (d *document) operation(method, path string, item, raw object) *operation {
	op := &operation{
		method: method, path: path, id: text(raw, "operationId"), summary: text(raw, "summary"), about: text(raw, "description"),
		deprecated: set(raw, "deprecated"), raw: raw, body: d.member(raw, "requestBody"),
	}
	if op.summary == "" {
		op.summary = text(item, "summary")
	}
	if tags := list(raw, "tags"); len(tags) > 0 {
		op.tag, _ = tags[0].(string)
	}
	op.parameters = d.parameters(list(item, "parameters"), list(raw, "parameters"))
	op.response = d.success(d.member(raw, "responses"))
	return op
}

// parameters merges the parameters of a path with those of an operation, which
// replace those with the same name and place.
func (d *document) parameters(shared, own []any) (all []object) {
	for _, v := range slices.Concat(shared, own) {
		p, _ := d.resolve(v)
		if p == nil {
			continue
		}
		same := func(o object) bool { return text(o, "name") == text(p, "name") && text(o, "in") == text(p, "in") }
		if i := slices.IndexFunc(all, same); i >= 0 {
			all[i] = p
			continue
		}
		all = append(all, p)
	}
	return all
}

// success returns the response of the first status that is a success.
func (d *document) success(responses object) object {
	for _, status := range keys(responses) {
		if strings.HasPrefix(status, "2") {
			return d.member(responses, status)
		}
	}
	return d.member(responses, "default")
}

// content returns the media type and the schema of a body, JSON if there is any.
func (d *document) content(body object) (media string, schema object) {
	content, _ := body["content"].(object)
	best := ""
	for _, name := range keys(content) {
		if best == "" || mediaRank(name) < mediaRank(best) {
			best = name
		}
	}
	schema, _ = d.resolve(d.member(content, best)["schema"])
	return best, schema
}

func mediaRank(name string) int {
	switch base, _, _ := strings.Cut(name, ";"); {
	case base == "application/json":
		return 0
	case strings.HasSuffix(base, "+json"):
		return 1
	case base == "multipart/form-data":
		return 2
	case base == "application/x-www-form-urlencoded":
		return 3
	case strings.HasPrefix(base, "text/"):
		return 4
	}
	return 5
}
