package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/app/permit"
	"github.com/tenon-mcp/tenon/ext/apps"
	"github.com/tenon-mcp/tenon/ext/skills"
	"github.com/tenon-mcp/tenon/internal/toolname"
	"github.com/tenon-mcp/tenon/internal/toolsearch"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// A Tool is a tool of a server, for lists that people see.
type Tool struct {
	Server   string          `json:"server"`
	Name     string          `json:"name"` // the model's name for it
	Tool     *mcp.Tool       `json:"tool"`
	Hidden   bool            `json:"hidden,omitzero"`   // denied: the model does not see it
	AppOnly  bool            `json:"appOnly,omitzero"`  // for views only: the model does not see it
	Held     string          `json:"held,omitzero"`     // why the model gets it only after the user approves it; empty: it has it
	Changes  []config.Change `json:"changes,omitzero"`  // differences to what was approved, in the tool or its server
	Digest   string          `json:"digest"`            // of the definition; see permit.Digest
	Warnings []string        `json:"warnings,omitzero"` // suspicious parts of its definition
}

// A toolEntry is a tool and its server.
type toolEntry struct {
	server *attached
	tool   *mcp.Tool

	skill    bool     // a skill that would be loaded, not a tool; see skillTool
	eachTime string   // why the user is asked about every call; empty: rules and earlier answers decide
	warnings []string // for the user, in addition to those about the definition
}

// A catalog has the tools of all servers at one moment, ordered by server and
// name, so that the model gets the same text each time and its provider can cache
// it.
type catalog struct {
	byName map[string]*toolEntry
	list   []llm.Tool // the tools that the model gets or can search
	many   bool       // the model has to search
	about  string     // if many: the servers and their purpose
	skills string     // the list of skills; empty if no server has the extension
	reads  bool       // a server has resources
	index  func() *toolsearch.Index
}

// list returns the tools of a server. It requests them if they may have changed.
// One request runs at a time, in the background: it continues when ctx ends, and
// later callers get its result.
func (s *attached) list(ctx context.Context) ([]*toolEntry, error) {
	s.mu.Lock()
	asking := s.asking
	if asking == nil && s.fresh {
		defer s.mu.Unlock()
		return s.tools, nil
	}
	if asking == nil {
		asking = make(chan struct{})
		if !s.host.begin(func() { s.request(asking) }) {
			defer s.mu.Unlock()
			return s.tools, errors.New("the host is closed")
		}
		s.asking = asking
	}
	s.mu.Unlock()
	select {
	case <-asking:
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.tools, s.problem
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.tools, ctx.Err()
	}
}

