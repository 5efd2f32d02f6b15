package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/protocol"
	"github.com/tenon-mcp/tenon/internal/rawjson"
	"github.com/tenon-mcp/tenon/internal/toolname"
	"github.com/tenon-mcp/tenon/mcp"
)

// startGrace is how long after the start of a connection the Router waits for it
// before it says what the servers offer.
const startGrace = 2 * time.Second

// settle waits until every server is connected or has failed, for startGrace
// after the start of each at most.
func settle(ctx context.Context, all []*upstream) {
	for _, u := range all {
		select {
		case <-u.settled:
			continue
		default:
		}
		timer := time.NewTimer(time.Until(u.started.Add(startGrace)))
		select {
		case <-u.settled:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// discover returns what all servers together offer.
func (r *Router) discover(ctx context.Context, c *mcp.Call) (mcp.Result, error) {
	d := mcp.Discovery{Capabilities: mcp.ServerCapabilities{
		Tools:       &mcp.ListCapability{ListChanged: true},
		Prompts:     &mcp.ListCapability{ListChanged: true},
		Resources:   &mcp.ResourcesCapability{ListChanged: true, Subscribe: true},
		Completions: mcp.Settings{},
		//lint:ignore SA1019 clients of older revisions use it
		Logging: mcp.Settings{},
	}}
	all := r.table.Load().of(ctx, &c.Caller)
	defer releaseAll(all)
	all = contactable(ctx, all)
	settle(ctx, all)
	var parts []string
	for _, u := range all {
		found := u.discovered()
		if found == nil {
			continue
		}
		addCapabilities(&d.Capabilities, &found.Capabilities)
		if found.Instructions != "" {
			parts = append(parts, "# "+u.name+"\n\n"+u.naming()+"\n\n"+nested(found.Instructions))
		}
	}
	d.Instructions = strings.Join(parts, "\n\n")
	body, err := mcp.Marshal(d)
	return mcp.Result{Body: body, Server: &r.opts.Server}, err
}

// nested returns a text with its headings one level deeper, so that instructions
// of a server cannot look like the section of another one.
func nested(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r", "\n"), "\n")
	for i, line := range lines {
		start := strings.TrimLeft(line, " \t")
		switch {
		case strings.HasPrefix(start, "#"):
			lines[i] = "#" + start
		case start != "" && strings.Trim(start, "= \t") == "": // a heading that is underlined
			lines[i] = strings.ReplaceAll(line, "=", "-")
		}
	}
	return strings.Join(lines, "\n")
}

// naming returns what a model must know to find the names that the server's
// instructions mention.
func (u *upstream) naming() string {
	name := toolname.Join(u.name, "NAME", 0)
	if toolname.HasDigest(name) {
		name = strings.TrimSuffix(name, name[len(name)-8:]) + "…"
	}
	text := "Below, the tool or prompt NAME is " + name
	var others []string
	for _, kind := range []string{protocol.KindTool, protocol.KindPrompt} {
		o := u.r.overridesOf(kind)
		for _, key := range slices.Sorted(maps.Keys(o.of)) {
			v := o.of[key]
			if own, ok := strings.CutPrefix(key, u.name+"__"); ok && v.Name != "" && !v.Hidden {
				others = append(others, own+" is "+v.Name)
			}
		}
	}
	if others != nil {
		text += " (" + strings.Join(others, ", ") + ")"
	}
	return text + ", and the resource URI is " + u.key + "+URI."
}

// appsExtension is an extension without methods: its tools and resources are
// routed as all others.
const appsExtension = "io.modelcontextprotocol/ui"

// addCapabilities adds the extensions of a server that the gateway can route:
// those whose names it knows.
func addCapabilities(all, of *mcp.ServerCapabilities) {
	for id, settings := range of.Extensions {
		routed := id == appsExtension || slices.ContainsFunc(mcp.RegisteredExtensions(), func(e mcp.Extension) bool { return e.ID == id })
		if !routed {
			continue
		}
		if all.Extensions == nil {
			all.Extensions = map[string]json.RawMessage{}
		}
		if had := all.Extensions[id]; had != nil {
			settings = mergeSettings(had, settings)
		}
		all.Extensions[id] = settings
	}
}

// mergeSettings returns the settings of an extension that two servers have: what
// one of them can do, the gateway can. Objects have the members of both, lists
// the elements of both, and true wins over false. Of other values the first
// counts.
func mergeSettings(a, b json.RawMessage) json.RawMessage {
	switch {
	case rawjson.IsObject(a) && rawjson.IsObject(b):
		merged := map[string]json.RawMessage{}
		for m := rawjson.Object(a); m.Next(); {
			merged[string(m.Name)] = m.Value
		}
		for m := rawjson.Object(b); m.Next(); {
			value := json.RawMessage(m.Value)
			if had, ok := merged[string(m.Name)]; ok {
				value = mergeSettings(had, value)
			}
			merged[string(m.Name)] = value
		}
		if raw, err := mcp.Marshal(merged); err == nil {
			return raw
		}
	case rawjson.IsArray(a) && rawjson.IsArray(b):
		var all []json.RawMessage
		for _, list := range [][]byte{a, b} {
			for e := rawjson.Array(list); e.Next(); {
				if !slices.ContainsFunc(all, func(had json.RawMessage) bool { return bytes.Equal(had, e.Value) }) {
					all = append(all, e.Value)
				}
			}
		}
		if raw, err := mcp.Marshal(all); err == nil {
			return raw
		}
	case string(a) == "false" && string(b) == "true":
		return b
	}
	return a
}
