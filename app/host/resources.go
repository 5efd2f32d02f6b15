package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/config"
	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// Resources for the model, so that a link in a result is no dead end. A read needs
// permission as a call does, under the tool name resources/read; a resource that its
// server linked to in this conversation is read without a question.

// The names of the host's tools for resources.
const (
	listResourcesName = "list_resources"
	readResourceName  = "read_resource"
)

var resourceTools = []llm.Tool{
	{
		Name:        listResourcesName,
		Description: "List the resources of the servers: documents and other data that can be read with read_resource.",
		Schema:      json.RawMessage(`{"type":"object","properties":{"server":{"type":"string","description":"only of this server"},"query":{"type":"string","description":"only those with this text in their name, description or URI"}}}`),
	},
	{
		Name:        readResourceName,
		Description: "Read a resource of a server, such as one that a result links to.",
		Schema:      json.RawMessage(`{"type":"object","properties":{"server":{"type":"string","description":"the server of the resource"},"uri":{"type":"string","description":"the URI of the resource"}},"required":["server","uri"]}`),
	},
}

const (
	maxListed    = 200              // resources in one list
	maxLooked    = 5000             // resources of a server that are looked at for one list
	maxLinks     = 2000             // links of a conversation that are kept
	resourceWait = 10 * time.Second // for the list of a server
)

// resourceTool is how approvals of reading the resources of a server are stored. The
// type of the schema is one that no tool has; see skillTool.
var resourceTool = &mcp.Tool{
	Name: mcp.MethodResourcesRead, Title: "Read a resource", Description: "Read resources of this server.",
	InputSchema: json.RawMessage(`{"type":"resource"}`),
}

// offersResources reports whether a server has resources.
func (h *Host) offersResources() bool {
	return slices.ContainsFunc(h.all(), func(s *attached) bool { return s.declaresResources() })
}

func (s *attached) declaresResources() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hasResources
}

// A link is a resource that a result referred to.
type link struct{ server, uri string }

// linked remembers a resource that a tool of a server referred to.
func (s *Session) linked(server, uri, tool string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.links == nil {
		s.links = map[link]string{}
	}
	if len(s.links) < maxLinks {
		s.links[link{server, uri}] = tool
	}
}

// linkedBy returns the tool that referred to a resource; ok is false if none did.
func (s *Session) linkedBy(server, uri string) (tool string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tool, ok = s.links[link{server, uri}]
	return tool, ok
}

// listResources implements list_resources.
func (s *Session) listResources(ctx context.Context, args json.RawMessage) (string, error) {
	var q struct {
		Server string `json:"server"`
		Query  string `json:"query"`
	}
	if err := mcp.Unmarshal(args, &q); err != nil {
		return "", errors.New("list_resources accepts the name of a server and a query")
	}
	from := s.host.all()
	if q.Server != "" {
		at, err := s.resourceServer(q.Server)
		if err != nil {
			return "", err
		}
		from = []*attached{at}
	}
	var b strings.Builder
	left := maxListed
	for _, at := range from {
		if !at.declaresResources() {
			continue
		}
		var text string
		text, left = s.resourcesOf(ctx, at, strings.ToLower(q.Query), left)
		b.WriteString(text)
	}
	if b.Len() == 0 {
		return "No resource was found.", nil
	}
	if left == 0 {
		fmt.Fprintf(&b, "\nOnly the first %d are listed: use a query.", maxListed)
	}
	return strings.TrimPrefix(b.String(), "\n"), nil
}

