package mcp

import (
	"reflect"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/rawjson"
)

// Who is there and what it offers is said once, at the start, and the JSON
// library would first have to work out the types for it, which takes longer
// than all the rest of the first answer. So the usual forms of these types are
// read and written here by hand. Whatever is rare is left to the library, which
// also finds the words for what is wrong; tests hold both against each other.

// quickly encodes what v points to, if it is of these types and of a usual form.
func quickly(v any) (raw []byte, ok bool) {
	if to := reflect.ValueOf(v); to.Kind() != reflect.Pointer || to.IsNil() {
		return nil, false
	}
	var o object
	switch v := v.(type) {
	case *Implementation:
		o.implementation(v)
	case *ServerCapabilities:
		o.serverCapabilities(v)
	case *Discovery:
		o.discovery(v)
	case *Resource:
		o.resource(v)
	case *ResourceTemplate:
		o.template(v)
	case *Prompt:
		o.prompt(v)
	default:
		return nil, false
	}
	return o.out, !o.rare
}

// An object is written member by member, between the braces that are open.
type object struct {
	out  []byte
	rare bool // there is something that is not written here
}

func (o *object) open() {
	if o.out == nil {
		o.out = make([]byte, 0, 256)
	}
	o.out = append(o.out, '{')
}

func (o *object) close() { o.out = append(o.out, '}') }

// key begins a member. A name of the protocol has nothing to escape.
func (o *object) key(name string) {
	if o.out[len(o.out)-1] != '{' {
		o.out = append(o.out, ',')
	}
	o.out = append(append(append(o.out, '"'), name...), '"', ':')
}

func (o *object) text(name, value string) {
	o.leave(!utf8.ValidString(value)) // the library refuses it
	o.key(name)
	o.out = rawjson.AppendString(o.out, value)
}

// optional writes a text that is left out when it is empty.
func (o *object) optional(name, value string) {
	if value != "" {
		o.text(name, value)
	}
}

// set writes a flag that is left out when it is false.
func (o *object) set(name string, value bool) {
	if value {
		o.key(name)
		o.out = append(o.out, "true"...)
	}
}

// settings writes a capability that is there or not.
func (o *object) settings(name string, value Settings) {
	o.leave(len(value) > 0)
	if value != nil {
		o.key(name)
		o.open()
		o.close()
	}
}

// leave leaves the whole to the library if something is rare.
func (o *object) leave(rare bool) { o.rare = o.rare || rare }

func (o *object) implementation(i *Implementation) {
	o.leave(i.Icons != nil)
	o.open()
	o.text("name", i.Name)
	o.optional("title", i.Title)
	o.text("version", i.Version)
	o.optional("description", i.Description)
	o.optional("websiteUrl", i.WebsiteURL)
	o.close()
}

func (o *object) discovery(d *Discovery) {
	o.open()
	o.key("capabilities")
	o.serverCapabilities(&d.Capabilities)
	o.optional("instructions", d.Instructions)
	o.close()
}

func (o *object) serverCapabilities(c *ServerCapabilities) {
	o.leave(c.Experimental != nil || c.Extensions != nil || c.Other != nil)
	o.open()
	o.list("tools", c.Tools)
	if r := c.Resources; r != nil {
		o.key("resources")
		o.open()
		o.set("subscribe", r.Subscribe)
		o.set("listChanged", r.ListChanged)
		o.close()
	}
	o.list("prompts", c.Prompts)
	o.settings("completions", c.Completions)
	o.settings("logging", c.Logging)
	o.close()
}

func (o *object) list(name string, c *ListCapability) {
	if c != nil {
		o.key(name)
		o.open()
		o.set("listChanged", c.ListChanged)
		o.close()
	}
}

func (o *object) resource(r *Resource) {
	o.leave(r.Annotations != nil || r.Size != nil || r.Icons != nil || r.Meta != nil)
	o.open()
	o.text("uri", r.URI)
	o.text("name", r.Name)
	o.optional("title", r.Title)
	o.optional("description", r.Description)
	o.optional("mimeType", r.MIMEType)
	o.close()
}

func (o *object) template(t *ResourceTemplate) {
	o.leave(t.Annotations != nil || t.Icons != nil || t.Meta != nil)
	o.open()
	o.text("uriTemplate", t.URITemplate)
	o.text("name", t.Name)
	o.optional("title", t.Title)
	o.optional("description", t.Description)
	o.optional("mimeType", t.MIMEType)
	o.close()
}

func (o *object) prompt(p *Prompt) {
	o.leave(p.Icons != nil || p.Meta != nil)
	o.open()
	o.text("name", p.Name)
	o.optional("title", p.Title)
	o.optional("description", p.Description)
	if p.Arguments != nil {
		o.key("arguments")
		o.arguments(p.Arguments)
	}
	o.close()
}

