package show

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// Server describes a connected server.
type Server struct {
	Name         string                 `json:"name"`
	Transport    string                 `json:"transport"`
	Revision     mcp.Revision           `json:"revision"`
	Era          string                 `json:"era"`
	Server       *mcp.Implementation    `json:"server,omitempty"`
	Instructions string                 `json:"instructions,omitempty"`
	Capabilities mcp.ServerCapabilities `json:"capabilities"`
	Supported    []mcp.Revision         `json:"supported,omitempty"`
	Counts       map[string]int         `json:"counts,omitempty"`
	AtLeast      []string               `json:"atLeast,omitempty"` // of Counts, those that stopped at a bound
	// Unanswered maps each request that failed to its error.
	Unanswered []string `json:"unanswered,omitempty"`
}

// Discovery prints the identity and the features of a server.
func (p *Printer) Discovery(s *Server) error {
	if !p.text() {
		return p.Value(s)
	}
	t := &table{}
	row := func(name, value string) {
		if value != "" {
			t.add(p.Dim(name), value)
		}
	}
	name := s.Name
	if s.Server != nil {
		name = s.Server.Name
		if d := s.Server.DisplayName(); d != name {
			name += " (" + d + ")"
		}
		row("server", p.Bold(clean(name))+" "+clean(s.Server.Version))
		row("about", clean(s.Server.Description))
		row("website", clean(s.Server.WebsiteURL))
	} else {
		row("server", p.Bold(clean(name))+" (no name given)")
	}
	row("transport", s.Transport)
	row("speaks", string(s.Revision)+", "+s.Era)
	if len(s.Supported) > 0 {
		var all []string
		for _, r := range s.Supported {
			all = append(all, clean(string(r)))
		}
		row("knows", strings.Join(all, ", "))
	}
	row("offers", clean(strings.Join(offers(s), ", ")))
	for _, name := range slices.Sorted(maps.Keys(s.Capabilities.Extensions)) {
		row("extension", clean(name)+" "+clean(settings(s.Capabilities.Extensions[name])))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Capabilities.Experimental)) {
		row("experiment", clean(name)+" "+clean(settings(s.Capabilities.Experimental[name])))
	}
	p.table(t)
	if s.Instructions != "" {
		p.line("")
		p.line(p.Bold("Instructions for the model"))
		p.Markdown(visible.Text(s.Instructions)) // as the description of a tool
	}
	for _, u := range s.Unanswered {
		p.lines(p.Yellow("not available: ")+clean(u), "", "  ")
	}
	return p.err
}

func settings(raw json.RawMessage) string {
	if s := string(raw); s != "{}" && s != "null" {
		return s
	}
	return ""
}

// offers describes the capabilities.
func offers(s *Server) []string {
	var all []string
	count := func(what string, news ...string) {
		if n, ok := s.Counts[what]; ok {
			if slices.Contains(s.AtLeast, what) {
				what = thousands(n) + "+ " + what
			} else {
				what = plural(n, what)
			}
		}
		if len(news) > 0 {
			what += " (" + strings.Join(news, ", ") + ")"
		}
		all = append(all, what)
	}
	c := s.Capabilities
	if c.Tools != nil {
		count("tools", changing(c.Tools.ListChanged)...)
	}
	if c.Resources != nil {
		news := changing(c.Resources.ListChanged)
		if c.Resources.Subscribe {
			news = append(news, "can be subscribed to")
		}
		count("resources", news...)
		if s.Counts["templates"] > 0 {
			count("templates")
		}
	}
	if c.Prompts != nil {
		count("prompts", changing(c.Prompts.ListChanged)...)
	}
	if c.Completions != nil {
		all = append(all, "completion")
	}
	if c.Logging != nil {
		all = append(all, "logging")
	}
	return append(all, slices.Sorted(maps.Keys(c.Other))...)
}

func changing(told bool) []string {
	if told {
		return []string{"notifies of changes"}
	}
	return nil
}

// thousands writes a number with commas.
func thousands(n int) string {
	text := itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

func plural(n int, what string) string {
	if n == 1 {
		what = strings.TrimSuffix(what, "s")
	}
	return itoa(n) + " " + what
}
