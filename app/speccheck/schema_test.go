package speccheck

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/mcp"
)

// published is a published schema of the protocol.
type published struct {
	defs map[string]any
}

const protocolDir = "../../../shared/protocol"

func load(t *testing.T, r mcp.Revision) *published {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(protocolDir, "schema", string(r)+".json"))
	if err != nil {
		t.Skipf("the published schemas are not here: %v", err)
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	defs, _ := doc["$defs"].(map[string]any)
	if defs == nil {
		defs, _ = doc["definitions"].(map[string]any)
	}
	return &published{defs}
}

// resolve follows references and joins allOf.
func (p *published) resolve(s map[string]any) map[string]any {
	if ref, ok := s["$ref"].(string); ok {
		switch ref[strings.LastIndexByte(ref, '/')+1:] {
		case "JSONObject": // any object, said in a circle
			return map[string]any{"type": "object"}
		case "JSONValue":
			return map[string]any{}
		}
		return p.resolve(p.def(ref[strings.LastIndexByte(ref, '/')+1:]))
	}
	all, ok := s["allOf"].([]any)
	if !ok {
		return s
	}
	joined := map[string]any{"type": "object", "properties": map[string]any{}, "required": []any{}}
	for _, part := range all {
		part := p.resolve(part.(map[string]any))
		maps.Copy(joined["properties"].(map[string]any), properties(part))
		if req, ok := part["required"].([]any); ok {
			joined["required"] = append(joined["required"].([]any), req...)
		}
	}
	return joined
}

func (p *published) def(name string) map[string]any {
	d, _ := p.defs[name].(map[string]any)
	return d
}

func properties(s map[string]any) map[string]any {
	props, _ := s["properties"].(map[string]any)
	return props
}

func required(s map[string]any) (names []string) {
	req, _ := s["required"].([]any)
	for _, r := range req {
		names = append(names, r.(string))
	}
	return names
}

// A comparison walks over a published type and our form of it side by side.
type comparison struct {
	t      *testing.T
	p      *published
	letter byte
	// What is not explained, what is explained and does not exist, and what
	// differs otherwise.
	faults map[string]bool
	seen   map[string]bool // pairs that were compared
	used   map[*member]bool
}

func (c *comparison) fault(format string, args ...any) {
	c.faults[fmt.Sprintf(format, args...)] = true
}

// forms lists the forms that a kind may be, looking through lists and maps.
func formsOf(k kind) (all []*form) {
	if f := table().forms[k.base]; f != nil {
		if f.alias == nil {
			return []*form{f}
		}
		return formsOf(*f.alias)
	}
	for _, of := range k.any {
		all = append(all, formsOf(of)...)
	}
	for _, of := range []*kind{k.list, k.dict} {
		if of != nil {
			all = append(all, formsOf(*of)...)
		}
	}
	return all
}

// objects lists the object types that a schema may be, in the same way.
func (c *comparison) objects(s map[string]any) (all []map[string]any) {
	s = c.p.resolve(s)
	if alternatives, ok := s["anyOf"].([]any); ok {
		for _, a := range alternatives {
			all = append(all, c.objects(a.(map[string]any))...)
		}
		return all
	}
	if items, ok := s["items"].(map[string]any); ok {
		return c.objects(items)
	}
	if len(properties(s)) > 0 {
		return []map[string]any{s}
	}
	if more, ok := s["additionalProperties"].(map[string]any); ok {
		return c.objects(more)
	}
	return nil
}

// compare checks a published type against a kind of ours. With alternatives,
// each published one must be found among ours by its members.
func (c *comparison) compare(s map[string]any, k kind, place string) {
	ours := formsOf(k)
	for _, o := range c.objects(s) {
		f := c.nearest(o, ours)
		if f == nil && k.base == "schema" {
			continue // of a tool's result any schema is fine
		}
		if f == nil {
			c.fault("%s: no form", place)
			continue
		}
		c.object(o, f, place)
	}
}

