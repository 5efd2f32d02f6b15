package mcp

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// The types that a server needs until its first response are encoded and decoded
// without reflection: the JSON library needs longer to learn them than everything
// else in that response takes. Rare forms are left to the library; tests compare
// both.

// appendPlain returns the JSON of a value. It reports false if v is another type,
// or must be encoded by the JSON library.
func appendPlain(v any) (json.RawMessage, bool) {
	var w plainWriter
	switch v := v.(type) {
	case *Discovery:
		w.buf = append(w.buf, '{')
		w.name("capabilities")
		w.serverCapabilities(&v.Capabilities)
		w.text("instructions", v.Instructions)
		w.buf = append(w.buf, '}')
	case *ServerCapabilities:
		w.serverCapabilities(v)
	case *Implementation:
		w.implementation(v)
	case *Resource:
		w.unusual = v.Annotations != nil || v.Size != nil || v.Icons != nil || v.Meta != nil
		w.entry("uri", v.URI, v.Name, v.Title, v.Description, v.MIMEType)
		w.buf = append(w.buf, '}')
	case *ResourceTemplate:
		w.unusual = v.Annotations != nil || v.Icons != nil || v.Meta != nil
		w.entry("uriTemplate", v.URITemplate, v.Name, v.Title, v.Description, v.MIMEType)
		w.buf = append(w.buf, '}')
	case *Prompt:
		w.prompt(v)
	default:
		return nil, false
	}
	return w.buf, !w.unusual
}

// A plainWriter appends the members of objects.
type plainWriter struct {
	buf     []byte
	unusual bool // the JSON library must encode it
}

// name begins a member.
func (w *plainWriter) name(name string) {
	if w.buf[len(w.buf)-1] != '{' {
		w.buf = append(w.buf, ',')
	}
	w.buf = append(rawjson.AppendString(w.buf, name), ':')
}

// text appends a member that is omitted if it is empty.
func (w *plainWriter) text(name, value string) {
	if value != "" {
		w.name(name)
		w.string(value)
	}
}

func (w *plainWriter) string(value string) {
	w.unusual = w.unusual || !isPrintableASCII(value)
	w.buf = rawjson.AppendString(w.buf, value)
}

// isPrintableASCII reports whether every encoder writes the string in the same way.
func isPrintableASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// flags appends a member with the flags that are set.
func (w *plainWriter) flags(name string, flags ...flag) {
	w.name(name)
	w.buf = append(w.buf, '{')
	for _, f := range flags {
		if f.set {
			w.name(f.name)
			w.buf = append(w.buf, "true"...)
		}
	}
	w.buf = append(w.buf, '}')
}

type flag struct {
	name string
	set  bool
}

// settings appends a member that is omitted if it is nil.
func (w *plainWriter) settings(name string, s map[string]json.RawMessage) {
	if s == nil {
		return
	}
	w.name(name)
	w.buf = append(w.buf, '{')
	for _, key := range slices.Sorted(maps.Keys(s)) {
		w.unusual = w.unusual || string(s[key]) != "{}" // the library checks it
		w.name(key)
		w.buf = append(w.buf, s[key]...)
		w.unusual = w.unusual || !isPrintableASCII(key)
	}
	w.buf = append(w.buf, '}')
}

func (w *plainWriter) serverCapabilities(c *ServerCapabilities) {
	w.unusual = w.unusual || len(c.Other) > 0
	w.buf = append(w.buf, '{')
	if c.Tools != nil {
		w.flags("tools", flag{"listChanged", c.Tools.ListChanged})
	}
	if c.Resources != nil {
		w.flags("resources", flag{"subscribe", c.Resources.Subscribe}, flag{"listChanged", c.Resources.ListChanged})
	}
	if c.Prompts != nil {
		w.flags("prompts", flag{"listChanged", c.Prompts.ListChanged})
	}
	w.settings("completions", c.Completions)
	w.settings("logging", c.Logging)
	w.settings("experimental", c.Experimental)
	w.settings("extensions", c.Extensions)
	w.buf = append(w.buf, '}')
}

func (w *plainWriter) implementation(i *Implementation) {
	w.unusual = w.unusual || i.Icons != nil
	w.buf = append(w.buf, '{')
	w.name("name")
	w.string(i.Name)
	w.text("title", i.Title)
	w.name("version")
	w.string(i.Version)
	w.text("description", i.Description)
	w.text("websiteUrl", i.WebsiteURL)
	w.buf = append(w.buf, '}')
}

// entry appends the members that resources and templates share.
func (w *plainWriter) entry(key, uri, name, title, description, mimeType string) {
	w.buf = append(w.buf, '{')
	w.name(key)
	w.string(uri)
	w.name("name")
	w.string(name)
	w.text("title", title)
	w.text("description", description)
	w.text("mimeType", mimeType)
}

func (w *plainWriter) prompt(p *Prompt) {
	w.unusual = p.Icons != nil || p.Meta != nil
	w.named(p.Name, p.Title, p.Description)
	if p.Arguments != nil {
		w.name("arguments")
		w.buf = append(w.buf, '[')
		for i := range p.Arguments {
			if i > 0 {
				w.buf = append(w.buf, ',')
			}
			a := &p.Arguments[i]
			w.named(a.Name, a.Title, a.Description)
			if a.Required {
				w.name("required")
				w.buf = append(w.buf, "true"...)
			}
			w.buf = append(w.buf, '}')
		}
		w.buf = append(w.buf, ']')
	}
	w.buf = append(w.buf, '}')
}