// request requests the tools of the server once.
func (s *attached) request(done chan struct{}) {
	s.mu.Lock()
	s.fresh = true // unless it changes during the request
	s.mu.Unlock()
	var tools []*toolEntry
	var title, instructions string
	var offered []*skills.Skill
	var hasSkills, hasResources bool
	problem := recovering(func() error {
		if d, err := s.client.Discover(s.host.ctx); err == nil { // without this the server may still have tools
			if instructions = d.Instructions; d.Server != nil {
				title = d.Server.Title
			}
			offered, hasSkills = s.listSkills(d)
			hasResources = d.Capabilities.Resources != nil
		}
		for t, err := range s.client.Tools(s.host.ctx) {
			if e, ok := errors.AsType[*mcp.Error](err); ok && e.Code == mcp.CodeMethodNotFound {
				return nil // it has no tools
			}
			if err != nil {
				return err
			}
			tools = append(tools, &toolEntry{server: s, tool: t})
		}
		return nil
	})
	slices.SortFunc(tools, func(a, b *toolEntry) int { return strings.Compare(a.tool.Name, b.tool.Name) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking, s.problem, s.late = nil, problem, false
	if problem == nil {
		s.tools, s.instructions, s.title = tools, instructions, title
		s.skills, s.hasSkills, s.hasResources = offered, hasSkills, hasResources
	} else {
		s.fresh = false
	}
	close(done)
}

// due returns until when to wait for a server's tools: listTimeout after the
// reason to request them. A server that did not answer in that time is not waited
// for again.
func (s *attached) due() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.late {
		return time.Time{}
	}
	if s.asking == nil && !s.fresh { // no request yet: the time starts now
		s.since = time.Now()
	}
	return s.since.Add(listTimeout)
}

// Tools lists the tools of all servers that respond in time.
func (h *Host) Tools(ctx context.Context) []Tool {
	limit := 0
	if m := h.Model(); m != nil {
		limit = m.Info().Limits.MaxLen
	}
	var all []Tool
	for _, e := range h.entries(ctx) {
		changed, _ := h.opts.Book.Changes(e.server.name, e.tool)
		all = append(all, Tool{
			Server: e.server.name, Name: toolname.Join(e.server.name, e.tool.Name, limit), Tool: e.tool, Changes: changed, Digest: permit.Digest(e.tool),
			AppOnly: !apps.ForTool(e.tool).VisibleTo(apps.Model),
			Hidden:  h.opts.Book.Hidden(e.server.name, e.tool), Held: h.opts.Book.Held(e.server.name, e.tool), Warnings: permit.Suspect(e.tool),
		})
	}
	return all
}

// WaitForTools waits until a server has listed its tools. [Host.Tools] leaves out a
// server that takes long.
func (h *Host) WaitForTools(ctx context.Context, server string) error {
	s := h.server(server)
	if s == nil {
		return fmt.Errorf("no server named %q", server)
	}
	_, err := s.list(ctx)
	return err
}

// Search lists the tools that match a query best, as search_tools does.
func (h *Host) Search(ctx context.Context, query string, limit int) []Tool {
	c := h.catalog(ctx, h.info())
	var all []Tool
	for _, name := range c.Find(query, limit) {
		e := c.byName[name]
		all = append(all, Tool{Server: e.server.name, Name: name, Tool: e.tool, Warnings: permit.Suspect(e.tool)})
	}
	return all
}

// entries lists the tools of all servers concurrently. It waits for a server that
// does not respond once, until due, and leaves it out until it responds.
func (h *Host) entries(ctx context.Context) []*toolEntry {
	servers := h.all()
	lists := make([][]*toolEntry, len(servers))
	var asked sync.WaitGroup
	for i, s := range servers {
		asked.Go(func() {
			wait, stop := context.WithDeadline(ctx, s.due())
			defer stop()
			tools, err := s.list(wait)
			lists[i] = tools
			if err == nil || ctx.Err() != nil {
				return
			}
			s.mu.Lock()
			first := !s.late
			s.late = true
			s.mu.Unlock()
			if first {
				text := fmt.Sprintf("%s did not list its tools; they are not available: %s", s.name, h.safe(err.Error()))
				if errors.Is(err, context.DeadlineExceeded) {
					text = s.name + " is still starting; its tools are not available yet"
				}
				h.emit(Event{Kind: EventNotice, Server: s.name, Text: text})
			}
		})
	}
	asked.Wait()
	return slices.Concat(lists...)
}

// catalog returns the tools for the model.
func (h *Host) catalog(ctx context.Context, info llm.Info) *catalog {
	return h.gather(h.entries(ctx), info)
}

func (h *Host) gather(entries []*toolEntry, info llm.Info) *catalog {
	c := &catalog{byName: map[string]*toolEntry{}}
	for _, e := range entries {
		if h.opts.Book.Hidden(e.server.name, e.tool) || !apps.ForTool(e.tool).VisibleTo(apps.Model) {
			continue
		}
		name := toolname.Join(e.server.name, e.tool.Name, info.Limits.MaxLen)
		if c.byName[name] != nil {
			continue // a forced collision of digests: the first tool keeps the name
		}
		c.byName[name] = e
		if why := h.opts.Book.Held(e.server.name, e.tool); why != "" {
			h.heldBack(e, why) // the user is still asked about a call of it, with the differences
			continue
		}
		c.list = append(c.list, h.described(name, e))
	}
	c.skills, c.reads = h.skillList(), h.offersResources()
	c.index = sync.OnceValue(func() *toolsearch.Index { return indexed(c.list, c.byName) })
	if c.many = h.tooMany(c.list, info); c.many {
		c.about = h.overview(c)
	}
	return c
}

// overview lists the servers with their purpose and number of tools, for a model
// that has to search.
func (h *Host) overview(c *catalog) string {
	counts := map[*attached]int{}
	for _, t := range c.list {
		counts[c.byName[t.Name].server]++
	}
	var b strings.Builder
	for _, s := range h.all() {
		n := counts[s]
		if n == 0 {
			continue
		}
		s.mu.Lock()
		title, instructions := s.title, s.instructions
		s.mu.Unlock()
		line := fmt.Sprintf("\n- %s: %d tools", s.name, n)
		if n == 1 {
			line = fmt.Sprintf("\n- %s: 1 tool", s.name)
		}
		for _, text := range []string{title, firstSentence(instructions)} {
			if text = visible.Line(h.redact(text)); text != "" {
				line += ". " + whole(text[:min(len(text), maxPurpose)])
			}
		}
		if b.Len()+len(line) > maxOverview {
			b.WriteString("\n- and more")
			break
		}
		b.WriteString(line)
	}
	return b.String()
}

func firstSentence(text string) string {
	text = strings.TrimSpace(text)
	if at := strings.IndexAny(text, ".\n"); at >= 0 {
		text = text[:at]
	}
	return text
}

// How much is said about one server, and about all, in bytes.
const (
	maxPurpose  = 120
	maxOverview = 4 << 10
)

// heldBack notifies the user, once for each definition, that the model does not
// get a tool.
func (h *Host) heldBack(e *toolEntry, why string) {
	name := e.server.name + "/" + e.tool.Name
	now := e.tool.Description + "\x00" + string(e.tool.InputSchema)
	h.mu.Lock()
	told := h.held[name] == now
	if h.held == nil {
		h.held = map[string]string{}
	}
	h.held[name] = now
	h.mu.Unlock()
	if !told {
		h.emit(Event{Kind: EventNotice, Server: e.server.name, Text: h.safe(fmt.Sprintf("%s is hidden from the model: %s. Approve it with /approve %s or tenon tools approve %s %s", name, why, name, e.server.name, e.tool.Name))})
	}
}

// How much of a description, and how long a schema, a model is given. Nobody
// needs more to know when and how to use a tool, and it is paid for with every
// request.
const (
	maxDescription = 8 << 10
	maxSchema      = 64 << 10
)

// described returns a tool for the model: without secrets and hidden characters,
// and labelled with its server.
func (h *Host) described(name string, e *toolEntry) llm.Tool {
	about := h.safe(e.tool.Description)
	if len(about) > maxDescription {
		about = whole(about[:maxDescription]) + " […]"
	}
	schema := e.tool.InputSchema
	if len(schema) > maxSchema {
		about += fmt.Sprintf(" (The schema of its arguments is left out: it has %d bytes.)", len(schema))
		schema = json.RawMessage(`{"type":"object"}`)
	}
	return llm.Tool{Name: name, Description: fmt.Sprintf("[%s] %s", e.server.name, about), Schema: h.cleanSchema(schema)}
}

// tooMany reports whether the model has to search.
func (h *Host) tooMany(list []llm.Tool, info llm.Info) bool {
	tokens := 0
	for _, t := range list {
		tokens += Tokens(t)
	}
	switch set := h.opts.ToolSearch; {
	case set.Tokens > 0:
		return tokens > set.Tokens
	case set.Mode == config.ToolSearchAlways:
		return len(list) > 0
	case set.Mode == config.ToolSearchNever:
		return false
	}
	return len(list) > manyTools || info.Context > 0 && float64(tokens) > max(fewTokens, manyShare*float64(info.Context))
}

// Above these limits the model has to search, unless configured otherwise.
const (
	manyTools = 40
	manyShare = 0.03 // of the context

	// fewTokens is always allowed for definitions, however small the context is:
	// hiding a few tools costs more than it saves.
	fewTokens = 4000
)

// Tokens estimates the number of tokens of a tool's definition, at four bytes
// each.
func Tokens(t llm.Tool) int { return (len(t.Name) + len(t.Description) + len(t.Schema) + 24) / 4 }

// tools returns the tools for the model's request. If the model has to search,
// they change only with the servers and their number of tools.
func (c *catalog) tools() []llm.Tool {
	list := append(slices.Clone(c.list), readResult)
	if c.many {
		list = slices.Clone(searching)
		list[0].Description += " These servers have tools:" + c.about
	}
	if c.skills != "" {
		load := loadSkill
		load.Description += c.skills
		list = append(list, load, readSkill)
	}
	if c.reads {
		list = append(list, resourceTools...)
	}
	return list
}

// safe removes secrets and hidden characters from a server's text.
func (h *Host) safe(s string) string { return visible.Text(h.redact(s)) }
