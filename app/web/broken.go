package web

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tenon-mcp/tenon/app/speccheck"
	"github.com/tenon-mcp/tenon/app/wirelog"
	"github.com/tenon-mcp/tenon/mcp"
	"github.com/tenon-mcp/tenon/schema"
)

// A brokenItem is a definition that the client leaves out, so that neither the
// model nor a call gets it: an inspector shows what the server sent.
type brokenItem struct {
	Kind    string          `json:"kind"` // tool, resource, template or prompt
	Name    string          `json:"name"` // its name or URI, or its place in the list
	Problem string          `json:"problem"`
	Raw     json.RawMessage `json:"raw"`
}

// addBroken adds a definition that cannot be used.
func (d *lists) addBroken(kind string, raw json.RawMessage, problem string) {
	d.Broken = append(d.Broken, brokenItem{kind, d.nameOf(kind, raw), problem, raw})
}

// nameOf returns what a definition calls itself.
func (d *lists) nameOf(kind string, raw json.RawMessage) string {
	members := []string{"name", "title"}
	switch kind {
	case "resource":
		members = []string{"uri", "name"}
	case "template":
		members = []string{"uriTemplate", "name"}
	}
	var all map[string]json.RawMessage
	if mcp.Unmarshal(raw, &all) == nil {
		for _, m := range members {
			var name string
			if mcp.Unmarshal(all[m], &name) == nil && name != "" {
				return name
			}
		}
	}
	return fmt.Sprintf("%s without a name (%d)", kind, len(d.Broken)+1)
}

// addHidden adds the tools that the HTTP transport leaves out, because their
// arguments cannot be sent in headers as they ask for: they are only in the log.
func (s *Server) addHidden(d *lists, server string) {
	q := wirelog.Query{Server: server, Method: mcp.MethodToolsList, Dir: speccheck.FromServer, Kinds: []speccheck.Kind{speccheck.KindResponse}}
	pages, _ := s.work.Log.Filter(q, 0, 20)
	for i := range pages {
		var frame struct {
			Result struct {
				Tools []json.RawMessage `json:"tools"`
			} `json:"result"`
		}
		if mcp.Unmarshal(pages[i].Frame, &frame) != nil {
			continue // too large to be kept as a whole
		}
		for _, raw := range frame.Result.Tools {
			var tool struct {
				InputSchema json.RawMessage `json:"inputSchema"`
			}
			if mcp.Unmarshal(raw, &tool) != nil || len(tool.InputSchema) == 0 || tool.InputSchema[0] != '{' {
				continue
			}
			_, err := schema.Headers(tool.InputSchema)
			known := func(b brokenItem) bool { return b.Kind == "tool" && b.Name == d.nameOf("tool", raw) }
			if err != nil && !slices.ContainsFunc(d.Broken, known) {
				d.addBroken("tool", raw, err.Error())
			}
		}
	}
}