// named begins an object with the members that prompts and their arguments share.
func (w *plainWriter) named(name, title, description string) {
	w.buf = append(w.buf, '{')
	w.name("name")
	w.string(name)
	w.text("title", title)
	w.text("description", description)
}

// decodePlain decodes a value of a handshake into v, which must be zero. It
// reports false, and leaves v zero, if v is another type, or data must be decoded
// by the JSON library: it is also the one to find errors.
func decodePlain(data []byte, v any) bool {
	switch v := v.(type) {
	case *Discovery:
		return decodeZero(data, v, v.readPlain)
	case *ServerCapabilities:
		return decodeZero(data, v, v.readPlain)
	case *ClientCapabilities:
		return decodeZero(data, v, v.readPlain)
	case *Implementation:
		return decodeZero(data, v, v.readPlain)
	}
	return false
}

func decodeZero[T any](data []byte, v *T, read func([]byte) bool) bool {
	data = bytes.Trim(data, " \t\r\n")
	if !rawjson.IsObject(data) || rawjson.Check(data) != nil || !reflect.ValueOf(v).Elem().IsZero() {
		return false
	}
	if !read(data) {
		*v = *new(T)
		return false
	}
	return true
}

// eachMember calls read with the members of a checked object until it reports
// false. A null is left to the JSON library.
func eachMember(obj []byte, read func(name, value []byte) bool) bool {
	if !rawjson.IsObject(obj) {
		return false
	}
	for m := rawjson.Object(obj); m.Next(); {
		if rawjson.IsNull(m.Value) || !read(m.Name, m.Value) {
			return false
		}
	}
	return true
}

func (d *Discovery) readPlain(obj []byte) bool {
	return eachMember(obj, func(name, value []byte) (ok bool) {
		switch string(name) {
		case "capabilities":
			return d.Capabilities.readPlain(value)
		case "instructions":
			d.Instructions, ok = rawjson.String(value)
			return ok
		}
		return true
	})
}

func (c *ServerCapabilities) readPlain(obj []byte) bool {
	return eachMember(obj, func(name, value []byte) bool {
		switch string(name) {
		case "tools":
			c.Tools = new(ListCapability)
			return readFlags(value, member[bool]{"listChanged", &c.Tools.ListChanged})
		case "resources":
			c.Resources = new(ResourcesCapability)
			return readFlags(value, member[bool]{"listChanged", &c.Resources.ListChanged}, member[bool]{"subscribe", &c.Resources.Subscribe})
		case "prompts":
			c.Prompts = new(ListCapability)
			return readFlags(value, member[bool]{"listChanged", &c.Prompts.ListChanged})
		case "completions":
			return readSettings(value, &c.Completions)
		case "logging":
			return readSettings(value, &c.Logging)
		case "experimental":
			return readSettings(value, &c.Experimental)
		case "extensions":
			return readSettings(value, &c.Extensions)
		}
		addOther(&c.Other, string(name), value)
		return true
	})
}

func (c *ClientCapabilities) readPlain(obj []byte) bool {
	return eachMember(obj, func(name, value []byte) bool {
		switch string(name) {
		case "elicitation":
			c.Elicitation = new(ElicitationCapability)
			return readModes(value, member[Settings]{"form", &c.Elicitation.Form}, member[Settings]{"url", &c.Elicitation.URL})
		case "sampling":
			c.Sampling = new(SamplingCapability)
			return readModes(value, member[Settings]{"context", &c.Sampling.Context}, member[Settings]{"tools", &c.Sampling.Tools})
		case "roots":
			c.Roots = new(RootsCapability)
			return readFlags(value, member[bool]{"listChanged", &c.Roots.ListChanged})
		case "experimental":
			return readSettings(value, &c.Experimental)
		case "extensions":
			return readSettings(value, &c.Extensions)
		}
		addOther(&c.Other, string(name), value)
		return true
	})
}

func (i *Implementation) readPlain(obj []byte) bool {
	return eachMember(obj, func(name, value []byte) (ok bool) {
		var to *string
		switch string(name) {
		case "name":
			to = &i.Name
		case "title":
			to = &i.Title
		case "version":
			to = &i.Version
		case "description":
			to = &i.Description
		case "websiteUrl":
			to = &i.WebsiteURL
		case "icons":
			return false
		default:
			return true
		}
		*to, ok = rawjson.String(value)
		return ok
	})
}

// A member is a place for the value of a member.
type member[T any] struct {
	name string
	to   *T
}

func readFlags(obj []byte, flags ...member[bool]) bool {
	return eachMember(obj, func(name, value []byte) bool {
		for _, f := range flags {
			if string(name) == f.name {
				*f.to = string(value) == "true"
				return *f.to || string(value) == "false"
			}
		}
		return true
	})
}

func readModes(obj []byte, modes ...member[Settings]) bool {
	return eachMember(obj, func(name, value []byte) bool {
		for _, m := range modes {
			if string(name) == m.name {
				return readSettings(value, m.to)
			}
		}
		return true
	})
}

func readSettings[M ~map[string]json.RawMessage](obj []byte, to *M) bool {
	*to = M{}
	return eachMember(obj, func(name, value []byte) bool {
		(*to)[string(name)] = bytes.Clone(value)
		return true
	})
}

func addOther(to *map[string]json.RawMessage, name string, value []byte) {
	if *to == nil {
		*to = map[string]json.RawMessage{}
	}
	(*to)[name] = bytes.Clone(value)
}
