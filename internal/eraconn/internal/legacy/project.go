package legacy

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"

	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/mcp"
)

// lists caches projected lists.
var lists rewritten

// project turns the body of a result into the form of this revision, losing as
// little as possible.
func (r *revision) project(method string, body []byte) []byte {
	switch method {
	case mcp.MethodToolsCall:
		if !r.structured {
			body = sayStructured(body)
		}
		body = rawjson.RewriteMember(body, "structuredContent", r.projectStructured)
		if !r.links {
			body = rawjson.RewriteMember(body, "content", func(v []byte) []byte { return rawjson.RewriteElements(v, r.projectContent) })
		}
	case mcp.MethodPromptsGet:
		if !r.links {
			body = rawjson.RewriteMember(body, "messages", func(v []byte) []byte {
				return rawjson.RewriteElements(v, func(m []byte) []byte { return rawjson.RewriteMember(m, "content", r.projectContent) })
			})
		}
	case mcp.MethodToolsList:
		return lists.get(r, body, func(b []byte) []byte { return r.projectList(b, "tools") })
	case mcp.MethodPromptsList:
		return r.projectList(body, "prompts")
	case mcp.MethodResourcesList:
		return lists.get(r, body, func(b []byte) []byte { return r.projectList(b, "resources") })
	case mcp.MethodResourceTemplatesList:
		return r.projectList(body, "resourceTemplates")
	}
	return body
}

// projectList removes the members that this revision does not have from each
// item.
func (r *revision) projectList(body []byte, member string) []byte {
	return rawjson.RewriteMember(body, member, func(v []byte) []byte {
		return rawjson.RewriteElements(v, func(item []byte) []byte {
			if !r.icons {
				item = rawjson.RewriteMember(item, "icons", drop)
			}
			if member == "tools" {
				item = rawjson.RewriteMember(item, "outputSchema", r.projectSchema)
			}
			return item
		})
	})
}

func drop([]byte) []byte { return nil }

// wrapped is the member that holds a structured result that is not an object, in
// revisions that allow only objects.
const wrapped = "result"

func (r *revision) projectStructured(v []byte) []byte {
	switch {
	case !r.structured:
		return nil
	case rawjson.IsObject(v):
		return v
	}
	return withMember(nil, wrapped, v)
}

// sayStructured adds a structured result as text content if there is no other
// content.
func sayStructured(body []byte) []byte {
	structured, content := rawjson.Lookup(body, "structuredContent"), rawjson.Lookup(body, "content")
	if e := rawjson.Array(content); structured == nil || e.Next() {
		return body
	}
	text := rawjson.AppendString([]byte(`[{"type":"text","text":`), string(structured))
	body = rawjson.RewriteMember(body, "content", drop)
	return withMember(body, "content", append(text, '}', ']'))
}

// projectSchema does to a schema what projectStructured does to its values. A
// schema of values of which some are objects is left out: only some of them are
// wrapped. References of the schema to itself would then point elsewhere:
// definitions move to the new root, and a schema that refers to its own root is
// left out.
func (r *revision) projectSchema(s []byte) []byte {
	switch {
	case !r.structured:
		return nil
	case rawjson.EqualString(rawjson.Lookup(s, "type"), "object"):
		return s
	case !rawjson.IsObject(s) || mayBeObject(s) || refersToRoot(s):
		return nil
	}
	var moved []byte
	inner := rawjson.Cut(s, func(name, value []byte) bool {
		switch string(name) {
		case "$schema", "$id", "$defs", "definitions":
			moved = append(append(rawjson.AppendString(append(moved, ','), string(name)), ':'), value...)
			return true
		}
		return false
	})
	if inner == nil {
		inner = []byte("{}")
	}
	out := append([]byte(`{"type":"object","properties":{"`+wrapped+`":`), inner...)
	out = append(out, `},"required":["`+wrapped+`"]`...)
	return append(append(out, moved...), '}')
}

// mayBeObject reports whether a schema does not rule out objects.
func mayBeObject(schema []byte) bool {
	kind := rawjson.Lookup(schema, "type")
	for e := rawjson.Array(kind); e.Next(); {
		if rawjson.EqualString(e.Value, "object") {
			return true
		}
	}
	return kind == nil
}

// refersToRoot reports whether some $ref in the schema points at its root or
// into a part of it that does not move to the new root.
func refersToRoot(schema []byte) bool {
	for o := rawjson.Object(schema); o.Next(); {
		if ref, ok := rawjson.String(o.Value); ok && (string(o.Name) == "$ref" || string(o.Name) == "$dynamicRef" || string(o.Name) == "$recursiveRef") {
			if ref == "#" || strings.HasPrefix(ref, "#/") && !strings.HasPrefix(ref, "#/$defs/") && !strings.HasPrefix(ref, "#/definitions/") {
				return true
			}
		}
		if refersToRoot(o.Value) {
			return true
		}
	}
	for e := rawjson.Array(schema); e.Next(); {
		if refersToRoot(e.Value) {
			return true
		}
	}
	return false
}

// projectContent replaces a content block that this revision does not have:
// audio becomes an embedded resource with the data, a resource link becomes a
// text that names it.
func (r *revision) projectContent(block []byte) []byte {
	kind, _ := rawjson.String(rawjson.Lookup(block, "type"))
	switch {
	case kind == "audio" && !r.audio:
		out := append([]byte(`{"type":"resource","resource":{"uri":"tenon:audio","mimeType":`), orEmpty(rawjson.Lookup(block, "mimeType"))...)
		out = append(append(out, `,"blob":`...), orEmpty(rawjson.Lookup(block, "data"))...)
		return append(out, `}}`...)
	case kind == "resource_link" && !r.links:
		name, _ := rawjson.String(rawjson.Lookup(block, "name"))
		uri, _ := rawjson.String(rawjson.Lookup(block, "uri"))
		text := "Resource " + name + ": " + uri
		if about, ok := rawjson.String(rawjson.Lookup(block, "description")); ok {
			text += " (" + about + ")"
		}
		return append(rawjson.AppendString([]byte(`{"type":"text","text":`), text), '}')
	}
	return block
}

