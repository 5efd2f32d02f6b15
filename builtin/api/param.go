package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/builtin/api/expr"
	"github.com/tenon-mcp/tenon/builtin/api/spec"
	"github.com/tenon-mcp/tenon/internal/typo"
	"github.com/tenon-mcp/tenon/schema"
)

// parameters sets the names that the templates of a tool or prompt may use: any, if
// its parameters have a mistake.
func (c *compiler) parameters(path, member string, names []string) {
	c.known = append([]string{}, names...)
	if c.file.Broken(path+"."+member) || len(names) == 0 && c.file.Damaged(path) {
		c.known = nil
	}
}

// wholeInput matches templates that use all arguments at once.
var wholeInput = regexp.MustCompile(`\{\{\s*(\.|\$args)\s*(\||\}\}|\+)|del\(|_entries|\bkeys\b`)

// unused reports parameters that no request uses. A request with a mistake may be
// the one that is meant to use them.
func (c *compiler) unused(path string, s *spec.Tool, params []string, before int) {
	whole, err := json.Marshal(s)
	if err != nil || c.file.Damaged(path) || c.file.Damaged(path+".request") || wholeInput.Match(whole) {
		return
	}
	if slices.ContainsFunc(c.found[before:], func(p spec.Problem) bool { return p.Path != path && !strings.HasPrefix(p.Path, path+".params") }) {
		return
	}
	for _, name := range params {
		if strings.Count(string(whole), name) < 2 {
			c.fail(spec.Path(path+".params", name), "the parameter is not used in any request")
		}
	}
}

// inputSchema returns the JSON Schema of the arguments.
func (c *compiler) inputSchema(path string, t *tool, s *spec.Tool, params []string) json.RawMessage {
	properties := []byte("{")
	required := []string{}
	t.defaults = map[string]any{}
	add := func(name string, raw json.RawMessage) {
		if len(properties) > 1 {
			properties = append(properties, ',')
		}
		quoted, _ := json.Marshal(name)
		properties = append(append(append(properties, quoted...), ':'), raw...)
	}
	for _, name := range params {
		before, at := len(c.found), spec.Path(path+".params", name)
		raw, must := c.property(at, t, name, s.Params[name])
		add(name, raw)
		if must {
			required = append(required, name)
		} else if _, has := t.defaults[name]; !has && len(c.found) == before && t.main.request.path.needs(name) {
			c.fail(at, "the path needs the parameter: say required: true, or give it a default")
		}
	}
	if p := t.main.page; p != nil {
		for _, name := range []string{"cursor", "limit"} {
			if slices.Contains(params, name) {
				c.fail(path+".params."+name, "paginate adds the parameters cursor and limit itself: remove it")
			}
		}
		add("limit", json.RawMessage(fmt.Sprintf(`{"type":"integer","minimum":1,"maximum":%d,"default":%d,"description":"How many items to return"}`, p.maxItems, p.defaultItems)))
		add("cursor", json.RawMessage(`{"type":"string","description":"next_cursor of the previous result, to go on after it"}`))
		t.defaults["limit"] = p.defaultItems
	}
	must, _ := json.Marshal(required)
	return json.RawMessage(fmt.Sprintf(`{"type":"object","properties":%s},"required":%s,"additionalProperties":false}`, properties, must))
}

// headers checks the parameters that clients also send as headers (x-mcp-header): a
// mistake there would hide the tool from clients over HTTP. before is how many mistakes
// there were before the parameters.
func (c *compiler) headers(path string, all json.RawMessage, params []string, s *spec.Tool, before int) {
	for _, name := range params {
		quoted, _ := json.Marshal(name)
		alone := fmt.Appendf(nil, `{"type":"object","properties":{%s:%s}}`, quoted, s.Params[name])
		if _, err := schema.Headers(alone); err != nil {
			c.fail(spec.Path(path+".params", name), "%v", err)
		}
	}
	if _, err := schema.Headers(all); err != nil && len(c.found) == before {
		c.fail(path+".params", "%v", err)
	}
}

// defaultBatch is the maximum number of items of a batch whose parameter says none.
const defaultBatch = 100

// shared checks the parameters that tools share, also those that none uses.
func (c *compiler) shared() {
	for _, name := range c.file.Names("params") {
		c.property(spec.Path("params", name), &tool{defaults: map[string]any{}}, name, c.file.Params[name])
	}
}

// property returns the schema of a parameter without our own member required; {} if
// it has mistakes.
func (c *compiler) property(path string, t *tool, name string, raw json.RawMessage) (json.RawMessage, bool) {
	v, err := expr.Decode(raw)
	members, ok := v.(map[string]any)
	if err != nil || !ok {
		c.fail(path, "expected a JSON Schema such as {type: string, description: …}, or the name of a type")
		return json.RawMessage("{}"), false
	}
	must := false
	switch r := members["required"].(type) {
	case bool:
		must = r
		delete(members, "required")
	case nil, []any:
	default:
		c.fail(path+".required", "expected true or false")
		delete(members, "required")
	}
	if _, ok := members["optional"]; ok {
		c.fail(path+".optional", "say required: true for a parameter that is required; others are optional")
		delete(members, "optional")
	}
	if t.batch != nil && name == t.batch.Over && members["maxItems"] == nil {
		members["maxItems"] = defaultBatch
	}
	if d, ok := members["default"]; ok {
		t.defaults[name] = d
	}
	for _, keyword := range slices.Sorted(maps.Keys(members)) {
		if near := typo.Nearest(keyword, keywords); near != keyword && near != "" && !strings.ContainsAny(keyword, "$-") && !slices.Contains(keywords, keyword) {
			c.fail(spec.Path(path, keyword), "JSON Schema has no keyword %q; did you mean %q?", keyword, near)
		}
	}
	out, err := expr.Encode(members)
	if err == nil {
		_, err = schema.NewValidator(out, nil)
	}
	if err != nil {
		c.badSchema(path, err)
		return json.RawMessage("{}"), must
	}
	return out, must
}

// keywords are the keywords of JSON Schema that parameters have.
var keywords = strings.Fields(`type title description default examples enum const required format pattern minLength maxLength
	minimum maximum exclusiveMinimum exclusiveMaximum multipleOf items prefixItems minItems maxItems uniqueItems contains
	properties additionalProperties patternProperties minProperties maxProperties propertyNames dependentRequired
	allOf anyOf oneOf not if then else deprecated readOnly writeOnly`)

// badSchema reports the mistakes of a JSON Schema where they are.
func (c *compiler) badSchema(path string, err error) {
	list, many := strings.CutPrefix(err.Error(), "the schema is not a valid JSON Schema: ")
	if !many {
		c.fail(path, "invalid JSON Schema: %v", err)
		return
	}
	for one := range strings.SplitSeq(list, "; ") {
		at, message, ok := strings.Cut(one, ": ")
		if ok && c.file.Has(path+"."+at) {
			c.fail(path+"."+at, "%s", message)
		} else {
			c.fail(path, "invalid JSON Schema: %s", one)
		}
	}
}