// resourcesOf lists at most left resources and templates of a server, as data of it.
func (s *Session) resourcesOf(ctx context.Context, at *attached, query string, left int) (string, int) {
	ctx, cancel := context.WithTimeout(ctx, resourceWait)
	defer cancel()
	var lines []string
	add := func(uri, name, description string) bool {
		if query == "" || strings.Contains(strings.ToLower(uri+"\n"+name+"\n"+description), query) {
			if left--; left < 0 {
				left = 0
				return false
			}
			lines = append(lines, strings.TrimSuffix(visible.Line(fmt.Sprintf("%s  %s: %s", uri, name, clipped(description))), ": "))
		}
		return true
	}
	seen := 0
	var problem error
	for r, err := range at.client.Resources(ctx) {
		if problem = err; err != nil || seen == maxLooked || !add(r.URI, r.DisplayName(), r.Description) {
			break
		}
		seen++
	}
	for t, err := range at.client.ResourceTemplates(ctx) {
		if err != nil || seen == maxLooked || !add(t.URITemplate, t.DisplayName(), t.Description) {
			break
		}
		seen++
	}
	if problem != nil {
		lines = append(lines, fmt.Sprintf("(not all could be listed: %v)", problem))
	}
	if len(lines) == 0 {
		return "", left
	}
	s.source(at.name)
	short, _ := s.cut(at.name, s.host.safe(strings.Join(lines, "\n")))
	return "\n" + fenceAs("resources", at.name, short), left
}

// clipped returns the beginning of a description, in one line.
func clipped(text string) string {
	if text = strings.Join(strings.Fields(text), " "); len(text) > 200 {
		return whole(text[:200]) + " […]"
	}
	return text
}

// resourceServer returns a server that has resources.
func (s *Session) resourceServer(name string) (*attached, error) {
	at := s.host.server(name)
	if at == nil {
		return nil, fmt.Errorf("there is no server named %q", name)
	}
	if !at.declaresResources() {
		return nil, fmt.Errorf("the server %q has no resources", name)
	}
	return at, nil
}

// readResource implements read_resource.
func (s *Session) readResource(ctx context.Context, info llm.Info, call *ToolCall, args json.RawMessage) llm.ToolResult {
	var q struct {
		Server string `json:"server"`
		URI    string `json:"uri"`
	}
	if err := mcp.Unmarshal(args, &q); err != nil || q.Server == "" || q.URI == "" {
		return s.ownResult(call, "", errors.New("read_resource needs the server and the uri of a resource"))
	}
	at, err := s.resourceServer(q.Server)
	if err != nil {
		return s.ownResult(call, "", err)
	}
	raw, err := mcp.Marshal(map[string]string{"uri": q.URI})
	if err != nil {
		return s.ownResult(call, "", err)
	}
	call.Server, call.Tool, call.Title, call.Arguments = at.name, resourceTool.Name, "Read "+s.host.safe(q.URI), raw
	if refused := s.mayRead(ctx, at, q.URI, call); refused != nil {
		return *refused
	}
	if err := s.audit(call, "read", "", 0); err != nil {
		return s.failCall(call, CallFailed, "not read: cannot write the audit log: "+err.Error(), "The resource was not read: the host cannot write its audit log.")
	}
	call.Phase = CallRunning
	s.host.emitCall(s.ID, call)
	began := time.Now()
	parts, err := s.resource(withSession(ctx, s.ID, call.ID), info, at, q.URI)
	call.Duration = Millis(time.Since(began))
	if err != nil {
		return s.failed(ctx, call, err)
	}
	if len(parts) == 0 {
		parts = []llm.Part{llm.Text("(the resource is empty)")}
	}
	result := llm.ToolResult{CallID: call.ID, Parts: parts}
	call.Phase, call.ForModel = CallDone, llm.Results(result).Text()
	s.audit(call, "result", "ok", len(call.ForModel))
	s.host.emitCall(s.ID, call)
	return result
}

// mayRead returns nil if the model may read a resource, and else the result for it.
func (s *Session) mayRead(ctx context.Context, at *attached, uri string, call *ToolCall) (refused *llm.ToolResult) {
	tool, linked := s.linkedBy(at.name, uri)
	if !linked || s.host.opts.Book.Judge(at.name, resourceTool, call.Arguments, s.ID).Effect == config.Deny {
		return s.approve(ctx, &toolEntry{server: at, tool: resourceTool}, call)
	}
	call.Rule = fmt.Sprintf("%s/%s linked to it", at.name, s.host.safe(tool))
	ok, err := s.flows(ctx, at.name, call)
	return s.refusal(ctx, call, ok, err)
}
