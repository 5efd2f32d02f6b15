package discovery

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/ext/servercard"
)

// remoteOption returns the option for an endpoint of a server.
func remoteOption(number int, r servercard.Remote) *Option {
	o := &Option{Kind: RemoteOption, Number: number, Type: r.Type, Target: r.URL}
	o.recipe.url = o.fill(r.URL, r.Variables, place{name: "url", target: "the URL", required: true})
	for _, h := range r.Headers {
		if why := refusedHeader(h.Name); why != "" {
			o.Unsupported = why
			return o
		}
		in := place{name: h.Name, target: "header " + h.Name}
		o.recipe.headers = append(o.recipe.headers, binding{h.Name, o.bind(h.Input, h.Variables, in)})
	}
	return o
}

// headerPattern is the syntax of a header name.
var headerPattern = pattern("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// refusedHeader returns why a file may not set a header, or "".
func refusedHeader(name string) string {
	switch canonical := http.CanonicalHeaderKey(name); {
	case !headerPattern().MatchString(name):
		return fmt.Sprintf("%q is not the name of a header", clip(name))
	case slices.Contains([]string{"Host", "Content-Length", "Content-Type", "Transfer-Encoding", "Connection", "Upgrade", "Trailer", "Te", "Accept", "Origin"}, canonical),
		strings.HasPrefix(canonical, "Mcp-"), strings.HasPrefix(canonical, "Proxy-"):
		return fmt.Sprintf("it sets the header %s, which belongs to the transport", canonical)
	}
	return ""
}

// A place is where an input's value goes.
type place struct {
	name     string // of the input, or what precedes the names of its variables
	target   string
	required bool // the server cannot be used without it
	multiple bool
}

// bind returns the template for an input: its fixed value with variables, or the
// value that the user enters.
func (o *Option) bind(in servercard.Input, variables map[string]servercard.Input, at place) template {
	at.required = at.required || in.IsRequired
	if in.Value != nil {
		return o.fill(*in.Value, variables, at)
	}
	return template{{input: o.addInput(at.name, in, at)}}
}

// fill returns the template for a text in which {name} stands for a variable.
// Names that are not among the variables stay as they are.
func (o *Option) fill(text string, variables map[string]servercard.Input, at place) template {
	var t template
	for {
		start, name := nextVariable(text, variables)
		if start < 0 {
			return append(t, segment{text: text})
		}
		t = append(t, segment{text: text[:start]})
		text = text[start+len(name)+2:]
		in := variables[name]
		if in.Value != nil {
			t = append(t, segment{text: *in.Value})
			continue
		}
		t = append(t, segment{input: o.addInput(name, in, at)})
	}
}

// nextVariable returns the position and the name of the first {name} in text that
// is a variable, or -1.
func nextVariable(text string, variables map[string]servercard.Input) (start int, name string) {
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '{')
		if i < 0 {
			return -1, ""
		}
		at += i
		end := strings.IndexByte(text[at:], '}')
		if end < 0 {
			return -1, ""
		}
		if _, ok := variables[text[at+1:at+end]]; ok && end > 1 {
			return at, text[at+1 : at+end]
		}
		at++
	}
}

// addInput adds an input and returns its name. A second input with the same name
// and another definition gets the name of its place before its own.
func (o *Option) addInput(name string, in servercard.Input, at place) string {
	n := Input{Name: name, Description: in.Description, Target: at.target, Required: at.required || in.IsRequired, Secret: in.IsSecret,
		Multiple: at.multiple, Format: in.Format, Placeholder: in.Placeholder, Choices: in.Choices}
	if in.Default != nil {
		n.Default = []string{*in.Default}
	}
	for {
		i := slices.IndexFunc(o.Inputs, func(have Input) bool { return have.Name == n.Name })
		if i < 0 {
			o.Inputs = append(o.Inputs, n)
			return n.Name
		}
		have := o.Inputs[i]
		have.Target, have.Required = n.Target, n.Required
		if reflect.DeepEqual(have, n) {
			o.Inputs[i].Required = o.Inputs[i].Required || n.Required
			return n.Name
		}
		n.Name = at.name + "." + n.Name
	}
}