// nearest is the form that shares the most with a published object.
func (c *comparison) nearest(o map[string]any, ours []*form) (best *form) {
	least := 1 << 30
	for _, f := range ours {
		n := 0
		for name, prop := range properties(o) {
			m := f.find(name, c.letter)
			if m == nil {
				n += 5
				continue
			}
			if word, ok := c.p.resolve(prop.(map[string]any))["const"].(string); ok && m.kind.word != nil && !slices.Contains(m.kind.word, word) {
				n += 100
			}
		}
		for i := range f.members {
			if m := &f.members[i]; m.in.has(c.letter) && !m.unsupported && properties(o)[m.name] == nil {
				n += 5
			}
		}
		if n < least {
			best, least = f, n
		}
	}
	return best
}

func (c *comparison) object(o map[string]any, f *form, place string) {
	pair := fmt.Sprintf("%p %s", properties(o), f.name)
	if c.seen[pair] {
		return
	}
	c.seen[pair] = true
	for name, prop := range properties(o) {
		at := place + "/" + name
		m := f.find(name, c.letter)
		if m == nil || m.text == "" {
			c.fault("%s (%s): not explained", at, f.name)
			continue
		}
		c.used[m] = true
		if must := slices.Contains(required(o), name); must != m.required {
			c.fault("%s (%s): required is %v in the schema", at, f.name, must)
		}
		if want, got := jsonTypes(c.p, prop.(map[string]any)), kindTypes(m.kind); want != "" && got != want {
			c.fault("%s (%s): the type is %s in the schema, and %s here", at, f.name, want, got)
		}
		c.compare(prop.(map[string]any), m.kind, at)
	}
	for i := range f.members {
		m := &f.members[i]
		// Older schemas say only once, for all params, that _meta may be there.
		if m.in.has(c.letter) && !m.unsupported && properties(o)[m.name] == nil && m.name != "_meta" {
			c.fault("%s/%s (%s): not in the schema", place, m.name, f.name)
		}
	}
}

// jsonTypes lists the JSON types of a published type; empty means any.
func jsonTypes(p *published, s map[string]any) string {
	types := map[string]bool{}
	collect(p, s, types)
	return listed(types)
}

func collect(p *published, s map[string]any, into map[string]bool) {
	s = p.resolve(s)
	if some, ok := s["anyOf"].([]any); ok {
		for _, a := range some {
			collect(p, a.(map[string]any), into)
		}
		return
	}
	switch typ := s["type"].(type) {
	case string:
		into[typ] = true
	case []any:
		for _, x := range typ {
			into[x.(string)] = true
		}
	}
}

func kindTypes(k kind) string {
	types := map[string]bool{}
	collectKind(k, types)
	return listed(types)
}

func collectKind(k kind, into map[string]bool) {
	switch {
	case k.any != nil:
		for _, of := range k.any {
			collectKind(of, into)
		}
	case k.list != nil:
		into["array"] = true
	case k.dict != nil:
		into["object"] = true
	case k.word != nil:
		into["string"] = true
	case k.base == "int":
		into["integer"] = true
	case k.base == "bool":
		into["boolean"] = true
	case k.base == "any":
	case k.base == "schema":
		into["object"] = true
	case slices.Contains(plainKinds, k.base):
		into[k.base] = true
	default:
		if f := table().forms[k.base]; f.alias != nil {
			collectKind(*f.alias, into)
		} else {
			into["object"] = true
		}
	}
}

func listed(types map[string]bool) string {
	return strings.Join(slices.Sorted(maps.Keys(types)), "|")
}

// Every member of every published message is explained, with its type and
// whether it is required, in every revision; and nothing is explained that does
// not exist. This guards the table against typing errors and against a new
// revision that nobody has written about.
func TestEveryMemberOfTheSchemasIsExplained(t *testing.T) {
	for _, r := range mcp.Revisions() {
		t.Run(string(r), func(t *testing.T) {
			c := &comparison{t: t, p: load(t, r), letter: letterOf(r), faults: map[string]bool{}, seen: map[string]bool{}, used: map[*member]bool{}}
			methods := c.messages()
			for name, all := range table().methods {
				if w := all.at(c.letter); w != nil && !w.unsupported && !methods[name] {
					c.fault("%s: no such method in the schema", name)
				}
			}
			c.failures()
			for _, f := range slices.Sorted(maps.Keys(c.faults)) {
				t.Error(f)
			}
			if len(c.used) < 100 {
				t.Errorf("only %d members were compared: the walk has lost its way", len(c.used))
			}
		})
	}
}