func (o *object) arguments(args []PromptArgument) {
	o.out = append(o.out, '[')
	for i := range args {
		if i > 0 {
			o.out = append(o.out, ',')
		}
		o.open()
		o.text("name", args[i].Name)
		o.optional("title", args[i].Title)
		o.optional("description", args[i].Description)
		o.set("required", args[i].Required)
		o.close()
	}
	o.out = append(o.out, ']')
}

// readQuickly decodes data into v if v is of these types and empty, and data is
// of a usual form. Otherwise v stays as it is.
func readQuickly(data []byte, v any) bool {
	var read func(raw []byte) bool
	switch v := v.(type) {
	case *Implementation:
		read = v.readQuickly
	case *ClientCapabilities:
		read = v.readQuickly
	case *Discovery:
		read = v.readQuickly
	default:
		return false
	}
	into := reflect.ValueOf(v)
	if into.IsNil() || !into.Elem().IsZero() || rawjson.Check(data) != nil || !rawjson.IsObject(data) {
		return false
	}
	if !read(data) {
		into.Elem().SetZero()
		return false
	}
	return true
}

func (i *Implementation) readQuickly(raw []byte) bool {
	ok := true
	for m := rawjson.Object(raw); ok && m.Next(); {
		switch string(m.Name) {
		case "name":
			i.Name, ok = rawjson.String(m.Value)
		case "title":
			i.Title, ok = rawjson.String(m.Value)
		case "version":
			i.Version, ok = rawjson.String(m.Value)
		case "description":
			i.Description, ok = rawjson.String(m.Value)
		case "websiteUrl":
			i.WebsiteURL, ok = rawjson.String(m.Value)
		case "icons":
			return false
		}
	}
	return ok
}

func (c *ClientCapabilities) readQuickly(raw []byte) bool {
	ok := true
	for m := rawjson.Object(raw); ok && m.Next(); {
		switch string(m.Name) {
		case "elicitation":
			c.Elicitation = new(ElicitationCapability)
			ok = readParts(m.Value, part{"form", &c.Elicitation.Form}, part{"url", &c.Elicitation.URL})
		case "sampling":
			c.Sampling = new(SamplingCapability)
			ok = readParts(m.Value, part{"context", &c.Sampling.Context}, part{"tools", &c.Sampling.Tools})
		case "roots":
			c.Roots = new(RootsCapability)
			ok = readParts(m.Value, part{"listChanged", &c.Roots.ListChanged})
		default:
			return false
		}
	}
	return ok
}

func (d *Discovery) readQuickly(raw []byte) bool {
	ok := true
	for m := rawjson.Object(raw); ok && m.Next(); {
		switch string(m.Name) {
		case "capabilities":
			ok = d.Capabilities.readQuickly(m.Value)
		case "instructions":
			d.Instructions, ok = rawjson.String(m.Value)
		}
	}
	return ok
}

func (c *ServerCapabilities) readQuickly(raw []byte) bool {
	ok := rawjson.IsObject(raw)
	for m := rawjson.Object(raw); ok && m.Next(); {
		switch string(m.Name) {
		case "tools":
			c.Tools = new(ListCapability)
			ok = readParts(m.Value, part{"listChanged", &c.Tools.ListChanged})
		case "resources":
			c.Resources = new(ResourcesCapability)
			ok = readParts(m.Value, part{"subscribe", &c.Resources.Subscribe}, part{"listChanged", &c.Resources.ListChanged})
		case "prompts":
			c.Prompts = new(ListCapability)
			ok = readParts(m.Value, part{"listChanged", &c.Prompts.ListChanged})
		case "completions":
			ok = readPart(m.Value, &c.Completions)
		case "logging":
			ok = readPart(m.Value, &c.Logging)
		default:
			return false
		}
	}
	return ok
}

// A part is a member of a capability and where it goes.
type part struct {
	name string
	into any // *bool or *Settings
}

// readParts reads the members of an object. Those that are no parts are ignored.
func readParts(raw []byte, parts ...part) bool {
	ok := rawjson.IsObject(raw)
	for m := rawjson.Object(raw); ok && m.Next(); {
		for _, p := range parts {
			if string(m.Name) == p.name {
				ok = readPart(m.Value, p.into)
			}
		}
	}
	return ok
}

// readPart reads true, false, or settings that say nothing.
func readPart(raw []byte, into any) bool {
	switch into := into.(type) {
	case *bool:
		*into = string(raw) == "true"
		return *into || string(raw) == "false"
	case *Settings:
		*into = Settings{}
		return rawjson.IsObject(raw) && len(rawjson.Inside(raw)) == 0
	}
	return false
}
