package doctor

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// resources checks the resources.
func (x *examination) resources(raw []json.RawMessage) {
	seen := map[string]int{}
	for i, one := range raw {
		var r mcp.Resource
		if err := mcp.Unmarshal(one, &r); err != nil {
			x.find(Error, "resource", fmt.Sprintf("resources[%d]", i), "it cannot be read: "+err.Error(), "")
			continue
		}
		if seen[r.URI]++; seen[r.URI] == 2 {
			x.find(Error, "resource", r.URI, "there are several resources of this URI", "")
		}
		if u, err := url.Parse(r.URI); err != nil || u.Scheme == "" {
			x.find(Error, "resource", r.URI, "this is not a URI", "It needs a scheme, such as file:// or one of your own.")
		}
		if r.Name == "" {
			x.find(Error, "resource", r.URI, "it has no name", "")
		}
		x.plain(r.URI, r.Name+" "+r.Title+" "+r.Description)
	}
}

func (x *examination) templates(raw []json.RawMessage) {
	seen := map[string]int{}
	for i, one := range raw {
		var r mcp.ResourceTemplate
		if err := mcp.Unmarshal(one, &r); err != nil {
			x.find(Error, "resource", fmt.Sprintf("resourceTemplates[%d]", i), "it cannot be read: "+err.Error(), "")
			continue
		}
		if seen[r.URITemplate]++; seen[r.URITemplate] == 2 {
			x.find(Error, "resource", r.URITemplate, "there are several of this template", "")
		}
		x.plain(r.URITemplate, r.Name+" "+r.Title+" "+r.Description)
	}
}

func (x *examination) prompts(raw []json.RawMessage) {
	seen := map[string]int{}
	for i, one := range raw {
		var p mcp.Prompt
		if err := mcp.Unmarshal(one, &p); err != nil {
			x.find(Error, "prompt", fmt.Sprintf("prompts[%d]", i), "it cannot be read: "+err.Error(), "")
			continue
		}
		if seen[p.Name]++; seen[p.Name] == 2 {
			x.find(Error, "name", p.Name, "there are several prompts of this name", "")
		}
		if p.Description == "" && p.Title == "" {
			x.find(Note, "prompt", p.Name, "there is no description", "People choose prompts by it.")
		}
		args := map[string]bool{}
		for _, a := range p.Arguments {
			if args[a.Name] {
				x.find(Error, "prompt", p.Name, fmt.Sprintf("the argument %q is there twice", a.Name), "")
			}
			args[a.Name] = true
		}
		x.plain(p.Name, p.Name+" "+p.Title+" "+p.Description)
	}
}

// plain checks a text for hidden characters.
func (x *examination) plain(where, text string) {
	if found := visible.Suspicious(text); len(found) > 0 {
		x.find(Warning, "description", where, "it has "+strings.Join(found, ", "), "People and hosts take that for an attack.")
	}
}
