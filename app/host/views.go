package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/app/llm"
	"github.com/tenon-mcp/tenon/client"
	"github.com/tenon-mcp/tenon/ext/apps"
	"github.com/tenon-mcp/tenon/internal/visible"
	"github.com/tenon-mcp/tenon/mcp"
)

// Views of tools (package ext/apps). A user interface that can show them sets
// Options.Views and passes what a view requests to ViewRequest. A view is code
// of its server: it gets no more than the server has, a tool call of it passes
// the same rules as one of the model, and the audit log has what it does.

// A View is a view that a user interface shows.
type View struct {
	ID      string // of this instance
	Server  string
	Tool    string // the tool whose call it shows
	Session string // the conversation; empty if it is in none
}

func (v View) name() string { return fmt.Sprintf("the view of %s", visible.Line(v.Tool)) }

// scope is the session for which an answer "for this session" counts: a view
// outside of a conversation is its own.
func (v View) scope() string {
	if v.Session != "" {
		return v.Session
	}
	return "view " + v.ID
}

// Methods of views that the host serves, beside those of the protocol.
const (
	MethodUpdateContext = "ui/update-model-context"
	methodOpenLink      = "ui/open-link"
	methodMessage       = "ui/message"
	methodDownload      = "ui/download-file"
)

// ViewRequest serves a request of a view and returns the result. The view reaches
// its own server only, and only tools that are visible to views. Requests that
// the user interface serves itself (links, messages, files), with the user's
// consent, are written to the audit log here: it serves them if there is no error.
func (h *Host) ViewRequest(ctx context.Context, v View, method string, params json.RawMessage, progress func(mcp.ProgressParams)) (json.RawMessage, error) {
	at := h.server(v.Server)
	if at == nil {
		return nil, mcp.Errorf(mcp.CodeInternal, "the server %s is not there any more", v.Server)
	}
	if len(params) == 0 {
		params = json.RawMessage("{}")
	}
	switch method {
	case mcp.MethodToolsCall:
		return h.viewCall(ctx, v, at, params, progress)
	case mcp.MethodToolsList:
		return h.viewTools(ctx, at)
	case mcp.MethodResourcesRead, mcp.MethodResourcesList, mcp.MethodResourceTemplatesList:
		return h.viewResources(ctx, v, at, method, params)
	case mcp.MethodCreateMessage:
		return h.viewSampling(ctx, v, params)
	case mcp.NotificationMessage:
		return nil, h.viewLog(v, params)
	case MethodUpdateContext:
		return h.viewContext(v, params)
	case methodOpenLink, methodMessage, methodDownload:
		return json.RawMessage("{}"), h.auditView(v, method, params)
	}
	return nil, &mcp.Error{Code: mcp.CodeMethodNotFound, Message: "unknown method " + visible.Line(method)}
}

// auditView records something that a view does.
func (h *Host) auditView(v View, method string, params json.RawMessage) error {
	err := h.audit(AuditRecord{What: "view", Session: v.Session, Call: v.ID, Server: v.Server, Tool: method, Arguments: json.RawMessage(h.known.JSON(params)), Why: "Requested by " + v.name()})
	if err != nil {
		return fmt.Errorf("not done: cannot write the audit log: %w", err)
	}
	return nil
}

// OpenView records that a view is shown, with what it may use.
func (h *Host) OpenView(v View, page any) error {
	raw, err := mcp.Marshal(page)
	if err != nil {
		return err
	}
	r := AuditRecord{What: "view", Session: v.Session, Call: v.ID, Server: v.Server, Tool: v.Tool, Arguments: raw, Why: "The view of a tool was opened"}
	return h.audit(r)
}

// ToolView returns the URI of a tool's view, and the tool; the URI is empty if the
// tool has none.
func (h *Host) ToolView(ctx context.Context, server, tool string) (string, *mcp.Tool, error) {
	at := h.server(server)
	if at == nil {
		return "", nil, fmt.Errorf("no server named %q", server)
	}
	e, err := at.find(ctx, tool)
	if err != nil {
		return "", nil, err
	}
	return apps.ForTool(e.tool).ResourceURI, e.tool, nil
}

// viewOf returns the URI of a tool's view; empty if it has none or if views are
// not shown.
func (h *Host) viewOf(e *toolEntry) string {
	if !h.opts.Views {
		return ""
	}
	return apps.ForTool(e.tool).ResourceURI
}

// find returns a tool of the server.
func (s *attached) find(ctx context.Context, tool string) (*toolEntry, error) {
	tools, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range tools {
		if e.tool.Name == tool {
			return e, nil
		}
	}
	return nil, mcp.InvalidParams("server %q has no tool %q", s.name, visible.Line(tool))
}