// messages compares the params and the result of every message type.
func (c *comparison) messages() map[string]bool {
	methods := map[string]bool{}
	for name := range c.p.defs {
		def := c.p.resolve(c.p.def(name))
		method, _ := properties(def)["method"].(map[string]any)
		word, _ := method["const"].(string)
		if word == "" || properties(def)["jsonrpc"] == nil && c.isQuestion(word) {
			continue
		}
		methods[word] = true
		all := table().methods[word]
		if all == nil || all.at(c.letter) == nil {
			c.fault("%s: the method is not explained", word)
			continue
		}
		w := all.at(c.letter)
		if params, ok := properties(def)["params"].(map[string]any); ok {
			c.compare(params, kind{base: w.params}, word+"/params")
			if must := slices.Contains(required(def), "params"); must != w.needsParams && !(must && newest.has(c.letter)) {
				c.fault("%s: params required is %v in the schema", word, must)
			}
		}
		base, isRequest := strings.CutSuffix(name, "Request")
		if !isRequest {
			continue
		}
		for _, result := range []string{base + "Result", "CreateTaskResult"} {
			if def := c.p.def(result); def != nil && (result == base+"Result" || base == "CallTool" || base == "CreateMessage" || base == "Elicit") {
				c.compare(def, kind{base: w.result}, word+"/result")
			}
		}
		if more := c.p.def(base + "ResultResponse"); more != nil {
			c.compare(properties(more)["result"].(map[string]any), kind{base: w.result}, word+"/result")
		}
	}
	return methods
}

// isQuestion reports whether a method is not one of its own in this revision:
// it stands only inside the result of another.
func (c *comparison) isQuestion(method string) bool {
	return newest.has(c.letter) && slices.Contains(inputMethods, method)
}

// failures compares errors whose data has a form.
func (c *comparison) failures() {
	for name, form := range map[string]string{
		"URLElicitationRequiredError":          "URLNeededError",
		"MissingRequiredClientCapabilityError": "CapabilityError",
		"UnsupportedProtocolVersionError":      "VersionError",
		"Error":                                "Error",
	} {
		def := c.p.def(name)
		if def == nil {
			continue
		}
		if inner, ok := properties(def)["error"].(map[string]any); ok {
			def = inner
		}
		c.compare(def, kind{base: form}, name)
	}
}

// Every definition of the published schema that has members is met on the way:
// none is left out because nothing led to it.
func TestEveryDefinitionIsMet(t *testing.T) {
	// Types that stand for others, and envelopes.
	abstract := "Annotated BaseMetadata Icons Notification Request Result PaginatedRequest PaginatedResult CacheableResult " +
		"JSONRPCError JSONRPCNotification JSONRPCRequest JSONRPCResponse JSONRPCErrorResponse JSONRPCResultResponse ClientNotification " +
		"NotificationParams RequestParams PaginatedRequestParams ResourceRequestParams TaskAugmentedRequestParams InputResponseRequestParams ResourceContents " +
		"HeaderMismatchError InternalError InvalidParamsError InvalidRequestError MethodNotFoundError ParseError RelatedTaskMetadata"
	for _, r := range mcp.Revisions() {
		c := &comparison{t: t, p: load(t, r), letter: letterOf(r), faults: map[string]bool{}, seen: map[string]bool{}, used: map[*member]bool{}}
		c.messages()
		c.failures()
		for name := range c.p.defs {
			def := c.p.def(name)
			props := properties(def)
			if props == nil || props["method"] != nil || strings.HasSuffix(name, "ResultResponse") || slices.Contains(strings.Fields(abstract), name) {
				continue
			}
			met := false
			for pair := range c.seen {
				met = met || strings.HasPrefix(pair, fmt.Sprintf("%p ", props))
			}
			if inner, ok := props["error"].(map[string]any); ok && !met {
				met = inner != nil // compared through its error
			}
			if !met {
				t.Errorf("%s: %s is not compared with anything", r, name)
			}
		}
	}
}