func orEmpty(raw []byte) []byte {
	if raw == nil {
		return []byte(`""`)
	}
	return raw
}

// projectInputRequest returns the params of an input request in the form of this
// revision.
func (r *revision) projectInputRequest(q mcp.InputRequest) (json.RawMessage, error) {
	switch q.Method {
	case mcp.MethodElicit:
		return r.projectElicit(q.Params)
	case mcp.MethodCreateMessage:
		if r.samplingTools {
			return q.Params, nil
		}
		return rawjson.RewriteMember(q.Params, "messages", splitMessages), nil
	}
	return q.Params, nil
}

func (r *revision) projectElicit(params []byte) (json.RawMessage, error) {
	if r.elicitURL {
		if rawjson.EqualString(rawjson.Lookup(params, "mode"), "url") && rawjson.Lookup(params, "elicitationId") == nil {
			return withMember(params, "elicitationId", rawjson.AppendString(nil, rand.Text())), nil
		}
		return params, nil
	}
	params = rawjson.RewriteMember(params, "mode", drop)
	if r.titledEnums {
		return params, nil
	}
	var err error
	return rawjson.RewriteMember(params, "requestedSchema", func(s []byte) []byte {
		return rawjson.RewriteMember(s, "properties", func(props []byte) []byte {
			for o := rawjson.Object(props); o.Next(); {
				name := string(o.Name)
				if rawjson.EqualString(rawjson.Lookup(o.Value, "type"), "array") {
					err = mcp.Errorf(mcp.CodeInvalidRequest, "the client speaks revision %s, which cannot ask for several choices at once (field %q)", r.name, name)
				}
				props = rawjson.RewriteMember(props, name, untitle)
			}
			return props
		})
	}), err
}

// untitle writes titled choices as enum and enumNames.
func untitle(field []byte) []byte {
	choices := rawjson.Lookup(field, "oneOf")
	if choices == nil {
		return field
	}
	var values, titles [][]byte
	for e := rawjson.Array(choices); e.Next(); {
		values = append(values, orEmpty(rawjson.Lookup(e.Value, "const")))
		titles = append(titles, orEmpty(rawjson.Lookup(e.Value, "title")))
	}
	field = rawjson.RewriteMember(field, "oneOf", drop)
	field = withMember(field, "enumNames", array(titles))
	return withMember(field, "enum", array(values))
}

func array(elements [][]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(elements, []byte{','})...), ']')
}

// splitMessages writes each content block of a message as a separate message.
func splitMessages(messages []byte) []byte {
	return rawjson.RewriteElements(messages, func(m []byte) []byte {
		content := rawjson.Lookup(m, "content")
		if !rawjson.IsArray(content) {
			return m
		}
		var each [][]byte
		for e := rawjson.Array(content); e.Next(); {
			each = append(each, rawjson.RewriteMember(m, "content", func([]byte) []byte { return e.Value }))
		}
		if len(each) == 0 {
			return m
		}
		return bytes.Join(each, []byte{','})
	})
}

// projectError returns the error with the code that legacy revisions use.
func projectError(method string, e *mcp.Error) *mcp.Error {
	c := *e
	switch e.Code {
	case mcp.CodeInvalidParams:
		if method == mcp.MethodResourcesRead && rawjson.Lookup(e.Data, "uri") != nil {
			c.Code = mcp.CodeLegacyResourceNotFound
		}
	case mcp.CodeMissingCapability, mcp.CodeUnsupportedVersion, mcp.CodeHeaderMismatch:
		c.Code = mcp.CodeInvalidRequest
	}
	return &c
}

// unsupported rewords the error of a call that needs a capability which clients
// of this revision cannot declare, so that it names the revision that has it.
func (r *revision) unsupported(err error) error {
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok || e.Code != mcp.CodeMissingCapability {
		return err
	}
	var need mcp.ClientCapabilities
	raw := rawjson.Lookup(e.Data, "requiredCapabilities")
	if raw == nil || mcp.Unmarshal(raw, &need) != nil || r.has(need) {
		return err
	}
	since := mcp.Rev20260728
	for _, later := range revisions {
		if later.has(need) {
			since = later.name
		}
	}
	c := *e
	wish, name := wishOf(need)
	c.Message = mcp.Errorf(e.Code, "this call asks the client %s, and the client speaks revision %s, which has no %s: it takes a client of %s or later", wish, r.name, name, since).Message
	return &c
}

// has reports whether a client of this revision can declare these capabilities.
func (r *revision) has(need mcp.ClientCapabilities) bool {
	can := need
	r.restrict(&can)
	return can.Covers(&need)
}

func wishOf(need mcp.ClientCapabilities) (wish, name string) {
	switch {
	case need.Elicitation != nil && need.Elicitation.URL != nil:
		return "to have its user open a web page", "elicitation.url"
	case need.Elicitation != nil:
		return "to have its user fill in a form", "elicitation"
	case need.Sampling != nil:
		return "to have its model write a message with tools", "sampling.tools"
	}
	return "for more than that", "such capability"
}