// viewCall makes a tool call for a view. What the server asks meanwhile is
// answered by the user, and a task is waited for: the view gets the end result.
func (h *Host) viewCall(ctx context.Context, v View, at *attached, params json.RawMessage, progress func(mcp.ProgressParams)) (json.RawMessage, error) {
	name, args := toolCall(params)
	e, err := at.find(ctx, name)
	if err != nil {
		return nil, err
	}
	if !apps.ForTool(e.tool).VisibleTo(apps.AppView) {
		return nil, mcp.InvalidParams("the tool %q is not for views", visible.Line(name))
	}
	asked := *e
	asked.warnings = append(slices.Clone(e.warnings), fmt.Sprintf("Requested by %s, not by you or the model", v.name()))
	call := &ToolCall{ID: fmt.Sprintf("view-%s-%d", v.ID, h.nextView()), Server: v.Server, Tool: name, Name: name, Title: h.safe(e.tool.DisplayName()), Arguments: args, View: v.Tool}
	ok, err := h.allowed(ctx, v.scope(), &asked, call)
	if s := h.openSession(v.Session); ok && s != nil {
		ok, err = s.flows(ctx, v.Server, call)
	}
	call.Rule += " (requested by " + v.name() + ")"
	record := AuditRecord{What: "call", Session: v.Session, Call: call.ID, Server: v.Server, Tool: name, Arguments: h.audited(call.Arguments), Proposed: h.audited(call.Proposed), Why: call.Rule}
	if err != nil || !ok {
		record.What = "denied"
		h.audit(record)
		if err != nil {
			return nil, err
		}
		return nil, &DeniedError{v.Server, name, call.Rule}
	}
	if err := h.audit(record); err != nil {
		return nil, fmt.Errorf("not made: cannot write the audit log: %w", err)
	}
	began := time.Now()
	ctx = withSession(ctx, v.Session, call.ID)
	defer h.forgetSampling(v.Server, sessionOf(ctx))
	r, err := at.client.CallTool(ctx, name, call.Arguments, &client.CallOptions{IdleTimeout: h.opts.CallIdle, TotalTimeout: h.opts.CallTotal, Progress: progress})
	record.What, record.Arguments, record.Duration, record.Outcome = "result", nil, Millis(time.Since(began)), "ok"
	switch {
	case ctx.Err() != nil:
		record.Outcome = "cancelled"
	case err != nil:
		record.Outcome = "failed"
	case r.IsError:
		record.Outcome = "error"
	}
	if err != nil {
		h.audit(record)
		return nil, err
	}
	out, err := resultForView(h.withoutSecrets(r))
	record.Bytes = len(out)
	h.audit(record)
	return out, err
}

// resultForView encodes a result with its metadata, which is for views.
func resultForView(r *mcp.CallToolResult) (json.RawMessage, error) {
	return mcp.Marshal(struct {
		*mcp.CallToolResult
		Meta mcp.Meta `json:"_meta,omitzero"`
	}{r, r.Meta})
}

// nextView returns a new number.
func (h *Host) nextView() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.viewSeq++
	return h.viewSeq
}

// openSession returns a session that is open here; nil if there is none.
func (h *Host) openSession(id string) *Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[id]
}

// viewTools lists the tools of the server that views may call.
func (h *Host) viewTools(ctx context.Context, at *attached) (json.RawMessage, error) {
	all, err := at.list(ctx)
	if err != nil {
		return nil, err
	}
	tools := []*mcp.Tool{}
	for _, e := range all {
		if apps.ForTool(e.tool).VisibleTo(apps.AppView) && !h.opts.Book.Hidden(at.name, e.tool) {
			tools = append(tools, e.tool)
		}
	}
	return mcp.Marshal(map[string]any{"tools": tools})
}

// viewResources lists or reads resources of the view's server.
func (h *Host) viewResources(ctx context.Context, v View, at *attached, method string, params json.RawMessage) (json.RawMessage, error) {
	var q struct {
		URI    string `json:"uri,omitzero"`
		Cursor string `json:"cursor,omitzero"`
	}
	if err := mcp.Unmarshal(params, &q); err != nil {
		return nil, mcp.InvalidParams("%v", err)
	}
	if method == mcp.MethodResourcesRead {
		q.Cursor = ""
		raw, err := mcp.Marshal(q)
		if err != nil {
			return nil, err
		}
		if err := h.audit(AuditRecord{What: "read", Session: v.Session, Call: v.ID, Server: v.Server, Tool: method, Arguments: raw, Why: "Requested by " + v.name()}); err != nil {
			return nil, fmt.Errorf("not made: cannot write the audit log: %w", err)
		}
	} else {
		q.URI = ""
	}
	r, err := at.client.Do(ctx, method, q, nil)
	if err != nil {
		return nil, err
	}
	return json.RawMessage(h.known.JSON(r.Body)), nil
}

// viewSampling lets a view use the model. The user reviews each request, as for a
// server, so that the number of them is not limited.
func (h *Host) viewSampling(ctx context.Context, v View, params json.RawMessage) (json.RawMessage, error) {
	p := &mcp.CreateMessageParams{}
	if err := mcp.Unmarshal(params, p); err != nil {
		return nil, mcp.InvalidParams("%v", err)
	}
	if err := h.auditView(v, mcp.MethodCreateMessage, params); err != nil {
		return nil, err
	}
	ctx = withSession(ctx, v.Session, fmt.Sprintf("view-%s-%d", v.ID, h.nextView()))
	defer h.forgetSampling(v.Server, sessionOf(ctx))
	r, err := h.sample(ctx, v.Server, fmt.Sprintf("%s’s view of %s", v.Server, visible.Line(v.Tool)), p)
	if errors.Is(err, client.ErrSamplingRejected) {
		return nil, &DeniedError{v.Server, mcp.MethodCreateMessage, "You declined"}
	}
	if err != nil {
		return nil, err
	}
	return mcp.Marshal(r)
}

// viewLog shows a log message of a view among those of its server.
func (h *Host) viewLog(v View, params json.RawMessage) error {
	var line mcp.LogMessage
	if err := mcp.Unmarshal(params, &line); err != nil {
		return mcp.InvalidParams("%v", err)
	}
	var text string
	if mcp.Unmarshal(line.Data, &text) != nil {
		text = string(line.Data)
	}
	if len(text) > maxViewLog {
		text = whole(text[:maxViewLog]) + " […]"
	}
	h.emit(Event{Kind: EventLog, Session: v.Session, Server: v.Server, Level: string(line.Level), Text: visible.Line(h.redact("view: " + text))})
	return nil
}

// Bounds of what a view may say, in bytes.
const (
	maxViewLog     = 4 << 10
	maxViewContext = 64 << 10
	maxViewResult  = 1 << 20 // of a result that is saved for its view
)

// A viewNote is a text of a view for the model, for the next turn.
type viewNote struct {
	view View
	text string
}

// viewContext keeps a text of a view for the next turn of its conversation. The
// last one of a view counts; one without content removes it.
func (h *Host) viewContext(v View, params json.RawMessage) (json.RawMessage, error) {
	s := h.openSession(v.Session)
	if s == nil {
		return nil, mcp.Errorf(mcp.CodeInvalidRequest, "the view is not in a conversation")
	}
	var q struct {
		Content           mcp.Contents    `json:"content"`
		StructuredContent json.RawMessage `json:"structuredContent"`
	}
	if err := mcp.Unmarshal(params, &q); err != nil {
		return nil, mcp.InvalidParams("%v", err)
	}
	var texts []string
	for _, c := range q.Content {
		text, ok := c.(*mcp.TextContent)
		if !ok {
			return nil, mcp.InvalidParams("content of type %s is not supported", c.ContentType())
		}
		texts = append(texts, text.Text)
	}
	if len(q.StructuredContent) > 0 {
		texts = append(texts, string(q.StructuredContent))
	}
	text := strings.TrimSpace(h.safe(strings.Join(texts, "\n")))
	if len(text) > maxViewContext {
		return nil, mcp.InvalidParams("the context has more than %d KiB", maxViewContext>>10)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = slices.DeleteFunc(s.notes, func(n viewNote) bool { return n.view.ID == v.ID })
	if text != "" {
		s.notes = append(s.notes, viewNote{v, text})
		s.notes = s.notes[max(0, len(s.notes)-maxViewNotes):]
	}
	return json.RawMessage("{}"), nil
}

// maxViewNotes bounds the views that tell the model something in one turn.
const maxViewNotes = 8

// takeNotes returns what views tell the model since the last turn, fenced like
// results. What cannot be written to the audit log is left out.
func (s *Session) takeNotes() []llm.Part {
	s.mu.Lock()
	notes := s.notes
	s.notes = nil
	s.mu.Unlock()
	var parts []llm.Part
	for _, n := range notes {
		raw, err := mcp.Marshal(map[string]string{"text": n.text})
		if err != nil || s.host.auditView(n.view, MethodUpdateContext, raw) != nil {
			continue
		}
		parts = append(parts, llm.Text(fence(from(n.view.Server, "the view of "+n.view.Tool), n.text)))
		s.source(n.view.Server)
	}
	return parts
}

// viewPrefix begins the source of a kept text that is the call of a view.
const viewPrefix = "view of call "

// keepView saves a call whose tool has a view, so that the view can be shown again
// later.
func (s *Session) keepView(call *ToolCall) {
	if call.UI == "" || call.Result == nil {
		return
	}
	shown := *call
	shown.ForModel, shown.Task = "", nil
	shown.Arguments = json.RawMessage(s.host.known.JSON(call.Arguments))
	raw, err := mcp.Marshal(shown)
	if err == nil && len(raw) <= maxViewResult {
		s.keep(kept{From: viewPrefix + call.ID, Text: string(raw)})
	}
}

// Views returns the saved calls of the conversation whose tools have views, by
// their ids.
func (s *Session) Views() map[string]json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]json.RawMessage{}
	for _, k := range s.handles.all {
		if id, ok := strings.CutPrefix(k.From, viewPrefix); ok && k.Text != "" {
			all[id] = json.RawMessage(k.Text)
		}
	}
	return all
}
